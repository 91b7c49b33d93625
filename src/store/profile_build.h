/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile of what the store holds: samples as they came, with whose they are, as far as the store has kept it.
 *
 * Samples of one stack, thread, CPU, link, set of labels, address and line are one, with a time and a value each. What
 * only roll-ups have left has no times, threads, CPUs, links or lines.
 */
#ifndef STORE_PROFILE_BUILD_H
#define STORE_PROFILE_BUILD_H

#include "analysis/calltree.h"
#include "profile/profile.h"
#include "store/scan.h"

/* A set of labels, as strings of the profile; and whose a sample is, as attributes and a link of the profile. */
struct built_series {
	u32 label[STORE_SERIES_LABEL_COUNT];
};

struct built_owner {
	u32 tid, thread, cpu, link, wait;
	u32 labels;			/* a row of labels */
};

struct built_labels {
	u32 count, at[LABELS_MAX];	/* attributes */
};

struct built_row {
	u32 resource, series;		/* of series, without waits: a resource is one without type, unit and period */
	u32 node;			/* of the tree, once that is known; before that of the dictionary */
	u32 epoch;
	u32 owner;
	u32 line;
	u64 address, time_ns;		/* 0: not known */
	s64 value;
};

struct profile_build {
	struct profile *profile;
	struct table series, owners, labels;
	struct built_row *rows;
	u32 count, cap;
	bool is_summed;			/* rows of one series, set of labels and node are one, without anything else */
	const struct dict *dict;	/* of the last row, its series there and here */
	u32 last_series, series_number, resource_number;
};

/* -ENOMEM. */
int profile_build_init(struct profile_build *build, bool is_summed);
void profile_build_done(struct profile_build *build);

/* -E2BIG: too many; as sums there are fewer. */
int profile_build_add(struct profile_build *build, const struct scan_row *row);

/*
 * The rows' nodes must be those of the tree. leaves: addresses and lines of rows are those of their node's frame.
 * unit: of all values if that is not "", and then without a period. The profile is the caller's.
 */
struct profile_build_options {
	bool leaves;
	struct str unit;
};
int profile_build_finish(struct profile_build *build, const struct calltree *tree,
			 const struct profile_build_options *options, struct profile **ret_profile);

#endif
