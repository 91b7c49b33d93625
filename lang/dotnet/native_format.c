// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/native_format.h"

#include <errno.h>
#include <stdbool.h>

#include "base/clock.h"
#include "lang/memory.h"

#define METHODS_MAX (1u << 17)	/* that are looked for */
#define READ_NS 500000000ull
#define BLOCK 16
#define BUCKETS_SHIFT_MAX 20
#define BUCKET_MAX 1024
#define TYPE_DEPTH_MAX 16

/* Flags of a method's signature (inc/readytorun.h) */
#define METHOD_INSTANTIATED 0x04
#define METHOD_SLOT 0x08
#define METHOD_MEMBER_REF 0x10
#define METHOD_CONSTRAINED 0x20
#define METHOD_OWNER 0x40
#define METHOD_CONTEXT 0x80

/* A table may be made so that each word of it lies on another page. */
static bool is_late(u32 i, u64 end_ns)
{
	return i % 64 == 63 && monotonic_ns() > end_ns;
}

/* A number of one to five bytes: how many, the lowest bits of the first tell. */
static u32 read_unsigned(struct memory *m, u64 *va)
{
	u8 first = memory_u8(m, *va);
	u32 more = 0, value = first;

	while (more < 4 && first >> more & 1)
		more++;
	if (more == 4) {
		value = memory_u32(m, *va + 1);
		*va += 5;
		return value;
	}
	for (u32 i = 1; i <= more; i++)
		value |= (u32)memory_u8(m, *va + i) << 8 * i;
	*va += 1 + more;
	return value >> (more + 1);
}

static s32 read_signed(struct memory *m, u64 *va)
{
	u64 start = *va;
	u32 value = read_unsigned(m, va), bits = 7 * (u32)(*va - start);

	return bits < 32 && value >> (bits - 1) & 1 ? (s32)(value | ~0u << bits) : (s32)value;
}

static u32 read_fixed(struct memory *m, u64 va, u32 shift)
{
	return shift == 0 ? memory_u8(m, va) : shift == 1 ? memory_u16(m, va) : memory_u32(m, va);
}

/*
 * Where an element of a block of 16 is, by a tree of four levels; 0 if there is none. A node tells whether there is
 * something to its left, which follows, and to its right, and how far away that is. One that says neither stands for
 * one element alone.
 */
static u64 find_element(struct memory *m, u64 va, u32 index)
{
	for (u32 bit = BLOCK / 2; bit; bit >>= 1) {
		u64 next = va;
		u32 value = read_unsigned(m, &next);

		if (!(value & 3))
			return value >> 2 == (index & (BLOCK - 1)) ? next : 0;
		if (index & bit) {
			if (!(value & 2))
				return 0;
			va += value >> 2;
		} else {
			if (!(value & 1))
				return 0;
			va = next;
		}
	}
	return va;
}

u64 native_array_find(struct memory *m, u64 va, u32 bytes, u32 index)
{
	u64 base = va, at;
	u32 header = read_unsigned(m, &base), shift = (header & 3) > 2 ? 2 : header & 3;

	if (index >= header >> 2)
		return 0;
	at = base + read_fixed(m, base + ((u64)(index / BLOCK) << shift), shift);
	at = find_element(m, at, index);
	return at - va < bytes && !memory_err(m) ? at : 0;
}

u64 native_format_shared(struct memory *m, u64 va)
{
	u64 next = va;
	u32 back = read_unsigned(m, &next);

	return back ? va - back : next;
}

int native_array_read(struct memory *m, u64 va, u32 bytes, native_entry *entry, void *arg)
{
	u64 base = va;
	u32 header = read_unsigned(m, &base), count = header >> 2, shift = (header & 3) > 2 ? 2 : header & 3;
	u64 end_ns = monotonic_ns() + READ_NS;
	int r = 0;

	if (count > METHODS_MAX)
		count = METHODS_MAX;
	for (u32 i = 0; i < count && !r && !memory_err(m) && !is_late(i, end_ns); i++) {
		u64 at = base + read_fixed(m, base + ((u64)(i / BLOCK) << shift), shift);

		at = find_element(m, at, i);
		if (at && at - va < bytes)
			r = entry(arg, i + 1, read_unsigned(m, &at));
	}
	return memory_err(m) ? memory_err(m) : r;
}

