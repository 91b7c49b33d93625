// SPDX-License-Identifier: Apache-2.0
/* The failing allocator of test.h, put between the program and libc by the linker's --wrap. */
#include "test.h"

static _Atomic long asked, fail_after = -1;	/* threads of a test allocate too */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__real_reallocarray(void *at, size_t count, size_t bytes);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);
void *__wrap_reallocarray(void *at, size_t count, size_t bytes);

static int alloc_fails(void)
{
	long n = asked++;

	return fail_after >= 0 && n >= fail_after;
}

void test_alloc_fail(long after)
{
	asked = 0;
	fail_after = after;
}

long test_alloc_reset(void)
{
	fail_after = -1;
	return asked;
}

void *__wrap_malloc(size_t bytes)
{
	return alloc_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return alloc_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
	return alloc_fails() ? NULL : __real_realloc(at, bytes);
}

void *__wrap_reallocarray(void *at, size_t count, size_t bytes)
{
	return alloc_fails() ? NULL : __real_reallocarray(at, count, bytes);
}

#define KEPT_MAX (1u << 20)

/* Where leak checkers see it; not static, or the compiler sees that nobody reads it. */
void *test_kept[KEPT_MAX];

void *test_keep(void *at)
{
	static unsigned int count;

	if (count == KEPT_MAX)
		FAIL("more is kept than there is room for");
	test_kept[count++] = at;
	return at;
}
