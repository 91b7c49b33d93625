// SPDX-License-Identifier: Apache-2.0
/* A record as it may lie in the directory of a queue: what passes has the length and the sum it claims. */
#include <stdint.h>
#include <stdlib.h>

#include "pipeline/storage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u64 samples, bytes = 0;

	if (size < STORAGE_HEADER_BYTES)
		return 0;
	if (storage_verify(data, data + STORAGE_HEADER_BYTES, size - STORAGE_HEADER_BYTES, &samples) < 0)
		return 0;
	for (int i = 7; i >= 0; i--)
		bytes = bytes << 8 | data[16 + i];
	if (bytes != size - STORAGE_HEADER_BYTES)
		abort();
	return 0;
}
