// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_resources.h"

#include <errno.h>

#include "base/cleanup.h"
#include "profile/attrs.h"
#include "profile/dump_test.h"
#include "profile/prune.h"
#include "test.h"
#include "wire/otlp/otlp.h"
#include "wire/pb.h"

static void change(struct profile *profile)
{
	struct any value = { ANY_STRING, 0, .string = { "new", 3 } };

	for (u32 i = 0; i < profile->resources.count; i++) {
		struct attrs attrs = attrs_of_resource(profile, &profile->resources.at[i]);

		attrs_set(&attrs, STR("x"), &value);
		profile->resources.at[i].schema_url = STR("http://schema");
	}
}

/* Changed in the bytes, or decoded and changed: the same comes out. */
TEST(otlp_resources_change_as_in_the_whole_profile)
{
	for (unsigned int seed = 1; seed < 30; seed++) {
		_cleanup_(profile_freep) struct profile *whole = profile_random(seed, 0), *resources = NULL,
			*got = NULL;
		_cleanup_(buf_done) struct buf bytes, out;
		char *a, *b;
		u64 dropped = 1;

		buf_init(&bytes, 1 << 26);
		buf_init(&out, 1 << 26);
		EQ(otlp_encode(whole, &bytes), 0);
		EQ(otlp_resources_read(bytes.data, bytes.len, &resources), 0);
		EQ(resources->resources.count, whole->resources.count);
		change(resources);
		EQ(otlp_resources_write(bytes.data, bytes.len, resources, NULL, &out, &dropped), 0);
		EQ(dropped, 0);
		EQ(otlp_decode(out.data, out.len, NULL, &got), 0);
		change(whole);
		a = profile_dump(whole);
		b = profile_dump(got);
		STREQ(b, a);
		free(a);
		free(b);
	}
}

static int first_goes(void *arg, const struct profile_resource *resource)
{
	return resource == arg;
}

TEST(otlp_resources_are_left_out_with_what_is_in_them)
{
	static const struct prune_ops ops = { .resource = first_goes };

	for (unsigned int seed = 1; seed < 30; seed++) {
		_cleanup_(profile_freep) struct profile *whole = profile_random(seed, 0), *resources = NULL,
			*got = NULL;
		_cleanup_(buf_done) struct buf bytes, out;
		bool drop[256] = { true };
		struct prune prune;
		u64 dropped = 0;

		buf_init(&bytes, 1 << 26);
		buf_init(&out, 1 << 26);
		EQ(otlp_encode(whole, &bytes), 0);
		EQ(otlp_resources_read(bytes.data, bytes.len, &resources), 0);
		OK(resources->resources.count < 256);
		EQ(otlp_resources_write(bytes.data, bytes.len, resources, drop, &out, &dropped), 0);
		EQ(otlp_decode(out.data, out.len, NULL, &got), 0);
		EQ(prune_plan(whole, &ops, &whole->resources.at[0], &prune), 0);
		EQ(dropped, prune.samples_dropped);
		EQ(got->resources.count, whole->resources.count - 1);
		prune_done(&prune);
	}
}

TEST(otlp_resources_that_refer_to_strings_are_not_read)
{
	_cleanup_(buf_done) struct buf b;
	struct profile *resources;
	size_t request, resource, attribute;

	buf_init(&b, 4096);
	request = pb_begin(&b, 1);
	resource = pb_begin(&b, 1);
	attribute = pb_begin(&b, 1);
	pb_put_varint(&b, 3, 7);		/* key_strindex */
	pb_end(&b, attribute);
	pb_end(&b, resource);
	pb_end(&b, request);
	EQ(otlp_resources_read(b.data, b.len, &resources), -EOPNOTSUPP);
}
