// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "analysis/narrow.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/heading.h"
#include "cmd/view.h"
#include "cmd/view_locks.h"
#include "cmd/view_queue.h"
#include "analysis/calltree.h"
#include "analysis/locks.h"
#include "analysis/queue_profile.h"
#include "profile/profile.h"
#include "analysis/summary.h"

#define NARROW_NODES_MAX (64u << 20)

struct report_values {
	bool tree, json, inlines, collapse, locks, queue;
	struct option_texts focus, ignore, hide;
	int by;
	s64 limit;
	double min_percent;
	const char *type, *from;
};

#define AT(field) offsetof(struct report_values, field)
static const struct option_entry report_options[] = {
	{ "tree", 't', OPTION_SWITCH, AT(tree), NULL, NULL, 0, 0, NULL, "who calls whom, from the root down" },
	{ "locks", 0, OPTION_SWITCH, AT(locks), NULL, NULL, 0, 0, NULL,
	  "of a profile of waits: which locks, who waits for them and who has them, and deadlocks" },
	{ "queue", 0, OPTION_SWITCH, AT(queue), NULL, NULL, 0, 0, NULL,
	  "of a profile with lanes: how long threads wanted a CPU each time, by process, or with --by=thread" },
	{ "by", 'b', OPTION_CHOICE, AT(by), "WHAT", "function", 0, 0, view_by_names, "what a row is" },
	{ "limit", 'n', OPTION_INTEGER, AT(limit), "ROWS", NULL, 1, 1e9, NULL,
	  "print that many rows; without it what fits the terminal, or all" },
	{ "min-percent", 0, OPTION_REAL, AT(min_percent), "PERCENT", "0.5", 0, 100, NULL,
	  "leave branches of the tree out that are smaller" },
	{ "focus", 0, OPTION_TEXTS, AT(focus), "FUNCTION", NULL, 0, 0, NULL,
	  "only stacks with it: a part of its name, /expression/, kind=kernel, file=libc.so.6; may be repeated" },
	{ "ignore", 0, OPTION_TEXTS, AT(ignore), "FUNCTION", NULL, 0, 0, NULL, "no stacks with it" },
	{ "hide", 0, OPTION_TEXTS, AT(hide), "FUNCTION", NULL, 0, 0, NULL,
	  "take its frames out; what they spent is their callers'" },
	{ "collapse", 0, OPTION_SWITCH, AT(collapse), NULL, NULL, 0, 0, NULL, "direct recursion is one frame" },
	{ "type", 0, OPTION_TEXT, AT(type), "NAME", NULL, 0, 0, NULL, "which of the file's sample types to add up" },
	{ "inline", 0, OPTION_SWITCH, AT(inlines), NULL, "on", 0, 0, NULL, "count inlined functions as functions" },
	{ "from", 0, OPTION_TEXT, AT(from), "FORMAT", NULL, 0, 0, NULL,
	  "read this format, whatever the file looks like" },
	{ "json", 0, OPTION_SWITCH, AT(json), NULL, NULL, 0, 0, NULL, "print JSON" },
	{ 0 },
};

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
		  const struct profile *profile, struct summary *s, struct buf *out)
{
	struct view view = { .terminal = terminal, .by = (enum summary_by)v->by, .min_percent = v->min_percent };
	_cleanup_(calltree_freep) struct calltree *whole = NULL;
	const struct calltree *tree = s->narrowed;
	int r;

	if (v->tree && !tree) {
		r = frames_tree(&s->frames, s, VIEW_NODES_MAX, &whole);
		if (r == 0)
			r = calltree_link(whole, CALLTREE_BY_TOTAL);
		tree = whole;
		if (r < 0)
			return r;
	}
	if (!v->json)
		heading_add(terminal, path, profile, s, out);
	view.limit = v->limit ? (u32)v->limit : v->json || v->tree ? (u32)-1 : default_limit(terminal, out);
	if (v->tree && v->json)
		return view_tree_json(&view, s, tree, out);
	if (v->tree)
		return view_tree(&view, s, tree, out);
	if (v->json)
		view_table_json(&view, s, out);
	else
		view_table(&view, s, out);
	return buf_err(out);
}

