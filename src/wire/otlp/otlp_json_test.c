// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_json.h"

#include <errno.h>
#include <math.h>

#include "base/json_write.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

#define BYTES_MAX ((size_t)64 << 20)

static struct profile *decode(const char *text)
{
	struct profile *p = NULL;

	EQ(otlp_json_decode(text, strlen(text), &p), 0);
	return p;
}

TEST(otlp_json_reads_back_what_it_wrote)
{
	for (unsigned int seed = 0; seed < 10; seed++) {
		_cleanup_(profile_freep) struct profile *p = profile_random(seed, 0), *q = NULL;
		struct buf first, second;
		char *text_p, *text_q;

		buf_init(&first, BYTES_MAX);
		buf_init(&second, BYTES_MAX);
		EQ(otlp_json_encode(p, &first), 0);
		EQ(otlp_json_decode(first.data, first.len, &q), 0);
		text_p = profile_dump(p);
		text_q = profile_dump(q);
		STREQ(text_q, text_p);
		EQ(otlp_json_encode(q, &second), 0);
		EQ(second.len, first.len);
		OK(!memcmp(first.data, second.data, first.len));
		free(text_p);
		free(text_q);
		buf_done(&first);
		buf_done(&second);
	}
}

TEST(otlp_json_writes_what_the_specification_says)
{
	static const char want[] =
		"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"process.pid\",\"value\":{"
		"\"intValue\":\"-7\"}}]},\"scopeProfiles\":[{\"scope\":{},\"profiles\":["
		"{\"sampleType\":{\"typeStrindex\":1},"
		"\"samples\":[{\"stackIndex\":1,\"linkIndex\":1,\"values\":[\"18\"],\"timestampsUnixNano\":"
		"[\"18446744073709551615\"]}],\"timeUnixNano\":\"5\","
		"\"profileId\":\"ab000000000000000000000000000000\",\"originalPayload\":\"AP8=\"}]}]}],"
		"\"dictionary\":{\"mappingTable\":[{}],\"locationTable\":[{},"
		"{\"address\":\"16\"}],\"functionTable\":[{}],\"linkTable\":[{},{\"traceId\":"
		"\"01000000000000000000000000000000\",\"spanId\":\"0000000000000000\"}],\"stringTable\":[\"\","
		"\"samples\"],\"attributeTable\":[{}],\"stackTable\":[{},{\"locationIndices\":[1]}]}}\n";
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct keyvalue kv = { STR("process.pid"), { .kind = ANY_INT, .integer = -7 } };
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &kv, 1)));
	struct profile_sample *s = profile_add_sample(p, set);
	u32 location = profile_add_location(p, &(struct profile_location){ .address = 16 });
	struct buf b;

	set->sample_type.type = profile_add_cstring(p, "samples");
	set->time_unix_ns = 5;
	set->has_profile_id = true;
	set->profile_id[0] = 0xab;
	set->original_payload = (struct str){ "\0\xff", 2 };
	s->stack = profile_add_stack(p, &location, 1);
	s->link = profile_add_link(p, &(struct profile_link){ .trace_id = { 1 } });
	s->value_count = s->time_count = 1;
	s->values = (s64[]){ 18 };
	s->times_unix_ns = (u64[]){ 18446744073709551615u };
	buf_init(&b, BYTES_MAX);
	EQ(otlp_json_encode(p, &b), 0);
	buf_add(&b, "", 1);
	STREQ(b.data, want);
	buf_done(&b);
}

TEST(otlp_json_reads_what_others_write)
{
	_cleanup_(profile_freep) struct profile *p = decode(
		" {\"unknown\": {\"a\": [1, null]}, \"resource_profiles\": 5, \"resourceProfiles\": [{\"resource\": "
		"{\"attributes\": [{\"keyStrindex\": 1, \"value\": {\"stringValueStrindex\": 2}}, {\"key\": \"n\", "
		"\"value\": {\"intValue\": 12}}, {\"key\": \"e\", \"value\": {}}, {\"key\": \"b\", \"value\": "
		"{\"bytesValue\": \"_-8\"}}]}, \"scopeProfiles\": [{\"profiles\": [{\"sample\": [{\"stackIndex\": 1, "
		"\"values\": [3, \"4\", 1e3]}], \"timeUnixNano\": 7, \"period\": \"-5\", \"profileId\": \"\"}]}]}], "
		"\"dictionary\": {\"stringTable\": [\"\", \"service.name\", \"shop\"], \"locationTable\": [{}, "
		"{\"line\": [{\"functionIndex\": 1}]}], \"functionTable\": [{}, {\"nameStrindex\": 2}], \"linkTable\": "
		"[{\"traceId\": \"\"}, {\"traceId\": \"ABCDEF00000000000000000000000000\"}], \"stackTable\": [{}, "
		"{\"locationIndices\": [1]}]}}");
	const struct profile_resource *r = &p->resources.at[0];
	const struct profile_set *set = &r->scopes[0].sets[0];

	EQ(keyvalue_find(r->attributes, 4, "service.name")->string.len, 4);
	EQ(keyvalue_find(r->attributes, 4, "n")->integer, 12);
	EQ(keyvalue_find(r->attributes, 4, "e")->kind, ANY_NONE);
	OK(!memcmp(keyvalue_find(r->attributes, 4, "b")->string.at, "\xff\xef", 2));
	EQ(set->samples[0].value_count, 3);
	EQ(set->samples[0].values[2], 1000);
	EQ(set->time_unix_ns, 7);
	EQ(set->period, -5);
	EQ(set->has_profile_id, false);
	EQ(p->locations.at[1].lines[0].function, 1);
	EQ(p->links.at[1].trace_id[0], 0xab);
}

