// SPDX-License-Identifier: Apache-2.0
#include "tracer/sideband_record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *aligned = malloc(size + 1);
	struct sideband_event event;

	if (!aligned)
		return 0;
	memcpy(aligned, data, size);
	if (event_parse(aligned, size, &event) == 1)
		event_done(&event);
	free(aligned);
	return 0;
}
