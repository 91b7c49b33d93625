// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_parts.h"

#include "exporters/datadog_owner.h"
#include "pipeline/batch.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "test.h"

#define TEXT(text) { .kind = ANY_STRING, .string = { text, sizeof(text) - 1 } }
#define OWNER(service, container) { { STR("service.name"), TEXT(service) }, { STR("container.id"), TEXT(container) } }

static const struct datadog_names names = { "", "", "", "", "", "", "" };

/* Four processes, each with a sample at an address without a name. */
static struct profile *make(void)
{
	static const struct keyvalue owners[][2] = { OWNER("a", "1"), OWNER("b", "1"), OWNER("a", "1"),
						     OWNER("a", "2") };
	struct profile *p = profile_new();

	for (u32 i = 0; i < 4; i++) {
		struct profile_resource *resource = profile_add_resource(p, owners[i], 2);
		struct profile_set *set = profile_add_set(p, profile_add_scope(p, resource));
		u32 location = profile_add_location(p, &(struct profile_location){ .address = 0x100 + i });
		struct profile_sample *sample = profile_add_sample(p, set);

		sample->stack = profile_add_stack(p, &location, 1);
		sample->value_count = 1;
		sample->values = profile_copy(p, &(s64){ 1 }, sizeof(s64));
	}
	return p;
}

struct seen {
	char text[256];
	u32 count;
};

static void see(void *arg, struct batch *batch)
{
	struct seen *seen = arg;
	const struct profile *p;

	EQ(batch_profile(batch, &p), 0);
	for (u32 i = 0; i < p->resources.count; i++) {
		struct str service = any_text(&p->resources.at[i].attributes[0].value);
		struct str container = any_text(&p->resources.at[i].attributes[1].value);
		u32 stack = p->resources.at[i].scopes[0].sets[0].samples[0].stack;
		const struct profile_location *l = &p->locations.at[p->stacks.at[stack].at[0]];
		struct str name = p->strings.at[p->functions.at[l->lines[0].function].name];
		size_t len = strlen(seen->text);

		(void)snprintf(seen->text + len, sizeof(seen->text) - len, "%.*s/%.*s %.*s, ", (int)service.len,
			       service.at, (int)container.len, container.at, (int)name.len, name.at);
	}
	(void)strncat(seen->text, "; ", 3);
	seen->count++;
	batch_unref(batch);
}

TEST(datadog_parts_are_services_in_containers_with_named_frames)
{
	_cleanup_(profile_freep) struct profile *p = make();
	struct seen seen = { 0 };

	EQ(datadog_parts_make(p, &names, see, &seen), 4);
	STREQ(seen.text, "a/1 0x100, a/1 0x102, ; a/2 0x103, ; b/1 0x101, ; ");
}

static void release(void *arg, struct batch *batch)
{
	*(u64 *)arg += batch_samples(batch);
	batch_unref(batch);
}

TEST(datadog_parts_tell_what_memory_did_not_hold)
{
	_cleanup_(profile_freep) struct profile *p = make();
	u64 emitted = 0, told, least = 4;
	long count;

	test_alloc_fail(-1);
	EQ(datadog_parts_make(p, &names, release, &emitted), 4);
	count = test_alloc_reset();
	for (long i = 0; i < count; i++) {
		emitted = 0;
		test_alloc_fail(i);
		told = datadog_parts_make(p, &names, release, &emitted);
		test_alloc_reset();
		EQ(told, emitted);
		least = told < least ? told : least;
	}
	EQ(least, 0);
}
