// SPDX-License-Identifier: Apache-2.0
#include "wire/views/speedscope.h"

#include "profile/profile.h"
#include "test.h"
#include "wire/sample_types.h"

#define BYTES_MAX ((size_t)1 << 20)

static struct profile_set *add_set(struct profile *p, struct profile_scope *scope, const char *type, const char *unit)
{
	struct profile_set *set = profile_add_set(p, scope);

	set->sample_type = (struct profile_type){ profile_add_cstring(p, type), profile_add_cstring(p, unit) };
	return set;
}

static void add_sample(struct profile *p, struct profile_set *set, const char *function, s64 value)
{
	struct profile_line line = { .function = profile_add_function(p, &(struct profile_function){
		.name = profile_add_cstring(p, function), .filename = profile_add_cstring(p, "a.c"),
		.start_line = 7 }) };
	u32 location = profile_add_location(p, &(struct profile_location){ .line_count = 1, .lines = &line });
	struct profile_sample *s = profile_add_sample(p, set);

	s->stack = profile_add_stack(p, &location, 1);
	s->values = profile_copy(p, &value, sizeof(value));
	s->value_count = 1;
}

/* pprof's pair of sample types, and one more. */
static struct profile *make(void)
{
	struct keyvalue name = { STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("sh") } };
	struct profile *p = profile_new();
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, &name, 1));
	struct profile_set *set = add_set(p, scope, "samples", "count");

	set->period_type = (struct profile_type){ profile_add_cstring(p, "cpu"),
						  profile_add_cstring(p, "nanoseconds") };
	set->period = 1000;
	add_sample(p, set, "f\"", 3);
	add_sample(p, set, "f\"", 1);
	add_sample(p, add_set(p, scope, "cpu", "nanoseconds"), "f\"", 4000);
	add_sample(p, add_set(p, scope, "space", "bytes"), "g", 5);
	return p;
}

TEST(speedscope_has_a_profile_for_each_sample_type)
{
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(buf_done) struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(speedscope_encode(p, &b), 0);
	buf_add(&b, "", 1);
	STREQ(b.data,
	      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
	      "\"exporter\":\"wick " WICK_VERSION "\","
	      "\"activeProfileIndex\":0,\"profiles\":["
	      "{\"type\":\"sampled\",\"name\":\"samples\",\"unit\":\"nanoseconds\",\"startValue\":0,"
	      "\"samples\":[[4,1]],\"endValue\":4000,\"weights\":[4000]},"
	      "{\"type\":\"sampled\",\"name\":\"space\",\"unit\":\"bytes\",\"startValue\":0,"
	      "\"samples\":[[4,2]],\"endValue\":5,\"weights\":[5]}],"
	      "\"shared\":{\"frames\":[{\"name\":\"[unknown]\"},{\"name\":\"f\\\"\",\"file\":\"a.c\",\"line\":7},"
	      "{\"name\":\"g\",\"file\":\"a.c\",\"line\":7},{\"name\":\"[unknown]\"},{\"name\":\"sh\"}]}}");
}

TEST(sample_types_begin_with_the_default)
{
	struct keyvalue preferred = { STR("pprof.scope.default_sample_type"),
				      { .kind = ANY_STRING, .string = STR("space") } };
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(sample_types_done) struct sample_types types;

	p->resources.at[0].scopes[0].attributes = profile_copy_keyvalues(p, &preferred, 1);
	p->resources.at[0].scopes[0].attribute_count = 1;
	EQ(sample_types_init(&types, p), 0);
	EQ(types.count, 2);
	STREQ(types.at[0], "space");
	STREQ(types.at[1], "samples");
}
