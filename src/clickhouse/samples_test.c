// SPDX-License-Identifier: Apache-2.0
/* Profiles as rows: of wick_samples, wick_stacks and otel_profiles. */
#include "clickhouse/samples.h"

#include <errno.h>

#include "base/buf.h"
#include "clickhouse/columns.h"
#include "clickhouse/otel.h"
#include "clickhouse/sent.h"
#include "profile/dump_test.h"
#include "test.h"

#define SECOND 1000000000ull
#define DAY (86400 * SECOND)
#define NOW (20000 * DAY + 3 * 3600 * SECOND)

static u32 add_location(struct profile *p, const char *mapping, const char *name, u64 address, s64 line)
{
	u32 type = profile_add_attribute_string(p, "profile.frame.type", "native");
	u32 function = profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, name) });
	u32 file = profile_add_mapping(p, &(struct profile_mapping){ .filename = profile_add_cstring(p, mapping) });
	struct profile_line lines = { .function = function, .line = line };

	return profile_add_location(p, &(struct profile_location){ .mapping = file, .address = address, .line_count = 1,
								   .lines = &lines, .attributes = { &type, 1 } });
}

/* A profile of one sample with these times and values. */
static struct profile *profile_of(const u64 *times, u32 time_count, const s64 *values, u32 value_count)
{
	struct profile *p = profile_new();
	u32 locations[2] = { add_location(p, "/bin/x", "leaf", 0x10, 3), add_location(p, "/bin/x", "main", 0x20, 9) };
	u32 stack = profile_add_stack(p, locations, 2);
	struct profile_resource *resource = profile_add_resource(p, NULL, 0);
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, resource));
	struct profile_sample *sample = profile_add_sample(p, set);

	set->time_unix_ns = NOW - SECOND;
	sample->stack = stack;
	sample->times_unix_ns = profile_copy(p, times, time_count * sizeof(*times));
	sample->time_count = time_count;
	sample->values = profile_copy(p, values, value_count * sizeof(*values));
	sample->value_count = value_count;
	EQ(profile_err(p), 0);
	return p;
}

struct written {
	u32 stacks, rows, blocks;
	u64 times_wrong, times_hash;
	struct buf bytes;	/* of the blocks of samples */
};

static struct written write_all(const struct profile *p, struct sent *sent, u64 now_ns)
{
	struct columns *rows = columns_new(CLICKHOUSE_SAMPLES, 64u << 20);
	struct columns *stacks = columns_new(CLICKHOUSE_STACKS, 64u << 20);
	static u64 keys[SAMPLES_ROWS_MAX];
	struct written w = { 0 };
	struct samples samples;
	int r;

	buf_init(&w.bytes, 256u << 20);
	EQ(samples_init(&samples, p, now_ns, 0), 0);
	while ((r = samples_next_stacks(&samples, sent, stacks, keys)) > 0) {
		for (int i = 0; i < r; i++)
			sent_add(sent, keys[i]);
		w.stacks += (u32)r;
		columns_clear(stacks);
	}
	EQ(r, 0);
	while ((r = samples_next(&samples, rows)) > 0) {
		w.rows += (u32)r;
		w.blocks++;
		EQ(columns_encode(rows, &w.bytes), 0);
		w.times_hash = samples.times_hash;
		columns_clear(rows);
	}
	EQ(r, 0);
	w.times_wrong = samples.times_wrong;
	samples_done(&samples);
	columns_free(rows);
	columns_free(stacks);
	return w;
}

