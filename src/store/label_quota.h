/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many sets of labels each owner, a process, may have in a block. Past its share what is new has the value [other]
 * for each key, and is counted. Whoever has less does not notice: shares are so small that all fit.
 */
#ifndef STORE_LABEL_QUOTA_H
#define STORE_LABEL_QUOTA_H

#include "store/label_sets.h"

#define LABEL_QUOTA_DEFAULT 1024	/* as samples of thread_labels have it (docs/requests.md) */
#define LABEL_QUOTA_MAX 4096

struct label_quota {
	struct arena arena;
	struct interner uses;	/* owner and set */
	struct label_owner {
		u32 sets, others;
	} *owners;		/* by number */
	u32 cap, share;
	u64 past_limit;		/* how often a set was not taken */
};

void label_quota_init(struct label_quota *quota, u32 share);
void label_quota_done(struct label_quota *quota);

/* The set that an owner's labels, at least one, have among the sets: 0 where not even [other] has room. -ENOMEM. */
int label_quota_add(struct label_quota *quota, u32 owner, const struct label *labels, u32 count,
		    struct label_sets *sets, u32 *ret_set);

#endif
