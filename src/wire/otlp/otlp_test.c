// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp.h"

#include <errno.h>

#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/pb.h"

#define BYTES_MAX ((size_t)64 << 20)

static struct profile *decode(const struct buf *b)
{
	struct profile *p;

	EQ(otlp_decode(b->data, b->len, NULL, &p), 0);
	return p;
}

static void expect_equal(const struct profile *a, const struct profile *b)
{
	char *text_a = profile_dump(a), *text_b = profile_dump(b);

	STREQ(text_a, text_b);
	free(text_a);
	free(text_b);
}

TEST(otlp_reads_back_what_it_wrote)
{
	for (unsigned int seed = 0; seed < 20; seed++) {
		struct profile *p = profile_random(seed, 0), *q;
		struct buf first, second;

		buf_init(&first, BYTES_MAX);
		buf_init(&second, BYTES_MAX);
		EQ(otlp_encode(p, &first), 0);
		q = decode(&first);
		expect_equal(p, q);
		EQ(otlp_encode(q, &second), 0);
		EQ(second.len, first.len);
		OK(!memcmp(first.data, second.data, first.len));
		buf_done(&first);
		buf_done(&second);
		profile_free(p);
		profile_free(q);
	}
}

/* Requests of the OpenTelemetry eBPF profiler, as it sent them. */
TEST(otlp_reads_and_rewrites_real_requests)
{
	static const struct {
		const char *path;
		u32 samples;
	} files[] = {
		{ "test/golden/otlp/ebpf-profiler-c.bin", 608 },
		{ "test/golden/otlp/ebpf-profiler-go.bin", 602 },
		{ "test/golden/otlp/collector-references.bin", 47 },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *file = fopen(files[i].path, "rb");
		struct otlp_info info;
		struct profile *p, *q;
		struct buf in, out;
		u32 samples = 0;

		OK(file);
		buf_init(&in, BYTES_MAX);
		buf_init(&out, BYTES_MAX);
		for (int c; (c = getc(file)) != EOF;)
			buf_add(&in, &(char){ c }, 1);
		fclose(file);
		EQ(otlp_decode(in.data, in.len, &info, &p), 0);
		EQ(info.guessed, false);
		EQ(info.numbering, OTLP_1_10);
		for (u32 r = 0; r < p->resources.count; r++) {
			OK(p->resources.at[r].attribute_count && p->resources.at[r].attributes[0].key.len);
			for (u32 s = 0; s < p->resources.at[r].scope_count; s++)
				samples += p->resources.at[r].scopes[s].sets[0].sample_count;
		}
		EQ(samples, files[i].samples);
		EQ(otlp_encode(p, &out), 0);
		q = decode(&out);
		expect_equal(p, q);
		profile_free(p);
		profile_free(q);
		buf_done(&in);
		buf_done(&out);
	}
}

/* ---- Numberings ------------------------------------------------------------ */

/* A request of one sample; fill writes its fields, around whatever else the profile gets. */
static void request(struct buf *b, void (*fill_profile)(struct buf *), void (*fill_sample)(struct buf *))
{
	static const char *const strings[] = { "", "key", "file" };
	size_t dictionary, resource, scope, profile, sample;

	buf_init(b, 4096);
	dictionary = pb_begin(b, 2);
	for (int i = 0; i < 3; i++)
		pb_put_string(b, 5, strings[i], strlen(strings[i]));
	for (u32 table = 1; table <= 7; table++) {
		if (table == 5)
			continue;
		pb_end(b, pb_begin(b, table));
		/* One row that is not zero: each message has a number in field 1 but Link, whose is bytes. */
		sample = pb_begin(b, table);
		if (table == 4)
			pb_put_bytes(b, 1, "0123456789abcdef", 16);
		else if (table == 7)
			pb_put_packed_u32(b, 1, (u32[]){ 1 }, 1);
		else
			pb_put_varint(b, 1, 1);
		pb_end(b, sample);
	}
	pb_end(b, dictionary);
	resource = pb_begin(b, 1);
	scope = pb_begin(b, 2);
	profile = pb_begin(b, 2);
	if (fill_profile)
		fill_profile(b);
	sample = pb_begin(b, 2);
	pb_put_varint(b, 1, 1);
	fill_sample(b);
	pb_end(b, sample);
	pb_end(b, profile);
	pb_end(b, scope);
	pb_end(b, resource);
	EQ(buf_err(b), 0);
}

