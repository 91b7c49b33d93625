/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CoreCLR's structures have what is read of them: known by version up to 10, and, from 9 on, said by the runtime
 * itself, in a text for debuggers (the "contract descriptor") that its library exports. What that says counts.
 */
#ifndef LANG_DOTNET_CLR_LAYOUT_H
#define LANG_DOTNET_CLR_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"
#include "lang/dotnet/clr_debug.h"

#define CLR_OLDEST 6
#define CLR_NEWEST 10
#define CLR_CONTRACT_BYTES_MAX (256u << 10)

/* X(ID, type and field in the contract, offset in 8.0 on x86-64) */
#define CLR_FIELDS(X)                                                        \
	X(SECTION_FLAGS, "RangeSection", "Flags", 0x10)                         \
	X(SECTION_MODULE, "RangeSection", "R2RModule", 0x20)                    \
	X(SECTION_HEAP, "RangeSection", "HeapList", 0x28)                       \
	X(HEAP_BASE, "CodeHeapListNode", "MapBase", 0x20)                       \
	X(HEAP_MAP, "CodeHeapListNode", "HeaderMap", 0x28)                      \
	X(HEADER_DEBUG, "RealCodeHeader", "DebugInfo", 0)                       \
	X(HEADER_METHOD, "RealCodeHeader", "MethodDesc", 0x18)                  \
	X(METHOD_TOKEN, "MethodDesc", "Flags3AndTokenRemainder", 0)             \
	X(METHOD_INDEX, "MethodDesc", "ChunkIndex", 2)                          \
	X(METHOD_FLAGS, "MethodDesc", "Flags", 6)                               \
	X(DYNAMIC_NAME, "DynamicMethodDesc", "MethodName", 24)                  \
	X(CHUNK_TABLE, "MethodDescChunk", "MethodTable", 0)                     \
	X(CHUNK_TOKEN, "MethodDescChunk", "FlagsAndTokenRange", 0x12)           \
	X(CHUNK_BYTES, "MethodDescChunk", "!", 0x18)                            \
	X(TABLE_FLAGS2, "MethodTable", "MTFlags2", 8)                           \
	X(TABLE_MODULE, "MethodTable", "Module", 0x18)                          \
	X(MODULE_PATH, "Module", "Path", 0x110)                                 \
	X(MODULE_BASE, "Module", "Base", 0)

enum clr_field {
#define X(ID, type, field, value) CLR_##ID,
	CLR_FIELDS(X)
#undef X
	CLR_FIELD_COUNT
};

struct clr_layout {
	u16 at[CLR_FIELD_COUNT];
	u16 section_next;	/* 0: sections are in a map by address, not in a list */
	u16 section_ranges;	/* what tells the kind of stubs of a section; 0: nothing does */
	u16 alignment;		/* of a MethodDesc */
	u8 token_bits;		/* of a method's token that are in its MethodDesc, the rest is in its chunk */
	bool roots_are_relative;	/* what g_dacTable holds: offsets of 32 bits, else addresses */
	bool tokens_are_short;	/* of types in a MethodTable: 16 bits */
	bool has_far_starts;	/* the map of starts of methods has pointers for long ones */
	bool path_is_text;	/* what stands for a module's path is that, else what it was loaded from */
	struct clr_debug_format debug;
};

/* By major version. -EOPNOTSUPP if it is older than those known; 1 if it is newer, and laid out as the newest. */
int clr_layout_of(u32 major, bool is_arm64, struct clr_layout *ret_layout);

/* Takes what the contract says instead. -EBADMSG if it is none: the layout is to be left alone then. */
int clr_layout_read(struct clr_layout *layout, const char *text, size_t bytes);

#endif
