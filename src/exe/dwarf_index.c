// SPDX-License-Identifier: Apache-2.0
#include "exe/dwarf_index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <dwarf.h>

#define LIST_MAX (64u << 20)	/* bytes */
#define RANGES_PER_DIE_MAX 65536
#define DEPTH_MAX 32		/* of namespaces, classes and functions in each other */
#define DIES_MAX (8u << 20)	/* looked at in one unit: a hostile file may let siblings run in circles */
#define FORGET_UNITS 64		/* after so many units the pages of the file are given back */

static const struct dwarf_range *list_at(const struct dwarf_ranges_list *list)
{
	return (const struct dwarf_range *)list->buf.data;
}

static void list_clear(struct dwarf_ranges_list *list)
{
	buf_done(&list->buf);
	buf_init(&list->buf, LIST_MAX);
	list->count = 0;
}

/* Adds all code of a DIE. */
static void list_add(struct dwarf_ranges_list *list, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	for (u32 n = 0; n < RANGES_PER_DIE_MAX; n++) {
		struct dwarf_range range;

		offset = dwarf_ranges(die, offset, &base, &low, &high);
		if (offset <= 0)
			return;
		if (low >= high)
			continue;
		range = (struct dwarf_range){ low, high, dwarf_dieoffset(die) };
		buf_add(&list->buf, &range, sizeof(range));
		list->count += !buf_err(&list->buf);
	}
}

static int compare_ranges(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	if (x->low_ea != y->low_ea)
		return x->low_ea < y->low_ea ? -1 : 1;
	return x->high_ea > y->high_ea ? -1 : x->high_ea < y->high_ea;
}

static void list_sort(struct dwarf_ranges_list *list)
{
	if (list->count)
		qsort(list->buf.data, list->count, sizeof(struct dwarf_range), compare_ranges);
}

/* The range that starts last of those that hold the address. */
static const struct dwarf_range *list_find(const struct dwarf_ranges_list *list, u64 ea)
{
	const struct dwarf_range *at = list_at(list);
	u32 low = 0, high = list->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (at[middle].low_ea <= ea)
			low = middle + 1;
		else
			high = middle;
	}
	while (low--)
		if (ea < at[low].high_ea)
			return &at[low];
	return NULL;
}

int dwarf_index_init(struct dwarf_index *index, Dwarf *dwarf, void *map, size_t map_bytes)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	u8 type;
	u32 count = 0;

	*index = (struct dwarf_index){ .dwarf = dwarf };
	list_clear(&index->units);
	list_clear(&index->functions);
	while (dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			list_add(&index->units, &die);
		if (++count % FORGET_UNITS == 0)
			(void)madvise(map, map_bytes, MADV_DONTNEED);
	}
	if (buf_err(&index->units.buf))
		return buf_err(&index->units.buf);
	list_sort(&index->units);
	return count ? 0 : -ENODATA;
}

void dwarf_index_done(struct dwarf_index *index)
{
	buf_done(&index->units.buf);
	buf_done(&index->functions.buf);
	*index = (struct dwarf_index){ 0 };
}

bool dwarf_index_unit(struct dwarf_index *index, u64 ea, Dwarf_Die *ret_unit)
{
	const struct dwarf_range *range = list_find(&index->units, ea);

	return range && dwarf_offdie(index->dwarf, range->die, ret_unit);
}

/* True for what may hold definitions of functions. */
static bool holds_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return deep;
	default:
		return false;
	}
}

/* Adds the functions among the children of a DIE and below. */
static void add_functions(struct dwarf_index *index, Dwarf_Die *parent, u32 depth, u32 *dies_left)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			list_add(&index->functions, &child);
		if (holds_functions(tag, index->deep))
			add_functions(index, &child, depth + 1, dies_left);
		if (!*dies_left || !--*dies_left)
			return;
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void read_functions(struct dwarf_index *index, Dwarf_Die *unit, bool deep)
{
	u32 dies_left = DIES_MAX;

	list_clear(&index->functions);
	index->unit = dwarf_dieoffset(unit);
	index->deep = deep;
	add_functions(index, unit, 0, &dies_left);
	list_sort(&index->functions);
}

bool dwarf_index_function(struct dwarf_index *index, Dwarf_Die *unit, u64 ea, Dwarf_Die *ret_function)
{
	const struct dwarf_range *range;

	if (index->unit != dwarf_dieoffset(unit))
		read_functions(index, unit, false);
	range = list_find(&index->functions, ea);
	/* Functions inside of functions (Ada, Fortran, GNU C) are rare, and finding them takes all DIEs of the unit. */
	if (!range && !index->deep) {
		read_functions(index, unit, true);
		range = list_find(&index->functions, ea);
	}
	return range && dwarf_offdie(index->dwarf, range->die, ret_function);
}
