// SPDX-License-Identifier: Apache-2.0
#include "proc/maps.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps *maps = maps_new();
	FILE *file = size ? fmemopen((void *)data, size, "r") : NULL;

	if (maps && file)
		(void)maps_read(maps, file);
	if (file)
		fclose(file);
	maps_free(maps);
	return 0;
}
