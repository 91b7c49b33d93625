/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of a block's rows: sets of KEY=VALUE, sorted by key. Set 0 is empty.
 *
 * Texts stand in the block, not in the epoch's dictionary: values that somebody makes up go when their block goes, and
 * take nobody else's room. Bounded by LABEL_SETS_MAX, LABELS_MAX and the bytes of a text, also when it is read.
 */
#ifndef STORE_LABEL_SETS_H
#define STORE_LABEL_SETS_H

#include "base/arena.h"
#include "base/interner.h"
#include "base/str.h"
#include "base/types.h"

struct buf;
struct pb;

#define LABELS_MAX 16			/* of a set */
#define LABEL_SETS_MAX (1u << 16)
#define LABEL_KEY_BYTES_MAX 128u
#define LABEL_VALUE_BYTES_MAX 256u
#define LABEL_OTHER "[other]"		/* a value that is past a limit */

struct label {
	struct str key, value;
};

/* Initialised without memory: a block without labels has none. */
struct label_sets {
	struct arena arena;
	struct interner texts, sets;	/* of struct label_numbers */
};

void label_sets_init(struct label_sets *sets);
void label_sets_done(struct label_sets *sets);

/* The number of a set, at most LABELS_MAX labels in any order; 0 of none. -E2BIG, -ENOMEM. */
int label_sets_add(struct label_sets *sets, const struct label *labels, u32 count, u32 *ret_number);

/* The same, if it is there: -ENOENT. */
int label_sets_find(const struct label_sets *sets, const struct label *labels, u32 count, u32 *ret_number);

/* How many sets there are, the empty one among them: at least 1. */
static inline u32 label_sets_count(const struct label_sets *sets)
{
	return sets->sets.count ? sets->sets.count : 1;
}

/* The labels of a set, borrowed; how many. */
u32 label_sets_get(const struct label_sets *sets, u32 number, struct label ret_labels[LABELS_MAX]);

/* What people call a key: those of goroutines and the like have a prefix that is the same for all. */
struct str label_name(struct str key);

/* The value of a key, or of one that people call so; "" if it has none. */
struct str label_sets_value(const struct label_sets *sets, u32 number, struct str name);

/* Appends the sets that `numbers` are, in this order; each but 0 is to be there once. */
int label_sets_pack(const struct label_sets *sets, const u32 *numbers, u32 count, struct buf *plain);

/* Puts sets in the place of those that are there. -EBADMSG, -ENOMEM. */
int label_sets_unpack(struct label_sets *sets, struct pb *r);

#endif
