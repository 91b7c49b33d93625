/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TEST(name) { ... } registers itself; each test runs in a process of its
 * own. The checks end it and print both values; SKIP() says why it cannot
 * run here.
 */
#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
};

#define TEST(name)								\
	static void test_##name(void);						\
	static const struct test entry_##name					\
		__attribute__((section("tests"), used, aligned(8))) =		\
		{ #name, test_##name };						\
	static void test_##name(void)

#define FAIL(...)								\
	(fprintf(stderr, "%s:%d: ", __FILE__, __LINE__),			\
	 fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

#define SKIP(...) test_skip(__VA_ARGS__)

_Noreturn void test_skip(const char *why, ...) __attribute__((format(printf, 1, 2)));

#define EQ(got, want)								\
	do {									\
		long long got_ = (long long)(got), want_ = (long long)(want);	\
		if (got_ != want_)						\
			FAIL("%s is %lld (0x%llx), not %lld (0x%llx)", #got,	\
			     got_, got_, want_, want_);				\
	} while (0)

#define OK(condition)								\
	do {									\
		if (!(condition))						\
			FAIL("not so: %s", #condition);				\
	} while (0)

#define STREQ(got, want)							\
	do {									\
		const char *got_ = (got), *want_ = (want);			\
		if (strcmp(got_, want_))					\
			FAIL("%s is \"%s\", not \"%s\"", #got, got_, want_);	\
	} while (0)

/*
 * The failing allocator: between test_alloc_fail(n) and test_alloc_reset() the
 * n-th allocation (from 0) and all after it return NULL. test_alloc_reset()
 * returns how many were asked for, so that a test can fail each in turn.
 */
void test_alloc_fail(long after);
long test_alloc_reset(void);

/* For what a test needs until its process ends: it is not a leak. */
void *test_keep(void *at);

#endif
