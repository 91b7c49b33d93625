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

static u64 thread_hash(const void *row, u64 seed)
{
	const struct block_thread *t = row;

	return hash_mix(seed, (u64)t->tid << 32 | t->name);
}

static bool thread_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct block_thread));
}

static u64 link_hash(const void *row, u64 seed)
{
	return hash_bytes(seed, row, sizeof(struct block_link));
}

static bool link_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct block_link));
}

static const struct table_type thread_type = { sizeof(struct block_thread), thread_hash, thread_equal, NULL };
static const struct table_type link_type = { sizeof(struct block_link), link_hash, link_equal, NULL };

static void forget_tables(struct block_rows *rows)
{
	table_done(&rows->threads);
	table_done(&rows->links);
	label_sets_done(&rows->labels);
	label_sets_init(&rows->labels);
	table_init(&rows->threads, &thread_type, NULL, 0, TABLE_MAX);
	table_init(&rows->links, &link_type, NULL, 0, TABLE_MAX);
}

void block_rows_init(struct block_rows *rows)
{
	*rows = (struct block_rows){ 0 };
	forget_tables(rows);
}

void block_rows_done(struct block_rows *rows)
{
	free(rows->rows);
	forget_tables(rows);
	rows->rows = NULL;
	rows->count = rows->cap = 0;
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

/* Entry 0 is there from the first on. */
static int table_number(struct table *table, const void *row, u32 *ret_number)
{
	static const struct block_link nothing;
	s64 number = table->count ? 0 : table_add(table, &nothing);

	if (number >= 0)
		number = table_add(table, row);
	if (number < 0)
		return (int)number;
	*ret_number = (u32)number;
	return 0;
}

int block_rows_thread(struct block_rows *rows, struct block_thread thread, u32 *ret_number)
{
	return table_number(&rows->threads, &thread, ret_number);
}

int block_rows_link(struct block_rows *rows, const struct block_link *link, u32 *ret_number)
{
	return table_number(&rows->links, link, ret_number);
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
	COMPARE(labels);
	COMPARE(node);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct block_row *x = a, *y = b;

	COMPARE(series);
	COMPARE(labels);
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
	*row = (struct block_row){ .series = row->series, .node = row->node, .value = row->value,
				   .labels = row->labels };
}

static s64 add_saturated(s64 a, s64 b)
{
	s64 sum;

	return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
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
		struct block_row *last = &rows->rows[kept], *row = &rows->rows[i];

		if (compare(last, row))
			rows->rows[++kept] = *row;
		else
			last->value = add_saturated(last->value, row->value);
	}
	rows->count = kept + 1;
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

/* A member of the rows. */
struct column {
	u32 bit, offset, bytes;
	enum { PLAIN, SIGNED, DIFFERENCE } kind;	/* to the row before */
};

#define COLUMN(bit, member, kind) \
	{ bit, offsetof(struct block_row, member), sizeof(((struct block_row *)NULL)->member), kind }
static const struct column columns_of_data[] = {
	COLUMN(BLOCK_NODE, node, DIFFERENCE),
	COLUMN(BLOCK_VALUE, value, SIGNED),
};
static const struct column columns_of_details[] = {
	COLUMN(BLOCK_TIME, time_ns, DIFFERENCE),
	COLUMN(BLOCK_THREAD, thread, PLAIN),
	COLUMN(BLOCK_CPU, cpu, PLAIN),
	COLUMN(BLOCK_LINK, link, PLAIN),
	COLUMN(BLOCK_LEAF, line, DIFFERENCE),
	COLUMN(BLOCK_LEAF, address, DIFFERENCE),
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static u64 get(const struct block_row *row, const struct column *column)
{
	const void *at = (const char *)row + column->offset;

	if (column->bytes == sizeof(u16))
		return *(const u16 *)at;
	return column->bytes == sizeof(u32) ? *(const u32 *)at : *(const u64 *)at;
}

static void plain_column(const struct block_rows *rows, const struct column *column, struct buf *plain)
{
	u64 before = 0;

	for (u32 i = 0; i < rows->count; i++) {
		u64 value = get(&rows->rows[i], column);

		pb_put_raw_varint(plain, column->kind == PLAIN ? value : zigzag((s64)(value - before)));
		before = column->kind == DIFFERENCE ? value : 0;
	}
}

/* Where the run ends that begins at a row: those of one series and set of labels. */
static u32 run_end(const struct block_rows *rows, u32 at)
{
	const struct block_row *first = &rows->rows[at];

	while (at < rows->count && rows->rows[at].series == first->series && rows->rows[at].labels == first->labels)
		at++;
	return at;
}

static void plain_runs(const struct block_rows *rows, struct buf *plain)
{
	pb_put_raw_varint(plain, rows->count);
	for (u32 i = 0, end; i < rows->count; i = end) {
		s64 sum = 0;

		end = run_end(rows, i);
		for (u32 n = i; n < end; n++)
			sum = add_saturated(sum, rows->rows[n].value);
		pb_put_raw_varint(plain, rows->rows[i].series);
		pb_put_raw_varint(plain, end - i);
		pb_put_raw_varint(plain, zigzag(sum));
	}
}

static void plain_tables(const struct block_rows *rows, struct buf *plain)
{
	pb_put_raw_varint(plain, rows->threads.count);
	for (u32 i = 1; i < rows->threads.count; i++) {
		pb_put_raw_varint(plain, block_thread(rows, i)->tid);
		pb_put_raw_varint(plain, block_thread(rows, i)->name);
	}
	pb_put_raw_varint(plain, rows->links.count);
	for (u32 i = 1; i < rows->links.count; i++)
		buf_add(plain, block_link(rows, i), sizeof(struct block_link));
}

/* Appends the length and the compressed bytes of what stands in plain, which is then empty again. */
static int pack_plain(struct buf *plain, struct buf *out)
{
	_cleanup_(buf_done) struct buf packed;
	int r = buf_err(plain);

	buf_init(&packed, BLOCK_BYTES_MAX);
	if (r == 0)
		r = compression_pack(COMPRESSION_ZSTD, plain->data, plain->len, &packed);
	if (r < 0)
		return r;
	plain->len = 0;
	pb_put_raw_varint(out, packed.len);
	buf_add(out, packed.data, packed.len);
	return buf_err(out);
}

static int pack_columns(const struct block_rows *rows, const struct column *columns, size_t count, struct buf *plain,
			struct buf *out)
{
	int r = pack_plain(plain, out);

	for (size_t i = 0; i < count && r == 0; i++) {
		plain_column(rows, &columns[i], plain);
		r = pack_plain(plain, out);
	}
	return r;
}

/* The sets that rows have, numbered anew as they come: of a window that is cut into minutes each has its own. */
static int plain_labels(const struct block_rows *rows, struct buf *plain)
{
	u32 sets = label_sets_count(&rows->labels), used = 0;
	_cleanup_(freep) u32 *numbers = array_calloc(sets, sizeof(*numbers));	/* of a set; 0: not used yet */
	_cleanup_(freep) u32 *old = array_calloc(sets, sizeof(*old));
	_cleanup_(buf_done) struct buf runs;
	int r;

	buf_init(&runs, BLOCK_BYTES_MAX);
	if (!numbers || !old)
		return -ENOMEM;
	for (u32 i = 0; i < rows->count; i = run_end(rows, i)) {
		u32 set = rows->rows[i].labels;

		if (set && !numbers[set]) {
			old[used] = set;
			numbers[set] = ++used;
		}
		pb_put_raw_varint(&runs, numbers[set]);
	}
	if (!used)
		return buf_err(&runs);
	r = label_sets_pack(&rows->labels, old, used, plain);
	buf_add(plain, runs.data, runs.len);
	return r < 0 ? r : buf_err(&runs);
}

/* Rows without labels have no such column. */
static int pack_labels(const struct block_rows *rows, struct buf *plain, struct buf *out)
{
	int r = label_sets_count(&rows->labels) > 1 ? plain_labels(rows, plain) : 0;

	return r < 0 || !plain->len ? r : pack_plain(plain, out);
}

int block_pack(const struct block_rows *rows, bool is_rollup, struct buf *data, struct buf *details)
{
	_cleanup_(buf_done) struct buf plain;
	int r;

	buf_init(&plain, BLOCK_BYTES_MAX);
	plain_runs(rows, &plain);
	r = pack_columns(rows, columns_of_data, COUNT(columns_of_data), &plain, data);
	if (r == 0)
		r = pack_labels(rows, &plain, data);
	if (r < 0 || is_rollup)
		return r;
	plain_tables(rows, &plain);
	return pack_columns(rows, columns_of_details, COUNT(columns_of_details), &plain, details);
}

/* ---- Reading ------------------------------------------------------------------- */

#define BATCH 256	/* values that are unpacked at a time */

static int fail(struct pb *r)
{
	if (!r->err)
		r->err = -EBADMSG;
	return r->err;
}

/* The next column, unpacked if it is wanted. */
static struct pb next_column(struct pb *packed, bool wanted, struct buf *plain)
{
	u64 bytes = pb_varint(packed);
	int r;

	if (packed->err || bytes > pb_left(packed)) {
		fail(packed);
		return (struct pb){ .err = packed->err };
	}
	packed->at += bytes;
	if (!wanted)
		return (struct pb){ 0 };
	plain->len = 0;
	r = compression_unpack(COMPRESSION_ZSTD, packed->at - bytes, bytes, plain);
	if (r < 0)
		return (struct pb){ .err = r };
	return pb_from(plain->data, plain->len);
}

/* How many rows each run has become: 1 where only sums are wanted. */
struct runs {
	u32 *lengths;
	u32 count, cap;
};

static void runs_done(struct runs *runs)
{
	free(runs->lengths);
}

static int unpack_run(struct pb *r, const struct dict *dict, bool sums, u32 count, u32 *done, struct block_rows *rows)
{
	u64 series = pb_varint(r), length = pb_varint(r);
	s64 sum = unzigzag(pb_varint(r));

	if (r->err || series >= dict->series.count || !length || length > count - *done)
		return fail(r);
	*done += (u32)length;
	if (sums) {
		rows->rows[rows->count++] = (struct block_row){ .series = (u32)series, .value = sum };
		return 0;
	}
	for (u64 i = 0; i < length; i++)
		rows->rows[rows->count++] = (struct block_row){ .series = (u32)series };
	return 0;
}

static int note_run(struct runs *runs, u32 length)
{
	int r = array_reserve(&runs->lengths, &runs->cap, runs->count + 1, sizeof(*runs->lengths));

	if (r == 0)
		runs->lengths[runs->count++] = length;
	return r;
}

static int unpack_runs(struct pb *r, const struct dict *dict, u32 columns, struct block_rows *rows, struct runs *runs)
{
	bool sums = block_is_sums(columns);
	u64 count = pb_varint(r), room = sums ? pb_left(r) / 3 : count;
	u32 done = 0;

	if (r->err || count > BLOCK_ROWS_MAX || room > BLOCK_ROWS_MAX)
		return fail(r);
	if (array_reserve(&rows->rows, &rows->cap, (u32)room + 1, sizeof(*rows->rows)) < 0)
		return -ENOMEM;
	while (done < count && !r->err) {
		u32 before = rows->count;

		unpack_run(r, dict, sums, (u32)count, &done, rows);
		if ((columns & BLOCK_LABELS) && note_run(runs, rows->count - before) < 0)
			return -ENOMEM;
	}
	return r->err ? r->err : pb_left(r) ? -EBADMSG : 0;
}

static int unpack_threads(struct pb *r, const struct dict *dict, struct table *threads)
{
	u64 count = pb_varint(r);

	for (u64 i = 0; i < count && !r->err; i++) {
		u64 tid = i ? pb_varint(r) : 0, name = i ? pb_varint(r) : 0;
		struct block_thread thread = { (u32)tid, (u32)name };

		if (tid > UINT32_MAX || name >= dict->strings.count)
			fail(r);
		else if (table_append(threads, &thread) < 0)
			return -ENOMEM;
	}
	return r->err;
}

static int unpack_links(struct pb *r, struct table *links)
{
	u64 count = pb_varint(r);

	for (u64 i = 0; i < count && !r->err; i++) {
		struct block_link link = { 0 };

		if (i && pb_left(r) < sizeof(link))
			return fail(r);
		if (i) {
			memcpy(&link, r->at, sizeof(link));
			r->at += sizeof(link);
		}
		if (table_append(links, &link) < 0)
			return -ENOMEM;
	}
	return r->err ? r->err : pb_left(r) ? -EBADMSG : 0;
}

static int unpack_tables(struct pb *r, const struct dict *dict, struct block_rows *rows)
{
	int result = unpack_threads(r, dict, &rows->threads);

	return result < 0 ? result : unpack_links(r, &rows->links);
}

/* Most are one byte; ten bytes ahead of the end nothing has to be looked at twice. */
static u64 quick_varint(struct pb *r)
{
	const u8 *at = r->at;

	if (pb_left(r) < PB_VARINT_BYTES_MAX)
		return pb_varint(r);
	if (at[0] < 0x80) {
		r->at = at + 1;
		return at[0];
	}
	if (at[1] < 0x80) {
		r->at = at + 2;
		return (at[0] & 0x7fu) | (u64)at[1] << 7;
	}
	if (at[2] < 0x80) {
		r->at = at + 3;
		return (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (u64)at[2] << 14;
	}
	return pb_varint(r);
}

/* Puts values into their member; `all` gets every bit that is set in one of them. */
static void put_values(struct block_row *rows, const struct column *column, const u64 *values, u32 count, u64 *all)
{
	char *at = (char *)rows + column->offset;

	for (u32 i = 0; i < count; i++, at += sizeof(*rows)) {
		*all |= values[i];
		if (column->bytes == sizeof(u16))
			*(u16 *)at = values[i] > UINT16_MAX ? BLOCK_NO_CPU : (u16)values[i];
		else if (column->bytes == sizeof(u32))
			*(u32 *)at = (u32)values[i];
		else
			*(u64 *)at = values[i];
	}
}

static int unpack_column(struct pb *r, const struct column *column, struct block_rows *rows)
{
	u64 values[BATCH], before = 0, all = 0;

	for (u32 done = 0, count; done < rows->count && !r->err; done += count) {
		count = rows->count - done < BATCH ? rows->count - done : BATCH;
		for (u32 i = 0; i < count; i++) {
			values[i] = quick_varint(r);
			if (column->kind != PLAIN)
				values[i] = before + (u64)unzigzag(values[i]);
			before = column->kind == DIFFERENCE ? values[i] : 0;
		}
		put_values(&rows->rows[done], column, values, count, &all);
	}
	if (column->bytes <= sizeof(u32) && all > UINT32_MAX)
		return -EBADMSG;
	return r->err ? r->err : pb_left(r) ? -EBADMSG : 0;
}

static int unpack_columns(struct pb *packed, const struct column *columns, size_t count, u32 wanted, struct buf *plain,
			  struct block_rows *rows)
{
	for (size_t i = 0; i < count; i++) {
		struct pb column = next_column(packed, wanted & columns[i].bit, plain);
		int r = column.err;

		if (r == 0 && (wanted & columns[i].bit))
			r = unpack_column(&column, &columns[i], rows);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Behind the sets there is the number of one for each run. */
static int unpack_labels(struct pb *r, const struct runs *runs, struct block_rows *rows)
{
	struct block_row *row = rows->rows;
	int result = label_sets_unpack(&rows->labels, r);

	for (u32 i = 0; i < runs->count && result == 0; i++) {
		u64 set = pb_varint(r);

		if (r->err || set >= label_sets_count(&rows->labels))
			return -EBADMSG;
		for (u32 n = 0; n < runs->lengths[i]; n++)
			row++->labels = (u16)set;
	}
	return result == 0 && pb_left(r) ? -EBADMSG : result;
}

static int unpack_data(struct pb *data, u32 columns, const struct runs *runs, struct buf *plain,
		       struct block_rows *rows)
{
	int r = unpack_columns(data, columns_of_data, COUNT(columns_of_data), columns, plain, rows);
	struct pb column;

	if (r < 0 || !pb_left(data))
		return r;
	column = next_column(data, columns & BLOCK_LABELS, plain);
	r = column.err;
	if (r == 0 && (columns & BLOCK_LABELS))
		r = unpack_labels(&column, runs, rows);
	return r == 0 && pb_left(data) ? -EBADMSG : r;
}

static int unpack_details(struct pb *details, const struct dict *dict, u32 columns, struct buf *plain,
			  struct block_rows *rows)
{
	struct pb column = next_column(details, columns & (BLOCK_THREAD | BLOCK_LINK), plain);
	int r = column.err;

	if (r == 0 && (columns & (BLOCK_THREAD | BLOCK_LINK)))
		r = unpack_tables(&column, dict, rows);
	if (r == 0)
		r = unpack_columns(details, columns_of_details, COUNT(columns_of_details), columns, plain, rows);
	return r == 0 && pb_left(details) ? -EBADMSG : r;
}

static bool rows_in_range(const struct block_rows *rows, const struct dict *dict)
{
	u32 threads = rows->threads.count ? rows->threads.count : 1, links = rows->links.count ? rows->links.count : 1;

	for (u32 i = 0; i < rows->count; i++) {
		const struct block_row *row = &rows->rows[i];

		if (row->node >= dict->nodes.count || row->thread >= threads || row->link >= links)
			return false;
	}
	return true;
}

static int unpack_all(const struct block_bytes *bytes, const struct dict *dict, u32 columns, struct buf *plain,
		      struct block_rows *rows)
{
	struct pb data = pb_from(bytes->data, bytes->data_bytes);
	struct pb details = pb_from(bytes->details, bytes->detail_bytes);
	struct pb column = next_column(&data, true, plain);
	_cleanup_(runs_done) struct runs runs = { 0 };
	int r = column.err ? column.err : unpack_runs(&column, dict, columns, rows, &runs);

	if (r < 0 || columns == BLOCK_SUMS)
		return r;
	r = unpack_data(&data, columns, &runs, plain, rows);
	if (r < 0 || !(columns & BLOCK_DETAILS) || !bytes->detail_bytes)
		return r;
	return unpack_details(&details, dict, columns, plain, rows);
}

int block_unpack(const struct block_bytes *bytes, const struct dict *dict, u32 columns, struct block_rows *rows)
{
	_cleanup_(buf_done) struct buf plain;
	int r;

	buf_init(&plain, BLOCK_BYTES_MAX);
	rows->count = 0;
	forget_tables(rows);
	r = unpack_all(bytes, dict, columns, &plain, rows);
	if (r == 0 && !rows_in_range(rows, dict))
		r = -EBADMSG;
	if (r < 0)
		rows->count = 0;
	/* A file that claims too much is a broken one. */
	return r == -E2BIG ? -EBADMSG : r;
}
