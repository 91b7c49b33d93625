// SPDX-License-Identifier: Apache-2.0
#include "proc/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/offload.h"
#include "test.h"

#define LONG_NS 600000000000ull

TEST(peek_reads_the_memory_of_a_process_in_pieces)
{
	_cleanup_(peek_freep) struct peek *peek = NULL;
	_cleanup_(freep) u8 *from = malloc(200000), *to = calloc(1, 200000);
	u32 self = (u32)getpid();
	void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	OK(from && to && nothing != MAP_FAILED);
	memset(from, 7, 200000);
	EQ(peek_new(LONG_NS, &peek), 0);
	EQ(peek_memory(peek, peek_process(1), self, (u64)(uintptr_t)from, to, 200000), 0);
	EQ(memcmp(from, to, 200000), 0);
	EQ(peek_memory(peek, peek_process(1), self, (u64)(uintptr_t)nothing, to, 8), -EFAULT);
	EQ(peek_memory(NULL, peek_process(1), self, (u64)(uintptr_t)nothing, to, 8), -EFAULT);
	EQ(peek_memory(peek, peek_process(1), 0x7fffffff, (u64)(uintptr_t)from, to, 8), -ESRCH);
}

TEST(peek_reads_a_stack_that_is_protected)
{
	_cleanup_(peek_freep) struct peek *peek = NULL;
	u8 *at = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 va = (u64)(uintptr_t)at, place = peek_process(1), to = 0;
	u32 self = (u32)getpid();

	OK(at != MAP_FAILED);
	memset(at, 5, 2 * 4096);
	EQ(mprotect(at, 4096, PROT_NONE), 0);
	EQ(munmap(at + 2 * 4096, 4096), 0);
	EQ(peek_new(LONG_NS, &peek), 0);
	EQ(peek_memory(peek, place, self, va, &to, 8), -EFAULT);
	EQ(peek_stack(peek, place, self, va + 4092, &to, 8), 0);
	EQ(to, 0x0505050505050505);
	EQ(peek_stack(NULL, place, self, va, &to, 8), 0);
	EQ(peek_stack(peek, place, self, va + 2 * 4096 - 4, &to, 8), -EFAULT);
	EQ(munmap(at, 2 * 4096), 0);
}

TEST(peek_answers_from_pages_that_were_read_since)
{
	_cleanup_(peek_freep) struct peek *peek = NULL;
	u8 *at = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 va = (u64)(uintptr_t)at, place = peek_process(1), to = 0;
	u32 self = (u32)getpid();

	OK(at != MAP_FAILED);
	EQ(munmap(at + 2 * 4096, 4096), 0);
	EQ(peek_new(LONG_NS, &peek), 0);
	EQ(peek_since(peek, monotonic_ns()), PEEK_NOW);
	memset(at, 1, 2 * 4096);
	EQ(peek_memory(peek, place, self, va + 4092, &to, 8), 0);
	EQ(to, 0x0101010101010101);
	memset(at, 2, 2 * 4096);
	for (u64 i = 0; i <= 2 * 4096 - 8; i += 8)
		EQ(peek_memory(peek, place, self, va + i, &to, 8), 0);
	EQ(to, 0x0101010101010101);
	EQ(peek_stats(peek).looks, 1);
	/* It is another's page, or there is none, or it is older. */
	EQ(peek_memory(peek, peek_process(2), self, va, &to, 8), 0);
	EQ(to, 0x0202020202020202);
	EQ(peek_memory(peek, place, self, va + 2 * 4096 - 4, &to, 8), -EFAULT);
	EQ(peek_memory(peek, place, self, va + 2 * 4096, &to, 0), 0);
	(void)peek_since(peek, monotonic_ns());
	EQ(peek_memory(peek, place, self, va, &to, 8), 0);
	EQ(to, 0x0202020202020202);
	(void)peek_since(peek, PEEK_NOW);
	memset(at, 3, 4096);
	EQ(peek_memory(peek, place, self, va, &to, 8), 0);
	EQ(to, 0x0303030303030303);
	EQ(peek_stats(peek).looks, 5);
	/* What was seen last is what is there for those who may see what is older. */
	(void)peek_since(peek, 0);
	EQ(peek_memory(peek, place, self, va, &to, 8), 0);
	EQ(to, 0x0303030303030303);
	EQ(peek_stats(peek).looks, 5);
	(void)munmap(at, 2 * 4096);
}

