/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a table, kept by column, and written as one block of ClickHouse's format Native:
 *
 *	columns, rows		LEB128
 *	for each column:
 *	name, type		LEB128 and bytes
 *	1			u64: the version of LowCardinality, of columns that have it
 *	ends			u64 for each row of an Array or Map: how many elements there are up to its end
 *	values			numbers little-endian; strings as LEB128 and bytes; of a Map all keys, then all values
 *
 *	LowCardinality(String): u64 width of indices (0: 1 byte, 1: 2, 2: 4) | 0x600, u64 keys, the keys, u64 values,
 *	an index for each value; key 0 is "". Nothing where there is no value.
 *
 * A row is complete when every column has got its value: one each, or elements and columns_end(). Errors stick.
 */
#ifndef CLICKHOUSE_COLUMNS_H
#define CLICKHOUSE_COLUMNS_H

#include "base/cleanup.h"
#include "clickhouse/schema.h"
#include "profile/profile.h"

struct buf;
struct columns;

/* No column may have more than bytes_max. NULL without memory. */
struct columns *columns_new(enum clickhouse_table table, size_t bytes_max);
void columns_free(struct columns *columns);
DEFINE_CLEANUP(struct columns *, columns_free)

/* Forgets all rows, and errors. */
void columns_clear(struct columns *columns);

/* A value, or an element: numbers are cut to the width of the column. */
void columns_number(struct columns *columns, u32 column, u64 value);
void columns_text(struct columns *columns, u32 column, struct str text);

/* A pair of a Map: values as the Collector writes them, text as it is, lists and maps as JSON. */
void columns_pair(struct columns *columns, u32 column, struct str key, const struct any *value);

/* The Array or Map of this row is complete. */
void columns_end(struct columns *columns, u32 column);

void columns_end_row(struct columns *columns);

u32 columns_rows(const struct columns *columns);
size_t columns_bytes(const struct columns *columns);
int columns_err(const struct columns *columns);		/* 0, -ENOMEM, -E2BIG */

/* Appends the block. */
int columns_encode(const struct columns *columns, struct buf *out);

#endif
