// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/view.h"
#include "profile/calltree.h"
#include "profile/profile.h"
#include "profile/summary.h"

struct report_values {
	bool tree, json, inlines;
	int by;
	s64 limit;
	double min_percent;
	const char *type, *from;
};

#define AT(field) offsetof(struct report_values, field)
static const struct option_entry report_options[] = {
	{ "tree", 't', OPTION_SWITCH, AT(tree), NULL, NULL, 0, 0, NULL, "who calls whom, from the root down" },
	{ "by", 'b', OPTION_CHOICE, AT(by), "WHAT", "function", 0, 0, view_by_names, "what a row is" },
	{ "limit", 'n', OPTION_INTEGER, AT(limit), "ROWS", NULL, 1, 1e9, NULL,
	  "print that many rows; without it what fits the terminal, or all" },
	{ "min-percent", 0, OPTION_REAL, AT(min_percent), "PERCENT", "0.5", 0, 100, NULL,
	  "leave branches of the tree out that are smaller" },
	{ "type", 0, OPTION_TEXT, AT(type), "NAME", NULL, 0, 0, NULL, "which of the file's sample types to add up" },
	{ "inline", 0, OPTION_SWITCH, AT(inlines), NULL, "on", 0, 0, NULL, "count inlined functions as functions" },
	{ "from", 0, OPTION_TEXT, AT(from), "FORMAT", NULL, 0, 0, NULL,
	  "read this format, whatever the file looks like" },
	{ "json", 0, OPTION_SWITCH, AT(json), NULL, NULL, 0, 0, NULL, "print JSON" },
	{ 0 },
};

/* A line of the header: a label and a text that may be foreign. */
static void head_line(const struct terminal *terminal, const char *label, struct str text, struct buf *out)
{
	buf_addf(out, "%s%-10s%s", terminal_style(terminal, STYLE_DIM), label, terminal_style(terminal, STYLE_NONE));
	(void)text_add(out, text, terminal->width ? terminal->width - 10 : TEXT_UNLIMITED);
	buf_addf(out, "\n");
}

static struct str str(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

static void head_time(const struct terminal *terminal, const struct summary *s, struct buf *out)
{
	time_t seconds = (time_t)(s->time_unix_ns / 1000000000);
	char when[64] = "", length[TEXT_VALUE_MAX], text[128];
	struct tm tm;

	if (!s->time_unix_ns || !gmtime_r(&seconds, &tm))
		return;
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(text, sizeof(text), "%s, %s long", when,
		 text_value(length, s->duration_ns > INT64_MAX ? INT64_MAX : (s64)s->duration_ns, TEXT_NANOSECONDS));
	head_line(terminal, "recorded", str(text), out);
}

static void head_samples(const struct terminal *terminal, const struct summary *s, struct buf *out)
{
	static const enum text_unit units[] = {
		[SUMMARY_COUNT] = TEXT_COUNT, [SUMMARY_NANOSECONDS] = TEXT_NANOSECONDS, [SUMMARY_BYTES] = TEXT_BYTES,
	};
	char total[TEXT_VALUE_MAX], period[TEXT_VALUE_MAX];
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 4096);
	buf_addf(&text, "%llu of ", (unsigned long long)s->sample_count);
	buf_add(&text, s->type.at, s->type.len < 256 ? s->type.len : 256);
	if (!s->type.len)
		buf_addf(&text, "an unnamed type");
	if (s->period && s->unit == SUMMARY_NANOSECONDS)
		buf_addf(&text, ", one every %s", text_value(period, s->period, TEXT_NANOSECONDS));
	buf_addf(&text, ", %s in all", text_value(total, s->total, units[s->unit]));
	if (buf_err(&text) == 0)
		head_line(terminal, "samples", (struct str){ text.data, (u32)text.len }, out);
}

