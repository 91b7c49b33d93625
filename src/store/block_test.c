// SPDX-License-Identifier: Apache-2.0
#include "store/block.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "store/dict.h"
#include "test.h"

#define ALL (BLOCK_NODE | BLOCK_VALUE | BLOCK_LABELS | BLOCK_DETAILS)

static struct dict *new_dict(void)
{
	struct dict *dict = dict_new();
	struct dict_series series = { 0 };

	OK(dict);
	for (u32 i = 0; i < 4; i++) {
		series.label[STORE_HOST] = dict_add_string(dict, "host" + i, 4 - i);
		OK(dict_add_series(dict, &series) == i);
		dict_add_node(dict, i, dict_add_frame(dict, &(struct dict_frame){ .address = i + 1 }));
	}
	return dict;
}

static int unpack(const struct buf *data, const struct buf *details, const struct dict *dict, u32 columns,
		  struct block_rows *rows)
{
	return block_unpack(&(struct block_bytes){ data->data, details->data, data->len, details->len }, dict, columns,
			    rows);
}

static void add(struct block_rows *rows, u32 series, u32 node, s64 value, u64 time_ns)
{
	struct block_row row = { .series = series,
				 .node = node,
				 .value = value,
				 .time_ns = time_ns,
				 .cpu = 3,
				 .line = 7,
				 .address = 0x1234 };

	EQ(block_rows_thread(rows, (struct block_thread){ 100 + node, 1 }, &row.thread), 0);
	EQ(block_rows_add(rows, &row), 0);
}

TEST(block_comes_back_as_it_went)
{
	_cleanup_(dict_freep) struct dict *dict = new_dict();
	struct block_rows rows, back;
	struct buf data, details;

	block_rows_init(&rows);
	block_rows_init(&back);
	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	add(&rows, 3, 2, -5, 9000);
	add(&rows, 0, 1, 1, 7000);
	add(&rows, 0, 1, 2, 7000);
	add(&rows, 0, 1, 4, 8000);
	block_rows_fold(&rows, false);
	EQ(rows.count, 3);
	EQ(rows.rows[0].value, 3);
	EQ(block_pack(&rows, false, &data, &details), 0);
	EQ(unpack(&data, &details, dict, ALL, &back), 0);
	EQ(back.count, 3);
	OK(!memcmp(back.rows, rows.rows, 3 * sizeof(*rows.rows)));
	EQ(block_thread(&back, back.rows[2].thread)->tid, 102);
	EQ(unpack(&data, &details, dict, BLOCK_NODE | BLOCK_VALUE, &back), 0);
	EQ(back.rows[2].value, -5);
	EQ(back.rows[2].time_ns, 0);
	EQ(unpack(&data, &details, dict, BLOCK_SUMS, &back), 0);
	EQ(back.count, 2);
	EQ(back.rows[0].value, 7);
	EQ(back.rows[1].series, 3);
	EQ(back.rows[1].value, -5);
	block_rows_done(&back);
	block_rows_done(&rows);
	buf_done(&data);
	buf_done(&details);
}

static u32 tenant(struct block_rows *rows, const char *name)
{
	struct label label = { STR("tenant"), str_of(name) };
	u32 set;

	EQ(label_sets_add(&rows->labels, &label, 1, &set), 0);
	return set;
}

/* Rows of two tenants and of none, in a series and in another. */
static void add_tenants(struct block_rows *rows)
{
	(void)tenant(rows, "nobody");
	for (u32 i = 0; i < 6; i++) {
		add(rows, i & 1, 1 + i / 2, 1 << i, 7000 + i);
		rows->rows[i].labels = i < 2 ? 0 : tenant(rows, i < 4 ? "acme" : "beta");
	}
}

static s64 sum_of(const struct block_rows *rows, const char *name)
{
	s64 sum = 0;

	for (u32 i = 0; i < rows->count; i++)
		if (str_is(label_sets_value(&rows->labels, rows->rows[i].labels, STR("tenant")), name))
			sum += rows->rows[i].value;
	return sum;
}

TEST(block_has_labels_and_sums_of_them)
{
	static const u32 columns[] = { ALL, BLOCK_NODE | BLOCK_VALUE | BLOCK_LABELS, BLOCK_LABELS };
	_cleanup_(dict_freep) struct dict *dict = new_dict();
	struct block_rows rows, back;
	struct buf data, details;

	block_rows_init(&rows);
	block_rows_init(&back);
	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	add_tenants(&rows);
	for (u32 rolled = 0; rolled < 2; rolled++) {
		block_rows_fold(&rows, rolled);
		data.len = details.len = 0;
		EQ(block_pack(&rows, rolled, &data, &details), 0);
		for (u32 i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
			EQ(unpack(&data, &details, dict, columns[i], &back), 0);
			EQ(back.count, 6);
			EQ(label_sets_count(&back.labels), 3);
			EQ(sum_of(&back, "acme"), 4 + 8);
			EQ(sum_of(&back, "beta"), 16 + 32);
			EQ(sum_of(&back, ""), 1 + 2);
		}
		EQ(unpack(&data, &details, dict, BLOCK_SUMS, &back), 0);
		EQ(sum_of(&back, ""), 63);
	}
	block_rows_done(&back);
	block_rows_done(&rows);
	buf_done(&data);
	buf_done(&details);
}

