/* SPDX-License-Identifier: Apache-2.0 */
/* Which kinds are to be sampled, as -e and `kinds` name them: "cpu,faults:16", "cpu-clock". */
#ifndef KINDS_CHOICE_H
#define KINDS_CHOICE_H

#include "kinds/kind.h"

struct buf;

#define KIND_PERIOD_MAX 1000000000

struct kind_choice {
	const struct kind *kind;
	const struct kind_event *event;	/* NULL: the first of the kind's that can be had */
	u64 events_per_sample;		/* 0: by frequency */
};

struct kind_choices {
	u32 count;
	struct kind_choice at[KIND_MAX];	/* no kind twice */
};

/* The number of a kind in kinds/list.h; KIND_MAX of one that others make. */
u32 kind_number(const struct kind *kind);

/*
 * Adds what a list with commas names: each a kind, or one of its events, and how many of them make a sample where it is
 * not a clock that makes them. 0, or -EINVAL with a sentence in `why`.
 */
int kind_choices_add(struct kind_choices *choices, const char *list, struct buf *why);

/* What is to be sampled for all of them: the parts of those that are made of others in their place. */
void kind_choices_sampled(const struct kind_choices *choices, struct kind_choices *ret_sampled);

#endif
