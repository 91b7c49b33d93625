// SPDX-License-Identifier: Apache-2.0
/* A selection as a profile. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/narrow.h"
#include "base/saturate.h"
#include "store/flame_query.h"
#include "store/profile_build.h"

struct profile_query {
	struct flame_query flame;
	struct profile_build build;
};

static void profile_query_done(struct profile_query *q)
{
	flame_query_done(&q->flame);
	profile_build_done(&q->build);
}

#define IN_TREE UINT32_MAX	/* as the epoch of a row: its node is one of the tree, + 1 */

/* What was read so far needs no dictionary any more. */
static int make_room(void *arg)
{
	struct profile_query *q = arg;
	int r = flame_query_merge(&q->flame);

	for (u32 i = 0; i < q->build.count && r == 0; i++) {
		struct built_row *row = &q->build.rows[i];

		if (row->epoch != IN_TREE)
			row->node = q->flame.epochs[row->epoch].nodes[row->node];
		row->epoch = IN_TREE;
	}
	q->build.dict = NULL;
	flame_query_let_go(&q->flame);
	return r;
}

static int take_row(void *arg, const struct scan_row *row)
{
	struct profile_query *q = arg;
	int r = flame_query_count(&q->flame, row);

	return r < 0 ? r : profile_build_add(&q->build, row);
}

static s64 period_of(const struct profile_build *b, const struct built_row *row)
{
	u32 number = ((const struct built_series *)b->series.rows)[row->series].label[STORE_PERIOD];
	struct str text = b->profile->strings.at[number];
	s64 period = 0;

	for (u32 i = 0; i < text.len && period < INT64_MAX / 20; i++)
		period = period * 10 + (text.at[i] - '0');
	return period ? period : 1;
}

/* Nodes of dictionaries become those of the tree, and then of what is left of it; rows that are not left go. */
static void move_rows(struct profile_query *q, const u32 *map)
{
	struct profile_build *b = &q->build;
	u32 kept = 0;

	for (u32 i = 0; i < b->count; i++) {
		struct built_row row = b->rows[i];

		/* What adds up to nothing has no node. */
		if (row.epoch != IN_TREE)
			row.node = q->flame.epochs[row.epoch].nodes[row.node];
		if (!row.node || (map && !map[row.node - 1]))
			continue;
		row.node--;
		row.node = map ? map[row.node] - 1 : row.node;
		if (q->flame.weigh.is_weighed)
			row.value = saturating_multiply(row.value, period_of(b, &row));
		b->rows[kept++] = row;
	}
	b->count = kept;
}

static int read_rows(struct profile_query *q, struct sqlite_store *store, const struct store_selection *selection,
		     bool is_summed, struct scan_plan *plan)
{
	struct scan_options options = { .columns = BLOCK_NODE | BLOCK_VALUE | BLOCK_LABELS, .make_room = make_room };
	int r = profile_build_init(&q->build, is_summed);

	options.period_max_ns = is_summed ? UINT64_MAX : 0;
	options.columns |= is_summed ? 0 : BLOCK_DETAILS;
	options.or_rollups = !is_summed;
	q->flame = (struct flame_query){ .store = store, .group_by = STORE_LABEL_COUNT, .flame = calltree_new(),
					 .epoch_count = store->epoch_count };
	q->flame.epochs = calloc((size_t)q->flame.epoch_count + 1, sizeof(*q->flame.epochs));
	if (r < 0 || !q->flame.flame || !q->flame.epochs)
		return -ENOMEM;
	r = scan(store, selection, &options, take_row, q, plan);
	return r < 0 ? r : flame_query_merge(&q->flame);
}

static int make_profile(struct profile_query *q, const struct scan_plan *plan, const struct narrow *narrow,
			struct profile **ret_profile, struct buf *why)
{
	struct calltree *tree = q->flame.flame;
	struct profile_build_options options = { .leaves = narrow_keeps_leaves(narrow) };
	_cleanup_(freep) u32 *map = NULL;
	int r;

	tree->from_ns = plan->from_ns;
	tree->to_ns = plan->to_ns;
	calltree_sum(tree);
	if (q->flame.weigh.is_weighed)
		options.unit = weigh_unit(&q->flame.weigh);
	r = narrow_calltree_map(narrow, &q->flame.flame, &map, why);
	if (r < 0)
		return r;
	move_rows(q, map);
	return profile_build_finish(&q->build, q->flame.flame, &options, ret_profile);
}

static int try_profile(struct sqlite_store *store, const struct store_selection *selection, const struct narrow *narrow,
		       bool is_summed, struct profile **ret_profile, struct buf *why)
{
	_cleanup_(profile_query_done) struct profile_query q = { 0 };
	struct scan_plan plan = { 0 };
	int r = read_rows(&q, store, selection, is_summed, &plan);

	if (r == 0)
		r = make_profile(&q, &plan, narrow, ret_profile, why);
	scan_plan_done(&plan);
	flame_query_let_go(&q.flame);
	return r;
}

/* All that is known of each sample; of too many, sums by whose they are and their stack. */
int sqlite_profile(struct store *base, const struct store_selection *selection, const struct narrow *narrow,
		   struct profile **ret_profile, struct buf *why)
{
	struct sqlite_store *store = sqlite_store(base);
	int r;

	pthread_rwlock_rdlock(&store->lock);
	r = try_profile(store, selection, narrow, false, ret_profile, why);
	if (r == -E2BIG || r == -ENOMEM)
		r = try_profile(store, selection, narrow, true, ret_profile, why);
	pthread_rwlock_unlock(&store->lock);
	return r;
}
