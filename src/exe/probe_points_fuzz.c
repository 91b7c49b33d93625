// SPDX-License-Identifier: Apache-2.0
#include "exe/probe_points.h"

#include <stdint.h>
#include <stdlib.h>

#include "exe/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct probe_points points;
	_cleanup_(exe_freep) struct exe *exe = NULL;

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	for (u64 is_usdt = 0; is_usdt < 2; is_usdt++) {
		struct probe_wanted wanted = { .is_usdt = is_usdt, .name = "main" };

		if (probe_points_find(exe, &wanted, &points) == 0 && probe_points_check(&points, sizeof(points)) < 0)
			abort();
	}
	return 0;
}