TEST(peek_reads_at_once_what_is_expected)
{
	_cleanup_(peek_freep) struct peek *peek = NULL;
	u8 *at = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u64 va = (u64)(uintptr_t)at, place = peek_process(1), to = 0;
	u64 vas[] = { va + 5, va + 3 * 4096, va + 100, va + 6 * 4096, va + 7 * 4096 };
	u32 self = (u32)getpid();

	OK(at != MAP_FAILED);
	memset(at, 1, 8 * 4096);
	EQ(munmap(at + 6 * 4096, 4096), 0);
	EQ(peek_new(LONG_NS, &peek), 0);
	/* What may not be used later is not worth it, nor is one page. */
	peek_expect(NULL, place, self, vas, 5);
	peek_expect(peek, place, self, vas, 5);
	(void)peek_since(peek, monotonic_ns());
	peek_expect(peek, place, self, (u64[]){ va, va + 8 }, 2);
	EQ(peek_stats(peek).looks, 0);
	peek_expect(peek, place, self, vas, 5);
	EQ(peek_stats(peek).looks, 1);
	EQ(peek_memory(peek, place, self, va + 4088, &to, 8), 0);
	EQ(peek_memory(peek, place, self, va + 3 * 4096, &to, 8), 0);
	EQ(to, 0x0101010101010101);
	EQ(peek_stats(peek).looks, 1);
	/* Behind one that is not there none was read. */
	EQ(peek_memory(peek, place, self, va + 6 * 4096, &to, 8), -EFAULT);
	EQ(peek_memory(peek, place, self, va + 7 * 4096, &to, 8), 0);
	EQ(peek_stats(peek).looks, 3);
	(void)munmap(at, 6 * 4096);
	(void)munmap(at + 7 * 4096, 4096);
}

TEST(peek_reads_what_a_file_says_up_to_a_limit)
{
	_cleanup_(peek_freep) struct peek *peek = NULL;
	_cleanup_(freep) char *some = NULL, *all = NULL, *none = NULL;
	u32 self = (u32)getpid();
	int bytes;

	EQ(peek_new(LONG_NS, &peek), 0);
	EQ(peek_text(peek, peek_process(1), self, "maps", 10, &some), 10);
	EQ(strlen(some), 10);
	bytes = peek_text(peek, peek_process(1), self, "maps", 1u << 20, &all);
	OK(bytes > 10 && all[bytes - 1] == '\n' && !all[bytes]);
	EQ(peek_text(peek, peek_process(1), self, "there-is-none", 10, &none), -ENOENT);
}

static int run_for_ever(struct offload_call *call)
{
	for (;;)
		pause();
	return 0;
}

TEST(peek_leaves_alone_what_held_it_up)
{
	struct offload_call *call = malloc(sizeof(*call));
	struct peek *peek = NULL;
	u64 word = 1, to;

	OK(call);
	*call = (struct offload_call){ .target = peek_process(1), .run = run_for_ever };
	EQ(peek_new(1000000, &peek), 0);
	EQ(peek_run(peek, call), -ETIMEDOUT);
	EQ(peek_memory(peek, peek_process(1), (u32)getpid(), (u64)(uintptr_t)&word, &to, 8), -EBUSY);
	EQ(peek_stats(peek).late, 1);
	EQ(peek_stats(peek).refused, 1);
	peek_free(peek);
}

TEST(peek_tells_processes_from_devices)
{
	OK(peek_process(0) && peek_device(0, 0));
	OK(peek_process(5) != peek_process(6));
	OK(peek_device(8, 1) != peek_device(8, 2) && peek_device(8, 1) != peek_device(1, 8));
	OK(peek_device(0, 3) % 2 != peek_process(3) % 2);
}
