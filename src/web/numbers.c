// SPDX-License-Identifier: Apache-2.0
#include "web/numbers.h"

#include <errno.h>
#include <string.h>

#include "analysis/calltree.h"
#include "analysis/narrow.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "web/api.h"
#include "web/call.h"
#include "web/question.h"

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

/* A file may tell of no process: then there is nothing to group by. */
static int has_processes(struct api_call *c, bool *ret_has)
{
	struct store_values processes;
	int r = store_values(c->store, &c->question->selection, STORE_PROCESS, 2, &processes);

	if (r < 0)
		return r;
	*ret_has = processes.count > 1 || (processes.count && *processes.at[0].text);
	store_values_done(&processes);
	return 0;
}

/* Whose it is, as people say it: services where most has one, else processes. */
static int own_label(struct api_call *c, enum store_label *ret_label)
{
	struct store_values services;
	s64 named = 0, nameless = 0;
	bool has = true;
	int r = store_values(c->store, &c->question->selection, STORE_SERVICE, 1000, &services);

	if (r < 0)
		return r;
	for (u32 i = 0; i < services.count; i++)
		*(*services.at[i].text ? &named : &nameless) += services.at[i].total;
	store_values_done(&services);
	*ret_label = named > nameless ? STORE_SERVICE : STORE_PROCESS;
	if (*ret_label == STORE_PROCESS && *question_text(c->question, "file", ""))
		r = has_processes(c, &has);
	if (!has)
		*ret_label = STORE_LABEL_COUNT;
	return r;
}

int call_check_labels(struct api_call *c)
{
	if (!c->question->keys.count || store_has_labels(c->store))
		return 0;
	buf_addf(c->why, "the page knows no labels of samples (label.KEY) of a %s server; ask that itself",
		 store_backend(c->store));
	return -EINVAL;
}

/* A label by its name, or "auto". */
int call_label(struct api_call *c, const char *key, enum store_label *ret_label)
{
	int r;

	if (!strcmp(question_text(c->question, key, ""), "auto"))
		return own_label(c, ret_label);
	r = question_label(c->question, key, ret_label, c->why);
	return r < 0 ? r : call_check_labels(c);
}

/* Whose values are asked for: of "label" those are the keys that there are. */
static int asked_label(struct api_call *c, enum store_label *ret_label)
{
	const char *text = question_text(c->question, "label", "");
	int r = 0;

	*ret_label = STORE_KEYS;
	if (strcmp(text, "label"))
		r = question_label(c->question, "label", ret_label, c->why);
	if (r == 0 && *ret_label == STORE_LABEL_COUNT) {
		buf_addf(c->why, "label is missing: host, process, thread, ...");
		r = -EINVAL;
	}
	return r < 0 ? r : call_check_labels(c);
}

/* Charts and values: of which stacks. narrow must outlive the selection. */
static int get_stacks(struct api_call *c, struct narrow *narrow)
{
	_cleanup_(calltree_freep) struct calltree *nothing = calltree_new();
	bool drops = false;
	u16 mark = 0;
	int r = nothing ? question_narrow(c->question, narrow, c->why) : -ENOMEM;

	/* Mistakes are told before anything is read. */
	if (r == 0)
		r = narrow_mark(narrow, nothing, &mark, c->why);
	/* Frames that are hidden leave their stacks. */
	for (u32 i = 0; r == 0 && i < narrow->count; i++)
		drops |= narrow->texts[i].rule != NARROW_HIDE;
	if (drops)
		c->question->selection.narrow = narrow;
	return r;
}

int numbers_values(struct api_call *c)
{
	struct json_write j = { .b = c->answer->body };
	struct store_values values = { 0 };
	struct narrow narrow;
	enum store_label label;
	u32 max = 1000;
	int r = asked_label(c, &label);

	if (r == 0)
		r = question_number(c->question, "max", 1, 100000, &max, c->why);
	if (r == 0)
		r = get_stacks(c, &narrow);
	/* The page asks for keys that there are: where there can be none, that is the answer. */
	if (r == 0 && (label != STORE_KEYS || store_has_labels(c->store)))
		r = store_values(c->store, &c->question->selection, label, max, &values);
	if (r == -EOPNOTSUPP) {
		buf_addf(c->why, "a %s server has no values of some stacks only", store_backend(c->store));
		return -EINVAL;
	}
	if (r < 0)
		return r;
	json_write_open(&j, '[');
	for (u32 i = 0; i < values.count; i++) {
		json_write_open(&j, '[');
		json_write_string(&j, values.at[i].text, strlen(values.at[i].text));
		json_write_double(&j, (double)values.at[i].total);
		json_write_close(&j, ']');
	}
	json_write_close(&j, ']');
	store_values_done(&values);
	return 0;
}

