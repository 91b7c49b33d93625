// SPDX-License-Identifier: Apache-2.0
/* How fast a profile is built, written as OTLP and read back: 10,000 samples, 2,000 stacks of 20 frames. */
#include <stdio.h>
#include <string.h>

#include "micro.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"

#define SAMPLES 10000
#define STACKS 2000
#define FRAMES 20
#define FUNCTIONS 1500
#define OTLP_MAX (256u << 20)

static u32 add_location(struct profile *profile, u32 mapping, u32 number)
{
	struct profile_line line = { .line = number };
	struct profile_location location = { .mapping = mapping, .line_count = 1, .lines = &line };
	struct profile_function function = { 0 };
	char name[64];

	snprintf(name, sizeof(name), "some_module_function_%u", number);
	function.name = profile_add_cstring(profile, name);
	line.function = profile_add_function(profile, &function);
	location.address = 0x1000 + number * 64ull;
	return profile_add_location(profile, &location);
}

static u32 add_stack(struct profile *profile, u32 mapping, u32 number)
{
	u32 locations[FRAMES];

	for (u32 i = 0; i < FRAMES; i++)
		locations[i] = add_location(profile, mapping, i < FRAMES / 2 ? (number + i * 37) % FUNCTIONS : i);
	return profile_add_stack(profile, locations, FRAMES);
}

static struct profile *build(void)
{
	static const struct keyvalue process[] = { { STR("process.pid"), { .kind = ANY_INT, .integer = 42 } } };
	struct profile *profile = profile_new();
	struct profile_mapping file = { .start_va = 0x1000, .limit_va = 1 << 24 };
	struct profile_set *set;
	u32 mapping;

	if (!profile)
		return NULL;
	file.filename = profile_add_cstring(profile, "/usr/lib/libsomething.so.1");
	mapping = profile_add_mapping(profile, &file);
	set = profile_add_set(profile, profile_add_scope(profile, profile_add_resource(profile, process, 1)));
	for (u32 i = 0; set && i < SAMPLES; i++) {
		struct profile_sample *sample = profile_add_sample(profile, set);
		u64 when = 1700000000000000000ull + i * 10000000ull;

		if (!sample)
			break;
		sample->stack = add_stack(profile, mapping, i * 7919 % STACKS);
		sample->times_unix_ns = profile_copy(profile, &when, sizeof(when));
		sample->time_count = 1;
	}
	return profile;
}

int main(void)
{
	struct profile *profile = build();
	struct buf out;
	struct micro m;
	int r;

	r = profile ? profile_err(profile) : -1;
	for (m = micro_start(); r >= 0 && micro_more(&m);)
		profile_free(build());
	micro_report(&m, "build a profile", SAMPLES, "samples", 0);

	buf_init(&out, OTLP_MAX);
	for (m = micro_start(); r >= 0 && micro_more(&m);) {
		out.len = 0;
		r = otlp_encode(profile, &out);
	}
	micro_report(&m, "write OTLP", SAMPLES, "samples", out.len);

	for (m = micro_start(); r >= 0 && micro_more(&m);) {
		struct profile *copy = NULL;

		r = otlp_decode(out.data, out.len, NULL, &copy);
		profile_free(copy);
	}
	micro_report(&m, "read OTLP", SAMPLES, "samples", out.len);
	buf_done(&out);
	profile_free(profile);
	return r < 0;
}
