// SPDX-License-Identifier: Apache-2.0
#include "symbol/ksym_table.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REACH ((u64)2 << 30)
#define PAGE_BYTES 4096u
#define PADDING_MAX 64u		/* CONFIG_FUNCTION_PADDING_BYTES goes up to 59 */
#define MODULES_MAX 4096u
#define MODULE_NONE UINT16_MAX
#define POOL_SPARE 64u		/* for "", "vmlinux" and the NULs */

/* Of several symbols at one address the one with the highest rank gives the name. */
enum ksym_rank {
	RANK_PADDING,	/* __pfx_x: the bytes before x; never the name of anything */
	RANK_END,	/* a section ends here: a gap follows */
	RANK_START,	/* a section starts here */
	RANK_LOCAL,
	RANK_GLOBAL,
};

struct ksym_entry {
	u32 offset;	/* from base */
	u32 name;	/* in the pool; 0: a gap */
	u16 module;
	u8 rank;
	u8 padded;	/* the table's padding_bytes before it belong to it */
};
_Static_assert(sizeof(struct ksym_entry) == 12, "there are 120,000 of them");

void ksym_table_init(struct ksym_table *table)
{
	*table = (struct ksym_table){ 0 };
	buf_init(&table->pool, KSYMS_POOL_MAX);
}

void ksym_table_done(struct ksym_table *table)
{
	free(table->entries);
	free(table->modules);
	buf_done(&table->pool);
	ksym_table_init(table);
}

static bool ends_with(const char *text, const char *tail)
{
	size_t len = strlen(text), tail_len = strlen(tail);

	return len >= tail_len && !strcmp(text + len - tail_len, tail);
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++) {
		if (!strcmp(name, *list))
			return true;
	}
	return false;
}

static enum ksym_rank rank_of(char type, const char *name)
{
	static const char *const starts[] = { "_text", "_stext", "_sinittext", NULL };
	static const char *const ends[] = { "_etext", "_einittext", NULL };

	if (!strncmp(name, "__pfx_", 6))
		return RANK_PADDING;
	if (is_one_of(name, ends) || (!strncmp(name, "__", 2) && ends_with(name, "_text_end")))
		return RANK_END;
	if (is_one_of(name, starts) || (!strncmp(name, "__", 2) && ends_with(name, "_text_start")))
		return RANK_START;
	return type == 'T' ? RANK_GLOBAL : RANK_LOCAL;
}

/* The symbols that bound init code have other types than text in some kernels. */
static void note_init_area(struct ksym_table *table, u64 va, const char *name)
{
	if (!strcmp(name, "__init_begin") || (!strcmp(name, "_sinittext") && !table->init_from))
		table->init_from = va;
	if (!strcmp(name, "__init_end") || (!strcmp(name, "_einittext") && !table->init_to))
		table->init_to = va;
}

static u32 pool_add(struct ksym_table *table, const char *name)
{
	u32 at = (u32)table->pool.len;

	buf_add(&table->pool, name, strlen(name) + 1);
	return at;
}

/* The number of a module. Its symbols come together, so the last one is the only candidate. */
static u16 module_number(struct ksym_table *table, const char *module)
{
	u32 *modules;

	if (table->module_count && !strcmp(table->pool.data + table->modules[table->module_count - 1], module))
		return table->module_count - 1;
	if (table->module_count == MODULES_MAX)
		return MODULE_NONE;
	modules = reallocarray(table->modules, table->module_count + 1, sizeof(*modules));
	if (!modules) {
		table->err = -ENOMEM;
		return MODULE_NONE;
	}
	table->modules = modules;
	modules[table->module_count] = pool_add(table, module);
	return table->module_count++;
}

static struct ksym_entry *entry_add(struct ksym_table *table)
{
	u32 cap = table->cap ? table->cap * 2 : 1024;
	struct ksym_entry *entries;

	if (table->count < table->cap)
		return &table->entries[table->count++];
	entries = reallocarray(table->entries, cap, sizeof(*entries));
	if (!entries) {
		table->err = -ENOMEM;
		return NULL;
	}
	table->entries = entries;
	table->cap = cap;
	return &entries[table->count++];
}

static bool has_room(const struct ksym_table *table, u64 va, const char *name, const char *module)
{
	return va - table->base < 2 * REACH && table->count < KSYMS_MAX &&
	       strlen(name) + strlen(module) < KSYMS_POOL_MAX - POOL_SPARE - table->pool.len;
}