static int get_chart(struct api_call *c, enum store_label by, struct store_chart *ret_chart)
{
	struct store_selection *selection = &c->question->selection;
	u32 buckets = 300, lines = 12;
	int r = question_number(c->question, "buckets", 1, 10000, &buckets, c->why);

	if (r == 0)
		r = question_number(c->question, "lines", 1, 1000, &lines, c->why);
	if (r == 0)
		r = store_chart(c->store, selection, by, buckets, lines, ret_chart);
	if (r != -EOPNOTSUPP)
		return r;
	selection->narrow = NULL;
	return store_chart(c->store, selection, by, buckets, lines, ret_chart);
}

int numbers_chart(struct api_call *c)
{
	const struct store_selection *selection = &c->question->selection;
	struct json_write j = { .b = c->answer->body };
	struct store_chart chart;
	struct narrow narrow;
	enum store_label by;
	int r = call_label(c, "by", &by);

	if (r == 0)
		r = get_stacks(c, &narrow);
	if (r == 0)
		r = get_chart(c, by, &chart);
	if (r < 0)
		return r;
	json_write_open(&j, '{');
	json_write_key(&j, "narrowed");
	json_write_bool(&j, selection->narrow != NULL);
	put_number(&j, "from", (double)selection->from_ns / 1e9);
	put_number(&j, "to", (double)selection->to_ns / 1e9);
	if (by != STORE_LABEL_COUNT) {
		json_write_key(&j, "by");
		json_write_text(&j, question_label_name(c->question, "by", by));
	}
	if (chart.watched) {
		json_write_key(&j, "watched");
		json_write_open(&j, '[');
		for (u32 b = 0; b < chart.bucket_count; b++)
			json_write_u32(&j, chart.watched[b]);
		json_write_close(&j, ']');
	}
	json_write_key(&j, "lines");
	json_write_open(&j, '[');
	for (u32 i = 0; i < chart.line_count; i++) {
		json_write_open(&j, '{');
		json_write_key(&j, "name");
		json_write_string(&j, chart.lines[i].name, strlen(chart.lines[i].name));
		json_write_key(&j, "values");
		json_write_open(&j, '[');
		for (u32 b = 0; b < chart.bucket_count; b++)
			json_write_double(&j, chart.lines[i].buckets[b]);
		json_write_close(&j, ']');
		json_write_close(&j, '}');
	}
	json_write_close(&j, ']');
	json_write_close(&j, '}');
	store_chart_done(&chart);
	return 0;
}

int numbers_heat(struct api_call *c)
{
	struct json_write j = { .b = c->answer->body };
	struct store_heat heat;
	u32 rows = 50;
	int r = question_number(c->question, "rows", 1, 1000, &rows, c->why);

	if (r == 0)
		r = store_heat(c->store, &c->question->selection, rows, &heat);
	if (r == -EINVAL && !c->why->len)
		buf_addf(c->why, "a heat map covers at most a day");
	if (r < 0)
		return r;
	json_write_open(&j, '{');
	put_number(&j, "from", (double)heat.from_ns / 1e9);
	put_number(&j, "seconds", heat.seconds);
	put_number(&j, "rows", heat.rows);
	put_number(&j, "max", heat.max);
	json_write_key(&j, "cells");
	json_write_open(&j, '[');
	for (size_t i = 0; i < (size_t)heat.seconds * heat.rows; i++)
		json_write_u32(&j, heat.cells[i]);
	json_write_close(&j, ']');
	json_write_close(&j, '}');
	store_heat_done(&heat);
	return 0;
}
