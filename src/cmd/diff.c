// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/view.h"
#include "analysis/difference.h"
#include "profile/profile.h"
#include "analysis/summary.h"

struct diff_values {
	bool total, json, inlines;
	int by;
	s64 limit;
	const char *type, *from;
};

#define AT(field) offsetof(struct diff_values, field)
static const struct option_entry diff_options[] = {
	{ "total", 't', OPTION_SWITCH, AT(total), NULL, NULL, 0, 0, NULL, "compare with what was called, not self" },
	{ "by", 'b', OPTION_CHOICE, AT(by), "WHAT", "function", 0, 0, view_by_names, "what a row is" },
	{ "limit", 'n', OPTION_INTEGER, AT(limit), "ROWS", NULL, 1, 1e9, NULL,
	  "print that many rows; without it what fits the terminal, or all" },
	{ "type", 0, OPTION_TEXT, AT(type), "NAME", NULL, 0, 0, NULL, "which of the files' sample types to add up" },
	{ "inline", 0, OPTION_SWITCH, AT(inlines), NULL, "on", 0, 0, NULL, "count inlined functions as functions" },
	{ "from", 0, OPTION_TEXT, AT(from), "FORMAT", NULL, 0, 0, NULL,
	  "read this format, whatever the files look like" },
	{ "json", 0, OPTION_SWITCH, AT(json), NULL, NULL, 0, 0, NULL, "print JSON" },
	{ 0 },
};

/* Reads and sums one side: 0, or the exit status. */
static int read_side(const struct diff_values *v, const char *path, struct profile **ret_profile,
		     struct summary **ret_summary)
{
	struct summary_options options = { .by = (enum summary_by)v->by, .type = v->type, .physical = !v->inlines };
	int r = files_read(&command_diff, path, v->from, ret_profile);

	if (r)
		return r;
	r = summary_new(*ret_profile, &options, ret_summary);
	if (r == -ENOENT)
		return command_fail(&command_diff, "%s has no samples of type %s", path, v->type);
	return r < 0 ? command_fail(&command_diff, "%s: %s", path, strerror(-r)) : 0;
}

static int diff_run(const void *values, int count, char **operands)
{
	const struct diff_values *v = values;
	_cleanup_(profile_freep) struct profile *old = NULL, *new = NULL;
	_cleanup_(summary_freep) struct summary *before = NULL, *after = NULL;
	_cleanup_(difference_freep) struct difference *difference = NULL;
	_cleanup_(buf_done) struct buf out;
	struct terminal terminal;
	struct view view = { .terminal = &terminal, .by = (enum summary_by)v->by };
	int r;

	buf_init(&out, VIEW_OUTPUT_MAX);
	terminal_init(&terminal, STDOUT_FILENO);
	if (read_side(v, operands[0], &old, &before) || read_side(v, operands[1], &new, &after))
		return 1;
	if (before->row_count && after->row_count && before->unit != after->unit)
		return command_fail(&command_diff, "%s and %s measure different things; choose one with --type",
				    operands[0], operands[1]);
	r = difference_new(before, after, v->total, &difference);
	if (r < 0)
		return command_fail(&command_diff, "%s", strerror(-r));
	view.limit = v->limit ? (u32)v->limit : (u32)-1;
	if (!v->limit && !v->json && terminal.height > 5)
		view.limit = terminal.height - 3;
	if (v->json)
		view_difference_json(&view, before, after, difference, &out);
	else
		view_difference(&view, before, after, difference, v->total, &out);
	if (buf_err(&out) < 0)
		return command_fail(&command_diff, "%s", strerror(-buf_err(&out)));
	fwrite(out.data, 1, out.len, stdout);
	return 0;
}

const struct command command_diff = {
	.name = "diff",
	.help = "compare two profiles",
	.operands = "BEFORE AFTER",
	.operands_min = 2,
	.operands_max = 2,
	.about = "Lists whose share of the time changed most, either way. Shares are of each profile's own\n"
		 "total, so that runs of different length compare; the absolute change is shown beside them.\n"
		 "Rows are matched by name.\n",
	.examples = "  wick diff before.pb.gz after.pb.gz\n"
		    "  wick diff --total -n 20 before.otlp after.otlp\n"
		    "  wick diff --json a.folded b.folded | jq '.rows[0]'\n",
	.options = { .entries = diff_options },
	.values_bytes = sizeof(struct diff_values),
	.run = diff_run,
};