TEST(block_with_labels_says_when_memory_runs_out)
{
	_cleanup_(dict_freep) struct dict *dict = new_dict();
	struct block_rows rows, back;
	long used = 1;

	block_rows_init(&rows);
	block_rows_init(&back);
	add_tenants(&rows);
	block_rows_fold(&rows, false);
	for (long n = 0; used > n; n++) {
		struct buf data, details;
		int r;

		buf_init(&data, BLOCK_BYTES_MAX);
		buf_init(&details, BLOCK_BYTES_MAX);
		test_alloc_fail(n);
		r = block_pack(&rows, false, &data, &details);
		if (r == 0)
			r = unpack(&data, &details, dict, ALL, &back);
		used = test_alloc_reset();
		EQ(r, used > n ? -ENOMEM : 0);
		EQ(back.count, used > n ? 0 : 6);
		buf_done(&data);
		buf_done(&details);
	}
	block_rows_done(&back);
	block_rows_done(&rows);
}

/* Sets that no row has cost nothing. */
TEST(block_without_labels_has_not_a_byte_of_them)
{
	struct block_rows rows;
	struct buf data, details;
	size_t bytes;

	block_rows_init(&rows);
	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	add(&rows, 1, 1, 1, 7000);
	EQ(block_pack(&rows, false, &data, &details), 0);
	bytes = data.len;
	(void)tenant(&rows, "nobody");
	data.len = 0;
	EQ(block_pack(&rows, false, &data, &details), 0);
	EQ(data.len, bytes);
	block_rows_done(&rows);
	buf_done(&data);
	buf_done(&details);
}

TEST(block_of_a_roll_up_keeps_series_and_nodes)
{
	_cleanup_(dict_freep) struct dict *dict = new_dict();
	struct block_rows rows, back;
	struct buf data, details;

	block_rows_init(&rows);
	block_rows_init(&back);
	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	add(&rows, 0, 1, 1, 7000);
	add(&rows, 0, 1, 4, 8000);
	add(&rows, 0, 1, INT64_MAX, 9000);
	block_rows_fold(&rows, true);
	EQ(rows.count, 1);
	EQ(block_pack(&rows, true, &data, &details), 0);
	EQ(unpack(&data, &details, dict, ALL, &back), 0);
	EQ(back.rows[0].value, INT64_MAX);
	EQ(back.rows[0].time_ns, 0);
	block_rows_done(&back);
	block_rows_done(&rows);
	buf_done(&data);
	buf_done(&details);
}

TEST(block_with_numbers_out_of_range_is_refused)
{
	_cleanup_(dict_freep) struct dict *dict = new_dict(), *small = dict_new();
	struct block_rows rows, back;
	struct buf data, details;
	u32 whole = 0;

	block_rows_init(&rows);
	block_rows_init(&back);
	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	add_tenants(&rows);
	block_rows_fold(&rows, false);
	EQ(block_pack(&rows, false, &data, &details), 0);
	EQ(unpack(&data, &details, small, ALL, &back), -EBADMSG);
	/* Cut before the labels it is a block without them. */
	for (size_t cut = 0; cut < data.len; cut++)
		whole += block_unpack(&(struct block_bytes){ data.data, details.data, cut, details.len }, dict, ALL,
				      &back) == 0;
	EQ(whole, 1);
	/* Without details at all it is a roll-up. */
	for (size_t cut = 1; cut < details.len; cut++)
		OK(block_unpack(&(struct block_bytes){ data.data, details.data, data.len, cut }, dict, ALL, &back) < 0);
	block_rows_done(&back);
	block_rows_done(&rows);
	buf_done(&data);
	buf_done(&details);
}

TEST(dict_comes_back_chunk_by_chunk)
{
	_cleanup_(dict_freep) struct dict *dict = new_dict(), *back = dict_new();
	struct buf first, second;

	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	EQ(dict_pack(dict, &first), 0);
	dict_packed(dict);
	dict_add_node(dict, 4, dict_add_frame(dict, &(struct dict_frame){ .name = dict_add_string(dict, "late", 4) }));
	EQ(dict_pack(dict, &second), 0);
	/* The second refers to the first. */
	EQ(dict_unpack(back, first.data, first.len), 0);
	EQ(dict_unpack(back, second.data, second.len), 0);
	EQ(back->nodes.count, dict->nodes.count);
	OK(!memcmp(dict_nodes(back), dict_nodes(dict), back->nodes.count * sizeof(struct dict_node)));
	EQ(dict_string(back, dict_frame(back, dict_nodes(back)[5].frame)->name).len, 4);
	/* One that was there already would shift the numbers of what follows. */
	EQ(dict_unpack(back, second.data, second.len), -EBADMSG);
	buf_done(&first);
	buf_done(&second);
}

TEST(dict_finds_a_path_again)
{
	_cleanup_(dict_freep) struct dict *dict = new_dict();
	const u32 path[] = { 1, 2, 3, 4, 1 }, other[] = { 1, 2, 3, 4, 2 };
	u32 count, node = dict_add_path(dict, path, 5);

	count = dict->nodes.count;
	EQ(dict_add_path(dict, path, 5), node);
	EQ(dict_nodes(dict)[node].frame, 1);
	EQ(dict_nodes(dict)[dict_nodes(dict)[node].parent].frame, 4);
	/* new_dict() has the first four as a path already. */
	EQ(dict_add_path(dict, path, 4), dict_nodes(dict)[node].parent);
	EQ(dict->nodes.count, count);
	EQ(dict_nodes(dict)[dict_add_path(dict, other, 5)].parent, dict_nodes(dict)[node].parent);
	EQ(dict_add_path(dict, path, 0), 0);
}

TEST(dict_says_when_memory_runs_out)
{
	for (long n = 0;; n++) {
		struct dict *dict;
		long used;

		test_alloc_fail(n);
		dict = dict_new();
		used = test_alloc_reset();
		if (dict) {
			dict_free(dict);
			OK(used <= n);
			return;
		}
	}
}