void ksym_table_add(struct ksym_table *table, u64 va, char type, const char *name, const char *module)
{
	enum ksym_rank rank = rank_of(type, name);
	struct ksym_entry *e;
	u16 number;

	if (table->err || buf_err(&table->pool))
		return;
	if (!*module)
		note_init_area(table, va, name);
	if (!strchr("tTwW", type) || !*name || !va)
		return;
	if (!table->count) {
		table->base = va > REACH ? va - REACH : 0;
		(void)pool_add(table, "");
	}
	if (!has_room(table, va, name, module)) {
		table->dropped++;
		return;
	}
	number = module_number(table, *module ? module : "vmlinux");
	e = number != MODULE_NONE ? entry_add(table) : NULL;
	if (!e)
		return;
	*e = (struct ksym_entry){ .offset = va - table->base, .module = number, .rank = rank };
	if (rank > RANK_END)
		e->name = pool_add(table, name);
}

static u32 leading_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Whether a comes before b: by address, and among aliases the better name last. */
static bool entry_before(const struct ksym_table *table, const struct ksym_entry *a, const struct ksym_entry *b)
{
	const char *pool = table->pool.data;

	if (a->offset != b->offset)
		return a->offset < b->offset;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return leading_underscores(pool + a->name) > leading_underscores(pool + b->name);
}

/* In place, since qsort() may take as much memory again; the kernel's own symbols come sorted, which is quick here. */
static void sort_entries(struct ksym_table *table)
{
	struct ksym_entry *list = table->entries;
	u32 gap = 1;

	while (gap < table->count / 3)
		gap = gap * 3 + 1;
	for (; gap; gap /= 3) {
		for (u32 i = gap; i < table->count; i++) {
			struct ksym_entry moved = list[i];
			u32 at = i;

			for (; at >= gap && entry_before(table, &moved, &list[at - gap]); at -= gap)
				list[at] = list[at - gap];
			list[at] = moved;
		}
	}
}

static bool is_freed(const struct ksym_table *table, const struct ksym_entry *e)
{
	u64 va = table->base + e->offset;

	return va >= table->init_from && va < table->init_to;
}

/* Drops what was freed, all but the best name of an address, and padding, which becomes a bit of its function. */
static void fold_entries(struct ksym_table *table)
{
	struct ksym_entry *list = table->entries;
	u64 padding_at = 0;
	u32 kept = 0;

	for (u32 i = 0; i < table->count; i++) {
		struct ksym_entry e = list[i];
		u64 distance = e.offset - padding_at;

		if (is_freed(table, &e) || (i + 1 < table->count && list[i + 1].offset == e.offset))
			continue;
		if (e.rank == RANK_PADDING) {
			padding_at = e.offset;
			continue;
		}
		if (padding_at && e.rank >= RANK_LOCAL && distance <= PADDING_MAX) {
			table->padding_bytes = distance;
			e.padded = 1;
		}
		padding_at = 0;
		list[kept++] = e;
	}
	table->count = kept;
}

int ksym_table_finish(struct ksym_table *table)
{
	void *smaller;

	if (table->err || buf_err(&table->pool))
		return table->err ? table->err : buf_err(&table->pool);
	if (!table->count)
		return 0;
	sort_entries(table);
	fold_entries(table);
	smaller = reallocarray(table->entries, table->count ? table->count : 1, sizeof(*table->entries));
	if (smaller) {
		table->entries = smaller;
		table->cap = table->count ? table->count : 1;
	}
	return 0;
}

/* Index of the last entry at or before the offset, or -1. */
static s64 entry_at(const struct ksym_table *table, u32 offset)
{
	u32 low = 0, high = table->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (table->entries[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return (s64)low - 1;
}

/* The entry that covers an offset, or NULL. */
static const struct ksym_entry *entry_covering(const struct ksym_table *table, u32 offset)
{
	s64 i = entry_at(table, offset);
	const struct ksym_entry *e = i >= 0 ? &table->entries[i] : NULL;
	const struct ksym_entry *next = i + 1 < table->count ? &table->entries[i + 1] : NULL;

	if (next && next->padded && next->offset - offset <= table->padding_bytes)
		return next;
	if (!e || !e->name)
		return NULL;
	if ((!next || next->module != e->module) && offset > (e->offset | (PAGE_BYTES - 1)))
		return NULL;
	return e;
}

bool ksym_table_find(const struct ksym_table *table, u64 va, struct ksym *ret_ksym)
{
	const struct ksym_entry *e;

	if (!table->count || va - table->base >= 2 * REACH)
		return false;
	e = entry_covering(table, va - table->base);
	if (!e)
		return false;
	*ret_ksym = (struct ksym){
		.va = table->base + e->offset,
		.name = table->pool.data + e->name,
		.module = table->pool.data + table->modules[e->module],
	};
	return true;
}

size_t ksym_table_bytes(const struct ksym_table *table)
{
	return table->cap * sizeof(*table->entries) + table->pool.len + table->module_count * sizeof(*table->modules);
}
