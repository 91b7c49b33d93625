// SPDX-License-Identifier: Apache-2.0
#include "wire/pprof/pprof.h"

#include <errno.h>

#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/format.h"
#include "wire/idmap.h"
#include "wire/pb.h"

#define BYTES_MAX ((size_t)64 << 20)
#define STRING(p, i) (int)(p)->strings.at[i].len, (p)->strings.at[i].at

static struct profile *decode(const struct buf *b)
{
	struct profile *p;

	EQ(pprof_decode(b->data, b->len, &p), 0);
	return p;
}

static const struct profile_set *set_of(const struct profile *p, u32 resource, u32 set)
{
	return &p->resources.at[resource].scopes[0].sets[set];
}

/* Without what pprof adds: the flags of mappings. */
static char *dump_without_flags(const struct profile *p)
{
	static const char flag[] = " \"pprof.mapping.";
	char *text = profile_dump(p), *to = text;

	for (const char *from = text; *from;) {
		if (*from == ' ' && !strncmp(from, flag, sizeof(flag) - 1))
			from += 1 + strcspn(from + 1, " \n");
		else
			*to++ = *from++;
	}
	*to = '\0';
	return text;
}

TEST(pprof_keeps_what_it_can_hold)
{
	for (unsigned int seed = 0; seed < 4; seed++) {
		struct profile *p = profile_random(seed, 1), *q, *again;
		char *text_p, *text_q, *text_again;
		struct buf first, second;

		buf_init(&first, BYTES_MAX);
		buf_init(&second, BYTES_MAX);
		EQ(pprof_encode(p, &first), 0);
		q = decode(&first);
		text_p = profile_dump(p);
		text_q = dump_without_flags(q);
		STREQ(text_q, text_p);
		EQ(pprof_encode(q, &second), 0);
		again = decode(&second);
		text_q = (free(text_q), profile_dump(q));
		text_again = profile_dump(again);
		STREQ(text_again, text_q);
		free(text_p);
		free(text_q);
		free(text_again);
		profile_free(p);
		profile_free(q);
		profile_free(again);
		buf_done(&first);
		buf_done(&second);
	}
}

/* ---- From OTLP ------------------------------------------------------------- */

static struct profile_set *add_set(struct profile *p, struct profile_scope *scope, const char *type, const char *unit)
{
	struct profile_set *set = profile_add_set(p, scope);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, type), profile_add_cstring(p, unit) };
	return set;
}

static void add_sample(struct profile *p, struct profile_set *set, u32 stack, s64 value)
{
	struct profile_sample *s = profile_add_sample(p, set);

	s->stack = stack;
	s->value_count = 1;
	s->values = profile_copy(p, &value, sizeof(value));
}

TEST(pprof_tells_cpu_time_from_counts_and_period)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *q = NULL;
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, NULL, 0));
	struct profile_set *set = add_set(p, scope, "samples", "count");
	struct profile_sample *s;
	struct buf b;

	set->period = 50000000;
	set->period_type = (struct profile_type){ profile_add_cstring(p, "cpu"),
						  profile_add_cstring(p, "nanoseconds") };
	set->time_unix_ns = 1000;
	set->duration_ns = 500;
	s = profile_add_sample(p, set);
	s->time_count = 3;
	s->times_unix_ns = (u64[]){ 1001, 1002, 1003 };
	buf_init(&b, BYTES_MAX);
	EQ(pprof_encode(p, &b), 0);
	q = decode(&b);
	EQ(q->resources.at[0].scopes[0].set_count, 2);
	EQ(profile_sample_value(&set_of(q, 0, 0)->samples[0]), 3);
	EQ(profile_sample_value(&set_of(q, 0, 1)->samples[0]), 150000000);
	EQ(set_of(q, 0, 1)->period, 50000000);
	EQ(set_of(q, 0, 1)->time_unix_ns, 1000);
	EQ(set_of(q, 0, 1)->duration_ns, 500);
	/* Written again, the time comes from its own set and is not added once more. */
	b.len = 0;
	EQ(pprof_encode(q, &b), 0);
	q = (profile_free(q), decode(&b));
	EQ(q->resources.at[0].scopes[0].set_count, 2);
	EQ(profile_sample_value(&set_of(q, 0, 1)->samples[0]), 150000000);
	buf_done(&b);
}

