// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_upload.h"

#include <errno.h>

#include "profile/profile.h"
#include "test.h"
#include "wire/pprof/pprof.h"

#define BODY_MAX ((size_t)1 << 20)

/* Two samples of main, at 20 Hz; time: when, 0 if the profile does not say. */
static struct profile *make(u64 time_unix_ns)
{
	struct keyvalue attributes[] = { { STR("process.pid"), { .kind = ANY_INT, .integer = 7 } } };
	struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, attributes, 1)));
	struct profile_line line = { .function = profile_add_function(
		p, &(struct profile_function){ .name = profile_add_cstring(p, "main") }) };
	u32 location = profile_add_location(p, &(struct profile_location){ .lines = &line, .line_count = 1 });
	u32 thread = profile_add_attribute_int(p, "thread.id", 9);
	struct profile_sample *sample = profile_add_sample(p, set);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, "samples"), profile_add_cstring(p, "count") };
	set->period_type = (struct profile_type){ profile_add_cstring(p, "cpu"),
						  profile_add_cstring(p, "nanoseconds") };
	set->period = 50000000;
	set->time_unix_ns = time_unix_ns;
	set->duration_ns = time_unix_ns ? 60000000000 : 0;
	sample->stack = profile_add_stack(p, &location, 1);
	sample->attributes = profile_copy_indices(p, &thread, 1);
	sample->value_count = 1;
	sample->values = profile_copy(p, &(s64){ 2 }, sizeof(s64));
	return p;
}

static struct datadog_upload upload = { .tags = "service:a,k:\"v\"", .boundary = "B", .now_unix_ns = 1500000000 };

#define HEAD \
	"--B\r\n" \
	"Content-Disposition: form-data; name=\"event\"; filename=\"event.json\"\r\n" \
	"Content-Type: application/json\r\n\r\n"
#define MIDDLE \
	"\r\n--B\r\n" \
	"Content-Disposition: form-data; name=\"profile.pprof\"; filename=\"profile.pprof\"\r\n" \
	"Content-Type: application/octet-stream\r\n\r\n"
#define TAIL "\r\n--B--\r\n"

static void event_of(u64 start_unix_ns, char *event, size_t room)
{
	_cleanup_(profile_freep) struct profile *p = make(start_unix_ns);
	const char *end;
	struct buf body;

	buf_init(&body, BODY_MAX);
	EQ(datadog_upload_write(p, &upload, &body), 0);
	OK(!memcmp(body.data, HEAD, strlen(HEAD)));
	end = memmem(body.data, body.len, MIDDLE, strlen(MIDDLE));
	OK(end);
	(void)snprintf(event, room, "%.*s", (int)(end - body.data - strlen(HEAD)), body.data + strlen(HEAD));
	buf_done(&body);
}

TEST(datadog_event_has_version_4)
{
	char event[1024], want[1024];

	event_of(1785578400123456789, event, sizeof(event));
	(void)snprintf(want, sizeof(want),
		       "{\"attachments\":[\"profile.pprof\"],\"tags_profiler\":\"service:a,k:\\\"v\\\"\","
		       "\"start\":\"2026-08-01T10:00:00.123456789Z\",\"end\":\"2026-08-01T10:01:00.123456789Z\","
		       "\"family\":\"ebpf\",\"version\":\"4\","
		       "\"info\":{\"profiler\":{\"name\":\"wick\",\"version\":\"%s\"}}}",
		       WICK_VERSION);
	STREQ(event, want);
	event_of(0, event, sizeof(event));
	OK(strstr(event, "\"start\":\"1970-01-01T00:00:01.500000000Z\",\"end\":\"1970-01-01T00:00:01.500000000Z\""));
}

static const struct any *label(const struct profile *p, const struct profile_sample *sample, const char *name)
{
	return profile_attribute_find(p, sample->attributes, name);
}

static void judge_pprof(const void *at, size_t bytes)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	const struct profile_scope *scope;

	EQ(pprof_decode(at, bytes, &p), 0);
	scope = &p->resources.at[0].scopes[0];
	EQ(scope->set_count, 2);
	OK(!memcmp(p->strings.at[scope->sets[0].sample_type.type].at, "cpu-samples", 11));
	OK(!memcmp(p->strings.at[scope->sets[1].sample_type.type].at, "cpu-time", 8));
	EQ(profile_sample_value(&scope->sets[0].samples[0]), 2);
	EQ(profile_sample_value(&scope->sets[1].samples[0]), 100000000);
	EQ(scope->sets[1].period, 50000000);
	OK(label(p, scope->sets[0].samples, "thread id"));
	OK(label(p, scope->sets[0].samples, "process_id"));
}

TEST(datadog_upload_holds_pprof_with_its_names)
{
	static const enum compression kinds[] = { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };
	_cleanup_(profile_freep) struct profile *p = make(1785578400123456789);

	for (int i = 0; i < 3; i++) {
		struct datadog_upload packed = upload;
		struct buf body, plain;
		const char *at;
		size_t bytes;

		packed.compression = kinds[i];
		buf_init(&body, BODY_MAX);
		buf_init(&plain, BODY_MAX);
		EQ(datadog_upload_write(p, &packed, &body), 0);
		at = (const char *)memmem(body.data, body.len, MIDDLE, strlen(MIDDLE)) + strlen(MIDDLE);
		bytes = body.data + body.len - at - strlen(TAIL);
		OK(!memcmp(at + bytes, TAIL, strlen(TAIL)));
		EQ(compression_of(at, bytes), kinds[i]);
		EQ(compression_unpack(kinds[i], at, bytes, &plain), 0);
		judge_pprof(plain.data, plain.len);
		buf_done(&body);
		buf_done(&plain);
	}
}

TEST(datadog_upload_fails_cleanly)
{
	_cleanup_(profile_freep) struct profile *p = make(1785578400123456789);
	struct buf body;
	long count;

	buf_init(&body, 64);
	EQ(datadog_upload_write(p, &upload, &body), -E2BIG);
	buf_done(&body);
	buf_init(&body, BODY_MAX);
	test_alloc_fail(-1);
	EQ(datadog_upload_write(p, &upload, &body), 0);
	count = test_alloc_reset();
	buf_done(&body);
	for (long i = 0; i < count; i++) {
		int r;

		buf_init(&body, BODY_MAX);
		test_alloc_fail(i);
		r = datadog_upload_write(p, &upload, &body);
		test_alloc_reset();
		EQ(r, -ENOMEM);
		buf_done(&body);
	}
}

TEST(datadog_boundaries_differ)
{
	char a[DATADOG_BOUNDARY_BYTES], b[DATADOG_BOUNDARY_BYTES];

	datadog_boundary(a);
	datadog_boundary(b);
	EQ(strlen(a), 36);
	OK(strcmp(a, b));
}