TEST(otlp_json_refuses_what_does_not_fit)
{
	static const char *const texts[] = {
		"", "[]", "5", "{", "{\"resourceProfiles\": 5}", "{\"resourceProfiles\": [5]}",
		"{\"dictionary\": {\"stringTable\": [\"not empty\"]}}",
		"{\"dictionary\": {\"stringTable\": [\"\", 5]}}",
		"{\"dictionary\": {\"stackTable\": [{\"locationIndices\": [0]}]}}",
		"{\"dictionary\": {\"stackTable\": [{}, {\"locationIndices\": [1]}]}}",
		"{\"dictionary\": {\"stackTable\": [{}, {\"locationIndices\": [-1]}]}}",
		"{\"dictionary\": {\"stackTable\": [{}, {\"locationIndices\": [4294967296]}]}}",
		"{\"dictionary\": {\"linkTable\": [{\"traceId\": \"zz000000000000000000000000000000\"}]}}",
		"{\"dictionary\": {\"linkTable\": [{}, {\"traceId\": \"AAAAAAAAAAAAAAAAAAAAAA==\"}]}}",
		"{\"dictionary\": {\"mappingTable\": [{}, {\"memoryStart\": \"18446744073709551616\"}]}}",
		"{\"dictionary\": {\"mappingTable\": [{}, {\"memoryStart\": \"-1\"}]}}",
		"{\"dictionary\": {\"mappingTable\": [{}, {\"memoryStart\": \"\"}]}}",
		"{\"dictionary\": {\"mappingTable\": [{}, {\"memoryStart\": 1.5}]}}",
		"{\"dictionary\": {\"attributeTable\": [{}, {\"value\": {\"boolValue\": \"yes\"}}]}}",
		"{\"dictionary\": {\"attributeTable\": [{}, {\"value\": {\"bytesValue\": \"*\"}}]}}",
		"{\"dictionary\": {\"attributeTable\": [{}, {\"value\": {\"stringValueStrindex\": 1}}]}}",
	};
	struct profile *p = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		EQ(otlp_json_decode(texts[i], strlen(texts[i]), &p), -EBADMSG);
	OK(!p);
}

TEST(otlp_json_refuses_values_nested_too_deeply)
{
	struct profile *p = NULL;
	struct buf b;

	buf_init(&b, 1 << 16);
	buf_addf(&b, "{\"dictionary\":{\"attributeTable\":[{},{\"value\":");
	for (int i = 0; i < 100; i++)
		buf_addf(&b, "{\"arrayValue\":{\"values\":[");
	for (int i = 0; i < 100; i++)
		buf_addf(&b, "]}}");
	buf_addf(&b, "}]}}");
	EQ(otlp_json_decode(b.data, b.len, &p), -EBADMSG);
	buf_done(&b);
}

TEST(json_write_escapes_and_shortens)
{
	struct buf b;

	buf_init(&b, 4096);
	json_put_string(&b, "a\"\\\n\t\x01\x7f\xc3\xa9\xff", 10);
	json_put_double(&b, 0.1);
	buf_addf(&b, " ");
	json_put_double(&b, 1e300 / 3);
	json_put_double(&b, NAN);
	json_put_double(&b, -INFINITY);
	json_put_base64(&b, "abcd", 4);
	buf_add(&b, "", 1);
	STREQ(b.data, "\"a\\\"\\\\\\n\\t\\u0001\\u007f\xc3\xa9\xef\xbf\xbd\"0.1 3.3333333333333335e+299\"NaN\""
		      "\"-Infinity\"\"YWJjZA==\"");
	buf_done(&b);
}

TEST(json_write_writes_lists_of_numbers_of_every_length)
{
	static const u32 list[] = { 0, 9, 10, 99, 100, 101, 999, 1000, 9999, 10000, 99999, 100000, 1234567, 9999999,
				    10000000, 99999999, 100000000, 999999999, 4294967295 };
	struct buf b, want;
	struct json_write j = { .b = &b, .comma = true };

	buf_init(&b, 4096);
	buf_init(&want, 4096);
	json_write_u32_list(&j, list, 0);
	for (u32 i = 0; i < sizeof(list) / sizeof(*list); i++)
		json_write_u32_list(&j, list, i);
	buf_add(&b, "", 1);
	buf_addf(&want, ",[]");
	for (u32 i = 0; i < sizeof(list) / sizeof(*list); i++) {
		buf_addf(&want, ",[");
		for (u32 k = 0; k < i; k++)
			buf_addf(&want, k ? ",%u" : "%u", list[k]);
		buf_addf(&want, "]");
	}
	STREQ(b.data, want.data);
	buf_done(&b);
	buf_done(&want);
}

TEST(otlp_json_survives_every_failed_allocation)
{
	struct profile *p = profile_random(2, 0), *q;
	u32 resource_count = p->resources.count;
	struct buf b;
	int r = -ENOMEM;

	/* One resource has an example of everything; all three take many times as long. */
	buf_init(&b, BYTES_MAX);
	p->resources.count = 1;
	EQ(otlp_json_encode(p, &b), 0);
	p->resources.count = resource_count;
	profile_free(p);
	for (long i = 0; r < 0; i++) {
		test_alloc_fail(i);
		r = otlp_json_decode(b.data, b.len, &q);
		test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
	profile_free(q);
	buf_done(&b);
}
