// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_debug.h"

#include <errno.h>
#include <string.h>

#include "lang/memory.h"

#define NUMBER_NIBBLES_MAX 11
#define BOUNDS_MAX 16384	/* of a method */
#define BOUNDS_BYTES_MAX (256u << 10)
#define LOCALS_MAX 65536
#define FLAG_REPLACEMENT 1
#define ENTRY_BITS_MAX 56

/* What stands for an IL offset, less 3 */
#define IL_EPILOG 0
#define IL_PROLOG 1
#define IL_NONE 2
#define IL_FIRST 3

struct nibbles {
	struct memory *memory;
	u64 va;
	u32 at;
};

static u32 read_number(struct nibbles *n)
{
	u32 value = 0;

	for (u32 i = 0; i < NUMBER_NIBBLES_MAX; i++, n->at++) {
		u32 nibble = memory_u8(n->memory, n->va + n->at / 2) >> (n->at & 1 ? 4 : 0) & 15;

		value = value << 3 | (nibble & 7);
		if (!(nibble & 8)) {
			n->at++;
			break;
		}
	}
	return value;
}

/* The first byte that nothing was read of. */
static u64 next_byte(const struct nibbles *n)
{
	return n->va + (n->at + 1) / 2;
}

/* The bounds of a method, in the order of its code. */
struct bounds {
	struct nibbles numbers;
	u64 bits_va;
	u32 count, done;
	u32 flag_bits, native_bits, il_bits;	/* 0: they are numbers */
	u32 native, il;				/* of the one that was read last */
};

static u64 read_bits(struct memory *m, u64 va, u64 bit, u32 count)
{
	u64 word = 0;

	memory_read(m, va + bit / 8, &word, (bit % 8 + count + 7) / 8);
	return word >> bit % 8 & ((1ull << count) - 1);
}

static bool next_bound(struct bounds *b)
{
	u32 entry_bits = b->flag_bits + b->native_bits + b->il_bits;
	u64 entry;

	if (b->done == b->count || memory_err(b->numbers.memory))
		return false;
	if (!entry_bits) {
		b->native += read_number(&b->numbers);
		b->il = read_number(&b->numbers);
		(void)read_number(&b->numbers);
	} else {
		entry = read_bits(b->numbers.memory, b->bits_va, (u64)b->done * entry_bits, entry_bits);
		b->native += entry >> b->flag_bits & ((1ull << b->native_bits) - 1);
		b->il = (u32)(entry >> (b->flag_bits + b->native_bits));
	}
	b->done++;
	return !memory_err(b->numbers.memory);
}

/* Past the flags and what they tell of; 0 if that is not known. */
static u64 skip_flags(struct memory *m, const struct clr_debug_format *f, u64 va)
{
	u8 flags = f->has_flags ? memory_u8(m, va) : 0;
	u32 locals;

	va += f->has_flags;
	if (!(flags & FLAG_REPLACEMENT))
		return flags ? 0 : va;
	/* How many variables it has stands before five other numbers, the last it has itself. */
	locals = memory_u32(m, va + f->replacement_bytes - 24);
	if (flags != FLAG_REPLACEMENT || locals > LOCALS_MAX)
		return 0;
	return va + f->replacement_bytes + 4ull * locals;
}

static int open_bounds(struct memory *m, const struct clr_debug_format *f, u64 va, struct bounds *ret_bounds)
{
	struct nibbles n = { .memory = m, .va = skip_flags(m, f, va) };
	struct bounds b = { 0 };
	u32 bytes = n.va ? read_number(&n) : 0;
	bool is_fat = f->kind == CLR_DEBUG_FAT && !bytes;

	if (is_fat)
		bytes = read_number(&n);
	for (u32 i = 0; i < (is_fat ? 5 : 1); i++)
		(void)read_number(&n);		/* of what follows them */
	if (!bytes || bytes > BOUNDS_BYTES_MAX)
		return -ENODATA;
	b.numbers = (struct nibbles){ .memory = m, .va = next_byte(&n) };
	b.count = read_number(&b.numbers);
	if (f->kind != CLR_DEBUG_NIBBLES) {
		b.flag_bits = f->kind == CLR_DEBUG_FAT ? 3 : 2;
		b.native_bits = read_number(&b.numbers) + 1;
		b.il_bits = read_number(&b.numbers) + 1;
		b.bits_va = next_byte(&b.numbers);
		if (b.native_bits > 32 || b.il_bits > 32 ||
		    b.flag_bits + b.native_bits + b.il_bits > ENTRY_BITS_MAX)
			return -ENODATA;
	}
	if (b.count > BOUNDS_MAX)
		return -ENODATA;
	*ret_bounds = b;
	return 0;
}

int clr_debug_find(struct memory *m, const struct clr_debug_format *f, u64 va, u32 native, u32 *ret_il)
{
	u32 found = IL_NONE;
	struct bounds b;
	int r = va ? open_bounds(m, f, va, &b) : -ENODATA;

	if (memory_err(m))
		return memory_err(m);
	if (r < 0)
		return r;
	/* What comes from no IL belongs to what stands before it. */
	while (next_bound(&b) && b.native <= native)
		if (b.il != IL_NONE)
			found = b.il;
	if (memory_err(m))
		return memory_err(m);
	if (found == IL_NONE)
		return -ENODATA;
	*ret_il = found == IL_EPILOG ? CLR_DEBUG_END : found == IL_PROLOG ? 0 : found - IL_FIRST;
	return 0;
}