TEST(pprof_keeps_sets_apart_that_list_other_samples)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *q = NULL;
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, NULL, 0));
	u32 stack, location = profile_add_location(p, &(struct profile_location){ .address = 1 });
	struct buf b;

	stack = profile_add_stack(p, &location, 1);
	add_sample(p, add_set(p, scope, "samples", "count"), stack, 1);
	add_set(p, scope, "off_cpu", "nanoseconds");
	add_sample(p, &scope->sets[1], stack, 70);
	add_sample(p, &scope->sets[1], 0, 7);
	buf_init(&b, BYTES_MAX);
	EQ(pprof_encode(p, &b), 0);
	q = decode(&b);
	EQ(set_of(q, 0, 0)->sample_count, 3);
	EQ(set_of(q, 0, 0)->samples[0].values[0], 1);
	EQ(set_of(q, 0, 1)->samples[0].values[0], 0);
	EQ(set_of(q, 0, 0)->samples[1].values[0], 0);
	EQ(set_of(q, 0, 1)->samples[1].values[0], 70);
	EQ(set_of(q, 0, 1)->samples[2].values[0], 7);
	buf_done(&b);
}

TEST(pprof_takes_resources_and_links_back_from_labels)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *q = NULL;
	struct profile_link link = { .trace_id = { 0xab, 1 }, .span_id = { 0xcd, 2 } };
	struct buf b;

	for (int pid = 0; pid < 3; pid++) {
		struct keyvalue kv[2] = { { STR("process.pid"), { .kind = ANY_INT, .integer = pid } },
					  { STR("container.id"), { .kind = ANY_STRING, .string = STR("c0ffee") } } };
		struct profile_set *set = add_set(p, profile_add_scope(p, profile_add_resource(p, kv, 2)), "samples",
						  "count");
		u32 cpu = profile_add_attribute_int(p, "cpu.logical_number", 0);

		add_sample(p, set, 0, 1 + pid);
		set->samples[0].attributes = profile_copy_indices(p, &cpu, 1);
		set->samples[0].link = pid == 1 ? profile_add_link(p, &link) : 0;
	}
	buf_init(&b, BYTES_MAX);
	EQ(pprof_encode(p, &b), 0);
	OK(memmem(b.data, b.len, "\x32\x03pid", 5));
	q = decode(&b);
	EQ(q->resources.count, 3);
	for (int pid = 0; pid < 3; pid++) {
		const struct profile_resource *r = &q->resources.at[pid];
		const struct profile_sample *s = &set_of(q, pid, 0)->samples[0];

		EQ(r->attribute_count, 2);
		EQ(keyvalue_find(r->attributes, 2, "process.pid")->integer, pid);
		OK(keyvalue_find(r->attributes, 2, "container.id"));
		EQ(s->values[0], 1 + pid);
		EQ(profile_attribute_find(q, s->attributes, "cpu.logical_number")->integer, 0);
		OK(pid != 1 || !memcmp(&q->links.at[s->link], &link, sizeof(link)));
		OK(pid == 1 || !s->link);
	}
	buf_done(&b);
}

TEST(pprof_puts_the_main_program_first_and_says_what_mappings_have)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct keyvalue kv = { STR("process.executable.path"), { .kind = ANY_STRING, .string = STR("/bin/main") } };
	u32 function = profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, "f") });
	struct profile_line line = { .function = function };
	struct pb r, m;
	struct pb_field f;
	struct buf b;
	u64 flags = 0, first = 0;

	profile_add_mapping(p, &(struct profile_mapping){ .filename = profile_add_cstring(p, "libc.so.6") });
	profile_add_mapping(p, &(struct profile_mapping){ .filename = profile_add_cstring(p, "main") });
	profile_add_location(p, &(struct profile_location){ .mapping = 1, .address = 1 });
	profile_add_location(p, &(struct profile_location){
		.mapping = 1, .address = 2, .line_count = 1, .lines = &line });
	profile_add_location(p, &(struct profile_location){
		.mapping = 2, .address = 2, .line_count = 1, .lines = &line });
	add_sample(p, add_set(p, profile_add_scope(p, profile_add_resource(p, &kv, 1)), "samples", "count"), 0, 1);
	buf_init(&b, BYTES_MAX);
	EQ(pprof_encode(p, &b), 0);
	r = pb_from(b.data, b.len);
	while (pb_next(&r, &f)) {
		u64 id = 0;

		for (m = f.body; f.number == 3 && pb_next(&m, &f); f.number = 3) {
			if (f.number == 1)
				id = f.value;
			if (f.number >= 7)
				flags |= f.value << (f.number + 10 * id);
		}
		first = first ? first : id;
	}
	EQ(first, 2);
	EQ(flags, (u64)1 << (7 + 10 * 2));
	buf_done(&b);
}