static void put_id_of_1_8(struct buf *b)
{
	pb_put_packed_u32(b, 7, (u32[]){ 1, 2 }, 2);
	pb_put_bytes(b, 8, "0123456789abcdef", 16);
	pb_put_varint(b, 9, 3);
	pb_put_packed_u32(b, 12, (u32[]){ 1 }, 1);
}

static void put_id_of_1_9(struct buf *b)
{
	pb_put_bytes(b, 7, "0123456789abcdef", 16);
	pb_put_varint(b, 8, 3);
	pb_put_packed_u32(b, 11, (u32[]){ 1 }, 1);
}

static void put_old(struct buf *b)
{
	pb_put_packed_s64(b, 2, (s64[]){ 7 }, 1);
	pb_put_packed_u32(b, 3, (u32[]){ 1 }, 1);
	pb_put_varint(b, 4, 1);
}

static void put_new(struct buf *b)
{
	pb_put_packed_u32(b, 2, (u32[]){ 1 }, 1);
	pb_put_varint(b, 3, 1);
	pb_put_packed_s64(b, 4, (s64[]){ 7 }, 1);
}

static void put_new_unpacked(struct buf *b)
{
	pb_put_varint(b, 2, 1);
	pb_put_varint(b, 3, 1);
	pb_put_packed_s64(b, 4, (s64[]){ 7 }, 1);
}

static void put_both(struct buf *b)
{
	pb_put_packed_u32(b, 3, (u32[]){ 1 }, 1);
	pb_put_packed_s64(b, 4, (s64[]){ 7 }, 1);
}

static void put_unclear(struct buf *b)
{
	pb_put_packed_s64(b, 2, (s64[]){ 1 }, 1);
}

static void put_unclear_stray(struct buf *b)
{
	pb_put_packed_s64(b, 2, (s64[]){ 7 }, 1);
}

static void put_unclear_broken(struct buf *b)
{
	pb_put_packed_s64(b, 2, (s64[]){ 7, 8 }, 2);
	pb_put_packed_fixed64(b, 5, (u64[]){ 1, 2, 3 }, 3);
}

TEST(otlp_tells_numberings_apart)
{
	static const struct {
		void (*profile)(struct buf *);
		void (*sample)(struct buf *);
		int result;
		enum otlp_numbering numbering;
		bool guessed;
		s64 value;
		u32 attributes, link;
	} cases[] = {
		{ NULL, put_new, 0, OTLP_1_10, false, 7, 1, 1 },
		{ NULL, put_new_unpacked, 0, OTLP_1_10, false, 7, 1, 1 },
		{ put_id_of_1_9, put_new, 0, OTLP_1_10, false, 7, 1, 1 },
		{ NULL, put_old, 0, OTLP_1_9, false, 7, 1, 1 },
		{ put_id_of_1_9, put_old, 0, OTLP_1_9, false, 7, 1, 1 },
		{ put_id_of_1_8, put_old, 0, OTLP_1_8, false, 7, 1, 1 },
		{ put_id_of_1_8, put_unclear_stray, 0, OTLP_1_8, false, 7, 0, 0 },
		{ NULL, put_unclear, 0, OTLP_1_10, false, 0, 1, 0 },
		{ NULL, put_unclear_stray, 0, OTLP_1_9, true, 7, 0, 0 },
		{ NULL, put_unclear_broken, -EBADMSG, 0, false, 0, 0, 0 },
		{ NULL, put_both, -EBADMSG, 0, false, 0, 0, 0 },
		{ put_id_of_1_8, put_new, -EBADMSG, 0, false, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(profile_freep) struct profile *p = NULL;
		const struct profile_set *set;
		struct otlp_info info;
		struct buf b;

		request(&b, cases[i].profile, cases[i].sample);
		EQ(otlp_decode(b.data, b.len, &info, &p), cases[i].result);
		buf_done(&b);
		if (cases[i].result)
			continue;
		EQ(info.numbering, cases[i].numbering);
		EQ(info.guessed, cases[i].guessed);
		set = &p->resources.at[0].scopes[0].sets[0];
		EQ(profile_sample_value(&set->samples[0]), cases[i].value);
		EQ(set->samples[0].attributes.count, cases[i].attributes);
		EQ(set->samples[0].link, cases[i].link);
		if (cases[i].profile) {
			OK(set->has_profile_id && !memcmp(set->profile_id, "0123456789abcdef", 16));
			EQ(set->dropped_attributes_count, 3);
			EQ(set->attributes.count, 1);
		}
	}
}

/* ---- References, limits, broken input -------------------------------------- */

static void put_keyvalue(struct buf *b, const char *key, u32 key_index, u32 value_index)
{
	size_t mark = pb_begin(b, 1), value;

	pb_put_string(b, 1, key, strlen(key));
	pb_put_varint(b, 3, key_index);
	value = pb_begin(b, 2);
	pb_put_varint(b, 8, value_index);
	pb_end(b, value);
	pb_end(b, mark);
}

static int decode_keyvalue(const char *key, u32 key_index, u32 value_index, struct profile **ret_profile)
{
	struct buf b;
	size_t resource, inner, dictionary;
	int r;

	buf_init(&b, 4096);
	resource = pb_begin(&b, 1);
	inner = pb_begin(&b, 1);
	put_keyvalue(&b, key, key_index, value_index);
	pb_end(&b, inner);
	pb_end(&b, resource);
	dictionary = pb_begin(&b, 2);
	pb_put_string(&b, 5, "", 0);
	pb_put_string(&b, 5, "service.name", 12);
	pb_put_string(&b, 5, "shop", 4);
	pb_end(&b, dictionary);
	r = otlp_decode(b.data, b.len, NULL, ret_profile);
	buf_done(&b);
	return r;
}

TEST(otlp_resolves_references_in_attributes)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *q = NULL, *none = NULL;
	const struct any *value;

	EQ(decode_keyvalue("", 1, 2, &p), 0);
	value = keyvalue_find(p->resources.at[0].attributes, 1, "service.name");
	OK(value && value->string.len == 4 && !memcmp(value->string.at, "shop", 4));
	EQ(decode_keyvalue("inline", 1, 0, &q), 0);
	value = keyvalue_find(q->resources.at[0].attributes, 1, "inline");
	OK(value && value->kind == ANY_STRING && value->string.len == 0);
	EQ(decode_keyvalue("", 3, 2, &none), -EBADMSG);
	EQ(decode_keyvalue("", 1, 3, &none), -EBADMSG);
	OK(!none);
}

