// SPDX-License-Identifier: Apache-2.0
#include "web/api.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "pipeline/arrivals.h"
#include "profile/profile.h"
#include "store/notes.h"
#include "analysis/calltree.h"
#include "web/annotations.h"
#include "web/call.h"
#include "web/executables.h"
#include "web/flame_json.h"
#include "web/lanes.h"
#include "web/lines.h"
#include "web/lists_json.h"
#include "web/numbers.h"
#include "analysis/narrow.h"
#include "web/question.h"
#include "analysis/reshape.h"
#include "web/sequence.h"
#include "web/series_json.h"
#include "web/source.h"
#include "web/status.h"
#include "web/top.h"
#include "web/types.h"
#include "wire/compression.h"
#include "wire/format.h"

#define TRACE_DIGITS 32	/* of a trace's id */
#define NODES_DEFAULT 16384
#define NODES_MAX 1000000

#define TAG_STEPS 256	/* of a range that moves with time */

#define SEQUENCE_SECONDS_MAX 60		/* as much is read of the end of a range */
#define SEQUENCE_SECONDS 10		/* as much is shown of it, unless asked otherwise */
#define SEQUENCE_SAMPLES 20000

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

/* ---- Flames ---------------------------------------------------------------------------- */

/* What is chosen, narrowed down. */
static int get_selected(struct api_call *c, struct store *store, const struct store_selection *selection,
			enum store_label group, struct calltree **ret_flame)
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL;
	struct narrow narrow;
	int r = question_narrow(c->question, &narrow, c->why);

	if (r == 0)
		r = store_flame(store, selection, group, &flame);
	if (r == 0)
		r = narrow_calltree(&narrow, &flame, c->why);
	if (r == 0)
		r = calltree_link(flame, CALLTREE_AS_ADDED);
	if (r == 0)
		*ret_flame = TAKE(flame);
	return r;
}

static bool is_inverted(const struct api_call *c)
{
	return *question_text(c->question, "inverted", "");
}

/* The same as it is to be seen: bottom up, if that is asked for. */
static int get_seen(struct api_call *c, struct store *store, const struct store_selection *selection,
		    enum store_label group, struct calltree **ret_flame)
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL, *inverted = NULL;
	int r = get_selected(c, store, selection, group, &flame);

	if (r == 0 && is_inverted(c))
		r = reshape_inverted(flame, &inverted);
	if (r == 0 && inverted)
		r = calltree_link(inverted, CALLTREE_AS_ADDED);
	if (r == 0)
		*ret_flame = inverted ? TAKE(inverted) : TAKE(flame);
	return r;
}

static int get_flame(struct api_call *c, struct calltree **ret_flame)
{
	enum store_label group;
	int r = call_label(c, "group", &group);

	return r < 0 ? r : get_seen(c, c->store, &c->question->selection, group, ret_flame);
}

/* From the root on, whatever way it is to be seen. */
static int get_upright(struct api_call *c, struct calltree **ret_flame)
{
	enum store_label group;
	int r = call_label(c, "group", &group);

	return r < 0 ? r : get_selected(c, c->store, &c->question->selection, group, ret_flame);
}

/* The node that the question's path leads to. */
static int get_root(struct api_call *c, const struct calltree *flame, u32 *ret_root)
{
	int r = calltree_find(flame, question_text(c->question, "path", ""), ret_root);

	if (r == -ENOENT)
		buf_addf(c->why, "path leads nowhere in this range");
	return r;
}

static int get_nodes_max(struct api_call *c, u32 *ret_nodes)
{
	*ret_nodes = NODES_DEFAULT;
	return question_number(c->question, "nodes", 1, NODES_MAX, ret_nodes, c->why);
}

static int put_flame(struct api_call *c, struct calltree *flame)
{
	u32 root = 0, nodes;
	int r = get_nodes_max(c, &nodes);

	assert(flame);
	if (r == 0)
		r = flame->child ? 0 : calltree_link(flame, CALLTREE_AS_ADDED);
	if (r == 0)
		r = get_root(c, flame, &root);
	return r < 0 ? r : flame_json(flame, root, nodes, c->answer->body);
}

