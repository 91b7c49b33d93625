// SPDX-License-Identifier: Apache-2.0
/* A dictionary chunk and a block, as they come from a file that someone has written to. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/block.h"
#include "store/dict.h"
#include "wire/compression.h"
#include "wire/pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ALL (BLOCK_NODE | BLOCK_VALUE | BLOCK_LABELS | BLOCK_DETAILS)

/* Sets are numbered anew when they are written. */
static bool same_labels(const struct block_rows *a, const struct block_rows *b)
{
	for (u32 i = 0; i < a->count; i++) {
		struct label x[LABELS_MAX], y[LABELS_MAX];
		u32 count = label_sets_get(&a->labels, a->rows[i].labels, x);

		if (label_sets_get(&b->labels, b->rows[i].labels, y) != count)
			return false;
		for (u32 n = 0; n < count; n++)
			if (!str_equal(x[n].key, y[n].key) || !str_equal(x[n].value, y[n].value))
				return false;
	}
	return true;
}

static bool same_rows(const struct block_rows *a, const struct block_rows *b)
{
	if (a->count != b->count || !same_labels(a, b))
		return false;
	for (u32 i = 0; i < a->count; i++) {
		struct block_row x = a->rows[i], y = b->rows[i];

		x.labels = y.labels = 0;
		if (memcmp(&x, &y, sizeof(x)))
			return false;
	}
	return true;
}

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
		if (!same_rows(&again, rows))
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
	if (left)	/* labels, which need not be there */
		put_column(&at, &left, &data);
	if (block_unpack(&(struct block_bytes){ data.data, details.data, data.len, details.len }, dict, ALL, &rows) ==
	    0)
		pack_and_compare(&rows, dict);
	(void)block_unpack(&(struct block_bytes){ data.data, NULL, data.len, 0 }, dict, BLOCK_SUMS, &rows);
	(void)block_unpack(&(struct block_bytes){ data.data, NULL, data.len, 0 }, dict, BLOCK_LABELS, &rows);
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