TEST(otlp_refuses_values_nested_too_deeply)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	size_t marks[300], resource, inner, kv;
	struct buf b;
	int depth = 0;

	buf_init(&b, 1 << 16);
	resource = pb_begin(&b, 1);
	inner = pb_begin(&b, 1);
	kv = pb_begin(&b, 1);
	marks[depth++] = pb_begin(&b, 2);
	while (depth < 299) {
		marks[depth++] = pb_begin(&b, 5);
		marks[depth++] = pb_begin(&b, 1);
	}
	while (depth)
		pb_end(&b, marks[--depth]);
	pb_end(&b, kv);
	pb_end(&b, inner);
	pb_end(&b, resource);
	EQ(otlp_decode(b.data, b.len, NULL, &p), -EBADMSG);
	buf_done(&b);
}

TEST(otlp_refuses_tables_that_do_not_start_with_zero)
{
	for (u32 table = 1; table <= 7; table++) {
		_cleanup_(profile_freep) struct profile *p = NULL;
		struct buf b;
		size_t dictionary, row;

		buf_init(&b, 4096);
		dictionary = pb_begin(&b, 2);
		row = pb_begin(&b, table);
		if (table == 4)
			pb_put_bytes(&b, 1, "0123456789abcdef", 16);
		else if (table == 7)
			pb_put_packed_u32(&b, 1, (u32[]){ 0 }, 1);
		else
			pb_put_varint(&b, 1, 1);
		pb_end(&b, row);
		pb_end(&b, dictionary);
		EQ(otlp_decode(b.data, b.len, NULL, &p), -EBADMSG);
		buf_done(&b);
	}
}

TEST(otlp_refuses_every_cut_and_survives_every_flip)
{
	_cleanup_(profile_freep) struct profile *p = profile_random(1, 0);
	struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(otlp_encode(p, &b), 0);
	for (size_t cut = 1; cut < b.len; cut += 97) {
		struct profile *q = NULL;

		if (otlp_decode(b.data, cut, NULL, &q) == 0)
			profile_free(q);
	}
	for (size_t i = 0; i < b.len; i += 89) {
		struct profile *q = NULL;

		b.data[i] ^= 1 << i % 8;
		if (otlp_decode(b.data, b.len, NULL, &q) == 0) {
			EQ(profile_check(q), 0);
			profile_free(q);
		}
		b.data[i] ^= 1 << i % 8;
	}
	buf_done(&b);
}

