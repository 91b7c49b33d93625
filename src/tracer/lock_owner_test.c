// SPDX-License-Identifier: Apache-2.0
#include "tracer/lock_owner.h"

#include <stdint.h>
#include <unistd.h>

#include "test.h"

TEST(a_lock_that_nobody_waits_for_says_nothing)
{
	EQ(lock_owner_in((const u32[LOCK_WORDS]){ 0, 0, 77 }), 0);
	EQ(lock_owner_in((const u32[LOCK_WORDS]){ 1, 0, 77 }), 0);
	EQ(lock_owner_in((const u32[LOCK_WORDS]){ 4711, 0, 77 }), 0);
}

TEST(a_mutex_of_glibc_has_its_owner_behind_it)
{
	EQ(lock_owner_in((const u32[LOCK_WORDS]){ 2, 0, 77 }), 77);
}

TEST(a_lock_that_the_kernel_hands_over_is_its_owner)
{
	EQ(lock_owner_in((const u32[LOCK_WORDS]){ 0x80000000u | 77, 0, 5 }), 77);
	EQ(lock_owner_in((const u32[LOCK_WORDS]){ 0xc0000000u | 77, 0, 5 }), 77);
}

/* It waits, and so does not have it; nor has a thread of another process. */
TEST(the_owner_of_a_lock_is_another_thread_of_its_process)
{
	static u32 words[LOCK_WORDS] = { 2, 0, 0 };
	struct trace_record record = { .pid = (u32)getpid(), .tid = (u32)getpid(), .lock_va = (u64)(uintptr_t)words,
				       .slice_state = SLICE_IS_ASLEEP };

	words[2] = 1;
	EQ(lock_owner(NULL, 0, &record), 0);
	words[2] = record.tid;
	EQ(lock_owner(NULL, 0, &record), 0);
	record.slice_state = 0;
	EQ(lock_owner(NULL, 0, &record), 0);
}