TEST(pprof_leaves_out_what_its_readers_refuse)
{
	_cleanup_(profile_freep) struct profile *p = profile_new(), *q = NULL;
	struct profile_line lines[2] = { { .line = 4 }, { .function = 1, .line = 5 } };
	struct any list[2] = { { .kind = ANY_INT, .integer = 1 }, { .kind = ANY_STRING, .string = STR("x\"y") } };
	struct profile_attribute a = { .value = { .kind = ANY_ARRAY, .count = 2, .array = list } };
	const struct any *text;
	u32 location, stack, attribute;
	struct buf b;

	profile_add_function(p, &(struct profile_function){ .name = profile_add_cstring(p, "f") });
	location = profile_add_location(p, &(struct profile_location){ .address = 1, .line_count = 2, .lines = lines });
	stack = profile_add_stack(p, (u32[]){ 0, location, 0 }, 3);
	add_sample(p, add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)), "samples", "count"), stack, 1);
	a.key = profile_add_cstring(p, "list");
	attribute = profile_add_attribute(p, &a);
	p->resources.at[0].scopes[0].sets[0].samples[0].attributes = (struct indices){ &attribute, 1 };
	buf_init(&b, BYTES_MAX);
	EQ(pprof_encode(p, &b), 0);
	q = decode(&b);
	EQ(q->stacks.at[set_of(q, 0, 0)->samples[0].stack].count, 1);
	EQ(q->locations.at[1].line_count, 1);
	text = profile_attribute_find(q, set_of(q, 0, 0)->samples[0].attributes, "list");
	OK(text && text->string.len == 10 && !memcmp(text->string.at, "[1,\"x\\\"y\"]", 10));
	buf_done(&b);
}

/* ---- Files ----------------------------------------------------------------- */

/* A profile by hand: one sample type, ids that are neither dense nor in order, comments and texts. */
static void put_file(struct buf *b, u64 location_id, u64 value_count, u64 function_id)
{
	static const char *const strings[] = { "", "alloc", "bytes", "main", "a comment", "http://doc", "unit" };
	size_t mark, line;

	buf_init(b, 4096);
	mark = pb_begin(b, 2);
	pb_put_varint(b, 1, 900);
	pb_put_varint(b, 1, 7);
	for (u64 i = 0; i < value_count; i++)
		pb_put_varint(b, 2, 42 + i);
	pb_end(b, mark);
	mark = pb_begin(b, 1);
	pb_put_varint(b, 1, 1);
	pb_put_varint(b, 2, 2);
	pb_end(b, mark);
	for (int i = 0; i < 2; i++) {
		mark = pb_begin(b, 4);
		pb_put_varint(b, 1, i ? 900 : location_id);
		pb_put_varint(b, 3, 0xffffffff80000000 + i);
		line = pb_begin(b, 4);
		pb_put_varint(b, 1, function_id);
		pb_end(b, line);
		pb_end(b, mark);
	}
	mark = pb_begin(b, 5);
	pb_put_varint(b, 1, 5);
	pb_put_varint(b, 2, 3);
	pb_end(b, mark);
	pb_put_varint(b, 13, 4);
	pb_put_varint(b, 15, 5);
	pb_put_varint(b, 14, 1);
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		pb_put_string(b, 6, strings[i], strlen(strings[i]));
	EQ(buf_err(b), 0);
}

