// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_code.h"

#include <stddef.h>
#include <stdint.h>

#include "lang/dotnet/clr_layout.h"
#include "lang/memory.h"

#define SECTIONS_MAX 2048	/* of a list; one for each file and each heap */
#define FRAGMENTS_MAX 64	/* of ranges in one piece of the map */
#define FLAG_METHODS 2
#define FLAG_STUBS 4		/* where sections are in a map */
#define FUNCTIONS_MAX 1024	/* of a method */
#define METHODS_MAX 8192		/* in a piece of code */
#define STUB_KINDS 16		/* what stands before code is one of them, else an address */
#define RANGES_KIND 0x120	/* CodeRangeMapRangeList::_rangeListType (vm/loaderallocator.hpp) */

/* A nibble for each 32 bytes of code, the first in the highest bits of its word; 1 to 8: 1 + the number of the 4 bytes
 * of those 32 at which a method begins. */
#define BUCKET_BYTES 32
#define WORD_BUCKETS 8
#define WORD_BYTES (BUCKET_BYTES * WORD_BUCKETS)
#define SEARCH_WORDS_MAX 65536	/* for one question: a method of 16 MiB */

/* Versions 6 and 7 have a list. */
static struct clr_code_section find_in_list(const struct clr_layout *l, struct memory *m, u64 head_va, u64 va)
{
	u64 at = memory_u64(m, head_va);

	for (u32 i = 0; at && i < SECTIONS_MAX && !memory_err(m); i++) {
		struct clr_code_section s = { memory_u64(m, at), memory_u64(m, at + 8), at };

		if (va >= s.start_va && va < s.end_va)
			return s;
		at = memory_u64(m, at + l->section_next);
	}
	return (struct clr_code_section){ 0 };
}

/*
 * The map, since 8: five levels of 256 pointers, by eight bits of the address each, the lowest of which is bit 17. The
 * last ones point to lists of ranges. The lowest bit of a pointer tells of something else (vm/codeman.h).
 */
static struct clr_code_section find_in_map(struct memory *m, u64 map_va, u64 va)
{
	u64 at = map_va;

	for (u32 shift = 49; at && shift >= 17; shift -= 8)
		at = memory_u64(m, at + 8 * (va >> shift & 0xff)) & ~1ull;
	for (u32 i = 0; at && i < FRAGMENTS_MAX && !memory_err(m); i++) {
		u64 start_va = memory_u64(m, at + 8), end_va = memory_u64(m, at + 16);

		if (va >= start_va && va < end_va) {
			struct clr_code_section s = { .va = memory_u64(m, at + 24) };

			s.start_va = memory_u64(m, s.va);
			s.end_va = memory_u64(m, s.va + 8);
			return s;
		}
		at = memory_u64(m, at) & ~1ull;
	}
	return (struct clr_code_section){ 0 };
}

struct clr_code_section clr_code_section_find(const struct clr_layout *l, struct memory *m, u64 sections_va, u64 va)
{
	struct clr_code_section s = l->section_next ? find_in_list(l, m, sections_va, va) :
						       find_in_map(m, sections_va, va);

	return memory_err(m) ? (struct clr_code_section){ 0 } : s;
}

int clr_code_section_has_methods(const struct clr_layout *l, struct memory *m, const struct clr_code_section *s)
{
	return s->va && memory_u32(m, s->va + l->at[CLR_SECTION_FLAGS]) & FLAG_METHODS;
}

/* The last nibble of a word that is not 0, in those of that number and before: where its method begins, or 0. */
static u64 last_start(u32 word, u64 base_va, u64 index)
{
	for (u32 i = 0; i < WORD_BUCKETS; i++, word >>= 4)
		if (word & 15)
			return base_va + index * WORD_BYTES + (WORD_BUCKETS - 1 - i) * BUCKET_BYTES +
			       ((word & 15) - 1) * 4;
	return 0;
}

/* What the nibbles up to an address say: those of its own bucket count only if they are not behind it. */
static u32 nibbles_until(u32 word, u64 offset)
{
	u32 shift = 28 - 4 * (u32)(offset / BUCKET_BYTES % WORD_BUCKETS), nibble = word >> shift & 15;

	if (nibble && (nibble - 1) * 4 > offset % BUCKET_BYTES)
		shift += 4;
	return shift < 32 ? word >> shift << shift : 0;
}

/*
 * Where the method at an address begins, or 0. In words that no method begins in, newer versions have where the one
 * begins that goes on there: a multiple of 16, and 9 to 12 for the four bytes.
 */
