// SPDX-License-Identifier: Apache-2.0
/*
 * describe PID ...
 * Prints what wick says of processes beside their samples, a line for each: the pid, then KEY=value, with tabs between.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/description.h"

#define LOOK_NS 2000000000ull

static void describe(u32 pid)
{
	static const struct description_options none;
	struct description d = { 0 };
	char path[64], exe[PATH_MAX];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	len = readlink(path, exe, sizeof(exe) - 1);
	exe[len < 0 ? 0 : len] = '\0';
	/* Once as at its first sample, once as at a later one. */
	for (u64 i = 0; i < 2; i++)
		description_update(&d, &(struct described){ .tid = pid, .pid = pid, .exe_path = exe }, &none,
				   1 + i * LOOK_NS);
	printf("%u", pid);
	for (u32 at = 0; at < d.bytes; at += (u32)strlen(d.text + at) + 1)
		printf("\t%s", d.text + at);
	printf("\n");
	description_done(&d);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		describe((u32)strtoul(argv[i], NULL, 10));
	return 0;
}
