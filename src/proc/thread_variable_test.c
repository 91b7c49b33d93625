// SPDX-License-Identifier: Apache-2.0
#include "proc/thread_variable.h"

#include <errno.h>
#include <string.h>

#include "exe/tls_variable.h"
#include "proc/process_context.h"
#include "test.h"

#define BIAS 0x7000000000ull
#define HEAP 0x7100000000ull

/* Three words that the dynamic linker has written, and three in the heap. */
struct memory {
	u64 slot[3], heap[3];
};

static int read_memory(void *arg, u64 va, void *to, size_t bytes)
{
	const struct memory *m = arg;

	if (va == BIAS + 0x4000 && bytes <= sizeof(m->slot))
		memcpy(to, m->slot, bytes);
	else if (va == HEAP && bytes <= sizeof(m->heap))
		memcpy(to, m->heap, bytes);
	else
		return -EFAULT;
	return 0;
}

static int place(struct memory memory, enum tls_access access, bool is_musl, struct variable_place *ret_place)
{
	const struct process_context_reader reader = { read_memory, &memory };
	const struct tls_variable variable = { access, 0x110, 0x4000, 8 };	/* behind what the slot tells */

	return thread_variable_place(&variable, BIAS, is_musl, &reader, ret_place);
}

TEST(thread_variable_is_at_a_distance_from_the_thread_pointer)
{
	struct variable_place found;
	u64 distance = REG_RA == 30 ? 0x40 : (u64)-0x40;

	EQ(place((struct memory){ 0 }, TLS_PROGRAM, false, &found), 0);
	EQ(found.module, 0);
	EQ(found.offset, 0x110);
	EQ(place((struct memory){ .slot = { distance } }, TLS_OFFSET, false, &found), 0);
	EQ(found.offset, distance + 0x110);
	EQ(place((struct memory){ .slot = { 0x1234, distance } }, TLS_DESCRIPTOR, false, &found), 0);
	EQ(found.module, 0);
	EQ(found.offset, distance + 0x110);
}

TEST(thread_variable_is_in_the_block_of_a_module)
{
	struct variable_place found;

	EQ(place((struct memory){ .slot = { 3, 0x110 } }, TLS_MODULE, false, &found), 0);
	EQ(found.module, 3);
	EQ(found.offset, 0x110);
	EQ(found.entry_bytes, 16);
	EQ(found.count_at, -16);
	EQ(place((struct memory){ .slot = { 1, HEAP }, .heap = { 5, 0x220 } }, TLS_DESCRIPTOR, true, &found), 0);
	EQ(found.module, 5);
	EQ(found.offset, 0x220 + 0x110);
	EQ(found.entry_bytes, 8);
	EQ(found.count_at, 0);
}

TEST(thread_variable_is_not_there_yet_or_makes_no_sense)
{
	struct variable_place found;

	EQ(place((struct memory){ 0 }, TLS_MODULE, false, &found), -EAGAIN);
	EQ(place((struct memory){ 0 }, TLS_OFFSET, false, &found), -EAGAIN);
	EQ(place((struct memory){ 0 }, TLS_DESCRIPTOR, false, &found), -EAGAIN);
	EQ(place((struct memory){ .slot = { 1ull << 40 } }, TLS_MODULE, false, &found), -EFAULT);
	EQ(place((struct memory){ .slot = { 1, HEAP + 8 } }, TLS_DESCRIPTOR, false, &found), -EFAULT);
}
