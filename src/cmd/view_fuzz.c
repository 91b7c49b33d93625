// SPDX-License-Identifier: Apache-2.0
/* Any file that a reader accepts can be summed, drawn, compared with itself and merged; nothing printed moves a cursor.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cmd/heading.h"
#include "cmd/view.h"
#include "cmd/view_locks.h"
#include "cmd/view_queue.h"
#include "analysis/calltree.h"
#include "analysis/difference.h"
#include "analysis/locks.h"
#include "analysis/queue_profile.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "analysis/summary.h"
#include "wire/format.h"

#define NODES_MAX 1000
#define TIMES_MAX 100
#define OUTPUT_MAX (16u << 20)

static void expect_printable(const struct buf *out)
{
	for (size_t i = 0; i < out->len; i++) {
		unsigned char c = (unsigned char)out->data[i];

		if ((c < 0x20 && c != '\n') || c == 0x7f)
			abort();
	}
}

static void draw(const struct profile *profile, struct summary *summary, enum summary_by by, struct buf *out)
{
	struct terminal terminal = { .fd = -1, .width = 100, .height = 30 };
	struct view view = { .terminal = &terminal, .by = by, .limit = 100, .min_percent = 1, .filter = "a" };
	_cleanup_(calltree_freep) struct calltree *tree = NULL;
	_cleanup_(difference_freep) struct difference *difference = NULL;

	heading_add(&terminal, "file", profile, summary, out);
	view_table(&view, summary, out);
	view_table_json(&view, summary, out);
	if (frames_tree(&summary->frames, summary, NODES_MAX, &tree) == 0 &&
	    calltree_link(tree, CALLTREE_BY_TOTAL) == 0) {
		(void)view_tree(&view, summary, tree, out);
		(void)view_tree_json(&view, summary, tree, out);
	}
	if (difference_new(summary, summary, false, &difference) == 0) {
		view_difference(&view, summary, summary, difference, true, out);
		view_difference_json(&view, summary, summary, difference, out);
	}
}

static void draw_locks(const struct profile *profile)
{
	struct terminal terminal = { .fd = -1, .width = 100, .height = 30 };
	_cleanup_(locks_freep) struct locks *locks = NULL;
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, OUTPUT_MAX);
	if (locks_new(profile, &locks) == 0) {
		view_locks(&terminal, locks, 100, &out);
		view_locks_json(locks, 100, &out);
	}
	expect_printable(&out);
}

static void draw_queue(const struct profile *profile)
{
	struct terminal terminal = { .fd = -1, .width = 100, .height = 30 };
	_cleanup_(queue_profile_freep) struct queue_profile *queue = NULL;
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, OUTPUT_MAX);
	if (queue_profile_new(profile, SUMMARY_THREAD, &queue) == 0) {
		view_queue(&terminal, queue, 100, &out);
		view_queue_json(queue, 100, &out);
	}
	expect_printable(&out);
}

static void merge_twice(const struct profile *profile)
{
	_cleanup_(merger_freep) struct merger *merger = NULL;
	_cleanup_(profile_freep) struct profile *merged = NULL;

	if (merger_new(TIMES_MAX, &merger) < 0 || merger_add(merger, profile) < 0 || merger_add(merger, profile) < 0)
		return;
	merged = merger_finish(merger);
	if (profile_check(merged) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format_ops *format = format_by_content(data, size);
	_cleanup_(profile_freep) struct profile *profile = NULL;

	if (!format || format->decode(data, size, &profile) < 0)
		return 0;
	for (int by = SUMMARY_FUNCTION; by <= SUMMARY_LINE; by++) {
		struct summary_options options = { .by = (enum summary_by)by, .physical = by & 1 };
		_cleanup_(summary_freep) struct summary *summary = NULL;
		_cleanup_(buf_done) struct buf out;

		buf_init(&out, OUTPUT_MAX);
		if (summary_new(profile, &options, &summary) == 0)
			draw(profile, summary, options.by, &out);
		expect_printable(&out);
	}
	draw_locks(profile);
	draw_queue(profile);
	merge_twice(profile);
	return 0;
}
