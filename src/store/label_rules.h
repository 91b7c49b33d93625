/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which attributes of samples a store keeps as labels: texts, all but what it has elsewhere (threads, CPUs, reasons),
 * what wick itself says of a sample, and ids, of which each has few samples. Rules name others:
 *
 *	keep	only these, numbers too
 *	drop	not these
 *
 * Names are those that people see (label_name()), with *, ? and [...] as in names of files.
 */
#ifndef STORE_LABEL_RULES_H
#define STORE_LABEL_RULES_H

#include <stdbool.h>

#include "base/str.h"
#include "base/types.h"

struct label_patterns {
	u32 count;
	const char *const *at;
};

struct label_rules {
	struct label_patterns keep, drop;
	u32 max_sets;		/* of a process in a block (store/label_quota.h); 0: LABEL_QUOTA_DEFAULT */
};

/* Rules that own their patterns. -ENOMEM: they are to be done with all the same. */
int label_rules_copy(const struct label_rules *rules, struct label_rules *ret_copy);
void label_rules_done(struct label_rules *copy);

bool label_rules_keep(const struct label_rules *rules, struct str key, bool is_text);

#endif