/* The machine, from the first resource that names it. */
static void head_machine(const struct terminal *terminal, const struct profile *profile, struct buf *out)
{
	static const char *const keys[] = { "host.name", "host.arch", "os.type", "os.version" };
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, 4096);
	for (u32 i = 0; i < profile->resources.count && !text.len; i++) {
		const struct profile_resource *r = &profile->resources.at[i];

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			const struct any *value = keyvalue_find(r->attributes, r->attribute_count, keys[k]);

			if (!value || value->kind != ANY_STRING || !value->string.len)
				continue;
			buf_addf(&text, "%s", text.len ? ", " : "");
			buf_add(&text, value->string.at, value->string.len);
		}
	}
	if (text.len && buf_err(&text) == 0)
		head_line(terminal, "machine", (struct str){ text.data, (u32)text.len }, out);
}

static void add_header(const struct terminal *terminal, const char *path, const struct profile *profile,
		       const struct summary *s, struct buf *out)
{
	char text[64];

	head_line(terminal, "file", str(path), out);
	head_machine(terminal, profile, out);
	head_time(terminal, s, out);
	head_samples(terminal, s, out);
	if (s->other_type_count) {
		snprintf(text, sizeof(text), "other sample types are in the file too; see --type");
		head_line(terminal, "note", str(text), out);
	}
	buf_addf(out, "\n");
}

/* Rows that fit below the header and above the prompt. */
static u32 default_limit(const struct terminal *terminal, const struct buf *header)
{
	u32 lines = 4;

	if (!terminal->is_terminal)
		return (u32)-1;
	for (size_t i = 0; i < header->len; i++)
		lines += header->data[i] == '\n';
	return terminal->height > lines + 5 ? terminal->height - lines : 5;
}

static int render(const struct report_values *v, const struct terminal *terminal, const char *path,
		  const struct profile *profile, const struct summary *s, struct buf *out)
{
	struct view view = { .terminal = terminal, .by = (enum summary_by)v->by, .min_percent = v->min_percent };
	_cleanup_(calltree_freep) struct calltree *tree = NULL;
	int r;

	if (v->tree) {
		r = calltree_new(profile, s, CALLTREE_NODES_MAX, &tree);
		if (r < 0)
			return r;
	}
	if (!v->json)
		add_header(terminal, path, profile, s, out);
	view.limit = v->limit ? (u32)v->limit : v->json || v->tree ? (u32)-1 : default_limit(terminal, out);
	if (v->tree && v->json)
		view_tree_json(&view, s, tree, out);
	else if (v->tree)
		return view_tree(&view, s, tree, out);
	else if (v->json)
		view_table_json(&view, s, out);
	else
		view_table(&view, s, out);
	return buf_err(out);
}

static int report_run(const void *values, int count, char **operands)
{
	const struct report_values *v = values;
	struct summary_options options = { .by = (enum summary_by)v->by, .type = v->type, .physical = !v->inlines };
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(summary_freep) struct summary *summary = NULL;
	_cleanup_(buf_done) struct buf out;
	struct terminal terminal;
	int r;

	buf_init(&out, VIEW_OUTPUT_MAX);
	terminal_init(&terminal, STDOUT_FILENO);
	r = files_read(&command_report, operands[0], v->from, &profile);
	if (r)
		return r;
	r = summary_new(profile, &options, &summary);
	if (r == -ENOENT)
		return command_fail(&command_report, "%s has no samples of type %s", operands[0], v->type);
	if (r == 0)
		r = render(v, &terminal, operands[0], profile, summary, &out);
	if (r < 0)
		return command_fail(&command_report, "%s: %s", operands[0], strerror(-r));
	fwrite(out.data, 1, out.len, stdout);
	return 0;
}

const struct command command_report = {
	.name = "report",
	.help = "show where the time in a profile went",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.about = "Reads a profile in any format that wick knows (- is standard input) and lists what was spent:\n"
		 "self is in the row itself, total with what it called.\n",
	.examples = "  wick report out.pb.gz\n"
		    "  wick report --tree --min-percent=2 out.pb.gz\n"
		    "  wick report --by=process -n 10 out.otlp\n"
		    "  wick report --json out.pb.gz | jq -r '.rows[0].name'\n",
	.options = { report_options, false },
	.values_bytes = sizeof(struct report_values),
	.run = report_run,
};
