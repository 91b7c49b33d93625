// SPDX-License-Identifier: Apache-2.0
/* Almost all time is in the kernel, reading /dev/zero: kernel stack on top of the user chain. */
#include <fcntl.h>
#include <unistd.h>

#include "victim.h"

static int zero_fd;
static char page[65536];

#define READS(name)								\
	NOINLINE uint64_t name(uint64_t n)					\
	{									\
		uint64_t x = 0;							\
										\
		for (; n; n--)							\
			x += (uint64_t)read(zero_fd, page, sizeof(page));	\
		return x;							\
	}

READS(reads_a)
READS(reads_b)
READS(reads_c)

void victim_setup(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
}

NOINLINE uint64_t outer(uint64_t n)
{
	n = n / 500 + 1;
	TIMED(LEAF_A, reads_a(6 * n));
	TIMED(LEAF_B, reads_b(3 * n));
	TIMED(LEAF_C, reads_c(n));
	return n;
}
