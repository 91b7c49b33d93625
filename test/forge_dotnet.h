/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up CoreCLR: its structures in our own memory, as each version lays them out, read as those of another process.
 * There are a section of compiled code with one method, an image with four, and, where sections have kinds, stubs.
 * Both the method's module and the image say which PDB was made with them.
 */
#ifndef TEST_FORGE_DOTNET_H
#define TEST_FORGE_DOTNET_H

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/dotnet/clr_layout.h"
#include "lang/dotnet/dotnet.h"
#include "lang/lang.h"
#include "test.h"

#define CLR_VA 0x240000000000ull
#define CLR_BYTES 0x80000u
#define CLR_CODE_VA (CLR_VA + 0x20000)		/* 128 KiB each: a piece of the map of sections */
#define CLR_FLAT_VA (CLR_VA + 0x1000)		/* the file of the compiled method's module, mapped as it is */
#define CLR_FLAT_BYTES 0x2000u
#define CLR_IMAGE_VA (CLR_VA + 0x40000)
#define CLR_STUBS_VA (CLR_VA + 0x60000)
#define CLR_METHOD_VA (CLR_CODE_VA + 0x320)	/* where the compiled method begins */
#define CLR_ROOTS_EA 0x100u
#define CLR_PDB_ID "0123456789abcdef1234"

struct forge_dotnet {
	struct clr_layout layout;
	u64 free_va, sections_va, chunk_va;
};

static inline void clr_put_bytes(u64 va, const void *data, size_t bytes)
{
	asm("" : "+r"(va));	/* a compiler that knows the number takes it for no object's */
	memcpy((void *)(uintptr_t)va, data, bytes);
}

static inline void clr_put(u64 va, u64 word, size_t bytes)
{
	clr_put_bytes(va, &word, bytes);
}

static inline u64 clr_take(struct forge_dotnet *d, u64 bytes)
{
	u64 va = d->free_va;

	d->free_va += (bytes + 63) & ~63ull;
	OK(d->free_va <= CLR_CODE_VA);
	return va;
}

/* Types <Module>, Some.Space.Type and <Work>d__1 in it; methods Method and <Run>b__2_0, and MoveNext of the last. */
static inline u64 clr_metadata(u64 va, u64 *ret_name_va)
{
	static const char strings[] = "\0<Module>\0Type\0Some.Space\0<Work>d__1\0Method\0<Run>b__2_0\0MoveNext\0Victim";
	static const u16 types[3][7] = {
		{ 0, 0, 1, 0, 0, 1, 1 }, { 0, 0, 10, 15, 0, 1, 1 }, { 0, 0, 26, 0, 0, 1, 3 },
	};
	static const u16 methods[3][7] = { { 0, 0, 0, 0, 37 }, { 0, 0, 0, 0, 44 }, { 0, 0, 0, 0, 56 } };
	static const u32 rows[3] = { 3, 3, 1 };
	u64 tables = va + 0x80, at = tables + 24;

	clr_put(va, 0x424a5342, 4);
	clr_put(va + 12, 12, 4);
	clr_put_bytes(va + 16, "v4.0.30319\0", 12);
	clr_put(va + 30, 2, 2);
	clr_put(va + 32, 0x80, 4);
	clr_put(va + 36, 0x100, 4);
	clr_put_bytes(va + 40, "#~\0", 4);
	clr_put(va + 44, 0x200, 4);
	clr_put(va + 48, sizeof(strings), 4);
	clr_put_bytes(va + 52, "#Strings\0\0\0", 12);
	clr_put(tables + 8, 1ull << 0x02 | 1ull << 0x06 | 1ull << 0x29, 8);
	clr_put_bytes(at, rows, sizeof(rows));
	clr_put_bytes(at + 12, types, sizeof(types));
	clr_put_bytes(at + 12 + sizeof(types), methods, sizeof(methods));
	clr_put(at + 12 + sizeof(types) + sizeof(methods), 3 | 2 << 16, 4);
	clr_put_bytes(va + 0x200, strings, sizeof(strings));
	*ret_name_va = va + 0x200 + sizeof(strings) - 7;
	return va;
}

