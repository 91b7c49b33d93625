/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up CoreCLR: its structures in our own memory, as each version lays them out, read as those of another process.
 * There are a section of compiled code with one method, an image with four, and, where sections have kinds, stubs.
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
#define CLR_IMAGE_VA (CLR_VA + 0x40000)
#define CLR_STUBS_VA (CLR_VA + 0x60000)
#define CLR_METHOD_VA (CLR_CODE_VA + 0x320)	/* where the compiled method begins */
#define CLR_ROOTS_EA 0x100u

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

/* A file that was compiled before: PE and CLI headers, ReadyToRun's, functions of 0x100 bytes from +0x3000 on. */
static inline void clr_image(u64 va)
{
	static const u8 entries[] = { 24, 1, 2, 2, 38, 22, 0, 4, 2, 8 };	/* lang/dotnet/native_format.h */
	/* One bucket, with one instance: of the first method, for an int, whose function is the fourth. */
	static const u8 instances[] = { 0, 2, 4, 0xaa, 2, 4, 1, 1, 8, 12 };
	u64 name_va;

	clr_put(va + 0x3c, 0x80, 4);
	clr_put(va + 0x80, 0x4550, 4);
	clr_put(va + 0x84, 0xfd1d, 2);
	clr_put(va + 0x98, 0x20b, 2);
	clr_put(va + 0x98 + 112 + 8 * 14, 0x400, 4);
	clr_put(va + 0x400 + 8, 0x1000, 4);
	clr_put(va + 0x400 + 64, 0x600, 4);
	clr_put(va + 0x600, 0x525452, 4);
	clr_put(va + 0x60c, 3, 4);
	clr_put(va + 0x610, 102, 4);
	clr_put(va + 0x614, 0x2000 | 48ull << 32, 8);
	clr_put(va + 0x61c, 103, 4);
	clr_put(va + 0x620, 0x2100 | (u64)sizeof(entries) << 32, 8);
	clr_put(va + 0x628, 109, 4);
	clr_put(va + 0x62c, 0x21c0 | (u64)sizeof(instances) << 32, 8);
	for (u64 i = 0; i < 4; i++)
		clr_put(va + 0x2000 + 12 * i, (0x3000 + 0x100 * i) | (0x3100 + 0x100 * i) << 32, 8);
	clr_put_bytes(va + 0x2100, entries, sizeof(entries));
	clr_put_bytes(va + 0x21c0, instances, sizeof(instances));
	(void)clr_metadata(va + 0x1000, &name_va);
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
	u64 module = clr_take(d, 512), method, offset = CLR_METHOD_VA - CLR_CODE_VA;

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
	clr_put(module + l[CLR_MODULE_PATH] - 8, name_va, 8);
	clr_add_section(d, CLR_CODE_VA, 0x10000, 2, heap);
}

static inline struct forge_dotnet forge_dotnet(u32 major)
{
	struct forge_dotnet d = { .free_va = CLR_VA + 0x1000 };
	void *at = mmap((void *)(uintptr_t)CLR_VA, CLR_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	u64 name_va, ranges;

	OK(at != MAP_FAILED);
	OK(clr_layout_of(major, false, &d.layout) >= 0);
	d.sections_va = clr_take(&d, 2048);
	clr_put(CLR_VA + CLR_ROOTS_EA, d.layout.roots_are_relative ? d.sections_va - CLR_VA : d.sections_va, 8);
	(void)clr_metadata(clr_take(&d, 0x400), &name_va);
	clr_add_code(&d, name_va);
	clr_image(CLR_IMAGE_VA);
	clr_add_section(&d, CLR_IMAGE_VA, 0x10000, 0, 0);
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
