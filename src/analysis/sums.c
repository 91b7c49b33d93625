// SPDX-License-Identifier: Apache-2.0
#include "analysis/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
void sums_done(struct sums *sums)
{
	free(sums->of_frame);
	free(sums->at);
}

static struct sum *sum_of(struct sums *sums, u32 node)
{
	return &sums->at[sums->of_frame[calltree_nodes(sums->tree)[node].frame]];
}

static void enter(void *arg, u32 node)
{
	struct sums *sums = arg;
	struct sum *sum = sum_of(sums, node);

	sum->self += calltree_nodes(sums->tree)[node].self;
	if (!sum->open++)
		sum->total += calltree_nodes(sums->tree)[node].total;
}

static void leave(void *arg, u32 node)
{
	sum_of(arg, node)->open--;
}

/* A tree of keys alone finds equal ones. */
int sums_init(struct sums *sums, const struct calltree *tree, u32 root, sums_key *key)
{
	_cleanup_(calltree_freep) struct calltree *keys = calltree_new();

	*sums = (struct sums){ .tree = tree };
	sums->of_frame = array_calloc((size_t)tree->frames.count + 1, sizeof(*sums->of_frame));
	sums->at = array_calloc((size_t)tree->frames.count + 1, sizeof(*sums->at));
	if (!keys || !sums->of_frame || !sums->at)
		return -ENOMEM;
	for (u32 i = 0; i < tree->frames.count; i++) {
		struct frame group = key(&calltree_frames(tree)[i]);
		s64 number = calltree_frame(keys, &group);

		if (number < 0)
			return (int)number;
		sums->of_frame[i] = (u32)number;
		sums->at[number].frame = i;
	}
	sums->count = keys->frames.count;
	calltree_visit(tree, root, &(struct calltree_visitor){ enter, leave, sums });
	return 0;
}

int sum_compare(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}
