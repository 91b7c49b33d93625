// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/columns.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/interner.h"
#include "profile/any.h"

#define COLUMNS_MAX 32
#define KEYS_MAX (1u << 24)

/* What a type is made of: numbers of a width, or strings. */
static const struct shape {
	u8 width;		/* 0: strings */
	bool has_label;		/* strings, or the keys of a Map, are LowCardinality */
	bool is_list, is_map;
} shapes[] = {
	[CLICKHOUSE_TIME] = { 8, false, false, false },	   [CLICKHOUSE_UTC_TIME] = { 8, false, false, false },
	[CLICKHOUSE_DATE] = { 2, false, false, false },	   [CLICKHOUSE_U32] = { 4, false, false, false },
	[CLICKHOUSE_I32] = { 4, false, false, false },	   [CLICKHOUSE_U64] = { 8, false, false, false },
	[CLICKHOUSE_I64] = { 8, false, false, false },	   [CLICKHOUSE_TEXT] = { 0, false, false, false },
	[CLICKHOUSE_LABEL] = { 0, true, false, false },	   [CLICKHOUSE_U8S] = { 1, false, true, false },
	[CLICKHOUSE_I32S] = { 4, false, true, false },	   [CLICKHOUSE_U32S] = { 4, false, true, false },
	[CLICKHOUSE_U64S] = { 8, false, true, false },	   [CLICKHOUSE_I64S] = { 8, false, true, false },
	[CLICKHOUSE_TEXTS] = { 0, false, true, false },	   [CLICKHOUSE_LABELS] = { 0, true, true, false },
	[CLICKHOUSE_MAP] = { 0, true, true, true },	   [CLICKHOUSE_U8] = { 1, false, false, false },
};

struct column {
	const struct shape *shape;
	u64 count;		/* of values, or elements */
	struct buf values;	/* numbers and strings */
	struct buf ends;
	struct buf indices;	/* u32 each: of labels */
	struct interner keys;
};

struct columns {
	enum clickhouse_table table;
	size_t bytes_max;
	u32 count, rows;
	int err;
	struct arena arena;	/* of keys */
	struct buf scratch;
	struct column at[COLUMNS_MAX];
};

/* ---- Life ------------------------------------------------------------------------------- */

static void begin_keys(struct columns *columns)
{
	arena_init(&columns->arena, columns->bytes_max);
	for (u32 i = 0; i < columns->count; i++) {
		struct column *c = &columns->at[i];

		interner_init(&c->keys, &columns->arena, KEYS_MAX);
		if (c->shape->has_label && interner_add(&c->keys, "", 0, NULL) == INTERNER_NONE)
			columns->err = -ENOMEM;
	}
}

static void end_keys(struct columns *columns)
{
	for (u32 i = 0; i < columns->count; i++)
		interner_done(&columns->at[i].keys);
	arena_done(&columns->arena);
}

struct columns *columns_new(enum clickhouse_table table, size_t bytes_max)
{
	_cleanup_(columns_freep) struct columns *columns = calloc(1, sizeof(*columns));
	const struct clickhouse_column *described;

	if (!columns)
		return NULL;
	columns->table = table;
	columns->bytes_max = bytes_max;
	described = clickhouse_columns(table, &columns->count);
	assert(columns->count <= COLUMNS_MAX);
	for (u32 i = 0; i < columns->count; i++) {
		struct column *c = &columns->at[i];

		c->shape = &shapes[described[i].type];
		buf_init(&c->values, bytes_max);
		buf_init(&c->ends, bytes_max);
		buf_init(&c->indices, bytes_max);
	}
	buf_init(&columns->scratch, bytes_max);
	begin_keys(columns);
	return columns->err ? NULL : TAKE(columns);
}

void columns_free(struct columns *columns)
{
	if (!columns)
		return;
	for (u32 i = 0; i < columns->count; i++) {
		buf_done(&columns->at[i].values);
		buf_done(&columns->at[i].ends);
		buf_done(&columns->at[i].indices);
	}
	end_keys(columns);
	buf_done(&columns->scratch);
	free(columns);
}

static void empty(struct buf *b)
{
	b->len = 0;
	b->err = 0;
}

void columns_clear(struct columns *columns)
{
	for (u32 i = 0; i < columns->count; i++) {
		struct column *c = &columns->at[i];

		empty(&c->values);
		empty(&c->ends);
		empty(&c->indices);
		c->count = 0;
	}
	end_keys(columns);
	columns->rows = 0;
	columns->err = 0;
	begin_keys(columns);
}

/* ---- Values ------------------------------------------------------------------------------ */

