// SPDX-License-Identifier: Apache-2.0
#include "store/block.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "store/dict.h"
#include "wire/compression.h"
#include "wire/pb.h"

#define TABLE_MAX (1u << 20)

void block_rows_init(struct block_rows *rows)
{
	*rows = (struct block_rows){ 0 };
}

void block_rows_done(struct block_rows *rows)
{
	free(rows->rows);
	free(rows->threads);
	free(rows->links);
	block_rows_init(rows);
}

int block_rows_add(struct block_rows *rows, const struct block_row *row)
{
	int r;

	if (rows->count >= BLOCK_ROWS_MAX)
		return -E2BIG;
	r = array_reserve(&rows->rows, &rows->cap, rows->count + 1, sizeof(*row));
	if (r < 0)
		return r;
	rows->rows[rows->count++] = *row;
	return 0;
}

/* Entry 0 is there from the first on: the array is zeroed. */
static int table_room(void *table, u32 *count, u32 *cap, size_t bytes)
{
	int r;

	if (*count >= TABLE_MAX)
		return -E2BIG;
	r = array_reserve(table, cap, *count + 2, bytes);
	if (r == 0 && !*count)
		*count = 1;
	return r;
}

/* A host has few threads in a window, and neighbours are of the same: looked for from the end. */
int block_rows_thread(struct block_rows *rows, struct block_thread thread, u32 *ret_number)
{
	int r;

	for (u32 i = rows->thread_count; i-- > 1;) {
		if (rows->threads[i].tid == thread.tid && rows->threads[i].name == thread.name) {
			*ret_number = i;
			return 0;
		}
		if (rows->thread_count - i > 64)
			break;
	}
	r = table_room(&rows->threads, &rows->thread_count, &rows->thread_cap, sizeof(thread));
	if (r < 0)
		return r;
	*ret_number = rows->thread_count;
	rows->threads[rows->thread_count++] = thread;
	return 0;
}

int block_rows_link(struct block_rows *rows, const struct block_link *link, u32 *ret_number)
{
	int r;

	if (rows->link_count > 1 && !memcmp(&rows->links[rows->link_count - 1], link, sizeof(*link))) {
		*ret_number = rows->link_count - 1;
		return 0;
	}
	r = table_room(&rows->links, &rows->link_count, &rows->link_cap, sizeof(*link));
	if (r < 0)
		return r;
	*ret_number = rows->link_count;
	rows->links[rows->link_count++] = *link;
	return 0;
}

/* ---- Folding ------------------------------------------------------------------- */

#define COMPARE(member)					\
	do {						\
		if (x->member != y->member)		\
			return x->member < y->member ? -1 : 1; \
	} while (0)

static int compare_nodes(const void *a, const void *b)
{
	const struct block_row *x = a, *y = b;

	COMPARE(series);
	COMPARE(node);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct block_row *x = a, *y = b;

	COMPARE(series);
	COMPARE(node);
	COMPARE(time_ns);
	COMPARE(thread);
	COMPARE(cpu);
	COMPARE(link);
	COMPARE(line);
	COMPARE(address);
	return 0;
}

static void strip_details(struct block_row *row)
{
	*row = (struct block_row){ .series = row->series, .node = row->node, .value = row->value };
}

void block_rows_fold(struct block_rows *rows, bool is_rollup)
{
	int (*compare)(const void *, const void *) = is_rollup ? compare_nodes : compare_rows;
	u32 kept = 0;

	if (!rows->count)
		return;
	for (u32 i = 0; is_rollup && i < rows->count; i++)
		strip_details(&rows->rows[i]);
	qsort(rows->rows, rows->count, sizeof(*rows->rows), compare);
	for (u32 i = 1; i < rows->count; i++) {
		if (!compare(&rows->rows[kept], &rows->rows[i])) {
			s64 *value = &rows->rows[kept].value;

			if (__builtin_add_overflow(*value, rows->rows[i].value, value))
				*value = rows->rows[i].value > 0 ? INT64_MAX : INT64_MIN;
		} else {
			rows->rows[++kept] = rows->rows[i];
		}
	}
	rows->count = kept + 1;
	if (is_rollup)
		rows->thread_count = rows->link_count = 0;
}

