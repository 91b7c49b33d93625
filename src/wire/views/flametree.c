// SPDX-License-Identifier: Apache-2.0
#include "wire/views/flametree.h"

#include <errno.h>

#include "analysis/calltree.h"
#include "base/buf.h"

int flametree_init(struct flametree *tree, const struct profile *profile)
{
	struct summary_options options = { .by = SUMMARY_PROCESS, .only_stacks = true };
	int r;

	*tree = (struct flametree){ 0 };
	r = frames_init(&tree->frames, profile, NULL);
	if (r == 0)
		r = summary_new(profile, &options, &tree->summary);
	if (r == 0)
		r = frames_tree(&tree->frames, tree->summary, FLAMETREE_NODES_MAX, &tree->calls);
	if (r == 0 && tree->calls->cut_count)
		r = -E2BIG;
	return r < 0 ? r : calltree_link(tree->calls, CALLTREE_BY_NAME);
}

void flametree_done(struct flametree *tree)
{
	frames_done(&tree->frames);
	summary_free(tree->summary);
	calltree_free(tree->calls);
}

void flametree_amount(const struct flametree *tree, s64 value, struct buf *out)
{
	static const struct {
		double size;
		const char *name;
	} times[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } },
	  bytes[] = { { 1 << 30, "GiB" }, { 1 << 20, "MiB" }, { 1 << 10, "KiB" }, { 1, "bytes" } };
	u32 unit = 0;

	if (tree->summary->unit == UNIT_COUNT) {
		buf_addf(out, "%lld %.*s", value, (int)tree->summary->type.len, tree->summary->type.at);
		return;
	}
	if (tree->summary->unit == UNIT_BYTES) {
		while (unit < 3 && (double)value < bytes[unit].size)
			unit++;
		buf_addf(out, "%.4g %s", (double)value / bytes[unit].size, bytes[unit].name);
		return;
	}
	while (unit < 3 && (double)value < times[unit].size)
		unit++;
	buf_addf(out, "%.4g %s", (double)value / times[unit].size, times[unit].name);
}
