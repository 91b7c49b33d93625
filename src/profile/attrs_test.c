// SPDX-License-Identifier: Apache-2.0
#include "profile/attrs.h"

#include "profile/any.h"
#include "test.h"

static struct any text(const char *s)
{
	return (struct any){ .kind = ANY_STRING, .string = { s, (u32)strlen(s) } };
}

static struct any number(s64 n)
{
	return (struct any){ .kind = ANY_INT, .integer = n };
}

/* "a=1 b=x" */
static const char *shown(const struct attrs *attrs)
{
	static char out[256];
	size_t len = 0;

	out[0] = 0;
	for (u32 i = 0; i < attrs_count(attrs); i++) {
		struct keyvalue kv = attrs_get(attrs, i);

		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%.*s=", i ? " " : "", (int)kv.key.len,
					kv.key.at);
		if (kv.value.kind == ANY_INT)
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%lld", (long long)kv.value.integer);
		else
			len += (size_t)snprintf(out + len, sizeof(out) - len, "%.*s", (int)kv.value.string.len,
						kv.value.string.at);
	}
	return out;
}

static void edit(struct attrs *attrs)
{
	struct any one = number(1), x = text("x"), y = text("y");
	struct keyvalue map[] = { { STR("b"), text("y") }, { STR("d"), number(4) } };

	STREQ(shown(attrs), "");
	OK(!attrs_find(attrs, STR("a")));
	attrs_set(attrs, STR("a"), &one);
	attrs_set(attrs, STR("b"), &x);
	attrs_set(attrs, STR("c"), &x);
	STREQ(shown(attrs), "a=1 b=x c=x");
	attrs_set(attrs, STR("b"), &y);
	STREQ(shown(attrs), "a=1 b=y c=x");
	EQ(attrs_find(attrs, STR("a"))->integer, 1);
	OK(attrs_remove(attrs, STR("a")));
	OK(!attrs_remove(attrs, STR("a")));
	STREQ(shown(attrs), "b=y c=x");
	attrs_replace(attrs, map, 2);
	STREQ(shown(attrs), "b=y d=4");
	attrs_replace(attrs, NULL, 0);
	STREQ(shown(attrs), "");
}

TEST(attrs_of_resources_scopes_sets_and_samples_change_alike)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct profile_resource *resource = profile_add_resource(profile, NULL, 0);
	struct profile_scope *scope = profile_add_scope(profile, resource);
	struct profile_set *set = profile_add_set(profile, scope);
	struct profile_sample *sample = profile_add_sample(profile, set);
	struct attrs of[] = { attrs_of_resource(profile, resource), attrs_of_scope(profile, scope),
			      attrs_of_set(profile, set), attrs_of_sample(profile, sample) };

	for (int i = 0; i < 4; i++)
		edit(&of[i]);
	EQ(profile_err(profile), 0);
	EQ(profile_check(profile), 0);
}

TEST(attrs_keep_units_of_what_is_not_changed)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct profile_attribute row = { .key = profile_add_cstring(profile, "a"),
					 .unit = profile_add_cstring(profile, "ms"), .value = number(1) };
	u32 list[] = { profile_add_attribute(profile, &row) };
	struct profile_sample sample = { .attributes = { list, 1 } };
	struct attrs attrs = attrs_of_sample(profile, &sample);
	struct keyvalue map[] = { { STR("b"), number(2) }, { STR("a"), number(1) } };

	attrs_replace(&attrs, map, 2);
	EQ(sample.attributes.count, 2);
	EQ(sample.attributes.at[1], list[0]);
}

TEST(attrs_take_all_of_a_key_that_is_there_twice)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct keyvalue twice[] = { { STR("a"), number(1) }, { STR("b"), number(2) }, { STR("a"), number(3) } };
	struct profile_resource *resource = profile_add_resource(profile, twice, 3);
	struct attrs attrs = attrs_of_resource(profile, resource);
	struct any four = number(4);

	EQ(attrs_find(&attrs, STR("a"))->integer, 1);
	attrs_set(&attrs, STR("a"), &four);
	STREQ(shown(&attrs), "a=4 b=2");
}

TEST(attrs_survive_lack_of_memory)
{
	for (long after = 0; after < 40; after++) {
		struct profile *profile = profile_new();
		struct profile_resource *resource = profile_add_resource(profile, NULL, 0);
		struct profile_set *set = profile_add_set(profile, profile_add_scope(profile, resource));
		struct attrs a = attrs_of_resource(profile, resource), b = attrs_of_set(profile, set);
		struct any x = text("x");

		test_alloc_fail(after);
		attrs_set(&a, STR("a"), &x);
		attrs_set(&b, STR("a"), &x);
		attrs_remove(&a, STR("a"));
		test_alloc_reset();
		EQ(profile_check(profile), 0);
		profile_free(profile);
	}
}