static void add_leb(struct buf *out, u64 value)
{
	u8 bytes[10];
	u32 n = 0;

	do {
		bytes[n++] = (u8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	buf_add(out, bytes, n);
}

static void add_string(struct buf *out, const char *at, size_t bytes)
{
	add_leb(out, bytes);
	buf_add(out, at, bytes);
}

static void add_label(struct columns *columns, struct column *c, struct str text)
{
	u32 number = interner_add(&c->keys, text.len ? text.at : "", text.len, NULL);

	if (number == INTERNER_NONE)
		columns->err = c->keys.count >= KEYS_MAX || columns->arena.err == -E2BIG ? -E2BIG : -ENOMEM;
	else
		buf_add(&c->indices, &number, sizeof(number));
}

void columns_number(struct columns *columns, u32 column, u64 value)
{
	struct column *c = &columns->at[column];

	assert(c->shape->width);
	buf_add(&c->values, &value, c->shape->width);	/* little-endian, as all machines that we run on */
	c->count++;
}

void columns_text(struct columns *columns, u32 column, struct str text)
{
	struct column *c = &columns->at[column];

	assert(!c->shape->width && !c->shape->is_map);
	if (c->shape->has_label)
		add_label(columns, c, text);
	else
		add_string(&c->values, text.at, text.len);
	c->count++;
}

static struct str text_of(struct columns *columns, const struct any *value)
{
	struct buf *out = &columns->scratch;
	bool is_quoted;

	if (value->kind == ANY_NONE)
		return (struct str){ "", 0 };
	if (value->kind == ANY_STRING)
		return value->string;
	empty(out);
	any_put_json(out, value);
	if (buf_err(out) < 0) {
		columns->err = buf_err(out);
		return (struct str){ "", 0 };
	}
	is_quoted = out->len > 1 && out->data[0] == '"';	/* bytes in base64, and NaN */
	return (struct str){ out->data + is_quoted, (u32)(out->len - 2 * is_quoted) };
}

void columns_pair(struct columns *columns, u32 column, struct str key, const struct any *value)
{
	struct column *c = &columns->at[column];
	struct str text = text_of(columns, value);

	assert(c->shape->is_map);
	add_label(columns, c, key);
	add_string(&c->values, text.at, text.len);
	c->count++;
}

void columns_end(struct columns *columns, u32 column)
{
	struct column *c = &columns->at[column];

	assert(c->shape->is_list);
	buf_add(&c->ends, &c->count, sizeof(c->count));
}

void columns_end_row(struct columns *columns)
{
	columns->rows++;
}

u32 columns_rows(const struct columns *columns)
{
	return columns->rows;
}

size_t columns_bytes(const struct columns *columns)
{
	size_t bytes = columns->arena.used;

	for (u32 i = 0; i < columns->count; i++) {
		const struct column *c = &columns->at[i];

		bytes += c->values.len + c->ends.len + c->indices.len;
	}
	return bytes;
}

int columns_err(const struct columns *columns)
{
	int r = columns->err;

	for (u32 i = 0; i < columns->count && r == 0; i++) {
		const struct column *c = &columns->at[i];

		r = buf_err(&c->values) ? buf_err(&c->values) :
		    buf_err(&c->ends)	? buf_err(&c->ends) :
					  buf_err(&c->indices);
	}
	return r;
}

/* ---- The block ----------------------------------------------------------------------------- */

static void add_u64(struct buf *out, u64 value)
{
	buf_add(out, &value, sizeof(value));
}

static void add_indices(const struct column *c, u32 width, struct buf *out)
{
	const u32 *at = (const u32 *)(const void *)c->indices.data;

	if (buf_reserve(out, c->count * width) < 0)
		return;
	for (u64 i = 0; i < c->count; i++) {
		memcpy(out->data + out->len, &at[i], width);
		out->len += width;
	}
}

static void add_labels(const struct column *c, struct buf *out)
{
	u32 log = c->keys.count <= 1u << 8 ? 0 : c->keys.count <= 1u << 16 ? 1 : 2;

	if (!c->count)
		return;
	add_u64(out, log | 0x600);
	add_u64(out, c->keys.count);
	for (u32 i = 0; i < c->keys.count; i++) {
		const struct interner_entry *key = interner_get(&c->keys, i);

		add_string(out, key->at, key->len);
	}
	add_u64(out, c->count);
	add_indices(c, 1u << log, out);
}

static void add_column(const struct column *c, const struct clickhouse_column *described, struct buf *out)
{
	const char *type = clickhouse_type_name(described->type);

	add_string(out, described->name, strlen(described->name));
	add_string(out, type, strlen(type));
	if (c->shape->has_label)
		add_u64(out, 1);
	buf_add(out, c->ends.data, c->ends.len);
	if (c->shape->has_label)
		add_labels(c, out);
	buf_add(out, c->values.data, c->values.len);
}

int columns_encode(const struct columns *columns, struct buf *out)
{
	const struct clickhouse_column *described;
	u32 count;

	if (columns_err(columns) < 0)
		return columns_err(columns);
	described = clickhouse_columns(columns->table, &count);
	add_leb(out, count);
	add_leb(out, columns->rows);
	for (u32 i = 0; i < count; i++) {
		const struct column *c = &columns->at[i];

		/* A value for each row, or the end of a list. */
		assert((c->shape->is_list ? c->ends.len / sizeof(u64) : c->count) == columns->rows);
		add_column(c, &described[i], out);
	}
	return buf_err(out);
}
