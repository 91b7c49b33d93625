// SPDX-License-Identifier: Apache-2.0
#include "web/lines.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "test.h"

static struct profile *profile;
static struct profile_set *set;

static u32 location(const char *name, s64 line, const char *executable)
{
	u32 function = profile_add_function(profile, &(struct profile_function){
						.name = profile_add_cstring(profile, name),
						.filename = profile_add_cstring(profile, "src/shop.c") });
	u32 mapping = profile_add_mapping(profile, &(struct profile_mapping){
					      .filename = profile_add_cstring(profile, executable) });
	struct profile_line at = { .function = function, .line = line };

	return profile_add_location(profile, &(struct profile_location){ .mapping = mapping, .line_count = 1,
									 .lines = &at });
}

/* caller, at its line 99, -> name at a line, so many times */
static void sample(const char *caller, const char *name, s64 line, const char *executable, s64 value)
{
	u32 stack[] = { location(name, line, executable), location(caller, 99, executable) };
	struct profile_sample *added = profile_add_sample(profile, set);

	OK(added);
	added->stack = profile_add_stack(profile, stack, 2);
	added->values = profile_copy(profile, &value, sizeof(value));
	added->value_count = 1;
}

static void begin(void)
{
	profile = profile_new();
	set = profile_add_set(profile, profile_add_scope(profile, profile_add_resource(profile, NULL, 0)));
	OK(set);
	set->sample_type.unit = profile_add_cstring(profile, "count");
}

static void answers(struct lines_options options, const char *want)
{
	struct buf out;

	buf_init(&out, 65536);
	EQ(profile_err(profile), 0);
	EQ(lines_json(profile, &options, &out), 0);
	buf_add(&out, "", 1);
	STREQ(out.data, want);
	buf_done(&out);
}

TEST(lines_of_a_function_are_those_that_samples_were_taken_at)
{
	begin();
	sample("main", "pay", 10, "/bin/shop", 3);
	sample("main", "pay", 12, "/bin/shop", 5);
	sample("run", "pay", 12, "/bin/shop", 1);
	sample("main", "pay", 0, "/bin/shop", 4);
	sample("main", "pay", 7, "/bin/other", 100);
	sample("pay", "order", 20, "/bin/shop", 50);	/* what it calls is not its own */
	answers((struct lines_options){ "pay", "/bin/shop", 10 },
		"{\"rows\":[[\"src/shop.c\",12,6],[\"src/shop.c\",10,3]],\"unit\":\"count\",\"self\":13,\"lined\":9,"
		"\"count\":2}");
	answers((struct lines_options){ "pay", "/bin/shop", 1 },
		"{\"rows\":[[\"src/shop.c\",12,6]],\"unit\":\"count\",\"self\":13,\"lined\":9,\"count\":2}");
	answers((struct lines_options){ "pay", NULL, 1 },
		"{\"rows\":[[\"src/shop.c\",7,100]],\"unit\":\"count\",\"self\":113,\"lined\":109,\"count\":3}");
	answers((struct lines_options){ "nobody", NULL, 10 },
		"{\"rows\":[],\"unit\":\"count\",\"self\":0,\"lined\":0,\"count\":0}");
	profile_free(profile);
}
