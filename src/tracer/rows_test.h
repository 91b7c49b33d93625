/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for tests of what has them in tables. */
#ifndef TRACER_ROWS_TEST_H
#define TRACER_ROWS_TEST_H

#include <stdlib.h>
#include <string.h>

#include "exe/rows.h"
#include "exe/rows_file.h"

/* A copy, as whoever takes it wants it. */
static inline struct rows_file *copied_rows(const struct rows *rows)
{
	struct rows *copy = malloc(rows->bytes);

	memcpy(copy, rows, rows->bytes);
	return rows_file_of(copy);
}

#endif
