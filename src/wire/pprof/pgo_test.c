// SPDX-License-Identifier: Apache-2.0
#include "wire/pprof/pgo.h"

#include <errno.h>

#include "profile/any.h"
#include "test.h"
#include "wire/pprof/pprof.h"

#define BYTES_MAX ((size_t)1 << 20)

struct call {
	const char *function;
	s64 start, line;
};

static u32 add_location(struct profile *p, const struct call *calls, u32 count)
{
	struct profile_line lines[4];

	for (u32 i = 0; i < count; i++)
		lines[i] = (struct profile_line){ .line = calls[i].line,
			.function = profile_add_function(p, &(struct profile_function){
				.system_name = profile_add_cstring(p, calls[i].function),
				.start_line = calls[i].start }) };
	return profile_add_location(p, &(struct profile_location){ .line_count = count, .lines = lines });
}

static void add_sample(struct profile *p, struct profile_set *set, const u32 *stack, u32 count, s64 value)
{
	struct profile_sample *s = profile_add_sample(p, set);
	u32 cpu = profile_add_attribute_int(p, "cpu.logical_number", value);

	s->stack = profile_add_stack(p, stack, count);
	s->values = profile_copy(p, &value, sizeof(value));
	s->value_count = 1;
	s->attributes = profile_copy_indices(p, &cpu, 1);
}

static struct profile_set *add_set(struct profile *p, const char *type, const char *unit)
{
	struct keyvalue name = { STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("sh") } };
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &name, 1)));

	set->sample_type = (struct profile_type){ profile_add_cstring(p, type), profile_add_cstring(p, unit) };
	return set;
}

/* main calls work, into which mix is inlined; both were sampled. */
static struct profile *make(void)
{
	struct profile *p = profile_new();
	struct profile_set *set = add_set(p, "samples", "count");
	u32 main_ = add_location(p, &(struct call){ "main", 30, 34 }, 1);
	u32 mixed[] = { add_location(p, (struct call[]){ { "mix", 4, 7 }, { "work", 16, 24 } }, 2), main_ };
	u32 other[] = { add_location(p, (struct call[]){ { "mix", 4, 6 }, { "work", 16, 24 } }, 2), main_ };
	u32 plain[] = { add_location(p, &(struct call){ "work", 16, 20 }, 1), main_ };
	u32 cold[] = { add_location(p, &(struct call){ "work.cold", 16, 15 }, 1), main_ };
	u32 nowhere[] = { add_location(p, &(struct call){ "memcpy", 0, 0 }, 1), main_ };

	add_sample(p, set, mixed, 2, 5);
	add_sample(p, set, mixed, 2, 6);
	add_sample(p, set, other, 2, 2);
	add_sample(p, set, plain, 2, 3);
	add_sample(p, set, cold, 2, 1);
	add_sample(p, set, nowhere, 2, 100);
	/* Time beside ticks would count them twice. */
	add_sample(p, add_set(p, "cpu", "nanoseconds"), mixed, 2, 11000);
	return p;
}

TEST(llvm_pgo_counts_lines_from_the_start_of_functions)
{
	_cleanup_(profile_freep) struct profile *p = make();
	_cleanup_(buf_done) struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(llvm_pgo_encode(p, &b), 0);
	buf_add(&b, "", 1);
	STREQ(b.data, "work:16:0\n 4: 3\n 8: mix:13\n  2: 2\n  3: 11\nwork:1:0\n 65535: 1\n");
}

TEST(pgo_has_stacks_and_counts_alone)
{
	_cleanup_(profile_freep) struct profile *p = make(), *q = NULL;
	_cleanup_(buf_done) struct buf b;
	const struct profile_set *set;
	s64 total = 0;

	buf_init(&b, BYTES_MAX);
	EQ(pgo_encode(p, &b), 0);
	EQ(pprof_decode(b.data, b.len, &q), 0);
	EQ(q->resources.count, 1);
	EQ(q->resources.at[0].attribute_count, 0);
	set = &q->resources.at[0].scopes[0].sets[0];
	EQ(set->sample_count, 5);
	for (u32 i = 0; i < set->sample_count; i++) {
		EQ(set->samples[i].attributes.count, 0);
		total += profile_sample_value(&set->samples[i]);
	}
	EQ(total, 5 + 6 + 2 + 3 + 1 + 100);
	OK(pgo_has_lines(q));
}

TEST(pgo_wants_cpu_time_and_lines)
{
	_cleanup_(profile_freep) struct profile *without_time = profile_new(), *without_lines = profile_new();
	u32 placed = add_location(without_time, &(struct call){ "f", 1, 2 }, 1);
	u32 unplaced = add_location(without_lines, &(struct call){ "f", 1, 0 }, 1);
	_cleanup_(buf_done) struct buf b;

	add_sample(without_time, add_set(without_time, "space", "bytes"), &placed, 1, 5);
	add_sample(without_lines, add_set(without_lines, "samples", "count"), &unplaced, 1, 5);
	buf_init(&b, BYTES_MAX);
	EQ(pgo_encode(without_time, &b), -ENODATA);
	EQ(pgo_encode(without_lines, &b), -ENODATA);
	EQ(llvm_pgo_encode(without_time, &b), -ENODATA);
	EQ(llvm_pgo_encode(without_lines, &b), -ENODATA);
}
