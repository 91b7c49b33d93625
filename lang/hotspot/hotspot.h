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
#define HOTSPOT_BLOB_BYTES 104	/* of a CodeBlob, that are read at once: as large as JDK 17 has it */
#define HOTSPOT_CHUNK_BYTES 64	/* of a StackChunk, in front of its frames */
#define HOTSPOT_ENTRIES_MAX 24	/* ways to enter a method */
#define HOTSPOT_PIECE_BYTES 112
#define HOTSPOT_NOT_READ 0xff

/* Generated code lies in blocks of whole segments; segmap has a byte for each: how far back its block starts. */
struct hotspot_heap {
	u64 start_va, end_va;
	u64 segmap_va;
};

/* Code of the interpreter that runs before a method has its frame, from interpreter_start_va on. */
struct hotspot_entry {
	u32 start, end;
};

/* How a field of a Java object refers to another object. */
enum hotspot_oop {
	HOTSPOT_OOP_UNKNOWN,		/* what lies in the heap is not looked at */
	HOTSPOT_OOP_ADDRESS,
	HOTSPOT_OOP_COMPRESSED,		/* 32 bits: base + (it << shift) */
	HOTSPOT_OOP_COLOURED,		/* of ZGC: address << 13 to 16, by one of the bits 12 to 15 */
};

/* Where the frames of a virtual thread are that were not copied back to the stack since it was suspended. */
struct hotspot_chunks {
	u64 oop_base;
	u64 entry_pc_va;		/* where the JVM keeps the pc of the frame that enters them; 0: not published */
	u8 oop;				/* enum hotspot_oop */
	u8 oop_shift;
	u8 has_argsize;			/* `bottom` tells the words behind the frames, not where they end */
	u8 pad;
	u16 entry_bytes;		/* of a ContinuationEntry on the stack */
	u16 entry_cont;			/* ... the Continuation */
	u16 tail;			/* of a Continuation: its StackChunk */
	u16 sp, bottom, size, parent;	/* of a StackChunk, below HOTSPOT_CHUNK_BYTES */
	u16 frames;			/* where they begin in it */
};

/* What the walk has come to; zeros in the slot itself. */
struct hotspot_walk {
	u64 frames_end_va;		/* of the StackChunk that the frames are in; 0: they are on the stack */
	u64 parent_va;			/* the next one; 0: none */
	u64 entry_return_va;		/* where, on the stack, the return address of the frame is that entered them */
	u64 returned_va;		/* the pc that the last frame of Java returns to */
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
	u16 compile_id, orig_pc;
	u16 const_method;				/* of a Method */
	/* Of a caller's blob, a piece and a word are read, into HOTSPOT_PIECE_BYTES and behind it ... */
	u16 piece_at, word_at;
	u8 piece_bytes;
	u8 read_frame_size, read_id;			/* ... and there its fields are */
	u8 read_deopt;					/* HOTSPOT_NOT_READ: none */
	u8 code_is_pointer;				/* code_begin is an address, not an offset */
	u8 deopt_is_pointer;
	u8 frame_complete_is_short;
	u8 bcp_slot;					/* words below fp: 7 in JDK 8, 8 since 9; not published */
	u8 pad[1];
	struct hotspot_chunks chunks;
	struct hotspot_walk walk;
};
_Static_assert(sizeof(struct hotspot_slot) <= SLOT_WORDS * 8, "fits a slot");
_Static_assert(sizeof(struct hotspot_slot) % 8 == 0, "no padding behind");

/*
 * A frame:
 *
 *	first word, 48 bits	a Method (HOTSPOT_INTERPRETED) or a CodeBlob: of a method or a stub
 *	second word
 *	63     62 61        48 47                0
 *	| kind   | compile id | address           |	of the bytecode, or of the code: as it is, not 1 less
 */
enum hotspot_frame { HOTSPOT_INTERPRETED, HOTSPOT_COMPILED };

#define HOTSPOT_KIND_SHIFT 62
#define HOTSPOT_ID_SHIFT   48
#define HOTSPOT_ID_MASK    0x3fffULL
#define HOTSPOT_VA_MASK    0xffffffffffffULL

#endif
