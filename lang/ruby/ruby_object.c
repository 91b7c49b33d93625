// SPDX-License-Identifier: Apache-2.0
#include "lang/ruby/ruby_object.h"

#include <errno.h>

#include "lang/ruby/ruby.h"

#define NOT_EMBEDDED (1u << 13)		/* of a String */
#define EMBEDDED (1u << 13)		/* of an Array */
#define LENGTH_SHIFT 14			/* of a short String's length in its flags */
#define LENGTH_MASK 0x1f
#define ENTRIES_MAX 256			/* of a table that are looked at */

#define BODY_FIRST_LINE 88
#define LINES_SMALL 54			/* instructions with a table of their own, nine to a word */
#define LINES_BLOCK 512			/* ... and those of a block, of 80 bytes, behind them */
#define LINES_BLOCK_BYTES 80
#define LINES_MAX (1u << 20)

u64 ruby_flags(struct memory *memory, u64 va)
{
	return va && va % 8 == 0 ? memory_u64(memory, va) : 0;
}

bool ruby_is(struct memory *memory, u64 va, enum ruby_type type)
{
	return (ruby_flags(memory, va) & RUBY_TYPE_BITS) == type;
}

int ruby_text(struct memory *memory, const struct ruby_layout *layout, u64 va, char ret_text[LANG_TEXT_MAX + 1])
{
	u64 flags = ruby_flags(memory, va), length, data;

	if ((flags & RUBY_TYPE_BITS) != RUBY_STRING)
		return memory_err(memory) ?: -EBADMSG;
	if (flags & NOT_EMBEDDED) {
		length = memory_u64(memory, va + 16);
		data = memory_u64(memory, va + 24);
	} else if (layout->embeds_length) {
		length = memory_u64(memory, va + 16);
		data = va + 24;
	} else {
		length = flags >> LENGTH_SHIFT & LENGTH_MASK;
		data = va + 16;
	}
	if (length > LANG_TEXT_MAX)
		length = LANG_TEXT_MAX;
	memory_read(memory, data, ret_text, length);
	ret_text[memory_err(memory) ? 0 : length] = 0;
	return memory_err(memory);
}

u64 ruby_element(struct memory *memory, u64 array_va, u64 index)
{
	u64 flags = ruby_flags(memory, array_va);

	if ((flags & RUBY_TYPE_BITS) != RUBY_ARRAY)
		return 0;
	if (flags & EMBEDDED)
		return index < 3 ? memory_u64(memory, array_va + 16 + index * 8) : 0;
	if (index >= memory_u64(memory, array_va + 16))
		return 0;
	return memory_u64(memory, memory_u64(memory, array_va + 32) + index * 8);
}

/* struct st_table: from which of its entries on, up to which, and where: (hash, key, value) each. */
static u64 table_find(struct memory *memory, u64 table_va, u64 key, bool (*is)(void *arg, u64 value), void *arg)
{
	u64 first = memory_u64(memory, table_va + 32), end = memory_u64(memory, table_va + 40);
	u64 entries = memory_u64(memory, table_va + 48);

	for (u64 i = first; i < end && i - first < ENTRIES_MAX && !memory_err(memory); i++) {
		u64 entry[3] = { 0 };

		memory_read(memory, entries + i * sizeof(entry), entry, sizeof(entry));
		if (memory_err(memory) || entry[0] == ~0ull)
			continue;
		if (!is && entry[1] == key)
			return entry[2];
		if (is && is(arg, entry[2]))
			return entry[1];
	}
	return 0;
}

u64 ruby_table_value(struct memory *memory, u64 table_va, u64 key)
{
	return table_va && key ? table_find(memory, table_va, key, NULL, NULL) : 0;
}

u64 ruby_table_key(struct memory *memory, u64 table_va, bool (*is)(void *arg, u64 value), void *arg)
{
	return table_va ? table_find(memory, table_va, 0, is, arg) : 0;
}

/*
 * The number of the entry for an instruction, from 1 on: how many begin at it or before (iseq.c: succ_index_table). For
 * the first ones that is told for each, then by bits, with sums for every 512 and every 64 of them.
 */
static u32 line_rank(struct memory *memory, u64 table_va, u32 at)
{
	u64 block, ranks, bits;
	u32 small;

	if (at < LINES_SMALL)
		return memory_u64(memory, table_va + at / 9 * 8) >> at % 9 * 7 & 0x7f;
	at -= LINES_SMALL;
	block = table_va + LINES_SMALL / 9 * 8 + (u64)(at / LINES_BLOCK) * LINES_BLOCK_BYTES;
	small = at % LINES_BLOCK / 64;
	ranks = memory_u64(memory, block + 8);
	bits = memory_u64(memory, block + 16 + small * 8);
	return memory_u32(memory, block) + (small ? (u32)(ranks >> (small - 1) * 9) & 0x1ff : 0) +
	       (u32)__builtin_popcountll(bits << (63 - at % 64));
}

u32 ruby_line(struct memory *memory, const struct ruby_layout *layout, const u8 body[RUBY_BODY_BYTES], u32 instruction)
{
	u64 entries = ruby_body_word(body, layout->insns_info);
	u32 count = (u32)ruby_body_word(body, layout->insns_info + 16);
	u64 table = ruby_body_word(body, layout->insns_info + 24);
	u32 first = (u32)ruby_body_word(body, BODY_FIRST_LINE), rank = 1, line;

	if (layout->line_is_object)
		first >>= 1;
	if (!entries || !count || count > LINES_MAX || instruction == RUBY_INSTRUCTION_NONE)
		return first;
	/* What is kept is where the next one begins. */
	if (count > 1)
		rank = line_rank(memory, table, instruction ? instruction - 1 : 0);
	if (!rank || rank > count)
		return first;
	line = memory_u32(memory, entries + (rank - 1) * layout->insn_bytes);
	return memory_err(memory) || !line ? first : line;
}
