// SPDX-License-Identifier: Apache-2.0
/* A dictionary chunk and a block, as they come from a file that someone has written to. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/block.h"
#include "store/dict.h"
#include "wire/compression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void pack_and_compare(const struct block_rows *rows, const struct dict *dict)
{
	struct block_rows again;
	struct buf packed;

	buf_init(&packed, BLOCK_BYTES_MAX);
	if (block_pack(rows, false, &packed) == 0) {
		if (block_unpack(packed.data, packed.len, dict, true, &again) < 0)
			abort();
		if (again.count != rows->count ||
		    (rows->count && memcmp(again.rows, rows->rows, rows->count * sizeof(*rows->rows))))
			abort();
		block_rows_done(&again);
	}
	buf_done(&packed);
}

/* The first two bytes say how much of the input is the chunk; the rest is the block before compression. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dict *dict = dict_new();
	struct block_rows rows;
	struct buf packed;
	size_t chunk;

	if (!dict || size < 2) {
		dict_free(dict);
		return 0;
	}
	chunk = (size_t)(data[0] | data[1] << 8) % (size - 1);
	(void)dict_unpack(dict, data + 2, chunk < size - 2 ? chunk : size - 2);
	data += 2 + (chunk < size - 2 ? chunk : size - 2);
	size -= 2 + (chunk < size - 2 ? chunk : size - 2);
	buf_init(&packed, BLOCK_BYTES_MAX);
	if (compression_pack(COMPRESSION_ZSTD, data, size, &packed) == 0 &&
	    block_unpack(packed.data, packed.len, dict, true, &rows) == 0) {
		pack_and_compare(&rows, dict);
		block_rows_done(&rows);
	}
	buf_done(&packed);
	dict_free(dict);
	return 0;
}
