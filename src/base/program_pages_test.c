// SPDX-License-Identifier: Apache-2.0
#include "base/program_pages.h"

#include <stdio.h>

#include "base/types.h"
#include "test.h"

/* Resident pages of files. */
static unsigned long file_pages(void)
{
	unsigned long size, resident, shared = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	OK(file);
	EQ(fscanf(file, "%lu %lu %lu", &size, &resident, &shared), 3);
	fclose(file);
	return shared;
}

static const u8 constants[4 << 20] = { [1 << 20] = 42 };
static u32 variable = 7;

TEST(program_pages_are_let_go_and_come_back)
{
	unsigned long before;

	for (u32 at = 0; at < sizeof(constants); at += 4096)
		variable += *(const volatile u8 *)&constants[at] / 100;
	before = file_pages();
	variable++;
	program_pages_forget();
	OK(file_pages() + (sizeof(constants) >> 13) < before);
	EQ(constants[1 << 20], 42);
	EQ(variable, 8);
}