/* II.23.2: a number of one, two or four bytes. */
static u32 read_compressed(struct memory *m, u64 *va)
{
	u8 first = memory_u8(m, *va);

	if (!(first & 0x80)) {
		*va += 1;
		return first;
	}
	if (!(first & 0x40)) {
		*va += 2;
		return (first & 0x3fu) << 8 | memory_u8(m, *va - 1);
	}
	*va += 4;
	return (first & 0x1fu) << 24 | (u32)memory_u8(m, *va - 3) << 16 | (u32)memory_u8(m, *va - 2) << 8 |
	       memory_u8(m, *va - 1);
}

/* Passes a type's signature (II.23.2.12, and 0x3f, a type of another module): false if it is not one that we know. */
static bool skip_type(struct memory *m, u64 *va, u32 depth)
{
	u8 type = memory_u8(m, (*va)++);
	u32 count;

	if (depth > TYPE_DEPTH_MAX || memory_err(m))
		return false;
	switch (type) {
	case 0x11:		/* a value type, a class, a variable */
	case 0x12:
	case 0x13:
	case 0x1e:
		(void)read_compressed(m, va);
		return true;
	case 0x0f:		/* a pointer, a reference, an array of one dimension */
	case 0x10:
	case 0x1d:
	case 0x45:
		return skip_type(m, va, depth + 1);
	case 0x3f:		/* in another module */
		(void)read_compressed(m, va);
		return skip_type(m, va, depth + 1);
	case 0x15:		/* an instance */
		if (!skip_type(m, va, depth + 1))
			return false;
		count = read_compressed(m, va);
		for (u32 i = 0; i < count && i < 64; i++)
			if (!skip_type(m, va, depth + 1))
				return false;
		return count <= 64;
	default:		/* a basic type; __Canon is one of the runtime's own */
		return type <= 0x0e || type == 0x16 || type == 0x18 || type == 0x19 || type == 0x1c || type == 0x3e;
	}
}

/* An owner that is of another module, whose rows are not ours. */
static bool is_foreign(struct memory *m, u64 va)
{
	u8 first = memory_u8(m, va);

	return first == 0x3f || (first == 0x15 && memory_u8(m, va + 1) == 0x3f);
}

static int read_instance(struct memory *m, u64 va, native_entry *entry, void *arg)
{
	u32 flags = read_compressed(m, &va), method, count;
	bool is_ours = !(flags & (METHOD_CONTEXT | METHOD_SLOT | METHOD_MEMBER_REF));

	if (flags & METHOD_CONTEXT)
		(void)read_compressed(m, &va);
	if (flags & METHOD_OWNER) {
		is_ours = is_ours && !is_foreign(m, va);
		if (!skip_type(m, &va, 0))
			return 0;
	}
	method = read_compressed(m, &va);
	count = flags & METHOD_INSTANTIATED ? read_compressed(m, &va) : 0;
	for (u32 i = 0; i < count; i++)
		if (i >= 64 || !skip_type(m, &va, 0))
			return 0;
	if (flags & METHOD_CONSTRAINED && !skip_type(m, &va, 0))
		return 0;
	if (memory_err(m))
		return memory_err(m);
	/* One that cannot be named holds its place: its code is not the method's before it. */
	return entry(arg, is_ours ? method : 0, read_unsigned(m, &va));
}

static int read_bucket(struct memory *m, u64 at, u64 end, u64 table_va, u32 bytes, native_entry *entry, void *arg)
{
	int r = 0;

	for (u32 i = 0; at < end && i < BUCKET_MAX && !r && !memory_err(m); i++) {
		u64 from, instance;

		at++;			/* a part of the hash */
		from = at;
		instance = from + (u64)(s64)read_signed(m, &at);
		if (instance - table_va < bytes)
			r = read_instance(m, instance, entry, arg);
	}
	return r;
}

int native_instances_read(struct memory *m, u64 va, u32 bytes, native_entry *entry, void *arg)
{
	u8 header = memory_u8(m, va);
	u32 shift = (header & 3) > 2 ? 2 : header & 3, bits = header >> 2;
	u64 base = va + 1, end_ns = monotonic_ns() + READ_NS;
	int r = 0;

	if (bits > BUCKETS_SHIFT_MAX)
		return -EBADMSG;
	for (u32 i = 0; i < 1u << bits && !r && !memory_err(m) && !is_late(i, end_ns); i++) {
		u64 at = base + read_fixed(m, base + ((u64)i << shift), shift);
		u64 end = base + read_fixed(m, base + ((u64)(i + 1) << shift), shift);

		if (at - va <= bytes && end - va <= bytes)
			r = read_bucket(m, at, end, va, bytes, entry, arg);
	}
	return memory_err(m) ? memory_err(m) : r;
}
