// SPDX-License-Identifier: Apache-2.0
/* A dictionary chunk and a block, as they come from a file that someone has written to. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/block.h"
#include "store/dict.h"
#include "wire/compression.h"
#include "wire/pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ALL (BLOCK_NODE | BLOCK_VALUE | BLOCK_DETAILS)

static void pack_and_compare(const struct block_rows *rows, const struct dict *dict)
{
	struct block_rows again;
	struct buf data, details;

	block_rows_init(&again);
	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	if (block_pack(rows, false, &data, &details) == 0) {
		if (block_unpack(&(struct block_bytes){ data.data, details.data, data.len, details.len }, dict, ALL,
				 &again) < 0)
			abort();
		if (again.count != rows->count ||
		    (rows->count && memcmp(again.rows, rows->rows, rows->count * sizeof(*rows->rows))))
			abort();
	}
	block_rows_done(&again);
	buf_done(&data);
	buf_done(&details);
}

/* Takes a length and so many bytes off the input: one column, which is put in compressed. */
static void put_column(const uint8_t **at, size_t *left, struct buf *out)
{
	size_t bytes = *left ? **at % *left : 0;
	struct buf packed;

	buf_init(&packed, BLOCK_BYTES_MAX);
	if (compression_pack(COMPRESSION_ZSTD, *at + (*left > 0), bytes, &packed) == 0) {
		pb_put_raw_varint(out, packed.len);
		buf_add(out, packed.data, packed.len);
	}
	buf_done(&packed);
	*at += bytes + (*left > bytes);
	*left -= bytes + (*left > bytes);
}

static void unpack(const uint8_t *at, size_t left, const struct dict *dict)
{
	struct block_rows rows;
	struct buf data, details;

	block_rows_init(&rows);
	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	for (int i = 0; i < 3; i++)
		put_column(&at, &left, &data);
	for (int i = 0; i < 7; i++)
		put_column(&at, &left, &details);
	if (block_unpack(&(struct block_bytes){ data.data, details.data, data.len, details.len }, dict, ALL, &rows) ==
	    0)
		pack_and_compare(&rows, dict);
	(void)block_unpack(&(struct block_bytes){ data.data, NULL, data.len, 0 }, dict, BLOCK_SUMS, &rows);
	block_rows_done(&rows);
	buf_done(&data);
	buf_done(&details);
}

/* The first two bytes say how much of the input is the chunk; the rest is the block's columns before compression. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dict *dict = dict_new();
	size_t chunk;

	if (!dict || size < 2) {
		dict_free(dict);
		return 0;
	}
	chunk = (size_t)(data[0] | data[1] << 8) % (size - 1);
	(void)dict_unpack(dict, data + 2, chunk);
	unpack(data + 2 + chunk, size - 2 - chunk, dict);
	dict_free(dict);
	return 0;
}