/* Code up to 49 comes from where the method's IL begins, that up to 60 from 21, the rest is its end. */
#define CLR_BOUNDS_NIBBLES "\x07\x03\x21\x1e\x0b\x92\x03\x02"
#define CLR_BOUNDS_PACKED "\x07\x53\x04\x02\xc1\x18\xbb\x00"

/* Headers of a PE file, and what a debug directory says of its PDB: at these addresses in its image. */
static inline void clr_pe(u64 va, u16 machine, u32 cli_rva, u32 debug_rva, u64 debug_va, u32 shift)
{
	clr_put(va, 0x5a4d, 2);
	clr_put(va + 0x3c, 0x80, 4);
	clr_put(va + 0x80, 0x4550, 4);
	clr_put(va + 0x84, machine, 2);
	clr_put(va + 0x86, 1, 2);
	clr_put(va + 0x94, 240, 2);
	clr_put(va + 0x98, 0x20b, 2);
	clr_put(va + 0x98 + 112 + 8 * 6, debug_rva | 56ull << 32, 8);
	clr_put(va + 0x98 + 112 + 8 * 14, cli_rva, 4);
	clr_put(va + 0x98 + 240 + 12, 0x2000 | 0x1c00ull << 32, 8);
	clr_put(va + 0x98 + 240 + 20, 0x400, 4);
	clr_put(debug_va + 12, 16, 4);			/* of another kind */
	clr_put(debug_va + 28 + 4, 0x34333231, 4);
	clr_put(debug_va + 28 + 10, 0x504d, 2);
	clr_put(debug_va + 28 + 12, 2, 4);
	clr_put(debug_va + 28 + 20, debug_rva + 64, 4);
	clr_put(debug_va + 28 + 24, debug_rva + 64 - shift, 4);
	clr_put_bytes(debug_va + 64, "RSDS0123456789abcdef\1\0\0\0/build/obj/Some.pdb", 44);
}

/* An assembly that is mapped as its file is: its section of 0x2000 lies at 0x400. */
static inline u64 clr_flat(u64 *ret_name_va)
{
	clr_pe(CLR_FLAT_VA, 0x14c, 0x2000, 0x2100, CLR_FLAT_VA + 0x500, 0x1c00);
	clr_put(CLR_FLAT_VA + 0x400 + 8, 0x3200, 4);
	return clr_metadata(CLR_FLAT_VA + 0x1600, ret_name_va);
}

/* Three functions' bounds: of the first, of the second, which has those of the first, and of the third. */
static inline void clr_image_debug(u64 va)
{
	static const u8 nodes[] = { 24, 1, 2, 2, 150, 86 };		/* lang/dotnet/native_format.h */

	clr_put_bytes(va, nodes, sizeof(nodes));
	clr_put(va + 6, 0, 1);
	clr_put_bytes(va + 7, CLR_BOUNDS_NIBBLES, 8);
	clr_put(va + 15, 2 * 8, 1);
	clr_put(va + 22, 2, 1);
	clr_put(va + 23, 0, 1);
	clr_put_bytes(va + 24, CLR_BOUNDS_NIBBLES, 8);
}

