/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of a profile's samples, as sets of a block: chosen by rules, bounded for each process. Processes that have
 * any have equal shares of what fits into a block.
 */
#ifndef STORE_KEEP_LABELS_H
#define STORE_KEEP_LABELS_H

#include "profile/profile.h"
#include "store/label_quota.h"

struct label_rules;

#define KEEP_KEYS_MAX 64	/* of a process in a block */

struct keep_labels {
	const struct profile *profile;
	const struct label_rules *rules;
	struct label_sets *sets;
	struct label_quota quota;
	u8 *kinds;			/* by attribute; 0: not known yet */
	u32 expected;			/* processes that have labels */
	u32 process;			/* whose samples come, from 1 on */
	u32 keys[KEEP_KEYS_MAX];	/* that it has: strings of the profile */
	u32 key_count;
	u64 lost;			/* samples that have [other], or miss a label, for a limit */
};

/* -ENOMEM: to be done with all the same, as zeros may be. */
int keep_labels_init(struct keep_labels *labels, const struct profile *profile, const struct label_rules *rules,
		     struct label_sets *sets);
void keep_labels_done(struct keep_labels *labels);

/* Each that will come, before the first does. */
void keep_labels_expect(struct keep_labels *labels, const struct profile_resource *process);

/* What comes is of another process. */
void keep_labels_begin(struct keep_labels *labels);

/* The set of a sample with these attributes. -ENOMEM. */
int keep_labels_of(struct keep_labels *labels, struct indices attributes, u32 *ret_set);

#endif
