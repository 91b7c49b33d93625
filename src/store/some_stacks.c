// SPDX-License-Identifier: Apache-2.0
#include "store/some_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/calltree.h"
#include "analysis/narrow.h"
#include "base/array.h"
#include "base/buf.h"
#include "store/flame_query.h"

int some_stacks_init(struct some_stacks *s, struct sqlite_store *store, const struct narrow *narrow)
{
	*s = (struct some_stacks){ .store = store, .narrow = narrow, .epoch_count = narrow ? store->epoch_count : 0 };
	s->epochs = calloc((size_t)s->epoch_count + 1, sizeof(*s->epochs));
	return s->epochs ? 0 : -ENOMEM;
}

void some_stacks_done(struct some_stacks *s)
{
	for (u32 i = 0; s->epochs && i < s->epoch_count; i++)
		free(s->epochs[i].is_left);
	free(s->epochs);
}

/* What the rules say of each frame of the dictionary, by the name that it has now. */
static int mark_frames(const struct some_stacks *s, const struct dict *dict, u16 *marks)
{
	_cleanup_(calltree_freep) struct calltree *tree = calltree_new();
	_cleanup_(freep) u32 *numbers = array_calloc((size_t)dict->frames.count + 1, sizeof(*numbers));
	_cleanup_(freep) u16 *by_number = array_calloc((size_t)dict->frames.count + 2, sizeof(*by_number));
	_cleanup_(buf_done) struct buf why;
	int r = 0;

	buf_init(&why, 512);
	if (!tree || !numbers || !by_number)
		return -ENOMEM;
	for (u32 i = 0; i < dict->frames.count; i++) {
		s64 number = flame_query_frame(tree, s->store->names, dict, i);

		if (number < 0)
			return (int)number;
		numbers[i] = (u32)number;
	}
	r = narrow_mark(s->narrow, tree, by_number, &why);
	for (u32 i = 0; i < dict->frames.count && r == 0; i++)
		marks[i] = by_number[numbers[i]];
	return r;
}

static int look_at_epoch(const struct some_stacks *s, const struct dict *dict, struct some_stacks_epoch *epoch)
{
	const struct dict_node *nodes = dict_nodes(dict);
	_cleanup_(freep) u16 *marks = array_calloc((size_t)dict->frames.count + 1, sizeof(*marks));
	_cleanup_(freep) u16 *path = array_calloc((size_t)dict->nodes.count + 1, sizeof(*path));
	_cleanup_(freep) u8 *is_left = array_calloc((size_t)dict->nodes.count + 1, sizeof(*is_left));
	int r = marks && path && is_left ? mark_frames(s, dict, marks) : -ENOMEM;

	if (r < 0)
		return r;
	for (u32 i = 0; i < dict->nodes.count; i++) {
		path[i] = i ? marks[nodes[i].frame] | path[nodes[i].parent] : 0;
		is_left[i] = narrow_leaves(s->narrow, path[i]);
	}
	*epoch = (struct some_stacks_epoch){ TAKE(is_left), dict->nodes.count };
	return 0;
}

int some_stacks_has(struct some_stacks *s, const struct scan_row *row)
{
	struct some_stacks_epoch *epoch;
	int r = 0;

	if (!s->narrow)
		return 1;
	epoch = &s->epochs[row->epoch_index];
	if (!epoch->is_left)
		r = look_at_epoch(s, row->dict, epoch);
	return r < 0 ? r : row->row->node < epoch->count && epoch->is_left[row->row->node];
}
