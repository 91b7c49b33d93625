/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile becomes rows: its stacks go into the dictionary's trie, each time
 * that a sample was taken is a row.
 */
#ifndef STORE_INGEST_H
#define STORE_INGEST_H

#include "base/types.h"

struct block_rows;
struct dict;
struct label_rules;
struct names;
struct profile;
struct str;

#define INGEST_HOSTS_MAX 1024

struct store_ingest_options {
	u64 now_ns;		/* CLOCK_REALTIME */
	u64 age_max_ns;		/* times before that, or in the future, are taken for wrong */
	const struct label_rules *labels;
};

struct ingest_result {
	u64 start_ns, end_ns;	/* of all rows */
	u64 times_wrong;	/* replaced by the time of arrival */
	u64 labels_past_limit;	/* samples whose labels are [other], or not all there */
};

/* The hosts that a profile is of, at most INGEST_HOSTS_MAX; how many. The strings are the profile's, or static. */
u32 ingest_hosts(const struct profile *profile, struct str *ret_hosts);

/*
 * Adds the rows of one host; addresses without a name are noted in names. -ENOMEM, -E2BIG: the dictionary or the
 * block is full.
 */
int ingest_rows(const struct profile *profile, struct str host, const struct store_ingest_options *options,
		struct dict *dict, struct names *names, struct block_rows *rows, struct ingest_result *ret_result);

#endif
