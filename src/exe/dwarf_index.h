/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which unit, and which function of it, has the code at an address. libdw
 * would ask .debug_aranges, which clang and rustc do not write, and walk all
 * DIEs of the unit for each address; here each is walked once: units when the
 * file is opened, the functions of one unit when it is first asked for.
 */
#ifndef EXE_DWARF_INDEX_H
#define EXE_DWARF_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include <elfutils/libdw.h>

#include "base/buf.h"
#include "base/types.h"

/* Code of a unit or a function, and where its DIE is. */
struct dwarf_range {
	u64 low_ea, high_ea;
	u64 die;
};

/* Ascend by low_ea once they are sorted. */
struct dwarf_ranges_list {
	struct buf buf;
	u32 count;
};

struct dwarf_index {
	Dwarf *dwarf;
	struct dwarf_ranges_list units;
	struct dwarf_ranges_list functions;	/* of one unit */
	u64 unit;				/* the offset of its DIE */
	bool deep;				/* functions inside of functions too */
};

/* map and map_bytes tell where the file lies: its pages are given back on the way. -ENODATA if it has no units. */
int dwarf_index_init(struct dwarf_index *index, Dwarf *dwarf, void *map, size_t map_bytes);
void dwarf_index_done(struct dwarf_index *index);

bool dwarf_index_unit(struct dwarf_index *index, u64 ea, Dwarf_Die *ret_unit);
bool dwarf_index_function(struct dwarf_index *index, Dwarf_Die *unit, u64 ea, Dwarf_Die *ret_function);

#endif