/* 0, -EINVAL and a sentence. */
static int read_narrow(const struct report_values *v, struct narrow *ret_narrow, struct buf *why)
{
	const struct option_texts *texts[] = { [NARROW_FOCUS] = &v->focus, [NARROW_IGNORE] = &v->ignore,
					       [NARROW_HIDE] = &v->hide };
	int r = 0;

	*ret_narrow = (struct narrow){ .collapse = v->collapse };
	for (u32 rule = 0; rule < NARROW_RULE_COUNT; rule++)
		for (u32 i = 0; i < texts[rule]->count && r == 0; i++)
			r = narrow_add(ret_narrow, rule, texts[rule]->at[i], why);
	return r;
}

static int report_locks(const struct report_values *v, const struct terminal *terminal, const struct profile *profile,
			struct buf *out)
{
	_cleanup_(locks_freep) struct locks *locks = NULL;
	u32 limit = v->limit ? (u32)v->limit : (u32)-1;
	int r = locks_new(profile, &locks);

	if (r < 0)
		return r;
	if (v->json)
		view_locks_json(locks, limit, out);
	else
		view_locks(terminal, locks, limit, out);
	return buf_err(out);
}

static int report_queue(const struct report_values *v, const struct terminal *terminal, const struct profile *profile,
			struct buf *out)
{
	_cleanup_(queue_profile_freep) struct queue_profile *queue = NULL;
	u32 limit = v->limit ? (u32)v->limit : (u32)-1;
	int r = queue_profile_new(profile, v->by == SUMMARY_THREAD ? SUMMARY_THREAD : SUMMARY_PROCESS, &queue);

	if (r < 0)
		return r;
	if (v->json)
		view_queue_json(queue, limit, out);
	else
		view_queue(terminal, queue, limit, out);
	return buf_err(out);
}

/* 0 with what is to be printed; -EINVAL and a sentence. */
static int report_rows(const struct report_values *v, const struct terminal *terminal, const char *path,
		       const struct profile *profile, struct buf *out, struct buf *why)
{
	struct summary_options options = { .by = (enum summary_by)v->by, .type = v->type, .physical = !v->inlines };
	_cleanup_(summary_freep) struct summary *summary = NULL;
	struct narrow narrow;
	int r = read_narrow(v, &narrow, why);

	if (r < 0)
		return r;
	options.with_type = narrow_any(&narrow);
	r = summary_new(profile, &options, &summary);
	if (r == -ENOENT) {
		buf_addf(why, "%s has no samples of type %s", path, v->type);
		return -EINVAL;
	}
	if (r == 0 && narrow_any(&narrow))
		r = summary_narrow(summary, options.by, &narrow, NARROW_NODES_MAX, why);
	return r < 0 ? r : render(v, terminal, path, profile, summary, out);
}

static int report_run(const void *values, int count, char **operands)
{
	const struct report_values *v = values;
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(buf_done) struct buf out, why;
	struct terminal terminal;
	int r;

	buf_init(&out, VIEW_OUTPUT_MAX);
	buf_init(&why, 1024);
	terminal_init(&terminal, STDOUT_FILENO);
	r = files_read(&command_report, operands[0], v->from, &profile);
	if (r)
		return r;
	r = v->locks ? report_locks(v, &terminal, profile, &out) :
	    v->queue ? report_queue(v, &terminal, profile, &out) :
		       report_rows(v, &terminal, operands[0], profile, &out, &why);
	if (r == -EINVAL && why.len)
		return command_fail(&command_report, "%s", why.data);
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
		    "  wick report --focus=malloc --hide=kind=kernel --tree out.pb.gz\n"
		    "  wick record -e wakeup -o waits.otlp -p PID -d 10 && wick report --locks waits.otlp\n"
		    "  wick record -e lanes -o lanes.otlp -p PID -d 10 && wick report --queue lanes.otlp\n"
		    "  perf record -g ./prog && wick report perf.data\n"
		    "  wick report --json out.pb.gz | jq -r '.rows[0].name'\n",
	.options = { .entries = report_options },
	.values_bytes = sizeof(struct report_values),
	.run = report_run,
};
