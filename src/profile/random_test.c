// SPDX-License-Identifier: Apache-2.0
/* profile_random() of dump_test.h. */
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

struct maker {
	struct profile *profile;
	u64 state;
	int simple;
};

static u32 roll(struct maker *m, u32 limit)
{
	m->state = m->state * 6364136223846793005 + 1442695040888963407;
	return (u32)(m->state >> 33) % limit;
}

/* Numbers of every width, so that varints of every length occur. */
static u64 wide(struct maker *m)
{
	return ((u64)roll(m, 1u << 30) << 34 ^ (u64)roll(m, 1u << 30)) >> roll(m, 64);
}

static u32 make_string(struct maker *m, const char *head)
{
	char text[64];

	snprintf(text, sizeof(text), roll(m, 8) ? "%s%u" : "%s \"\\\n\xc3\xa9/%u", head, roll(m, 20));
	return profile_add_cstring(m->profile, text);
}

static struct any make_any(struct maker *m, int depth)
{
	static const char *const texts[] = { "", "x", "caf\xc3\xa9 \"quoted\" \\ \t", "a longer text with \x01 in it" };
	struct any *list = profile_alloc(m->profile, 3 * sizeof(*list));
	struct keyvalue *map = profile_alloc(m->profile, 3 * sizeof(*map));
	struct any v = { .kind = m->simple ? ANY_STRING + 2 * (int)roll(m, 2) : (int)roll(m, depth ? 8 : 5) };

	switch (v.kind) {
	case ANY_NONE:
		break;
	case ANY_STRING:
		v.string.at = texts[m->simple ? 1 + roll(m, 2) : roll(m, 4)];
		v.string.len = strlen(v.string.at);
		break;
	case ANY_BYTES:
		v.string = (struct str){ "\0\xff\x80 bytes", roll(m, 9) };
		break;
	case ANY_BOOL:
		v.boolean = roll(m, 2);
		break;
	case ANY_INT:
		v.integer = m->simple ? (s64)(wide(m) >> 1) + 1 : (s64)wide(m);
		break;
	case ANY_DOUBLE:
		v.real = roll(m, 1000) / 8.0 - 50;
		break;
	case ANY_ARRAY:
		v.count = roll(m, 4);
		v.array = list;
		for (u32 i = 0; i < v.count; i++)
			list[i] = make_any(m, depth - 1);
		break;
	case ANY_MAP:
		v.count = roll(m, 4);
		v.map = map;
		for (u32 i = 0; i < v.count; i++)
			map[i] = (struct keyvalue){ STR("inner"), make_any(m, depth - 1) };
		break;
	}
	return v;
}

static u32 make_attribute(struct maker *m, const char *key)
{
	struct profile_attribute a = { .key = profile_add_cstring(m->profile, key), .value = make_any(m, 3) };

	if (a.value.kind == ANY_INT && roll(m, 2))
		a.unit = make_string(m, "unit");
	return profile_add_attribute(m->profile, &a);
}

static struct indices make_attributes(struct maker *m)
{
	u32 list[3] = { make_attribute(m, "first"), make_attribute(m, "second"), make_attribute(m, "third") };

	return profile_copy_indices(m->profile, list, roll(m, 4));
}

static void make_mapping(struct maker *m)
{
	char build_id[41];
	u32 attribute;
	struct profile_mapping mapping = { .start_va = wide(m), .limit_va = wide(m), .file_offset = wide(m),
					   .filename = make_string(m, "/usr/lib/lib.so.") };

	snprintf(build_id, sizeof(build_id), "%040llx", wide(m));
	attribute = profile_add_attribute_string(m->profile, "process.executable.build_id.gnu", build_id);
	mapping.attributes = profile_copy_indices(m->profile, &attribute, 1);
	profile_add_mapping(m->profile, &mapping);
}

static void make_location(struct maker *m)
{
	struct profile_line lines[3] = { { 0 } };
	struct profile_location l = { .mapping = roll(m, m->profile->mappings.count), .address = wide(m),
				      .line_count = roll(m, 4), .lines = lines };

	for (u32 i = 0; i < 3; i++)
		lines[i] = (struct profile_line){ .function = 1 + roll(m, m->profile->functions.count - 1),
						  .line = (s64)wide(m), .column = (s64)wide(m) };
	if (!m->simple)
		l.attributes = make_attributes(m);
	profile_add_location(m->profile, &l);
}

