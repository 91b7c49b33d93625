// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_check.h"

#include <errno.h>
#include <stdint.h>

#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/otlp/otlp.h"
#include "wire/pb.h"

#define BYTES_MAX ((size_t)64 << 20)

static void read_file(const char *path, struct buf *b)
{
	FILE *file = fopen(path, "rb");

	OK(file);
	buf_init(b, BYTES_MAX);
	for (int c; (c = getc(file)) != EOF;)
		buf_add(b, &(char){ c }, 1);
	fclose(file);
}

static int check(const struct buf *b, u64 *ret_samples)
{
	struct buf why;
	int r;

	buf_init(&why, 4096);
	r = otlp_check(b->data, b->len, SIZE_MAX, ret_samples, &why);
	EQ(why.len != 0, r < 0);
	buf_done(&why);
	return r;
}

TEST(otlp_check_passes_real_requests)
{
	static const struct {
		const char *path;
		u64 samples;
		int result;
	} files[] = {
		{ "test/golden/otlp/ebpf-profiler-c.bin", 608, 0 },
		{ "test/golden/otlp/ebpf-profiler-go.bin", 602, 0 },
		{ "test/golden/otlp/collector-references.bin", 47, 1 },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		u64 samples = 0;
		struct buf b;

		read_file(files[i].path, &b);
		EQ(check(&b, &samples), files[i].result);
		EQ(samples, files[i].samples);
		buf_done(&b);
	}
}

TEST(otlp_check_passes_what_we_write)
{
	for (unsigned int seed = 0; seed < 20; seed++) {
		struct profile *p = profile_random(seed, 0);
		struct buf b;
		u64 samples;

		buf_init(&b, BYTES_MAX);
		EQ(otlp_encode(p, &b), 0);
		EQ(check(&b, &samples), 0);
		buf_done(&b);
		profile_free(p);
	}
}

/* A byte changed here and there, in two thousand places: the decoder and the check never differ. */
TEST(otlp_check_refuses_what_the_decoder_refuses)
{
	_cleanup_(profile_freep) struct profile *p = profile_random(3, 0);
	u32 refused = 0;
	struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(otlp_encode(p, &b), 0);
	for (size_t i = 0; i < b.len; i += 1 + b.len / 2000) {
		struct profile *q = NULL;
		u64 samples;
		int r;

		b.data[i] ^= 1 << i % 8;
		r = otlp_decode(b.data, b.len, NULL, &q);
		EQ(check(&b, &samples) < 0, r < 0);
		refused += r < 0;
		profile_free(q);
		b.data[i] ^= 1 << i % 8;
	}
	OK(refused);
	buf_done(&b);
}

/* ---- Reasons --------------------------------------------------------------- */

static void put_dictionary(struct buf *b)
{
	size_t dictionary = pb_begin(b, 2);

	for (u32 table = 1; table <= 7; table++)
		pb_end(b, pb_begin(b, table));
	pb_end(b, dictionary);
}

/* A request whose second sample is filled by fill; the dictionary comes last. */
static void request(struct buf *b, void (*fill)(struct buf *))
{
	size_t resource, scope, profile, sample;

	buf_init(b, 4096);
	resource = pb_begin(b, 1);
	scope = pb_begin(b, 2);
	profile = pb_begin(b, 2);
	pb_put_bytes(b, 2, "", 0);
	sample = pb_begin(b, 2);
	fill(b);
	pb_end(b, sample);
	pb_end(b, profile);
	pb_end(b, scope);
	pb_end(b, resource);
	put_dictionary(b);
}

static void put_nothing(struct buf *b)
{
}

static void put_stray_stack(struct buf *b)
{
	pb_put_varint(b, 1, 7);
}

static void put_stray_attribute(struct buf *b)
{
	pb_put_packed_u32(b, 2, (u32[]){ 0, 9 }, 2);
	pb_put_packed_s64(b, 4, (s64[]){ 1 }, 1);
}

static void put_large_old_value(struct buf *b)
{
	pb_put_packed_s64(b, 2, (s64[]){ 10000000000 }, 1);
}

static void put_unpacked_old_values(struct buf *b)
{
	pb_put_varint(b, 2, 10000000000);
	pb_put_varint(b, 2, 3);
	pb_put_packed_fixed64(b, 5, (u64[]){ 1, 2 }, 2);
}

static void put_uneven(struct buf *b)
{
	pb_put_packed_s64(b, 4, (s64[]){ 1, 2 }, 2);
	pb_put_packed_fixed64(b, 5, (u64[]){ 1, 2, 3 }, 3);
}

static void put_one_for_many(struct buf *b)
{
	pb_put_packed_s64(b, 4, (s64[]){ 3 }, 1);
	pb_put_packed_fixed64(b, 5, (u64[]){ 1, 2, 3 }, 3);
}

