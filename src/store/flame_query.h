/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the rows of a selection into one tree: values are gathered by node of the dictionaries while they are read,
 * then the nodes become those of a tree of functions. The store's lock is held all the time.
 */
#ifndef STORE_FLAME_QUERY_H
#define STORE_FLAME_QUERY_H

#include "store/scan.h"
#include "store/weigh.h"

struct calltree;

/* What is gathered of one epoch: a value for each node. */
struct flame_epoch {
	const struct dict *dict;	/* held while there are values */
	s64 *values;
	u32 count;		/* of values */
	size_t bytes;		/* of scratch */
	u32 *nodes, *frames;	/* in the flame, + 1; 0: not there yet */
	u32 *owners;		/* where there are groups: the node of the first that was met there, + 1; 0: none yet */
	struct table places;	/* of struct place: what other groups have there */
};

struct flame_query {
	struct sqlite_store *store;
	enum store_label group_by;
	struct calltree *flame;
	struct flame_epoch *epochs;
	u32 epoch_count;
	bool is_begun;		/* what was gathered of some epoch is in the flame */
	struct weigh weigh;
	bool has_group;
	u32 group_epoch, group_series, group_labels;
	u64 group_block;
	s64 group;		/* the node of the last row's group */
	bool is_negative;	/* a value is */
	bool is_joined;		/* two frames of the dictionary are one in the flame: so may be their nodes */
};

/* Gives back the dictionaries, while the lock is still held. */
void flame_query_let_go(struct flame_query *q);
void flame_query_done(struct flame_query *q);

/* A scan_fn: counts a row; the query has as many epochs as the store. */
int flame_query_count(void *arg, const struct scan_row *row);

/* The number in a tree of a frame of a dictionary, by the name that it has now. -ENOMEM, -E2BIG. */
s64 flame_query_frame(struct calltree *tree, const struct names *names, const struct dict *dict, u32 number);

/* All that was counted becomes q->flame, not yet summed up: node i of an epoch's dictionary is its nodes[i] - 1. */
int flame_query_merge(struct flame_query *q);

#endif