/* What a page asks for after each window: the whole, of which only the largest nodes are shown. */
static bool is_whole(const struct api_call *c, const struct narrow *narrow, enum store_label group)
{
	return !narrow_any(narrow) && !is_inverted(c) && group == STORE_LABEL_COUNT &&
	       !*question_text(c->question, "path", "");
}

static int answer_flame(struct api_call *c)
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL;
	enum store_label group;
	struct narrow narrow;
	u32 nodes;
	int r = get_nodes_max(c, &nodes);

	if (r == 0)
		r = call_label(c, "group", &group);
	if (r == 0)
		r = question_narrow(c->question, &narrow, c->why);
	if (r < 0)
		return r;
	r = is_whole(c, &narrow, group) ? store_flame_largest(c->store, &c->question->selection, nodes, &flame) :
					  get_seen(c, c->store, &c->question->selection, group, &flame);
	return r < 0 ? r : put_flame(c, flame);
}

static int answer_diff(struct api_call *c)
{
	_cleanup_(calltree_freep) struct calltree *now = NULL, *before = NULL, *joined = NULL;
	struct store_selection base;
	enum store_label group;
	int r = question_base(c->question, c->now_ns, &base, c->why);

	if (r == 0)
		r = call_label(c, "group", &group);
	if (r == 0)
		r = get_seen(c, c->store, &c->question->selection, group, &now);
	if (r == 0)
		r = get_seen(c, c->base, &base, group, &before);
	if (r == 0)
		r = reshape_join(now, before, &joined);
	return r < 0 ? r : put_flame(c, joined);
}

static int get_function(struct api_call *c, struct reshape_function *ret_function)
{
	*ret_function = (struct reshape_function){ question_text(c->question, "function", ""),
						   question_text(c->question, "in", NULL) };
	if (*ret_function->name)
		return 0;
	buf_addf(c->why, "function is missing: the name of the function");
	return -EINVAL;
}

static int answer_sandwich(struct api_call *c, int (*reshape)(const struct calltree *, const struct reshape_function *,
							   struct calltree **))
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL, *part = NULL;
	struct reshape_function function;
	int r = get_function(c, &function);

	if (r == 0)
		r = get_upright(c, &flame);
	if (r == 0)
		r = reshape(flame, &function, &part);
	return r < 0 ? r : put_flame(c, part);
}

static int answer_callers(struct api_call *c)
{
	return answer_sandwich(c, reshape_callers);
}

static int answer_callees(struct api_call *c)
{
	return answer_sandwich(c, reshape_callees);
}

/* The range that base_from and base_to tell, if they are there. */
static int get_base(struct api_call *c, struct calltree **ret_base)
{
	struct store_selection base;
	int r;

	if (!*question_text(c->question, "base_from", ""))
		return 0;
	r = question_base(c->question, c->now_ns, &base, c->why);
	return r < 0 ? r : get_selected(c, c->base, &base, STORE_LABEL_COUNT, ret_base);
}

static int answer_top(struct api_call *c)
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL, *base = NULL;
	struct top_options options = { .part = question_text(c->question, "part", ""), .rows_max = 1000 };
	int r = question_number(c->question, "first", 0, UINT32_MAX, &options.first, c->why);

	if (r == 0)
		r = question_number(c->question, "rows", 1, 100000, &options.rows_max, c->why);
	if (r == 0)
		r = top_order_read(question_text(c->question, "order", ""), &options.order, c->why);
	if (r == 0)
		r = get_upright(c, &flame);
	if (r == 0)
		r = get_root(c, flame, &options.root);
	if (r == 0)
		r = get_base(c, &base);
	options.base = base;
	return r < 0 ? r : top_json(flame, &options, c->answer->body, c->why);
}

static int answer_search(struct api_call *c)
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL;
	struct json_write j = { .b = c->answer->body };
	const char *text = question_text(c->question, "text", "");
	struct narrow_found found;
	int r;

	if (!*text) {
		buf_addf(c->why, "text is missing: what to look for");
		return -EINVAL;
	}
	r = get_flame(c, &flame);
	if (r == 0)
		r = narrow_find(flame, text, &found, c->why);
	if (r < 0)
		return r;
	json_write_open(&j, '{');
	put_number(&j, "total", (double)calltree_nodes(flame)[0].total);
	put_number(&j, "matched", (double)found.total);
	put_number(&j, "nodes", found.nodes);
	json_write_close(&j, '}');
	return 0;
}