static void put_both_numberings(struct buf *b)
{
	pb_put_packed_u32(b, 3, (u32[]){ 0 }, 1);
	pb_put_packed_s64(b, 4, (s64[]){ 1 }, 1);
}

static void put_high_bits(struct buf *b)
{
	pb_put_packed_fixed64(b, 5, (u64[]){ UINT64_MAX, UINT64_MAX }, 2);
}

static void put_wrong_type(struct buf *b)
{
	pb_put_bytes(b, 1, "x", 1);
}

static void put_cut(struct buf *b)
{
	buf_add(b, "\x0a", 1);
}

TEST(otlp_check_tells_the_reason_and_the_place)
{
#define SAMPLE_1 "resource_profiles[0].scope_profiles[0].profiles[0].samples[1]"
	static const struct {
		void (*fill)(struct buf *);
		int result;
		const char *why;
	} cases[] = {
		{ put_nothing, 0, "" },
		{ put_high_bits, 0, "" },
		{ put_one_for_many, 1, "" },
		{ put_large_old_value, 1, "" },
		{ put_unpacked_old_values, 1, "" },
		{ put_stray_stack, -EBADMSG, SAMPLE_1 ".stack_index: 7 is outside stack_table, which has 1 rows" },
		{ put_stray_attribute, -EBADMSG,
		  SAMPLE_1 ".attribute_indices: 9 is outside attribute_table, which has 1 rows" },
		{ put_uneven, -EBADMSG, SAMPLE_1 ": 2 values do not go with 3 timestamps" },
		{ put_both_numberings, -EBADMSG, "samples are numbered as in OTLP 1.9 and as in 1.10 in one request" },
		{ put_wrong_type, -EBADMSG, SAMPLE_1 ".stack_index: broken, or not of the type it should be" },
		{ put_cut, -EBADMSG, SAMPLE_1 ": not protobuf" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = NULL;
		struct buf b, why;
		u64 samples = 0;

		request(&b, cases[i].fill);
		buf_init(&why, 4096);
		EQ(otlp_check(b.data, b.len, SIZE_MAX, &samples, &why), cases[i].result);
		STREQ(why.len ? why.data : "", cases[i].why);
		EQ(otlp_decode(b.data, b.len, NULL, &p), cases[i].result < 0 ? -EBADMSG : 0);
		EQ(samples, cases[i].result < 0 ? 0 : 2);
		profile_free(p);
		buf_done(&b);
		buf_done(&why);
	}
}

TEST(otlp_check_names_the_table_whose_first_row_is_not_zero)
{
	struct buf b, why;
	size_t dictionary;
	u64 samples;

	buf_init(&b, 4096);
	buf_init(&why, 4096);
	dictionary = pb_begin(&b, 2);
	pb_put_string(&b, 5, "x", 1);
	pb_end(&b, dictionary);
	EQ(otlp_check(b.data, b.len, SIZE_MAX, &samples, &why), -EBADMSG);
	STREQ(why.data, "dictionary[0].string_table[0]: the first row must be empty");
	buf_done(&b);
	buf_done(&why);
}

TEST(otlp_check_wants_missing_tables_and_bad_text_encoded_again)
{
	struct buf b;
	size_t resource;
	u64 samples;

	buf_init(&b, 4096);
	resource = pb_begin(&b, 1);
	pb_put_string(&b, 3, "url", 3);
	pb_end(&b, resource);
	EQ(check(&b, &samples), 1);
	put_dictionary(&b);
	EQ(check(&b, &samples), 0);
	((char *)memmem(b.data, b.len, "url", 3))[1] = (char)0xff;
	EQ(check(&b, &samples), 1);
	buf_done(&b);
}

/* ---- Older versions ------------------------------------------------------------ */

/* Of 1.7: a profile whose third field is a list, here one that points nowhere. */
TEST(otlp_check_names_the_version_that_it_cannot_read)
{
	size_t resource, scope, profile, sample;
	struct buf b, why;
	u64 samples;

	buf_init(&b, 4096);
	buf_init(&why, 4096);
	resource = pb_begin(&b, 1);
	scope = pb_begin(&b, 2);
	profile = pb_begin(&b, 2);
	sample = pb_begin(&b, 2);
	pb_put_varint(&b, 2, 1);
	pb_put_packed_s64(&b, 3, (const s64[]){ 1 }, 1);
	pb_end(&b, sample);
	pb_put_packed_u32(&b, 3, (const u32[]){ 9 }, 1);
	pb_end(&b, profile);
	pb_end(&b, scope);
	pb_end(&b, resource);
	EQ(otlp_check(b.data, b.len, SIZE_MAX, &samples, &why), -EBADMSG);
	buf_addf(&why, "%s", "");
	STREQ(why.data, "this looks like OTLP profiles 1.7 (Collector 0.128 to 0.135), but an index is outside "
			"location_table: upgrade the sender to OTLP profiles 1.8 or later (Collector 0.136)");
	buf_done(&b);
	buf_done(&why);
}