TEST(pprof_reads_scattered_ids_and_texts)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *q = NULL;
	const struct profile_set *set;
	const struct any *comment;
	struct indices stack;
	struct buf b;

	put_file(&b, 7, 1, 5);
	p = decode(&b);
	set = set_of(p, 0, 0);
	EQ(set->sample_count, 1);
	EQ(set->samples[0].values[0], 42);
	stack = p->stacks.at[set->samples[0].stack];
	EQ(stack.count, 2);
	EQ(p->locations.at[stack.at[0]].address, 0xffffffff80000001);
	EQ(p->locations.at[stack.at[1]].address, 0xffffffff80000000);
	comment = profile_attribute_find(p, set->attributes, "pprof.profile.comment");
	OK(comment && comment->count == 1 && !memcmp(comment->array[0].string.at, "a comment", 9));
	b.len = 0;
	EQ(pprof_encode(p, &b), 0);
	q = decode(&b);
	OK(profile_attribute_find(q, set_of(q, 0, 0)->attributes, "pprof.profile.comment"));
	OK(profile_attribute_find(q, set_of(q, 0, 0)->attributes, "pprof.profile.doc_url"));
	EQ(q->resources.at[0].scopes[0].attribute_count, 1);
	buf_done(&b);
}

TEST(pprof_refuses_broken_files)
{
	static const struct {
		u64 location_id, value_count, function_id;
	} cases[] = { { 0, 1, 5 }, { 8, 1, 5 }, { 900, 1, 5 }, { 7, 0, 5 }, { 7, 2, 5 }, { 7, 1, 0 }, { 7, 1, 6 } };
	struct profile *p = NULL;
	struct buf b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put_file(&b, cases[i].location_id, cases[i].value_count, cases[i].function_id);
		EQ(pprof_decode(b.data, b.len, &p), -EBADMSG);
		buf_done(&b);
	}
	EQ(pprof_decode("", 0, &p), -EBADMSG);
	EQ(pprof_decode("\x32\x01x", 3, &p), -EBADMSG);
	OK(!p);
}

TEST(pprof_is_told_from_otlp_by_its_contents)
{
	_cleanup_(profile_freep) struct profile *p = profile_random(9, 0);
	struct buf b;

	for (size_t i = 0; formats[i]; i++) {
		const struct format_ops *found;

		if (!formats[i]->decode)
			continue;
		buf_init(&b, BYTES_MAX);
		EQ(formats[i]->encode(p, &b), 0);
		found = format_by_content(b.data, b.len);
		OK(found);
		STREQ(found->name, formats[i]->name);
		buf_done(&b);
	}
	OK(!format_by_content("\xff\xff\xff", 3));
}

TEST(pprof_survives_every_failed_allocation)
{
	struct profile *p = profile_random(2, 1), *q;
	struct buf b, out;
	long count;

	buf_init(&b, BYTES_MAX);
	EQ(pprof_encode(p, &b), 0);
	test_alloc_fail(-1);
	q = decode(&b);
	count = test_alloc_reset();
	profile_free(q);
	for (long i = 0; i < count; i++) {
		int r;

		test_alloc_fail(i);
		r = pprof_decode(b.data, b.len, &q);
		test_alloc_reset();
		EQ(r, -ENOMEM);
	}
	buf_init(&out, BYTES_MAX);
	test_alloc_fail(-1);
	EQ(pprof_encode(p, &out), 0);
	count = test_alloc_reset();
	buf_done(&out);
	for (long i = 0; i < count; i++) {
		int r;

		buf_init(&out, BYTES_MAX);
		test_alloc_fail(i);
		r = pprof_encode(p, &out);
		test_alloc_reset();
		EQ(r, -ENOMEM);
		buf_done(&out);
	}
	profile_free(p);
	buf_done(&b);
}

