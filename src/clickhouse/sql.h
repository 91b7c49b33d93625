/* SPDX-License-Identifier: Apache-2.0 */
/* Text of others in SQL of ClickHouse: nothing from outside goes into a statement but through these. No state. */
#ifndef CLICKHOUSE_SQL_H
#define CLICKHOUSE_SQL_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* 'text', any bytes. */
void sql_add_literal(struct buf *out, const char *at, size_t bytes);

/* 'text' in base64. */
void sql_add_base64(struct buf *out, const void *at, size_t bytes);

/* `name` of a database, a table or a column. */
void sql_add_name(struct buf *out, const char *name);

/* `database`.`table`; without a database, NULL or "", only the table. */
void sql_add_table(struct buf *out, const char *database, const char *table);

/* Whether it is a list of numbers, 'strings' and names with commas between them, such as parameters of an engine. */
bool sql_is_plain_list(const char *text);

#endif