/* A file that was compiled before: PE and CLI headers, ReadyToRun's, functions of 0x100 bytes from +0x3000 on. */
static inline void clr_image(u64 va, u64 *ret_name_va)
{
	static const u8 entries[] = { 24, 1, 2, 2, 38, 22, 0, 4, 2, 8 };	/* lang/dotnet/native_format.h */
	/* One bucket, with one instance: of the first method, for an int, whose function is the fourth. */
	static const u8 instances[] = { 0, 2, 4, 0xaa, 2, 4, 1, 1, 8, 12 };

	clr_pe(va, 0xfd1d, 0x400, 0x700, va + 0x700, 0);
	clr_put(va + 0x400 + 8, 0x1000, 4);
	clr_put(va + 0x400 + 64, 0x600, 4);
	clr_put(va + 0x600, 0x525452, 4);
	clr_put(va + 0x604, 9, 2);
	clr_put(va + 0x60c, 4, 4);
	clr_put(va + 0x610, 102, 4);
	clr_put(va + 0x614, 0x2000 | 48ull << 32, 8);
	clr_put(va + 0x61c, 103, 4);
	clr_put(va + 0x620, 0x2100 | (u64)sizeof(entries) << 32, 8);
	clr_put(va + 0x628, 105, 4);
	clr_put(va + 0x62c, 0x2180 | 32ull << 32, 8);
	clr_put(va + 0x634, 109, 4);
	clr_put(va + 0x638, 0x21c0 | (u64)sizeof(instances) << 32, 8);
	for (u64 i = 0; i < 4; i++)
		clr_put(va + 0x2000 + 12 * i, (0x3000 + 0x100 * i) | (0x3100 + 0x100 * i) << 32, 8);
	clr_put_bytes(va + 0x2100, entries, sizeof(entries));
	clr_image_debug(va + 0x2180);
	clr_put_bytes(va + 0x21c0, instances, sizeof(instances));
	(void)clr_metadata(va + 0x1000, ret_name_va);
}

/* A Module, which was loaded from /app/Some.dll. */
static inline u64 clr_module(struct forge_dotnet *d, u64 name_va)
{
	static const u16 path[] = { '/', 'a', 'p', 'p', '/', 'S', 'o', 'm', 'e', '.', 'd', 'l', 'l', 0 };
	u64 module = clr_take(d, 512), text = clr_take(d, sizeof(path)), loaded = clr_take(d, 16);
	u64 image = clr_take(d, 24);

	clr_put_bytes(text, path, sizeof(path));
	clr_put(loaded + 8, image, 8);
	clr_put(image + 16, text, 8);
	clr_put(module + d->layout.at[CLR_MODULE_PATH] - 8, name_va, 8);
	clr_put(module + d->layout.at[CLR_MODULE_PATH], d->layout.path_is_text ? text : loaded, 8);
	return module;
}

static inline void clr_add_section(struct forge_dotnet *d, u64 start_va, u64 bytes, u32 flags, u64 object)
{
	u64 va = clr_take(d, 128), at = d->sections_va, fragment = clr_take(d, 32);
	u32 field = flags & 2 ? CLR_SECTION_HEAP : CLR_SECTION_MODULE;

	clr_put(va, start_va, 8);
	clr_put(va + 8, start_va + bytes, 8);
	clr_put(va + d->layout.at[CLR_SECTION_FLAGS], flags, 4);
	if (flags & 4 && d->layout.section_ranges)
		clr_put(va + d->layout.section_ranges, object, 8);
	else
		clr_put(va + d->layout.at[field], object, 8);
	if (d->layout.section_next) {
		u64 head;

		memcpy(&head, (void *)(uintptr_t)at, sizeof(head));
		clr_put(va + d->layout.section_next, head, 8);
		clr_put(at, va, 8);
		return;
	}
	for (u32 shift = 49; shift > 17; shift -= 8) {
		u64 slot = at + 8 * (start_va >> shift & 0xff), next;

		memcpy(&next, (void *)(uintptr_t)slot, sizeof(next));
		if (!next) {
			next = clr_take(d, 2048);
			clr_put(slot, next, 8);
		}
		at = next;
	}
	clr_put(fragment + 8, start_va, 8);
	clr_put(fragment + 16, start_va + bytes, 8);
	clr_put(fragment + 24, va, 8);
	clr_put(at + 8 * (start_va >> 17 & 0xff), fragment | 1, 8);
}

