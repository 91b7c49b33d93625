/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of functions from what a ClickHouse server summed up (clickhouse_sql.h): its nodes come first, then the frames
 * that they have. What the server says is from outside: nodes without a way to the root are left out, frames that it
 * does not tell are [unknown].
 */
#ifndef STORE_CLICKHOUSE_FLAME_H
#define STORE_CLICKHOUSE_FLAME_H

#include <stdbool.h>

#include "analysis/calltree.h"
#include "base/arena.h"
#include "base/interner.h"
#include "store/labels.h"

struct tuples;

struct clickhouse_flame {
	struct arena arena;
	struct interner labels;
	struct interner nodes;		/* by label and number of the server */
	struct interner frames;		/* by number of the server */
	struct clickhouse_node *rows;	/* of nodes */
	u32 row_cap;
	u32 *frame_at;			/* of frames: in the flame, 0: not there yet */
	u32 frame_cap;
	struct calltree *flame;
};

/* -ENOMEM. */
int clickhouse_flame_init(struct clickhouse_flame *f);
void clickhouse_flame_done(struct clickhouse_flame *f);

/*
 * Answers to clickhouse_sql_units(), _nodes() and _frames(), in this order. Units say whether samples are to be weighed
 * by their periods, since those differ. -EBADMSG, -ENOMEM; -E2BIG: more nodes.
 */
int clickhouse_flame_nodes(struct clickhouse_flame *f, struct tuples *tuples, u32 nodes_max);
/* The frames that nodes have, to be freed; NULL, if they are more than that: then all are asked for. */
void clickhouse_flame_wanted(const struct clickhouse_flame *f, u32 max, u64 **ret_frames, u32 *ret_count);
int clickhouse_flame_frames(struct clickhouse_flame *f, struct tuples *tuples);
int clickhouse_flame_units(struct clickhouse_flame *f, struct tuples *tuples, bool *ret_by_period);

/* The tree; group_by: with that label's values as outermost frames, or STORE_LABEL_COUNT. */
int clickhouse_flame_finish(struct clickhouse_flame *f, enum store_label group_by, struct calltree **ret_flame);

#endif
