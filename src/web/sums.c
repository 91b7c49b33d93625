// SPDX-License-Identifier: Apache-2.0
#include "web/sums.h"

#include <errno.h>
#include <stdlib.h>

#include "web/links.h"

void sums_done(struct sums *sums)
{
	free(sums->of_frame);
	free(sums->at);
}

static struct sum *sum_of(struct sums *sums, u32 node)
{
	return &sums->at[sums->of_frame[flame_nodes(sums->flame)[node].frame]];
}

static void enter(void *arg, u32 node)
{
	struct sums *sums = arg;
	struct sum *sum = sum_of(sums, node);

	sum->self += flame_nodes(sums->flame)[node].self;
	if (!sum->open++)
		sum->total += flame_nodes(sums->flame)[node].total;
}

static void leave(void *arg, u32 node)
{
	sum_of(arg, node)->open--;
}

/* A flame of keys alone finds equal ones. */
int sums_init(struct sums *sums, const struct flame *flame, const struct links *links, sums_key *key)
{
	_cleanup_(flame_freep) struct flame *keys = flame_new();

	*sums = (struct sums){ .flame = flame };
	sums->of_frame = calloc((size_t)flame->frames.count + 1, sizeof(*sums->of_frame));
	sums->at = calloc((size_t)flame->frames.count + 1, sizeof(*sums->at));
	if (!keys || !sums->of_frame || !sums->at)
		return -ENOMEM;
	for (u32 i = 0; i < flame->frames.count; i++) {
		struct flame_frame group = key(&flame_frames(flame)[i]);
		s64 number = flame_frame(keys, &group);

		if (number < 0)
			return (int)number;
		sums->of_frame[i] = (u32)number;
		sums->at[number].frame = i;
	}
	sums->count = keys->frames.count;
	links_visit(links, flame, 0, &(struct visitor){ enter, leave, sums });
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
