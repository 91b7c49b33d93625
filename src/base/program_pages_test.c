// SPDX-License-Identifier: Apache-2.0
#include "base/program_pages.h"

#include <stdio.h>

#include "base/types.h"
#include "test.h"

/* What is resident, in KiB, counted page by page: the quick counters lag behind by a thousand pages before v6.2. */
static unsigned long resident_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kib = 0;
	char line[256];

	if (!file)
		SKIP("this kernel has no /proc/self/smaps_rollup");
	while (!kib && fgets(line, sizeof(line), file))
		(void)sscanf(line, "Rss: %lu kB", &kib);
	fclose(file);
	return kib;
}

static const u8 constants[4 << 20] = { [1 << 20] = 42 };
static u32 variable = 7;

TEST(program_pages_are_let_go_and_come_back)
{
	unsigned long before;

	for (u32 at = 0; at < sizeof(constants); at += 4096)
		variable += *(const volatile u8 *)&constants[at] / 100;
	before = resident_kib();
	variable++;
	program_pages_forget();
	OK(resident_kib() + (sizeof(constants) >> 11) < before);
	EQ(constants[1 << 20], 42);
	EQ(variable, 8);
}