/* The compiled code: a method that begins at CLR_METHOD_VA. */
static inline void clr_add_code(struct forge_dotnet *d, u64 name_va)
{
	const u16 *l = d->layout.at;
	u64 heap = clr_take(d, 64), map = clr_take(d, 4096), header = clr_take(d, 64), table = clr_take(d, 64);
	u64 module = clr_module(d, name_va), debug = clr_take(d, 16), method, offset = CLR_METHOD_VA - CLR_CODE_VA;

	d->chunk_va = clr_take(d, 128);
	method = d->chunk_va + l[CLR_CHUNK_BYTES] + 2 * (u64)d->layout.alignment;
	clr_put(heap + l[CLR_HEAP_BASE], CLR_CODE_VA, 8);
	clr_put(heap + l[CLR_HEAP_MAP], map, 8);
	clr_put(map + 4 * (offset / 256), (offset % 32 / 4 + 1) << (28 - 4 * (offset / 32 % 8)), 4);
	if (d->layout.has_far_starts)	/* the two words behind it are of the same method */
		for (u64 i = 1; i < 3; i++)
			clr_put(map + 4 * (offset / 256 + i), (offset & ~15ull) + 9 + (offset & 15) / 4, 4);
	clr_put(CLR_METHOD_VA - 8, header, 8);
	clr_put_bytes(CLR_METHOD_VA, "\x50\x90\x90\x58\xc3", 5);	/* push rax; nop; nop; pop rax; ret */
	clr_put(header + l[CLR_HEADER_METHOD] + 8, 1 | offset << 32, 8);
	clr_put(header + l[CLR_HEADER_METHOD] + 16, offset + 5, 4);
	clr_put(header + l[CLR_HEADER_METHOD], method, 8);
	clr_put(method + l[CLR_METHOD_TOKEN], (0xffffu << d->layout.token_bits) | 1, 2);
	clr_put(method + l[CLR_METHOD_INDEX], 2, 1);
	clr_put(d->chunk_va + l[CLR_CHUNK_TABLE], table, 8);
	clr_put(table + l[CLR_TABLE_FLAGS2], d->layout.tokens_are_short ? 2u << 16 : 2u << 8, 4);
	clr_put(table + l[CLR_TABLE_MODULE], module, 8);
	clr_put(header + l[CLR_HEADER_DEBUG], debug, 8);
	clr_put_bytes(debug + 1, d->layout.debug.kind == CLR_DEBUG_PACKED ? CLR_BOUNDS_PACKED : CLR_BOUNDS_NIBBLES, 8);
	clr_add_section(d, CLR_CODE_VA, 0x10000, 2, heap);
}

static inline struct forge_dotnet forge_dotnet(u32 major)
{
	struct forge_dotnet d = { .free_va = CLR_FLAT_VA + CLR_FLAT_BYTES };
	void *at = mmap((void *)(uintptr_t)CLR_VA, CLR_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	u64 name_va, ranges;

	OK(at != MAP_FAILED);
	OK(clr_layout_of(major, false, &d.layout) >= 0);
	d.sections_va = clr_take(&d, 2048);
	clr_put(CLR_VA + CLR_ROOTS_EA, d.layout.roots_are_relative ? d.sections_va - CLR_VA : d.sections_va, 8);
	(void)clr_flat(&name_va);
	clr_add_code(&d, name_va);
	clr_image(CLR_IMAGE_VA, &name_va);
	clr_add_section(&d, CLR_IMAGE_VA, 0x10000, 0, clr_module(&d, name_va));
	ranges = clr_take(&d, 512);
	clr_put(ranges + 0x120, 5, 4);
	if (!d.layout.section_next)
		clr_add_section(&d, CLR_STUBS_VA, 0x10000, 4, ranges);
	return d;
}

static inline struct dotnet_facts dotnet_facts_of(u32 major)
{
	return (struct dotnet_facts){ .major = major, .roots_ea = CLR_ROOTS_EA };
}

/* The word of a frame there. */
static inline u64 dotnet_frame_of(u64 va)
{
	return (u64)FRAME_VA << FRAME_KIND_SHIFT | va;
}

#endif