static void make_tables(struct maker *m)
{
	u32 stack[200];

	for (int i = 0; i < 5; i++)
		make_mapping(m);
	for (int i = 0; i < 30; i++)
		profile_add_function(m->profile, &(struct profile_function){
			.name = make_string(m, "function"), .system_name = make_string(m, "_Z"),
			.filename = make_string(m, "file.c"), .start_line = (s64)wide(m) });
	for (int i = 0; i < 100; i++)
		make_location(m);
	for (int i = 0; i < 60; i++) {
		u32 count = roll(m, i % 10 ? 12 : 200);

		for (u32 k = 0; k < count; k++)
			stack[k] = 1 + roll(m, m->profile->locations.count - 1);
		profile_add_stack(m->profile, stack, count);
	}
	for (int i = 0; i < 4; i++)
		profile_add_link(m->profile, &(struct profile_link){ .trace_id = { 1, i }, .span_id = { 0xff, i } });
}

static void make_sample(struct maker *m, struct profile_sample *s)
{
	struct profile *p = m->profile;
	s64 values[5];
	u64 times[5];
	u32 shape = m->simple ? 1 : roll(m, 3);

	for (int i = 0; i < 5; i++) {
		values[i] = (s64)wide(m);
		times[i] = wide(m);
	}
	s->stack = roll(m, p->stacks.count);
	s->attributes = make_attributes(m);
	s->link = m->simple ? 0 : roll(m, p->links.count);
	s->value_count = shape == 0 ? 0 : shape == 1 ? 1 : 1 + roll(m, 5);
	s->time_count = shape == 0 ? 1 + roll(m, 5) : shape == 1 ? 0 : s->value_count;
	s->values = s->value_count ? profile_copy(p, values, s->value_count * sizeof(*values)) : NULL;
	s->times_unix_ns = s->time_count ? profile_copy(p, times, s->time_count * sizeof(*times)) : NULL;
}

static void make_set(struct maker *m, struct profile_set *set, int number)
{
	static const char *const types[] = { "samples", "alloc_space", "off_cpu" };
	static const char *const units[] = { "count", "bytes", "nanoseconds" };
	struct profile *p = m->profile;

	set->sample_type = (struct profile_type){ profile_add_cstring(p, types[number]),
						  profile_add_cstring(p, units[number]) };
	set->time_unix_ns = 1700000000000000000;
	set->duration_ns = 10000000000;
	if (!m->simple) {
		set->period_type = (struct profile_type){ make_string(m, "cpu"), make_string(m, "nanoseconds") };
		set->period = (s64)wide(m);
		set->has_profile_id = roll(m, 2);
		memset(set->profile_id, set->has_profile_id ? 0xab : 0, sizeof(set->profile_id));
		set->dropped_attributes_count = roll(m, 3);
		set->attributes = make_attributes(m);
		if (roll(m, 2)) {
			set->original_format = profile_copy_str(p, "pprof", 5);
			set->original_payload = profile_copy_str(p, "\x1f\x8b\0\xff", 4);
		}
	}
	for (int i = 0; i < 50; i++)
		make_sample(m, profile_add_sample(p, set));
}

static void make_scope(struct maker *m, struct profile_scope *scope)
{
	struct keyvalue kv = { STR("scope.key"), make_any(m, 3) };

	if (!m->simple) {
		scope->name = profile_copy_str(m->profile, "a scope", 7);
		scope->version = profile_copy_str(m->profile, "1.2.3", 5);
		scope->schema_url = profile_copy_str(m->profile, "https://example.com/1", 21);
		scope->attribute_count = roll(m, 2);
		scope->attributes = profile_copy_keyvalues(m->profile, &kv, scope->attribute_count);
		scope->dropped_attributes_count = roll(m, 2);
	}
	for (int i = 0; i < (m->simple ? 1 : 3); i++)
		make_set(m, profile_add_set(m->profile, scope), i);
}

struct profile *profile_random(unsigned int seed, int simple)
{
	struct maker m = { profile_new(), seed + 1, simple };

	make_tables(&m);
	for (int i = 0; i < 3; i++) {
		struct keyvalue kv[2] = { { STR("process.pid"), { .kind = ANY_INT, .integer = 100 + i } },
					  { STR("process.executable.name"),
					    { .kind = ANY_STRING, .string = STR("sh") } } };
		struct profile_resource *resource = profile_add_resource(m.profile, kv, 2);

		if (!simple)
			resource->schema_url = profile_copy_str(m.profile, "https://example.com/2", 21);
		for (int s = 0; s < (simple ? 1 : 2); s++)
			make_scope(&m, profile_add_scope(m.profile, resource));
	}
	EQ(profile_err(m.profile), 0);
	EQ(profile_check(m.profile), 0);
	return m.profile;
}
