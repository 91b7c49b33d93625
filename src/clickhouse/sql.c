// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/sql.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"

/* ClickHouse reads backslashes alike in 'strings' and in `names`. */
static void add_quoted(struct buf *out, char quote, const char *at, size_t bytes)
{
	buf_add(out, &quote, 1);
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)at[i];

		if (c == '\'' || c == '`' || c == '\\')
			buf_addf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_addf(out, "\\x%02X", c);
		else
			buf_add(out, at + i, 1);
	}
	/* A statement may end here: it has a NUL behind it then. */
	buf_addf(out, "%c", quote);
}

void sql_add_literal(struct buf *out, const char *at, size_t bytes)
{
	add_quoted(out, '\'', at, bytes);
}

/* In the quotes of JSON, which become those of SQL: base64 has neither. */
void sql_add_base64(struct buf *out, const void *at, size_t bytes)
{
	size_t start = out->len;

	json_put_base64(out, at, bytes);
	if (buf_err(out) == 0)
		out->data[start] = out->data[out->len - 1] = '\'';
}

void sql_add_name(struct buf *out, const char *name)
{
	add_quoted(out, '`', name, strlen(name));
}

void sql_add_table(struct buf *out, const char *database, const char *table)
{
	if (database && *database) {
		sql_add_name(out, database);
		buf_add(out, ".", 1);
	}
	sql_add_name(out, table);
}

/* Past a 'string'; NULL if it does not end. */
static const char *skip_string(const char *c)
{
	for (c++; *c && *c != '\''; c++) {
		if (*c == '\\' && !*++c)
			return NULL;
	}
	return *c ? c + 1 : NULL;
}

bool sql_is_plain_list(const char *text)
{
	const char *c = text;

	while (*c) {
		if (*c == '\'') {
			c = skip_string(c);
			if (!c)
				return false;
		} else if (isalnum((unsigned char)*c) || strchr("_., ", *c)) {
			c++;
		} else {
			return false;
		}
	}
	return true;
}
