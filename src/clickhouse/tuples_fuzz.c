// SPDX-License-Identifier: Apache-2.0
/* What a server may answer: a body of rows, read as several types, and the text of an exception. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clickhouse/exception.h"
#include "clickhouse/tuples.h"

static void read_rows(const uint8_t *data, size_t size, const char *types)
{
	struct tuples tuples;

	tuples_init(&tuples, 1u << 20);
	buf_add(&tuples.body, data, size);
	if (tuples_begin(&tuples, types) == 0) {
		while (tuples_next(&tuples)) {
			struct str text = tuples_text(&tuples);

			if (text.len && memchr(text.at, '\1', text.len))
				(void)tuples_real(&tuples);
			(void)tuples_int(&tuples, 8);
			for (u64 n = tuples_count(&tuples); n > 0 && !tuples_err(&tuples); n--)
				(void)tuples_text(&tuples);
		}
	}
	tuples_done(&tuples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clickhouse_exception exception;

	read_rows(data, size, "String, Int64, Array(String)");
	read_rows(data, size, "");
	clickhouse_exception_parse((const char *)data, size, &exception);
	if (strlen(exception.text) >= sizeof(exception.text) || strlen(exception.name) >= sizeof(exception.name))
		abort();
	(void)clickhouse_exception_is_permanent(&exception, 500);
	return 0;
}
