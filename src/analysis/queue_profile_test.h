/* SPDX-License-Identifier: Apache-2.0 */
/* A profile with lanes of two processes, of which it is known how long their threads wanted a CPU. */
#ifndef ANALYSIS_QUEUE_PROFILE_TEST_H
#define ANALYSIS_QUEUE_PROFILE_TEST_H

#include "base/clock.h"
#include "profile/profile.h"
#include "test.h"

#define US (SECOND_NS / 1000000)
#define START (1800000000 * SECOND_NS)

static inline void add_part(struct profile *p, struct profile_set *set, s64 tid, const char *reason, u64 at_us,
			    u64 length_us)
{
	u32 attributes[] = { profile_add_attribute_int(p, "thread.id", tid),
			     profile_add_attribute_string(p, "wait.reason", reason) };
	struct profile_sample *sample = profile_add_sample(p, set);
	u64 time_ns = START + at_us * US;
	s64 value = (s64)(length_us * US);

	sample->attributes = profile_copy_indices(p, attributes, *reason ? 2 : 1);
	sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
	sample->values = profile_copy(p, &value, sizeof(value));
	sample->time_count = sample->value_count = 1;
}

/* Two processes of two threads each; only the waits for a CPU of lanes count. */
static inline struct profile *queue_profile_of(const char *type)
{
	struct profile *p = profile_new();

	for (s64 pid = 70; pid < 72; pid++) {
		struct keyvalue attributes[] = {
			{ STR("process.pid"), { .kind = ANY_INT, .integer = pid } },
			{ STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("shop") } },
		};
		struct profile_resource *resource = profile_add_resource(p, attributes, 2);
		struct profile_set *set = profile_add_set(p, profile_add_scope(p, resource));

		set->sample_type = (struct profile_type){ profile_add_cstring(p, type),
							  profile_add_cstring(p, "nanoseconds") };
		add_part(p, set, pid, "run_queue", 0, 100);
		add_part(p, set, pid, "", 100, 900);
		add_part(p, set, pid, "futex", 1000, 9000);
		add_part(p, set, pid, "run_queue", 10000, pid == 70 ? 40 : 4000);
		add_part(p, set, pid + 1000, "run_queue", 500, 300);
		add_part(p, set, pid + 1000, "run_queue", 800, 700);	/* goes on in the next window */
	}
	EQ(profile_err(p), 0);
	return p;
}

#endif