static int answer_executables(struct api_call *c)
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL;
	u32 rows = 1000;
	int r = question_number(c->question, "rows", 1, 100000, &rows, c->why);

	if (r == 0)
		r = get_selected(c, c->store, &c->question->selection, STORE_LABEL_COUNT, &flame);
	return r < 0 ? r : executables_json(flame, rows, c->answer->body);
}

/* ---- Sample by sample ------------------------------------------------------------------------- */

static int get_samples(struct api_call *c, const struct store_selection *selection, struct profile **ret_profile)
{
	struct narrow narrow;
	int r = question_narrow(c->question, &narrow, c->why);

	if (r == 0)
		r = store_profile(c->store, selection, &narrow, ret_profile, c->why);
	if (r != -EOPNOTSUPP)
		return r;
	buf_addf(c->why, "this store has sums only, without times and lines");
	return -EINVAL;
}

static int put_sequence(struct api_call *c, const struct sequence_options *options)
{
	struct store_selection selection = c->question->selection;
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r;

	selection.from_ns = options->from_ns;
	r = get_samples(c, &selection, &profile);
	return r < 0 ? r : sequence_json(profile, options, c->answer->body);
}

static int answer_sequence(struct api_call *c)
{
	const struct store_selection *selection = &c->question->selection;
	struct sequence_options options = { .from_ns = selection->from_ns, .to_ns = selection->to_ns,
					    .samples_max = SEQUENCE_SAMPLES };
	u32 seconds = SEQUENCE_SECONDS;
	int r = question_number(c->question, "seconds", 1, SEQUENCE_SECONDS_MAX, &seconds, c->why);

	if (r == 0)
		r = question_number(c->question, "max", 1, SEQUENCE_SAMPLES_MAX, &options.samples_max, c->why);
	if (r < 0)
		return r;
	options.length_max_ns = seconds * SECOND_NS;
	if (options.to_ns - options.from_ns > SEQUENCE_SECONDS_MAX * SECOND_NS)
		options.from_ns = options.to_ns - SEQUENCE_SECONDS_MAX * SECOND_NS;
	return put_sequence(c, &options);
}

static int answer_lines(struct api_call *c)
{
	struct lines_options options = { .rows_max = 1000 };
	_cleanup_(profile_freep) struct profile *profile = NULL;
	struct reshape_function function;
	int r = question_number(c->question, "rows", 1, 100000, &options.rows_max, c->why);

	if (r == 0)
		r = get_function(c, &function);
	if (r < 0)
		return r;
	options.function = function.name;
	options.in = function.home;
	r = get_samples(c, &c->question->selection, &profile);
	return r < 0 ? r : lines_json(profile, &options, c->answer->body);
}

/* ---- Numbers ----------------------------------------------------------------------------- */

static int answer_types(struct api_call *c)
{
	_cleanup_(types_done) struct types types = { 0 };
	int r = types_find(c->store, &c->question->selection, &types);

	return r < 0 ? r : types_json(&types, c->answer->body);
}

/* Asked once a second by every page that is open: it must not look at blocks. */
static int answer_generation(struct api_call *c)
{
	struct json_write j = { .b = c->answer->body };

	json_write_open(&j, '{');
	put_number(&j, "generation", (double)store_generation(c->store));
	json_write_close(&j, '}');
	return 0;
}

/* ---- What the machine did, and what arrived -------------------------------------------------- */

/* The host that is asked about, "" for this one. */
static const char *host_of(const struct question *question)
{
	for (u32 i = 0; i < question->selection.filter_count; i++) {
		const struct store_filter *filter = &question->selection.filters[i];

		if (filter->label == STORE_HOST && filter->match == STORE_EQUAL)
			return filter->value;
	}
	return "";
}

