/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one fixed size, numbered 0, 1, 2, ...; equal rows are found by a hash.
 *
 *  - Rows added by table_add() are distinct; table_append() does not look, for
 *    readers whose file has numbered the rows already. The index is caught up
 *    when table_add() is first used after that.
 *  - What a row points to belongs to the owner given to table_init(): the type's
 *    own() replaces borrowed pointers by copies before the row is kept.
 *  - At most max_count rows. Rows move when the table grows.
 */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/hash_index.h"
#include "base/types.h"

#define TABLE_ROW_BYTES_MAX 112

struct table_type {
	size_t row_bytes;	/* at most TABLE_ROW_BYTES_MAX */
	u64 (*hash)(const void *row, u64 seed);
	bool (*equal)(const void *a, const void *b);
	int (*own)(void *owner, void *row);	/* NULL if rows point to nothing */
};

struct table {
	const struct table_type *type;
	void *owner;
	void *rows;
	struct hash_index index;
	u64 seed;
	u32 count, cap, max_count;
	u32 indexed;
	struct budget_charge charge;	/* of rows and index */
};

void table_init(struct table *table, const struct table_type *type, void *owner, u64 seed, u32 max_count);
void table_done(struct table *table);

/* The number of a row, added if it is new; -ENOMEM, -E2BIG. */
s64 table_add(struct table *table, const void *row);

/* Room for so many rows in all, for who knows how many will come: 0, -ENOMEM, -E2BIG. Rows move. */
int table_reserve(struct table *table, u32 count);

/* Appends a row that owns what it points to already: its number, -ENOMEM, -E2BIG. */
s64 table_append(struct table *table, const void *row);

/* Puts another row in the place of one, whose number stays; it owns what it points to already. */
void table_replace(struct table *table, u32 number, const void *row);

size_t table_bytes(const struct table *table);

/* Feeds one number into a hash; the seed keeps senders from choosing collisions. */
static inline u64 hash_mix(u64 hash, u64 value)
{
	__uint128_t product = (__uint128_t)(hash ^ value ^ 0x9e3779b97f4a7c15) * 0xe7037ed1a0b428db;

	return (u64)product ^ (u64)(product >> 64);
}

u64 hash_bytes(u64 hash, const void *at, size_t bytes);

#endif
