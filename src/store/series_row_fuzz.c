// SPDX-License-Identifier: Apache-2.0
/* A row of series as it comes from a file that someone has written to. */
#include "store/series_row.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct series_row row = { 0 }, again = { 0 };
	struct buf packed;

	if (series_row_unpack(data, size, &row) < 0)
		return 0;
	buf_init(&packed, SERIES_ROW_BYTES);
	series_row_pack(&row, &packed);
	if (buf_err(&packed) < 0 || series_row_unpack(packed.data, packed.len, &again) < 0 ||
	    memcmp(&row, &again, sizeof(row)) != 0)
		abort();
	buf_done(&packed);
	row.end_ns = 1;
	(void)series_row_join(&row, 1, &again);
	return 0;
}
