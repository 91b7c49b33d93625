/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal byte strings get equal small numbers: 0, 1, 2, ... in the order they
 * were first added. Strings, stacks and table rows are deduplicated with it.
 *
 *  - Keys are copied into the arena given at init, which must outlive it.
 *  - At most max_count numbers; INTERNER_NONE past it or out of memory.
 *  - Hashes are seeded, since keys come from anywhere: nobody can choose them so that all collide.
 */
#ifndef BASE_INTERNER_H
#define BASE_INTERNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERNER_NONE UINT32_MAX

struct arena;

struct interner_entry {
	const void *at;
	uint32_t len;
	uint32_t hash;
};

/* The hash is here, too: an entry is looked at only if it is most likely the one. */
struct interner_slot {
	uint32_t number;		/* of the entry + 1, or 0 */
	uint32_t hash;
};

struct interner {
	struct arena *arena;
	struct interner_entry *entries;
	struct interner_slot *slots;
	uint32_t count, cap, slot_count, max_count;
	uint64_t seed;
};

void interner_init(struct interner *interner, struct arena *arena, uint32_t max_count);
void interner_done(struct interner *interner);

/* The number of a key, added if it is new; ret_new may be NULL. */
uint32_t interner_add(struct interner *interner, const void *at, size_t len, bool *ret_new);

/* The number of a key, or INTERNER_NONE. */
uint32_t interner_find(const struct interner *interner, const void *at, size_t len);

/* The key of a number below count, borrowed from the arena. */
static inline const struct interner_entry *interner_get(const struct interner *interner, uint32_t number)
{
	return &interner->entries[number];
}

#endif