static u64 find_start(const struct clr_layout *l, struct memory *m, u64 heap_va, u64 va, u32 *words_left)
{
	u64 base_va = memory_u64(m, heap_va + l->at[CLR_HEAP_BASE]);
	u64 map_va = memory_u64(m, heap_va + l->at[CLR_HEAP_MAP]);
	u64 offset = va - base_va, index = offset / WORD_BYTES, start = 0;
	u32 count = l->has_far_starts ? 2 : UINT32_MAX;

	if (memory_err(m) || !map_va || va < base_va)
		return 0;
	for (u32 i = 0; i < count && *words_left && !start && !memory_err(m); i++) {
		u32 word = memory_u32(m, map_va + 4 * index);

		--*words_left;
		if (l->has_far_starts && (word & 15) > 8)
			return base_va + (word & ~15u) + ((word & 15) - 9) * 4;
		start = last_start(i ? word : nibbles_until(word, offset), base_va, index);
		if (!index--)
			break;
	}
	return start;
}

static struct clr_code_place find_method(const struct clr_layout *l, struct memory *m, u64 heap_va, u64 va)
{
	u32 words_left = SEARCH_WORDS_MAX;
	struct clr_code_place place = { .start_va = find_start(l, m, heap_va, va, &words_left) };
	u64 header;

	if (!place.start_va)
		return place;
	header = memory_u64(m, place.start_va - 8);
	if (header < STUB_KINDS) {
		place.kind = CLR_CODE_STUB;
		place.object = header;
		return place;
	}
	place.kind = CLR_CODE_METHOD;
	place.object = memory_u64(m, header + l->at[CLR_HEADER_METHOD]);
	place.debug_va = memory_u64(m, header + l->at[CLR_HEADER_DEBUG]);
	return place;
}

/* Those of one method: itself and its handlers, from the start of the section on (struct RealCodeHeader). */
static void tell_functions(const struct clr_layout *l, struct memory *m, const struct clr_code_section *s,
			   u64 method_va, clr_code_function *function, void *arg)
{
	u64 header = memory_u64(m, method_va - 8), at = header + l->at[CLR_HEADER_METHOD] + 12;
	u32 count;

	if (memory_err(m) || header < STUB_KINDS)
		return;
	count = memory_u32(m, at - 4);
	for (u32 i = 0; i < count && i < FUNCTIONS_MAX; i++) {
		u64 start_va = s->start_va + memory_u32(m, at + 12 * (u64)i);
		u64 end_va = s->start_va + memory_u32(m, at + 12 * (u64)i + 4);

		if (memory_err(m))
			return;
		if (start_va < end_va && start_va >= s->start_va && end_va <= s->end_va)
			function(arg, start_va, end_va);
	}
}

void clr_code_functions(const struct clr_layout *l, struct memory *m, const struct clr_code_section *s, u64 start_va,
			u64 end_va, clr_code_function *function, void *arg)
{
	u64 heap_va = memory_u64(m, s->va + l->at[CLR_SECTION_HEAP]);
	u64 at = end_va - 1;
	u32 words_left = SEARCH_WORDS_MAX;

	/* Backwards, from method to method. */
	for (u32 i = 0; i < METHODS_MAX && at >= start_va && !memory_err(m); i++) {
		u64 method_va = find_start(l, m, heap_va, at, &words_left);

		/* Newer versions are not asked for what is far back: there is none nearby. */
		if (!method_va && l->has_far_starts && at >= start_va + WORD_BYTES) {
			at -= WORD_BYTES;
			continue;
		}
		if (!method_va || method_va > at || method_va < s->start_va + 8)
			return;
		tell_functions(l, m, s, method_va, function, arg);
		at = method_va - 1;
	}
}

struct clr_code_place clr_code_find(const struct clr_layout *l, struct memory *m, u64 sections_va, u64 va)
{
	struct clr_code_section s = clr_code_section_find(l, m, sections_va, va);
	u32 flags;

	if (!s.va)
		return (struct clr_code_place){ 0 };
	flags = memory_u32(m, s.va + l->at[CLR_SECTION_FLAGS]);
	if (flags & FLAG_METHODS)
		return find_method(l, m, memory_u64(m, s.va + l->at[CLR_SECTION_HEAP]), va);
	if (flags & FLAG_STUBS && !l->section_next) {
		struct clr_code_place place = { .kind = CLR_CODE_STUB };

		if (l->section_ranges)
			place.object = memory_u32(m, memory_u64(m, s.va + l->section_ranges) + RANGES_KIND);
		return place;
	}
	return (struct clr_code_place){ .kind = CLR_CODE_IMAGE, .object = s.start_va,
					.module_va = memory_u64(m, s.va + l->at[CLR_SECTION_MODULE]) };
}

/* enum StubCodeBlockKind (vm/codeman.h) */
const char *clr_code_stub_name(u64 kind)
{
	static const char *const names[] = {
		[1] = "(jump stub)", [2] = "(precode)", [3] = "(dynamic helper)", [4] = "(stub precode)",
		[5] = "(fixup precode)", [6] = "(dispatch stub)", [7] = "(resolve stub)", [8] = "(lookup stub)",
		[9] = "(vtable stub)",
	};

	return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "(stub)";
}
