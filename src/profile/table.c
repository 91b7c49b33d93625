// SPDX-License-Identifier: Apache-2.0
#include "profile/table.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CAP_MIN 4u
#define SLOTS_MIN 64u

u64 hash_bytes(u64 hash, const void *at, size_t bytes)
{
	return bytes ? XXH3_64bits_withSeed(at, bytes, hash) : hash_mix(hash, 0);
}

int array_grow(void **array, u32 *cap, u32 count, u32 max_count, size_t entry_bytes)
{
	u32 want = *cap ? *cap * 2 : CAP_MIN;
	void *grown;

	if (count < *cap)
		return 0;
	if (count >= max_count)
		return -E2BIG;
	if (want > max_count)
		want = max_count;
	grown = reallocarray(*array, want, entry_bytes);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*cap = want;
	return 0;
}

void table_init(struct table *table, const struct table_type *type, void *owner, u64 seed, u32 max_count)
{
	assert(type->row_bytes <= TABLE_ROW_BYTES_MAX && max_count < UINT32_MAX / 2);
	*table = (struct table){ .type = type, .owner = owner, .seed = seed, .max_count = max_count };
}

void table_done(struct table *table)
{
	free(table->rows);
	free(table->slots);
	*table = (struct table){ 0 };
}

static void *table_row(const struct table *table, u32 number)
{
	return (char *)table->rows + number * table->type->row_bytes;
}

static u32 table_hash(const struct table *table, const void *row)
{
	return (u32)(table->type->hash(row, table->seed) >> 32);
}

/* The slot that holds an equal row, or the empty one where it belongs. */
static u64 *table_slot(const struct table *table, const void *row, u32 hash)
{
	u32 mask = table->slot_count - 1;

	for (u32 i = hash & mask;; i = (i + 1) & mask) {
		u64 *slot = &table->slots[i];

		if (!*slot)
			return slot;
		if (*slot >> 32 == hash && table->type->equal(table_row(table, (u32)*slot - 1), row))
			return slot;
	}
}

/* Makes room for count rows, at most three quarters full. */
static int table_reserve_slots(struct table *table, u32 count)
{
	u32 slot_count = table->slot_count ? table->slot_count : SLOTS_MIN;
	u64 *slots;

	while ((u64)slot_count * 3 < (u64)count * 4)
		slot_count *= 2;
	if (slot_count == table->slot_count)
		return 0;
	slots = calloc(slot_count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (u32 old = 0; old < table->slot_count; old++) {
		u32 i = (u32)(table->slots[old] >> 32) & (slot_count - 1);

		if (!table->slots[old])
			continue;
		while (slots[i])
			i = (i + 1) & (slot_count - 1);
		slots[i] = table->slots[old];
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

/* Indexes the rows that were appended; of equal ones the first is found from now on. */
static int table_catch_up(struct table *table)
{
	int r = table_reserve_slots(table, table->count + 1);

	if (r < 0)
		return r;
	for (; table->indexed < table->count; table->indexed++) {
		const void *row = table_row(table, table->indexed);
		u32 hash = table_hash(table, row);
		u64 *slot = table_slot(table, row, hash);

		if (!*slot)
			*slot = (u64)hash << 32 | (table->indexed + 1);
	}
	return 0;
}

s64 table_append(struct table *table, const void *row)
{
	int r = array_grow(&table->rows, &table->cap, table->count, table->max_count, table->type->row_bytes);

	if (r < 0)
		return r;
	memcpy(table_row(table, table->count), row, table->type->row_bytes);
	return table->count++;
}

s64 table_add(struct table *table, const void *row)
{
	char kept[TABLE_ROW_BYTES_MAX] __attribute__((aligned(16)));
	u64 *slot;
	u32 hash;
	s64 number;
	int r = table_catch_up(table);

	if (r < 0)
		return r;
	hash = table_hash(table, row);
	slot = table_slot(table, row, hash);
	if (*slot)
		return (u32)*slot - 1;
	memcpy(kept, row, table->type->row_bytes);
	r = table->type->own ? table->type->own(table->owner, kept) : 0;
	if (r < 0)
		return r;
	number = table_append(table, kept);
	if (number < 0)
		return number;
	*slot = (u64)hash << 32 | (u32)(number + 1);
	table->indexed = table->count;
	return number;
}

void table_replace(struct table *table, u32 number, const void *row)
{
	assert(number < table->count);
	memcpy(table_row(table, number), row, table->type->row_bytes);
	/* The index knows it by what it was. */
	if (table->indexed) {
		memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
		table->indexed = 0;
	}
}

size_t table_bytes(const struct table *table)
{
	return table->cap * table->type->row_bytes + table->slot_count * sizeof(*table->slots);
}