/* Of a host that never sent more: the CPUs that its samples stand for. */
static int answer_chart_as_series(struct api_call *c, const char *host, u32 rows)
{
	struct store_selection *selection = &c->question->selection;
	struct store_chart chart;
	int r = types_choose(c->store, selection, c->type);

	if (r == 0)
		r = store_chart(c->store, selection, STORE_PROCESS, rows, SERIES_TOP, &chart);
	if (r < 0)
		return r;
	r = series_json_chart(host, &chart, selection->from_ns, selection->to_ns, c->answer->body);
	store_chart_done(&chart);
	return r;
}

/* Where nobody was named and this machine tells nothing: the one that sent something, if it is only one. */
static int read_only_host(struct api_call *c, u32 max, char ret_host[SERIES_HOST_BYTES], struct series_rows *rows)
{
	const struct store_selection *selection = &c->question->selection;
	struct store_values hosts;
	int r = store_values(c->store, selection, STORE_HOST, 2, &hosts);

	if (r < 0)
		return r;
	(void)snprintf(ret_host, SERIES_HOST_BYTES, "%s", hosts.count == 1 ? hosts.at[0].text : "");
	store_values_done(&hosts);
	return *ret_host ? series_read(c->store, ret_host, selection->from_ns, selection->to_ns, max, rows) : 0;
}

static int answer_series(struct api_call *c)
{
	const struct store_selection *selection = &c->question->selection;
	const char *host = host_of(c->question);
	struct series_rows rows = { 0 };
	char only[SERIES_HOST_BYTES] = "";
	u32 max = 300;
	int r = question_number(c->question, "rows", 1, 10000, &max, c->why);

	if (r == 0)
		r = series_read(c->store, host, selection->from_ns, selection->to_ns, max, &rows);
	if (r == 0 && !rows.count && !*host)
		r = read_only_host(c, max, only, &rows);
	if (r < 0)
		return r;
	if (rows.count && !*host)
		host = *only ? only : host;
	r = rows.count ? series_json(*host ? host : store_host(c->store), &rows, c->answer->body) :
			 answer_chart_as_series(c, host, max);
	series_rows_done(&rows);
	return r;
}

static int answer_traces(struct api_call *c)
{
	bool by_span = !strcmp(question_text(c->question, "by", "trace"), "span");
	struct store_traces traces;
	u32 max = 1000;
	int r = question_number(c->question, "max", 1, 100000, &max, c->why);

	if (r == 0)
		r = store_traces(c->store, &c->question->selection, by_span, max, &traces);
	if (r < 0)
		return r;
	r = traces_json(&traces, c->answer->body);
	store_traces_done(&traces);
	return r;
}

static int answer_annotations(struct api_call *c)
{
	u32 max = 1000;
	int r = question_number(c->question, "max", 1, NOTES_MAX, &max, c->why);

	return r < 0 ? r : annotations_json(c->store, &c->question->selection, max, c->answer->body);
}