TEST(samples_have_a_row_for_each_of_their_times)
{
	static const u64 times[] = { NOW - 3, NOW - 2, NOW - 1 };
	static const s64 values[] = { 5, 6, 7 };
	static const struct {
		u32 times, values, rows;
	} cases[] = { { 3, 3, 3 }, { 3, 0, 3 }, { 3, 1, 1 }, { 0, 1, 1 }, { 1, 1, 1 }, { 0, 0, 1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sent *sent = sent_new(100);
		struct profile *p = profile_of(times, cases[i].times, values, cases[i].values);
		struct written w = write_all(p, sent, NOW);

		EQ(w.rows, cases[i].rows);
		EQ(w.stacks, 1);
		EQ(w.times_wrong, 0);
		buf_done(&w.bytes);
		profile_free(p);
		sent_free(sent);
	}
}

TEST(samples_send_a_stack_once_a_day)
{
	static const u64 times[] = { NOW - 2 * DAY, NOW - DAY, NOW - DAY + 1, NOW };
	struct profile *p = profile_of(times, 4, NULL, 0);
	struct sent *sent = sent_new(100);
	struct written w = write_all(p, sent, NOW);

	EQ(w.stacks, 3);
	buf_done(&w.bytes);
	w = write_all(p, sent, NOW);
	EQ(w.stacks, 0);
	EQ(w.rows, 4);
	buf_done(&w.bytes);
	profile_free(p);
	sent_free(sent);
}

TEST(samples_sent_again_have_the_same_bytes)
{
	struct sent *sent = sent_new(100);
	struct profile *p = profile_random(7, 0);
	struct written first = write_all(p, sent, NOW), second = write_all(p, sent, NOW + 60 * SECOND);

	OK(first.rows > 10);
	EQ(first.bytes.len, second.bytes.len);
	EQ(memcmp(first.bytes.data, second.bytes.data, first.bytes.len), 0);
	buf_done(&first.bytes);
	buf_done(&second.bytes);
	profile_free(p);
	sent_free(sent);
}

TEST(samples_of_times_that_cannot_be_are_counted)
{
	static const u64 times[] = { 0, NOW, NOW + DAY, ~0ull, NOW - 101 * DAY, NOW - 99 * DAY };
	struct profile *p = profile_of(times, 6, NULL, 0);
	struct sent *sent = sent_new(100);
	struct written w = write_all(p, sent, NOW);

	EQ(w.rows, 6);
	EQ(w.times_wrong, 4);
	EQ(w.stacks, 2);
	buf_done(&w.bytes);
	profile_free(p);
	sent_free(sent);
}

/* Of a host whose clock is wrong, one second and the next may have the same rows: both are to be kept. */
TEST(samples_of_other_times_that_cannot_be_are_others)
{
	static const u64 times[] = { 5, 6, NOW };
	struct sent *sent = sent_new(100);
	struct profile *first = profile_of(&times[0], 1, NULL, 0), *second = profile_of(&times[1], 1, NULL, 0);
	struct profile *right = profile_of(&times[2], 1, NULL, 0);
	struct written a = write_all(first, sent, NOW), again = write_all(first, sent, NOW + SECOND);
	struct written b = write_all(second, sent, NOW), good = write_all(right, sent, NOW);

	EQ(a.bytes.len, b.bytes.len);
	EQ(memcmp(a.bytes.data, b.bytes.data, a.bytes.len), 0);
	OK(a.times_hash != b.times_hash);
	EQ(a.times_hash, again.times_hash);
	EQ(good.times_hash, 0);
	buf_done(&a.bytes);
	buf_done(&b.bytes);
	buf_done(&again.bytes);
	buf_done(&good.bytes);
	profile_free(first);
	profile_free(second);
	profile_free(right);
	sent_free(sent);
}

TEST(samples_of_a_large_profile_are_several_blocks)
{
	u32 count = 2 * SAMPLES_ROWS_MAX + 1;
	u64 *times = calloc(count, sizeof(*times));
	struct sent *sent = sent_new(100);
	struct profile *p;
	struct written w;

	for (u32 i = 0; i < count; i++)
		times[i] = NOW - i;
	p = profile_of(times, count, NULL, 0);
	w = write_all(p, sent, NOW);
	EQ(w.rows, count);
	EQ(w.blocks, 3);
	EQ(w.stacks, 1);
	buf_done(&w.bytes);
	profile_free(p);
	sent_free(sent);
	free(times);
}

/* A resource may have long attributes, such as a command line, which every row repeats. */
TEST(blocks_end_before_long_rows_are_too_many)
{
	static const u64 times[30] = { 0 };
	static char text[1u << 20];
	const size_t column_bytes_max = SAMPLES_BYTES_MAX + 2 * sizeof(text);
	struct profile *p = profile_of(times, 30, NULL, 0);
	struct columns *columns = columns_new(CLICKHOUSE_SAMPLES, column_bytes_max);
	struct keyvalue pair = { STR("process.command_line"),
				 { .kind = ANY_STRING, .string = { text, sizeof(text) } } };
	u32 total = 0, blocks = 0;
	struct samples samples;
	int r;

	p->resources.at[0].attributes = &pair;
	p->resources.at[0].attribute_count = 1;
	EQ(samples_init(&samples, p, NOW, 0), 0);
	while ((r = samples_next(&samples, columns)) > 0) {
		total += (u32)r;
		blocks++;
		columns_clear(columns);
	}
	EQ(r, 0);
	EQ(total, 30);
	EQ(blocks, 2);
	samples_done(&samples);
	columns_free(columns);
	profile_free(p);
}

/* ---- Hashes ----------------------------------------------------------------------------------- */

static u64 hash_of(const char *mapping, const char *leaf, u64 address, s64 line, int others)
{
	struct profile *p = profile_new();
	struct stacks stacks;
	u32 locations[2];
	u64 hash;

	for (int i = 0; i < others; i++)
		(void)add_location(p, "/other", "other", (u64)i, 1);
	locations[1] = add_location(p, "/bin/x", "main", 0x20, 9);
	locations[0] = add_location(p, mapping, leaf, address, line);
	EQ(stacks_init(&stacks, p), 0);
	hash = stacks_hash(&stacks, profile_add_stack(p, locations, 2));
	EQ(hash, stacks_hash(&stacks, 1));
	stacks_done(&stacks);
	profile_free(p);
	return hash;
}

TEST(stacks_are_told_apart_by_what_their_frames_say)
{
	u64 hash = hash_of("/bin/x", "leaf", 0x10, 3, 0);

	EQ(hash_of("/bin/x", "leaf", 0x10, 3, 5), hash);
	OK(hash_of("/bin/x", "leaf", 0x10, 4, 0) != hash);
	OK(hash_of("/bin/x", "leaf", 0x11, 3, 0) != hash);
	OK(hash_of("/bin/y", "leaf", 0x10, 3, 0) != hash);
	OK(hash_of("/bin/x", "Leaf", 0x10, 3, 0) != hash);
	/* Code without a file: where it is differs from process to process. */
	EQ(hash_of("", "leaf", 0x10, 3, 0), hash_of("", "leaf", 0x11, 3, 0));
	OK(hash_of("", "", 0x10, 3, 0) != hash_of("", "", 0x11, 3, 0));
}

/* ---- The Collector's table --------------------------------------------------------------------- */

/* xxHash64(concat('leaf', '\0', '', '\0', 'main', '\0', '', '\0')) of ClickHouse itself. */
#define OTEL_HASH 8570794413334999329ull

TEST(otel_rows_have_the_collectors_hash)
{
	static const s64 value = 4;
	struct profile *p = profile_of(NULL, 0, &value, 1);
	struct columns *columns = columns_new(CLICKHOUSE_OTEL_PROFILES, 1u << 20);
	struct otel_rows rows = { .profile = p };
	u64 hash = OTEL_HASH;
	struct buf out;

	buf_init(&out, 1u << 20);
	EQ(otel_rows_next(&rows, columns), 1);
	EQ(columns_encode(columns, &out), 0);
	OK(memmem(out.data, out.len, &hash, sizeof(hash)));
	columns_clear(columns);
	EQ(otel_rows_next(&rows, columns), 0);
	columns_free(columns);
	buf_done(&out);
	profile_free(p);
}

/* Some 100 KiB of a sender would be 10^10 frames. */
TEST(stacks_that_are_too_long_are_refused_at_once)
{
	enum { MANY = 100000 };
	static u64 keys[SAMPLES_ROWS_MAX];
	struct profile *p = profile_new();
	struct profile_line *lines = calloc(MANY, sizeof(*lines));
	u32 *locations = calloc(MANY, sizeof(*locations));
	u32 location = profile_add_location(p, &(struct profile_location){ .line_count = MANY, .lines = lines });
	struct columns *columns = columns_new(CLICKHOUSE_STACKS, 1u << 20);
	struct sent *sent = sent_new(100);
	struct otel_rows rows = { .profile = p };
	struct profile_sample *sample;
	struct samples samples;

	for (u32 i = 0; i < MANY; i++)
		locations[i] = location;
	sample = profile_add_sample(p, profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0))));
	sample->stack = profile_add_stack(p, locations, MANY);
	EQ(profile_err(p), 0);
	EQ(samples_init(&samples, p, NOW, 0), 0);
	EQ(samples_next_stacks(&samples, sent, columns, keys), -E2BIG);
	samples_done(&samples);
	columns_free(columns);
	columns = columns_new(CLICKHOUSE_OTEL_PROFILES, 1u << 20);
	EQ(otel_rows_next(&rows, columns), -E2BIG);
	columns_free(columns);
	sent_free(sent);
	profile_free(p);
	free(locations);
	free(lines);
}

TEST(rows_of_random_profiles_tell_that_memory_ran_out)
{
	struct profile *p = profile_random(3, 0);

	for (long n = 0; n < 400; n += 7) {
		struct columns *columns;
		struct otel_rows rows = { .profile = p };
		struct samples samples;
		int r = -ENOMEM;

		test_alloc_fail(n);
		columns = columns_new(CLICKHOUSE_OTEL_PROFILES, 1u << 20);
		if (columns)
			r = otel_rows_next(&rows, columns);
		OK(r > 0 || r == -ENOMEM);
		columns_free(columns);
		columns = columns_new(CLICKHOUSE_SAMPLES, 1u << 20);
		r = columns ? samples_init(&samples, p, NOW, 0) : -ENOMEM;
		if (r == 0) {
			r = samples_next(&samples, columns);
			samples_done(&samples);
		}
		OK(r > 0 || r == -ENOMEM);
		columns_free(columns);
		(void)test_alloc_reset();
	}
	profile_free(p);
}
