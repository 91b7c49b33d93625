/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What both halves of the language share: the words of a process's slot, and of a frame.
 *
 * All offsets are the ones that the JVM itself publishes (gHotSpotVMStructs); what it does not publish is marked so.
 */
#ifndef LANG_HOTSPOT_HOTSPOT_H
#define LANG_HOTSPOT_HOTSPOT_H

#include "abi.h"

#define HOTSPOT_HEAPS_MAX 4	/* 1 without SegmentedCodeCache, else 3 */
#define HOTSPOT_BLOB_BYTES 128	/* of a CodeBlob, that are read at once */
#define HOTSPOT_ENTRIES_MAX 24	/* ways to enter a method */

/* Generated code lies in blocks of whole segments; segmap has a byte for each: how far back its block starts. */
struct hotspot_heap {
	u64 start_va, end_va;
	u64 segmap_va;
};

/* Code of the interpreter that runs before a method has its frame, from interpreter_start_va on. */
struct hotspot_entry {
	u32 start, end;
};

struct hotspot_slot {
	struct hotspot_heap heap[HOTSPOT_HEAPS_MAX];
	u64 code_start_va, code_end_va;			/* of all heaps */
	u64 interpreter_start_va, interpreter_end_va;	/* the interpreter's codelets */
	struct hotspot_entry entry[HOTSPOT_ENTRIES_MAX];
	u64 call_stub_va;				/* what the first Java frame of a native call returns to */
	u32 segment_shift;
	u32 block_bytes;				/* of the header in front of a blob */
	/* CodeBlob, all below HOTSPOT_BLOB_BYTES */
	u16 name, frame_size, frame_complete, code_begin;
	/* nmethod */
	u16 compile_id, deopt_handler, orig_pc;
	u16 const_method;				/* of a Method */
	u8 code_is_pointer;				/* code_begin is an address, not an offset */
	u8 deopt_is_pointer;
	u8 frame_complete_is_short;
	u8 bcp_slot;					/* words below fp: 7 in JDK 8, 8 since 9; not published */
	u32 pad;
};
_Static_assert(sizeof(struct hotspot_slot) <= SLOT_WORDS * 8, "fits a slot");
_Static_assert(sizeof(struct hotspot_slot) % 8 == 0, "no padding behind");

/*
 * A frame:
 *
 *	first word, 48 bits	a Method (HOTSPOT_INTERPRETED) or a CodeBlob
 *	second word
 *	63     62 61        48 47                0
 *	| kind   | compile id | address           |	of the bytecode, or of the code: as it is, not 1 less
 */
enum hotspot_frame { HOTSPOT_INTERPRETED, HOTSPOT_COMPILED, HOTSPOT_STUB };

#define HOTSPOT_KIND_SHIFT 62
#define HOTSPOT_ID_SHIFT   48
#define HOTSPOT_ID_MASK    0x3fffULL
#define HOTSPOT_VA_MASK    0xffffffffffffULL

#endif
