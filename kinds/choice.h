/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds are to be sampled, as -e and `kinds` name them: "cpu,faults:16", "cpu-clock"; an event of perf that no
 * kind has, "context-switches", and probes (kinds/probe.h), which are kinds that are made here.
 */
#ifndef KINDS_CHOICE_H
#define KINDS_CHOICE_H

#include "kinds/kind.h"

struct buf;
struct probe;

#define KIND_PERIOD_MAX 1000000000

struct kind_choice {
	const struct kind *kind;
	u32 number;			/* of the kind: in kinds/list.h, or from KIND_PROBES on */
	struct probe *probe;		/* whose kind it is; NULL: one that is known to all */
	const struct kind_event *event;	/* NULL: the first of the kind's that can be had */
	u64 events_per_sample;		/* 0: by frequency */
};

struct kind_choices {
	u32 count;
	struct kind_choice at[KIND_MAX];	/* no kind twice */
};

/* Frees what was made for them. Copies are borrowed, and not to be used any more. */
void kind_choices_done(struct kind_choices *choices);

/* Are there probes in code of programs, for which the kernel wants CAP_SYS_ADMIN? */
bool kind_choices_have_user_probes(const struct kind_choices *choices);

/* Are there probes at tracepoints, which tracefs describes? */
bool kind_choices_have_tracepoints(const struct kind_choices *choices);

/* The kind of that number: one that was chosen, or of kinds/list.h. NULL: there is none. */
const struct kind *kind_choices_find(const struct kind_choices *choices, u32 number);

/* The number of a kind in kinds/list.h; KIND_MAX of one that others make. */
u32 kind_number(const struct kind *kind);

/*
 * Adds what a list with commas names: each a kind, or one of its events, and how many of them make a sample where it is
 * not a clock that makes them. 0, or -EINVAL with a sentence in `why`.
 */
int kind_choices_add(struct kind_choices *choices, const char *list, struct buf *why);

/* Adds one. As above. */
int kind_choices_add_word(struct kind_choices *choices, struct str word, struct buf *why);

/* What is to be sampled for all of them: the parts of those that are made of others in their place. */
void kind_choices_sampled(const struct kind_choices *choices, struct kind_choices *ret_sampled);

#endif
