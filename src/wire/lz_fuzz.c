// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

#include "wire/lz.h"

#define PLAIN_MAX (1 << 20)

/* The first byte says which. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out;

	if (!size)
		return 0;
	buf_init(&out, PLAIN_MAX);
	(void)(data[0] & 1 ? lz_unpack_lz4 : lz_unpack_snappy)(data + 1, size - 1, &out);
	buf_done(&out);
	return 0;
}
