// SPDX-License-Identifier: Apache-2.0
#include "profile/split.h"

#include <errno.h>

#include "base/buf.h"
#include "profile/any.h"
#include "profile/dump_test.h"
#include "test.h"

/* Names of resources, those of a part by themselves: "a: 1 3; ". */
struct seen {
	struct buf text;
	const struct profile *parts[4];
	u32 count;
	int answer;
};

static bool key_of(void *arg, const struct profile_resource *resource, struct str *ret_key)
{
	(void)arg;
	*ret_key = any_text(&resource->attributes[0].value);
	return ret_key->len;
}

static int take_part(void *arg, struct str key, const struct profile *part)
{
	struct seen *seen = arg;
	struct profile *copy;

	buf_addf(&seen->text, "%.*s:", (int)key.len, key.at);
	for (u32 i = 0; i < part->resources.count; i++)
		buf_addf(&seen->text, " %lld", (long long)part->resources.at[i].attributes[1].value.integer);
	buf_addf(&seen->text, "; ");
	EQ(split_copy(part, &copy), 0);
	EQ(profile_check(copy), 0);
	seen->parts[seen->count++] = copy;
	return seen->answer;
}

static const struct split_ops ops = { key_of, take_part };

static struct profile *make(const char *const *keys, u32 count)
{
	struct profile *p = profile_new();

	for (u32 i = 0; i < count; i++) {
		struct keyvalue attributes[] = {
			{ STR("key"), { .kind = ANY_STRING, .string = { keys[i], (u32)strlen(keys[i]) } } },
			{ STR("number"), { .kind = ANY_INT, .integer = i } },
		};
		struct profile_resource *resource = profile_add_resource(p, attributes, 2);
		struct profile_set *set = profile_add_set(p, profile_add_scope(p, resource));
		struct profile_sample *sample = profile_add_sample(p, set);
		char name[8];

		snprintf(name, sizeof(name), "type%u", i);
		set->sample_type.type = profile_add_cstring(p, name);
		sample->value_count = 1;
		sample->values = profile_copy(p, &(s64){ i + 1 }, sizeof(s64));
	}
	return p;
}

TEST(split_puts_equal_keys_together_and_loses_nothing)
{
	_cleanup_(profile_freep) struct profile *p = make((const char *[]){ "b", "a", "b", "ab", "" }, 5);
	_cleanup_(profile_freep) struct profile *with_keys = make((const char *[]){ "b", "a", "b", "ab" }, 4);
	struct seen seen = { 0 };
	char *whole, *parts;

	buf_init(&seen.text, 4096);
	EQ(profile_split(p, &ops, &seen), 0);
	STREQ(seen.text.data, "a: 1; ab: 3; b: 0 2; ");
	whole = profile_totals((const struct profile *const *)&with_keys, 1);
	parts = profile_totals(seen.parts, seen.count);
	STREQ(parts, whole);
	/* A copy has only what it refers to: "", type1. */
	EQ(seen.parts[0]->strings.count, 2);
	free(whole);
	free(parts);
	for (u32 i = 0; i < seen.count; i++)
		profile_free((struct profile *)seen.parts[i]);
	buf_done(&seen.text);
}

TEST(split_ends_when_it_is_told_to)
{
	_cleanup_(profile_freep) struct profile *p = make((const char *[]){ "b", "a" }, 2);
	struct seen seen = { .answer = -EIO };

	buf_init(&seen.text, 4096);
	EQ(profile_split(p, &ops, &seen), -EIO);
	STREQ(seen.text.data, "a: 1; ");
	profile_free((struct profile *)seen.parts[0]);
	buf_done(&seen.text);
}