static int answer_arrivals(struct api_call *c)
{
	_cleanup_(freep) struct arrival *at = reallocarray(NULL, ARRIVALS_MAX, sizeof(*at));
	u32 after = 0, max = ARRIVALS_MAX;
	int r = question_number(c->question, "after", 0, UINT32_MAX, &after, c->why);

	if (!at)
		return -ENOMEM;
	if (r == 0)
		r = question_number(c->question, "max", 1, ARRIVALS_MAX, &max, c->why);
	if (r < 0)
		return r;
	max = arrivals_read(c->arrivals, after, max, at);
	return arrivals_json(at, max, arrivals_last(c->arrivals), c->answer->body);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static const struct format_ops *export_format(struct api_call *c)
{
	const char *name = question_text(c->question, "format", "pprof");
	const struct format_ops *format = format_by_name(name);

	if (format)
		return format;
	buf_addf(c->why, "format is to be one of");
	for (u32 i = 0; formats[i]; i++)
		buf_addf(c->why, "%s %s", i ? "," : "", formats[i]->name);
	return NULL;
}

/* Of a store that has sums only: those of processes. */
static int get_summed(struct api_call *c, const char *type, struct profile **ret_profile)
{
	_cleanup_(calltree_freep) struct calltree *flame = NULL;
	int r = get_selected(c, c->store, &c->question->selection, STORE_PROCESS, &flame);

	return r < 0 ? r : reshape_profile(flame, type, store_label_attribute(STORE_PROCESS), ret_profile);
}

static int get_profile(struct api_call *c, struct profile **ret_profile)
{
	const struct store_selection *selection = &c->question->selection;
	struct narrow narrow;
	int r = question_narrow(c->question, &narrow, c->why);

	if (r == 0)
		r = store_profile(c->store, selection, &narrow, ret_profile, c->why);
	return r == -EOPNOTSUPP ? get_summed(c, types_chosen(selection), ret_profile) : r;
}

/* A store that has sums only knows no lines, but what the function has. */
static int answer_source(struct api_call *c)
{
	struct source_question question = { .file = question_text(c->question, "source", ""),
					    .from_ns = c->question->selection.from_ns, .options = c->source };
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r = get_function(c, &question.function);

	if (r == 0)
		r = get_profile(c, &profile);
	return r < 0 ? r : source_json(profile, &question, c->answer->body, c->why);
}

static int answer_export(struct api_call *c)
{
	const struct format_ops *format = export_format(c);
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(buf_done) struct buf plain;
	int r = format ? get_profile(c, &profile) : -EINVAL;

	buf_init(&plain, c->answer->body->max);
	if (r == 0)
		r = format->encode(profile, &plain);
	if (r == -ENODATA) {
		buf_addf(c->why, "the store keeps no lines, which format %s needs", format->name);
		return -EINVAL;
	}
	if (r < 0)
		return r;
	c->answer->content_type = format->content_type;
	snprintf(c->answer->file_name, sizeof(c->answer->file_name), "wick%s%s", format->suffixes[0],
		 format->is_gzipped ? ".gz" : "");
	return compression_pack(format->is_gzipped ? COMPRESSION_GZIP : COMPRESSION_NONE, plain.data, plain.len,
				c->answer->body);
}

/* ---- All of them --------------------------------------------------------------------------------- */

static const struct question_kind {
	const char *name;
	int (*answer)(struct api_call *c);
	bool is_stored;		/* of the store alone: the same until the store changes */
	bool is_summed;		/* values are added up: of one type */
} calls[] = {
	{ "annotations", answer_annotations, true, false },
	{ "arrivals", answer_arrivals, false, false },
	{ "callees", answer_callees, true, true },
	{ "callers", answer_callers, true, true },
	{ "chart", numbers_chart, true, true },
	{ "diff", answer_diff, true, true },
	{ "executables", answer_executables, true, true },
	{ "export", answer_export, true, true },
	{ "flame", answer_flame, true, true },
	{ "generation", answer_generation, false, false },
	{ "heat", numbers_heat, true, false },
	{ "lanes", lanes_answer, true, false },
	{ "lines", answer_lines, true, true },
	{ "search", answer_search, true, true },
	{ "sequence", answer_sequence, true, true },
	{ "series", answer_series, true, false },
	{ "source", answer_source, false, true },	/* files change, too */
	{ "status", status_answer, false, false },
	{ "top", answer_top, true, true },
	{ "traces", answer_traces, true, false },
	{ "types", answer_types, true, false },
	{ "values", numbers_values, true, false },
};

static const struct question_kind *find_kind(const char *name)
{
	for (u32 i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	return NULL;
}

void api_error(struct api_answer *answer, int status, const char *sentence)
{
	struct json_write j = { .b = answer->body };
	struct budget_scope scope;

	/* There is always room for this. */
	budget_begin(&scope, BUDGET_NOBODY);
	buf_done(answer->body);
	answer->status = status;
	answer->content_type = "application/json";
	answer->file_name[0] = '\0';
	json_write_open(&j, '{');
	json_write_key(&j, "error");
	json_write_string(&j, sentence, strlen(sentence));
	json_write_close(&j, '}');
	budget_end(&scope);
}

/* What keeps the profiles may be away, and come back: the page asks again. */
static void answer_failure(struct api_call *c, int r)
{
	c->why->len = 0;
	if (r == -EIO)
		store_explain(c->store, c->why);
	api_error(c->answer, c->why->len ? 503 : 500, c->why->len ? c->why->data : strerror(-r));
}

static void answer_call(struct api_call *c, const struct question_kind *kind, const char *query)
{
	int r = question_parse(query, c->now_ns, c->question, c->why);

	if (r == 0)
		r = call_check_labels(c);
	if (r == 0 && kind->is_summed)
		r = types_choose(c->store, &c->question->selection, c->type);
	if (r == 0)
		r = kind->answer(c);
	if (r == 0)
		r = buf_err(c->answer->body);
	if (r == -EINVAL || r == -ENOENT)
		api_error(c->answer, r == -EINVAL ? 400 : 404,
			  c->why->len ? c->why->data : "the request cannot be answered");
	else if (r == -E2BIG)
		api_error(c->answer, 413, "the answer is too large; choose a shorter range");
	else if (r < 0 && budget_check() < 0)
		api_error(c->answer, 503, "the answer takes too long; choose a shorter range, or filter");
	else if (r == -ENOMEM)
		api_error(c->answer, 503, "there is no memory for this answer beside what else is asked and sent; "
			  "try again later, or choose a shorter range");
	else if (r < 0)
		answer_failure(c, r);
}

/*
 * traces/ID/profile is an export of one trace: its query, to be freed; NULL if it is something else. Who has an id need
 * not know when it was: of the last day, unless asked otherwise.
 */
static char *trace_query(const char *name, const char *query)
{
	bool has_range = strstr(query, "from=") || strstr(query, "to=");
	const char *id;
	char *text;

	if (strncmp(name, "traces/", strlen("traces/")))
		return NULL;
	id = name + strlen("traces/");
	if (strspn(id, "0123456789abcdefABCDEF") != TRACE_DIGITS || strcmp(id + TRACE_DIGITS, "/profile"))
		return NULL;
	return asprintf(&text, "trace=%.*s%s%s%s", TRACE_DIGITS, id, has_range ? "" : "&from=now-1d", *query ? "&" : "",
			query) < 0 ? NULL : text;
}

void api_answer(const struct api_sources *sources, const char *name, const char *query, struct api_answer *answer)
{
	_cleanup_(freep) char *of_trace = trace_query(name, query);
	_cleanup_(freep) struct question *question = malloc(sizeof(*question));
	struct buf why;
	struct api_call c = { sources->store, sources->base, sources->arrivals, sources->taps, sources->service,
			      sources->source, question, clock_ns(CLOCK_REALTIME), answer, &why, "" };
	const struct question_kind *kind = find_kind(of_trace ? "export" : name);

	answer->status = 200;
	answer->content_type = "application/json";
	answer->file_name[0] = '\0';
	if (!question) {
		api_error(answer, 500, "out of memory");
		return;
	}
	buf_init(&why, 1024);
	if (kind)
		answer_call(&c, kind, of_trace ? of_trace : query);
	else
		api_error(answer, 404, "there is no such question; docs/api.md lists them");
	buf_done(&why);
}

void api_tag(struct store *store, const char *name, const char *query, char ret_tag[API_TAG_BYTES])
{
	_cleanup_(freep) struct question *question = malloc(sizeof(*question));
	const struct question_kind *kind = find_kind(name);
	const struct store_selection *selection;
	u64 facts[3] = { store_generation(store) };
	struct buf why;
	u64 hash;

	*ret_tag = '\0';
	if (!question || !kind || !kind->is_stored)
		return;
	selection = &question->selection;
	buf_init(&why, 1024);
	if (question_parse(query, clock_ns(CLOCK_REALTIME), question, &why) == 0) {
		facts[1] = selection->to_ns - selection->from_ns;
		facts[2] = selection->to_ns / (facts[1] / TAG_STEPS + 1);
		hash = hash_bytes(0, facts, sizeof(facts));
		hash = hash_bytes(hash_bytes(hash, name, strlen(name)), query, strlen(query));
		snprintf(ret_tag, API_TAG_BYTES, "\"%016llx\"", hash);
	}
	buf_done(&why);
}
