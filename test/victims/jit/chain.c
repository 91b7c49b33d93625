// SPDX-License-Identifier: Apache-2.0
/* For lli: a chain that LLVM compiles when it runs, without frame pointers. */
#include <stdio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

NOINLINE unsigned long leaf(unsigned long n)
{
	for (int i = 0; i < 100000; i++) {
		n = n * 6364136223846793005ul + 1442695040888963407ul;
		sink = n;
	}
	return n;
}

NOINLINE unsigned long middle(unsigned long n)
{
	unsigned long x = leaf(n);

	return x + sink;
}

NOINLINE unsigned long outer(unsigned long n)
{
	unsigned long x = middle(n);

	return x ^ sink;
}

int main(void)
{
	unsigned long n = 1;

	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		n = outer(n);
}