/* What differs between dialects: types, periods, labels of the first sample. */
static void dialect_text(const struct profile *p, struct buf *text)
{
	const struct profile_scope *scope = &p->resources.at[0].scopes[0];
	const struct any *type = keyvalue_find(scope->attributes, scope->attribute_count, PPROF_DEFAULT_TYPE);
	struct indices labels = scope->sets[0].samples[0].attributes;

	buf_init(text, BYTES_MAX);
	for (u32 i = 0; i < scope->set_count; i++) {
		const struct profile_set *set = &scope->sets[i];

		buf_addf(text, "[%u].%.*s/%.*s = %lld, period %.*s/%.*s %lld\n", i, STRING(p, set->sample_type.type),
			 STRING(p, set->sample_type.unit), (long long)profile_sample_value(&set->samples[0]),
			 STRING(p, set->period_type.type), STRING(p, set->period_type.unit), (long long)set->period);
	}
	for (u32 i = 0; i < labels.count; i++) {
		const struct profile_attribute *a = &p->attributes.at[labels.at[i]];

		EQ(a->value.kind, ANY_STRING);
		buf_addf(text, "%.*s=%.*s\n", STRING(p, a->key), (int)a->value.string.len, a->value.string.at);
	}
	buf_addf(text, "default %.*s\n", type ? (int)type->string.len : 0, type ? type->string.at : "");
}

static const char *other_type(struct str type)
{
	return str_is(type, "samples") ? "cpu-samples" : str_is(type, "cpu") ? "cpu-time" : NULL;
}

TEST(pprof_speaks_the_dialect_of_a_backend)
{
	static const struct pprof_name labels[] = { { "thread.id", "thread id" }, { "process.pid", "process_id" },
						    { "root", "local root span id" }, { NULL, NULL } };
	static const struct pprof_dialect dialect = { .labels = labels, .text_only = true, .span_label = "span id",
						      .id_attribute = "root",
						      .type_name = other_type, .default_type = "cpu-time" };
	static const char *const wanted[] = {
		"[0].cpu-samples/count = 2, period cpu-time/nanoseconds 10", "[1].cpu-time/nanoseconds = 20",
		"process_id=7", "thread id=8", "\nspan id=258", "local root span id=4660", "default cpu-time",
	};
	struct keyvalue attributes[] = { { STR("process.pid"), { .kind = ANY_INT, .integer = 7 } },
					 { STR("host.name"), { .kind = ANY_STRING, .string = STR("h") } } };
	_cleanup_(profile_freep) struct profile *p = profile_new(), *q = NULL;
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, attributes, 2));
	struct profile_set *set = add_set(p, scope, "samples", "count");
	u32 own[] = { profile_add_attribute_int(p, "thread.id", 8),
		      profile_add_attribute_string(p, "root", "0000000000001234") };
	struct profile_link link = { .trace_id = { 1 }, .span_id = { [6] = 1, [7] = 2 } };
	struct profile_sample *s;
	struct buf b;

	set->period = 10;
	set->period_type = (struct profile_type){ profile_add_cstring(p, "cpu"),
						  profile_add_cstring(p, "nanoseconds") };
	add_sample(p, set, 0, 2);
	s = &set->samples[0];
	s->attributes = profile_copy_indices(p, own, 2);
	s->link = profile_add_link(p, &link);
	buf_init(&b, BYTES_MAX);
	EQ(pprof_encode_as(p, &dialect, &b), 0);
	q = decode(&b);
	buf_done(&b);
	dialect_text(q, &b);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strstr(b.data, wanted[i]))
			FAIL("%s is not in\n%s", wanted[i], b.data);
	OK(!strstr(b.data, "host.name"));
	buf_done(&b);
}

TEST(idmap_numbers_ids_in_order)
{
	struct idmap map = { 0 };

	for (u64 i = 1; i <= 10; i++)
		EQ(idmap_add(&map, i), 0);
	EQ(idmap_finish(&map), 0);
	EQ(idmap_find(&map, 10), 10);
	EQ(idmap_find(&map, 11), 0);
	OK(!map.entries);
	EQ(idmap_add(&map, (u64)1 << 60), 0);
	EQ(idmap_add(&map, 12), 0);
	EQ(idmap_finish(&map), 0);
	EQ(idmap_find(&map, (u64)1 << 60), 11);
	EQ(idmap_find(&map, 12), 12);
	EQ(idmap_find(&map, 3), 3);
	EQ(idmap_find(&map, 0), 0);
	EQ(idmap_add(&map, 12), 0);
	EQ(idmap_finish(&map), -EBADMSG);
	idmap_done(&map);
}
