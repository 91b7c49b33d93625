// SPDX-License-Identifier: Apache-2.0
#include "profile/table.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"

u64 hash_bytes(u64 hash, const void *at, size_t bytes)
{
	return bytes ? XXH3_64bits_withSeed(at, bytes, hash) : hash_mix(hash, 0);
}

void table_init(struct table *table, const struct table_type *type, void *owner, u64 seed, u32 max_count)
{
	assert(type->row_bytes <= TABLE_ROW_BYTES_MAX && max_count < UINT32_MAX / 2);
	*table = (struct table){ .type = type, .owner = owner, .seed = seed, .max_count = max_count };
	budget_charge_init(&table->charge);
}

void table_done(struct table *table)
{
	free(table->rows);
	hash_index_done(&table->index);
	(void)budget_charge_to(&table->charge, 0);
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
	u64 *slot = hash_index_first(&table->index, hash);

	while (*slot && !table->type->equal(table_row(table, hash_index_number(*slot)), row))
		slot = hash_index_next(&table->index, hash, slot);
	return slot;
}

/* Indexes the rows that were appended; of equal ones the first is found from now on. */
static int table_catch_up(struct table *table)
{
	int r = hash_index_reserve(&table->index, table->count + 1);

	if (r == 0)
		r = budget_charge_to(&table->charge, table_bytes(table));
	if (r < 0)
		return r;
	for (; table->indexed < table->count; table->indexed++) {
		const void *row = table_row(table, table->indexed);
		u32 hash = table_hash(table, row);
		u64 *slot = table_slot(table, row, hash);

		if (!*slot)
			hash_index_put(slot, hash, table->indexed);
	}
	return 0;
}

int table_reserve(struct table *table, u32 count)
{
	size_t bytes = count * table->type->row_bytes;
	void *rows;
	int r;

	if (count <= table->cap)
		return 0;
	if (count > table->max_count)
		return -E2BIG;
	r = budget_charge_to(&table->charge, bytes + hash_index_bytes(&table->index));
	if (r < 0)
		return r;
	rows = realloc(table->rows, bytes);
	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	table->cap = count;
	return 0;
}

s64 table_append(struct table *table, const void *row)
{
	/* Before it is taken: an array doubles. */
	size_t more = (table->cap ? table->cap : ARRAY_GROW_MIN) * table->type->row_bytes;
	int r = table->count < table->cap ? 0 : budget_charge_to(&table->charge, table_bytes(table) + more);

	if (r == 0)
		r = array_grow_kept(&table->rows, &table->cap, table->count, table->max_count, table->type->row_bytes);

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
		return hash_index_number(*slot);
	memcpy(kept, row, table->type->row_bytes);
	r = table->type->own ? table->type->own(table->owner, kept) : 0;
	if (r < 0)
		return r;
	number = table_append(table, kept);
	if (number < 0)
		return number;
	hash_index_put(slot, hash, (u32)number);
	table->indexed = table->count;
	return number;
}

void table_replace(struct table *table, u32 number, const void *row)
{
	assert(number < table->count);
	memcpy(table_row(table, number), row, table->type->row_bytes);
	/* The index knows it by what it was. */
	if (table->indexed) {
		hash_index_clear(&table->index);
		table->indexed = 0;
	}
}

size_t table_bytes(const struct table *table)
{
	return table->cap * table->type->row_bytes + hash_index_bytes(&table->index);
}