/* ---- Packing ------------------------------------------------------------------- */

static u64 zigzag(s64 value)
{
	return (u64)value << 1 ^ (u64)(value >> 63);
}

static s64 unzigzag(u64 value)
{
	return (s64)(value >> 1) ^ -(s64)(value & 1);
}

/* What each column holds of a row, and whether it stands as the difference to the row before. */
struct column {
	u64 (*get)(const struct block_row *row);
	void (*set)(struct block_row *row, u64 value);
	bool is_difference, is_detail;
};

#define COLUMN(member)										\
	static u64 get_##member(const struct block_row *row) { return (u64)row->member; }	\
	static void set_##member(struct block_row *row, u64 value) { row->member = (__typeof__(row->member))value; }
COLUMN(node)
COLUMN(time_ns)
COLUMN(thread)
COLUMN(cpu)
COLUMN(link)
COLUMN(line)
COLUMN(address)

static u64 get_value(const struct block_row *row)
{
	return zigzag(row->value);
}

static void set_value(struct block_row *row, u64 value)
{
	row->value = unzigzag(value);
}

static const struct column columns[] = {
	{ get_node, set_node, true, false },
	{ get_value, set_value, false, false },
	{ get_time_ns, set_time_ns, true, true },
	{ get_thread, set_thread, false, true },
	{ get_cpu, set_cpu, false, true },
	{ get_link, set_link, false, true },
	{ get_line, set_line, true, true },
	{ get_address, set_address, true, true },
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void pack_runs(const struct block_rows *rows, struct buf *out)
{
	for (u32 i = 0, end; i < rows->count; i = end) {
		for (end = i + 1; end < rows->count && rows->rows[end].series == rows->rows[i].series;)
			end++;
		pb_put_raw_varint(out, rows->rows[i].series);
		pb_put_raw_varint(out, end - i);
	}
}

static void pack_column(const struct block_rows *rows, const struct column *column, struct buf *scratch)
{
	u64 before = 0;

	for (u32 i = 0; i < rows->count; i++) {
		u64 value = column->get(&rows->rows[i]);

		pb_put_raw_varint(scratch, column->is_difference ? zigzag((s64)(value - before)) : value);
		before = value;
	}
}

static void pack_tables(const struct block_rows *rows, struct buf *out)
{
	pb_put_raw_varint(out, rows->thread_count);
	for (u32 i = 1; i < rows->thread_count; i++) {
		pb_put_raw_varint(out, rows->threads[i].tid);
		pb_put_raw_varint(out, rows->threads[i].name);
	}
	pb_put_raw_varint(out, rows->link_count);
	for (u32 i = 1; i < rows->link_count; i++)
		buf_add(out, &rows->links[i], sizeof(rows->links[i]));
}

int block_pack(const struct block_rows *rows, bool is_rollup, struct buf *out)
{
	_cleanup_(buf_done) struct buf plain, column;

	buf_init(&plain, BLOCK_BYTES_MAX);
	buf_init(&column, BLOCK_BYTES_MAX);
	pb_put_raw_varint(&plain, rows->count);
	pb_put_raw_varint(&plain, is_rollup);
	pack_runs(rows, &plain);
	pack_tables(rows, &plain);
	for (u32 i = 0; i < COLUMNS; i++) {
		if (is_rollup && columns[i].is_detail)
			continue;
		column.len = 0;
		pack_column(rows, &columns[i], &column);
		pb_put_raw_varint(&plain, column.len);
		buf_add(&plain, column.data, column.len);
	}
	if (buf_err(&column) < 0 || buf_err(&plain) < 0)
		return buf_err(&column) < 0 ? buf_err(&column) : buf_err(&plain);
	return compression_pack(COMPRESSION_ZSTD, plain.data, plain.len, out);
}

/* ---- Reading ------------------------------------------------------------------- */

static void fail(struct pb *r)
{
	if (!r->err)
		r->err = -EBADMSG;
}

static void unpack_runs(struct pb *r, const struct dict *dict, struct block_rows *rows, u32 count)
{
	while (rows->count < count && !r->err) {
		u64 series = pb_varint(r), length = pb_varint(r);

		if (r->err || series >= dict->series.count || !length || length > count - rows->count) {
			fail(r);
			return;
		}
		for (u64 i = 0; i < length; i++)
			rows->rows[rows->count++].series = (u32)series;
	}
}

static void unpack_threads(struct pb *r, const struct dict *dict, struct block_rows *rows)
{
	u64 count = pb_varint(r);

	if (count > TABLE_MAX || count > pb_left(r) + 1 ||
	    array_reserve(&rows->threads, &rows->thread_cap, (u32)count + 1, sizeof(*rows->threads)) < 0) {
		fail(r);
		return;
	}
	rows->thread_count = (u32)count;
	for (u32 i = 1; i < count && !r->err; i++) {
		u64 tid = pb_varint(r), name = pb_varint(r);

		if (tid > UINT32_MAX || name >= dict->strings.count)
			fail(r);
		rows->threads[i] = (struct block_thread){ (u32)tid, (u32)name };
	}
}

static void unpack_links(struct pb *r, struct block_rows *rows)
{
	u64 count = pb_varint(r), bytes = count > 1 ? (count - 1) * sizeof(*rows->links) : 0;

	if (count > TABLE_MAX || bytes > pb_left(r) ||
	    array_reserve(&rows->links, &rows->link_cap, (u32)count + 1, sizeof(*rows->links)) < 0) {
		fail(r);
		return;
	}
	rows->link_count = (u32)count;
	if (bytes)
		memcpy(&rows->links[1], r->at, bytes);
	r->at += bytes;
}

static void unpack_column(struct pb *r, const struct column *column, struct block_rows *rows, bool wanted)
{
	u64 bytes = pb_varint(r), before = 0;
	struct pb body;

	if (r->err || bytes > pb_left(r)) {
		fail(r);
		return;
	}
	body = pb_from(r->at, bytes);
	r->at += bytes;
	for (u32 i = 0; wanted && i < rows->count; i++) {
		u64 value = pb_varint(&body);

		if (column->is_difference)
			value = before + (u64)unzigzag(value);
		column->set(&rows->rows[i], value);
		before = value;
	}
	if (body.err || (wanted && pb_left(&body)))
		fail(r);
}

static bool rows_in_range(const struct block_rows *rows, const struct dict *dict)
{
	u32 threads = rows->thread_count ? rows->thread_count : 1, links = rows->link_count ? rows->link_count : 1;

	for (u32 i = 0; i < rows->count; i++) {
		const struct block_row *row = &rows->rows[i];

		if (row->node >= dict->nodes.count || row->thread >= threads || row->link >= links)
			return false;
	}
	return true;
}

static int unpack_plain(struct pb *r, const struct dict *dict, bool with_details, struct block_rows *rows)
{
	u64 count = pb_varint(r), is_rollup = pb_varint(r);

	/* A row takes a byte of each column. */
	if (r->err || count > BLOCK_ROWS_MAX || count > pb_left(r) || is_rollup > 1)
		return -EBADMSG;
	if (array_reserve(&rows->rows, &rows->cap, (u32)count + 1, sizeof(*rows->rows)) < 0)
		return -ENOMEM;
	unpack_runs(r, dict, rows, (u32)count);
	unpack_threads(r, dict, rows);
	unpack_links(r, rows);
	for (u32 i = 0; i < COLUMNS && !r->err; i++)
		if (!is_rollup || !columns[i].is_detail)
			unpack_column(r, &columns[i], rows, with_details || !columns[i].is_detail);
	return r->err ? r->err : !pb_left(r) && rows_in_range(rows, dict) ? 0 : -EBADMSG;
}

int block_unpack(const void *at, size_t bytes, const struct dict *dict, bool with_details, struct block_rows *ret_rows)
{
	_cleanup_(buf_done) struct buf plain;
	struct block_rows rows;
	struct pb r;
	int result;

	buf_init(&plain, BLOCK_BYTES_MAX);
	result = compression_unpack(COMPRESSION_ZSTD, at, bytes, &plain);
	if (result < 0)
		return result;
	block_rows_init(&rows);
	r = pb_from(plain.data, plain.len);
	result = unpack_plain(&r, dict, with_details, &rows);
	if (result < 0)
		block_rows_done(&rows);
	else
		*ret_rows = rows;
	return result;
}
