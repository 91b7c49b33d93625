// SPDX-License-Identifier: Apache-2.0
/* Its time is in work(), nearly all of it in mix(), which is inlined there. */
#include <stdio.h>

static inline unsigned mix(unsigned x)
{
	for (int i = 0; i < 50; i++)
		x = x * 1103515245u + 12345u + (x >> 7);
	return x;
}

__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += mix(i + sum);
	return sum;
}

int main(void)
{
	printf("%u\n", work(20000000));
	return 0;
}