TEST(otlp_writes_one_value_for_many_times_as_otlp_allows)
{
	for (s64 value = 2; value <= 3; value++) {
		_cleanup_(profile_freep) struct profile *p = profile_new(), *q = NULL;
		struct profile_sample *s = profile_add_sample(p, profile_add_set(p, profile_add_scope(p,
			profile_add_resource(p, NULL, 0))));
		const struct profile_sample *read;
		struct buf b;

		s->value_count = 1;
		s->values = &value;
		s->time_count = 3;
		s->times_unix_ns = (u64[]){ 1, 2, 3 };
		buf_init(&b, 4096);
		EQ(otlp_encode(p, &b), 0);
		q = decode(&b);
		read = &q->resources.at[0].scopes[0].sets[0].samples[0];
		EQ(profile_sample_value(read), value);
		EQ(read->time_count, value == 3 ? 3 : 0);
		buf_done(&b);
	}
}

TEST(otlp_survives_every_failed_allocation)
{
	struct profile *p = profile_random(2, 0);
	struct buf b;
	long count;
	int r = 0;

	buf_init(&b, BYTES_MAX);
	EQ(otlp_encode(p, &b), 0);
	profile_free(p);
	test_alloc_fail(-1);
	p = decode(&b);
	count = test_alloc_reset();
	profile_free(p);
	for (long i = 0; i < count; i++) {
		test_alloc_fail(i);
		r = otlp_decode(b.data, b.len, NULL, &p);
		test_alloc_reset();
		EQ(r, -ENOMEM);
	}
	buf_done(&b);
}

/* ---- Versions up to 1.7 ------------------------------------------------------ */

static struct str leaf_name(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_location *leaf = &p->locations.at[p->stacks.at[s->stack].at[0]];

	return p->strings.at[p->functions.at[leaf->lines[0].function].name];
}

/* Written by the encoders of those versions: test/golden/otlp/README.md. */
TEST(otlp_reads_what_older_collectors_send)
{
	static const struct {
		const char *path;
		enum otlp_numbering numbering;
		u32 sets;
		s64 first_set, all;	/* what its samples weigh */
		const char *leaf;	/* of the first sample */
	} files[] = {
		{ "test/golden/otlp/older/proto-1.3.bin", OTLP_1_3, 1, 7, 7, "work" },
		{ "test/golden/otlp/older/proto-1.5.bin", OTLP_1_5, 2, 7, 21, "work" },
		{ "test/golden/otlp/older/collector-0.134.bin", OTLP_1_7, 3, 4, 4 + 7 + 4096, "work" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		_cleanup_(profile_freep) struct profile *p = NULL;
		_cleanup_(buf_done) struct buf in;
		FILE *file = fopen(files[i].path, "rb");
		const struct profile_scope *scope;
		struct otlp_info info;
		struct str leaf;
		s64 weight = 0;

		OK(file);
		buf_init(&in, BYTES_MAX);
		for (int c; (c = getc(file)) != EOF;)
			buf_add(&in, &(char){ c }, 1);
		fclose(file);
		EQ(otlp_decode(in.data, in.len, &info, &p), 0);
		EQ(info.numbering, files[i].numbering);
		EQ(info.guessed, false);
		EQ(profile_check(p), 0);
		scope = &p->resources.at[0].scopes[0];
		EQ(scope->set_count, files[i].sets);
		for (u32 k = 0; k < scope->set_count; k++) {
			for (u32 n = 0; n < scope->sets[k].sample_count; n++)
				weight += profile_sample_value(&scope->sets[k].samples[n]);
			if (k == 0)
				EQ(weight, files[i].first_set);
		}
		EQ(weight, files[i].all);
		EQ(p->stacks.at[scope->sets[0].samples[0].stack].count, 2);
		leaf = leaf_name(p, &scope->sets[0].samples[0]);
		OK(leaf.len == strlen(files[i].leaf) && !memcmp(leaf.at, files[i].leaf, leaf.len));
		EQ(scope->sets[0].time_unix_ns, 1700000000000000000);
		EQ(scope->sets[0].samples[0].attributes.count, 1);
		EQ(p->resources.at[0].attribute_count, 1);
	}
}
