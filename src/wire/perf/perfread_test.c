// SPDX-License-Identifier: Apache-2.0
/* What becomes of the records of perf.data; test/peers/perfread.py reads what perf has written. */
#include "wire/perf/perfread.h"

#include <errno.h>
#include <stdlib.h>

#include "forge_perf.h"
#include "wire/perf/perfread_events.h"

/* ---- Samples --------------------------------------------------------------- */

TEST(perfread_keeps_who_where_and_when)
{
	struct buf b = new_pipe();
	const struct profile_sample *s;
	struct profile_set *set;
	struct profile *p;

	add_comm(&b, 10, 10, "prog", false, 0);
	add_comm(&b, 10, 11, "worker", false, 0);
	add_mmap(&b, 10, 0x400000, 0x2000, 0x1000, PROGRAM, 0);
	add_sample_of(&b, CPU_CLOCK_ID, 10, 11, 500, 1000000, CHAIN(PERF_CONTEXT_USER, 0x400010, 0x400101));
	p = read_file(&b);
	set = set_of(p, 0, 0);
	STREQ(name_of(p, 0), "prog");
	EQ(set->sample_count, 1);
	STREQ(text_of(p, set->sample_type.type), "samples");
	STREQ(text_of(p, set->period_type.unit), "nanoseconds");
	EQ(set->period, 1000000);
	s = &set->samples[0];
	EQ(s->time_count, 1);
	EQ(s->times_unix_ns[0], 500);
	EQ(s->value_count, 0);
	EQ(profile_attribute_find(p, s->attributes, "thread.id")->integer, 11);
	EQ(profile_attribute_find(p, s->attributes, "cpu.logical_number")->integer, 3);
	OK(thread_is(p, s, "worker"));
	EQ(frame_of(p, s, 0)->address, 0x1010);
	/* A return address is kept less one: in the call. */
	EQ(frame_of(p, s, 1)->address, 0x1100);
	STREQ(file_of(p, frame_of(p, s, 1)), PROGRAM);
	EQ(p->mappings.at[frame_of(p, s, 0)->mapping].start_va, 0x1000);
	EQ(p->mappings.at[frame_of(p, s, 0)->mapping].file_offset, 0x1000);
	EQ(about.samples, 1);
	profile_free(p);
}

TEST(perfread_joins_equal_samples_and_keeps_their_times)
{
	struct buf b = new_pipe();
	struct profile *p;

	for (u64 i = 1; i <= 5; i++)
		add_sample(&b, 10, i * 100, CHAIN(PERF_CONTEXT_USER, 0x10));
	p = read_file(&b);
	EQ(set_of(p, 0, 0)->sample_count, 1);
	EQ(set_of(p, 0, 0)->samples[0].time_count, 5);
	EQ(set_of(p, 0, 0)->samples[0].times_unix_ns[4], 500);
	EQ(set_of(p, 0, 0)->duration_ns, 401);	/* the last time is within */
	profile_free(p);
}

TEST(perfread_counts_time_where_periods_change)
{
	struct buf b = new_pipe();
	struct profile_set *set;
	struct profile *p;

	add_sample_of(&b, CPU_CLOCK_ID, 10, 10, 100, 3, CHAIN(PERF_CONTEXT_USER, 0x10));
	add_sample_of(&b, CPU_CLOCK_ID, 10, 10, 200, 4, CHAIN(PERF_CONTEXT_USER, 0x10));
	p = read_file(&b);
	set = set_of(p, 0, 0);
	STREQ(text_of(p, set->sample_type.type), "cpu");
	STREQ(text_of(p, set->sample_type.unit), "nanoseconds");
	EQ(profile_sample_value(&set->samples[0]), 7);
	profile_free(p);
}

TEST(perfread_names_events_as_perf_does)
{
	struct buf b = new_pipe(), body = new_buf();
	struct profile *p;

	add_attr(&b, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, USUAL, CYCLES_ID);
	add_attr(&b, PERF_TYPE_TRACEPOINT, 315, USUAL, 9);
	put(&body, 2, 8);
	put(&body, 9, 8);
	put_text(&body, "sched:sched_switch");
	add_record(&b, PERFDATA_RECORD_EVENT_UPDATE, 0, &body);
	add_sample_of(&b, CPU_CLOCK_ID, 10, 10, 100, 3, CHAIN(PERF_CONTEXT_USER, 0x10));
	add_sample_of(&b, CYCLES_ID, 10, 10, 200, 50000, CHAIN(PERF_CONTEXT_USER, 0x10));
	add_sample_of(&b, CYCLES_ID, 10, 10, 300, 60000, CHAIN(PERF_CONTEXT_USER, 0x10));
	add_sample_of(&b, 9, 10, 10, 400, 1, CHAIN(PERF_CONTEXT_USER, 0x10));
	p = read_file(&b);
	EQ(p->resources.at[0].scopes[0].set_count, 3);
	STREQ(text_of(p, set_of(p, 0, 1)->sample_type.type), "cycles");
	STREQ(text_of(p, set_of(p, 0, 1)->sample_type.unit), "count");
	EQ(profile_sample_value(&set_of(p, 0, 1)->samples[0]), 110000);
	STREQ(text_of(p, set_of(p, 0, 2)->sample_type.type), "sched:sched_switch");
	EQ(profile_sample_value(&set_of(p, 0, 2)->samples[0]), 1);
	profile_free(p);
}

TEST(perfread_counts_periods_that_samples_stand_for)
{
	struct buf b = new_pipe();
	struct profile_set *set;
	struct profile *p;

	/* The event has a period of 1,000,000. */
	add_sample_of(&b, CPU_CLOCK_ID, 10, 10, 100, 3000000, CHAIN(PERF_CONTEXT_USER, 0x10));
	add_sample_of(&b, CPU_CLOCK_ID, 10, 10, 200, 1000000, CHAIN(PERF_CONTEXT_USER, 0x10));
	p = read_file(&b);
	set = set_of(p, 0, 0);
	STREQ(text_of(p, set->sample_type.type), "samples");
	EQ(set->period, 1000000);
	EQ(set->samples[0].values[0], 3);
	EQ(profile_sample_value(&set->samples[0]), 4);
	profile_free(p);
}

TEST(perfread_calls_a_second_clock_by_its_name)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, USUAL, CYCLES_ID);
	add_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, USUAL, 9);
	add_sample_of(&b, CPU_CLOCK_ID, 10, 10, 100, 1000000, CHAIN(PERF_CONTEXT_USER, 0x10));
	add_sample_of(&b, CYCLES_ID, 10, 10, 200, 1000000, CHAIN(PERF_CONTEXT_USER, 0x10));
	p = read_file(&b);
	STREQ(text_of(p, set_of(p, 0, 0)->sample_type.type), "samples");
	STREQ(text_of(p, set_of(p, 0, 1)->sample_type.type), "task-clock");
	STREQ(text_of(p, set_of(p, 0, 1)->sample_type.unit), "nanoseconds");
	EQ(profile_sample_value(&set_of(p, 0, 1)->samples[0]), 1000000);
	profile_free(p);
}

TEST(perfread_takes_units_from_what_wick_writes)
{
	struct buf b = new_pipe(), body = new_buf();
	struct profile *p;

	add_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT, USUAL, 9);
	put(&body, 2, 8);
	put(&body, 9, 8);
	put_text(&body, "off_cpu:nanoseconds");
	add_record(&b, PERFDATA_RECORD_EVENT_UPDATE, 0, &body);
	add_sample_of(&b, 9, 10, 10, 200, 123, CHAIN(PERF_CONTEXT_USER, 0x10));
	p = read_file(&b);
	STREQ(text_of(p, set_of(p, 0, 0)->sample_type.type), "off_cpu");
	STREQ(text_of(p, set_of(p, 0, 0)->sample_type.unit), "nanoseconds");
	EQ(profile_sample_value(&set_of(p, 0, 0)->samples[0]), 123);
	EQ(set_of(p, 0, 0)->period, 0);
	profile_free(p);
}

TEST(perfread_refuses_events_that_list_the_same_ids_again_and_again)
{
	size_t bytes = (size_t)PERFREAD_IDS_MAX / 2 * 8;
	void *ids = calloc(1, bytes);
	struct perfread_events events;

	perfread_events_init(&events);
	OK(ids);
	EQ(perfread_events_add(&events, cursor_of(ids, 128), cursor_of(ids, bytes)), 0);
	EQ(perfread_events_add(&events, cursor_of(ids, 128), cursor_of(ids, bytes)), 0);
	EQ(perfread_events_add(&events, cursor_of(ids, 128), cursor_of(ids, 8)), -E2BIG);
	EQ(perfread_events_add(&events, cursor_of(ids, 128), cursor_of(ids, 0)), 0);
	perfread_events_done(&events);
	free(ids);
}

TEST(perfread_leaves_out_samples_of_no_event)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_attr(&b, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, USUAL, CYCLES_ID);
	add_sample_of(&b, 99, 10, 10, 100, 3, CHAIN(PERF_CONTEXT_USER, 0x10));
	p = read_file(&b);
	EQ(about.not_understood, 1);
	EQ(about.samples, 0);
	profile_free(p);
}

/* ---- What changes ---------------------------------------------------------- */

TEST(perfread_goes_by_time_not_by_place)
{
	struct buf b = new_pipe();
	struct profile *p;

	/* One CPU's buffer, then the other's, which began earlier. */
	add_sample(&b, 10, 300, CHAIN(PERF_CONTEXT_USER, 0x400010));
	add_mmap(&b, 10, 0x400000, 0x1000, 0, "/newer", 350);
	add_sample(&b, 10, 400, CHAIN(PERF_CONTEXT_USER, 0x400010));
	add_mmap(&b, 10, 0x400000, 0x1000, 0, "/older", 200);
	add_round(&b);
	add_sample(&b, 10, 500, CHAIN(PERF_CONTEXT_USER, 0x400010));
	add_round(&b);
	p = read_file(&b);
	EQ(set_of(p, 0, 0)->sample_count, 2);
	STREQ(file_of(p, frame_of(p, &set_of(p, 0, 0)->samples[0], 0)), "/older");
	STREQ(file_of(p, frame_of(p, &set_of(p, 0, 0)->samples[1], 0)), "/newer");
	EQ(set_of(p, 0, 0)->samples[1].time_count, 2);
	profile_free(p);
}

TEST(perfread_gives_children_the_maps_of_their_parents)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_comm(&b, 10, 10, "parent", false, 0);
	add_mmap(&b, 10, 0x400000, 0x1000, 0, PROGRAM, 0);
	add_fork(&b, 20, 10, 20, 100);
	add_mmap(&b, 20, 0x500000, 0x1000, 0, "/lib/child.so", 110);
	add_sample(&b, 20, 200, CHAIN(PERF_CONTEXT_USER, 0x500010, 0x400011));
	add_sample(&b, 10, 200, CHAIN(PERF_CONTEXT_USER, 0x500010));
	p = read_file(&b);
	EQ(p->resources.count, 2);
	STREQ(name_of(p, 0), "parent");
	STREQ(file_of(p, frame_of(p, &set_of(p, 0, 0)->samples[0], 0)), "/lib/child.so");
	STREQ(file_of(p, frame_of(p, &set_of(p, 0, 0)->samples[0], 1)), PROGRAM);
	EQ(frame_of(p, &set_of(p, 1, 0)->samples[0], 0)->mapping, 0);
	profile_free(p);
}

TEST(perfread_tells_programs_of_one_process_apart)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_comm(&b, 10, 10, "sh", false, 0);
	add_mmap(&b, 10, 0x400000, 0x1000, 0, "/bin/sh", 0);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	add_comm(&b, 10, 10, "ls", true, 150);
	add_sample(&b, 10, 200, CHAIN(PERF_CONTEXT_USER, 0x400010));
	p = read_file(&b);
	EQ(p->resources.count, 2);
	STREQ(name_of(p, 0), "sh");
	STREQ(name_of(p, 1), "ls");
	EQ(frame_of(p, &set_of(p, 1, 0)->samples[0], 0)->mapping, 0);
	profile_free(p);
}

/* ---- The kernel, and code without files ------------------------------------ */

TEST(perfread_takes_names_from_the_file)
{
	struct buf b = new_pipe();
	const struct profile_sample *s;
	struct profile *p;

	add_mmap(&b, ~0u, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text", 0);
	add_ksymbol(&b, 0xffffffffa0000000, 64, "bpf_prog_1234_hook");
	add_ksymbol(&b, 0xffffe00000000000, 16, "module.function");
	add_ksymbol(&b, 0xffffe00000000010, 16, "module.caller");
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffffa0000008, 0xffffe00000000000,
				      0xffffe00000000010));
	p = read_file(&b);
	s = &set_of(p, 0, 0)->samples[0];
	STREQ(file_of(p, frame_of(p, s, 0)), "[kernel.kallsyms]");
	EQ(frame_of(p, s, 0)->line_count, 0);
	EQ(frame_of(p, s, 0)->address, 0xffffffff81000010);
	STREQ(text_of(p, p->functions.at[frame_of(p, s, 1)->lines[0].function].name), "bpf_prog_1234_hook");
	/* The start of what has a name is never a return to it: frames that have no address stand there. */
	STREQ(text_of(p, p->functions.at[frame_of(p, s, 2)->lines[0].function].name), "module.function");
	STREQ(text_of(p, p->functions.at[frame_of(p, s, 3)->lines[0].function].name), "module.caller");
	profile_free(p);
}

TEST(perfread_calls_modules_by_their_name)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_mmap(&b, ~0u, 0xffffffffc0000000, 0x1000, 0, "/lib/modules/6.1/kernel/net/nf-tables.ko.xz", 0);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_KERNEL, 0xffffffffc0000010));
	p = read_file(&b);
	STREQ(file_of(p, frame_of(p, &set_of(p, 0, 0)->samples[0], 0)), "[nf_tables]");
	profile_free(p);
}

TEST(perfread_tells_generated_code_of_processes_apart)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_mmap(&b, 10, 0x7f0000000000, 0x1000, 0x7f0000000000, "//anon", 0);
	add_mmap(&b, 20, 0x7f0000000000, 0x1000, 0x7f0000000000, "//anon", 0);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x7f0000000010));
	add_sample(&b, 20, 100, CHAIN(PERF_CONTEXT_USER, 0x7f0000000010));
	p = read_file(&b);
	STREQ(file_of(p, frame_of(p, &set_of(p, 0, 0)->samples[0], 0)), "/tmp/perf-10.map");
	STREQ(file_of(p, frame_of(p, &set_of(p, 1, 0)->samples[0], 0)), "/tmp/perf-20.map");
	EQ(frame_of(p, &set_of(p, 1, 0)->samples[0], 0)->address, 0x7f0000000010);
	profile_free(p);
}

/* ---- Copied stacks --------------------------------------------------------- */

static u32 unwind_two(void *arg, const struct perfread_about *sofar, const struct perfread_system *system,
		      const struct perfread_sample *sample, u64 ret_va[PERFREAD_UNWOUND_MAX])
{
	ret_va[0] = 0x400010;
	ret_va[1] = 0x400020;
	return *(u32 *)arg;
}

/* A sample with two registers, of which the second is the address of the code, and 16 bytes of stack. */
static void add_copied(struct buf *b)
{
	struct buf body = new_buf();

	put(&body, 0x400010, 8);
	put(&body, 10, 4);
	put(&body, 10, 4);
	put(&body, 100, 8);
	put(&body, PERF_SAMPLE_REGS_ABI_64, 8);
	put(&body, 0x7ffc00, 8);
	put(&body, 0x400010, 8);
	put(&body, 16, 8);
	put(&body, 0x400021, 8);
	put(&body, 0, 8);
	put(&body, 16, 8);
	add_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body);
}

static struct buf new_copied(void)
{
	struct buf b = new_buf(), attr = new_buf();
	u64 mask = 1 << 7 | 1 << 8;

	put(&b, PERFDATA_MAGIC, 8);
	put(&b, PERFDATA_PIPE_BYTES, 8);
	put_attr(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		 PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 0);
	memcpy(attr.data + 80, &mask, sizeof(mask));
	put(&attr, CPU_CLOCK_ID, 8);
	add_record(&b, PERFDATA_RECORD_ATTR, 0, &attr);
	add_copied(&b);
	return b;
}

TEST(perfread_has_copied_stacks_unwound)
{
	struct buf b = new_copied();
	u32 count = 2;
	struct profile *p = read_with(&b, &(struct perfread_options){ .unwind = unwind_two, .arg = &count });

	EQ(p->stacks.at[set_of(p, 0, 0)->samples[0].stack].count, 2);
	EQ(frame_of(p, &set_of(p, 0, 0)->samples[0], 1)->address, 0x400020);
	EQ(about.not_unwound, 0);
	profile_free(p);
}

TEST(perfread_counts_stacks_that_nobody_unwinds)
{
	struct buf b = new_copied();
	struct profile *p = read_file(&b);

	EQ(p->stacks.at[set_of(p, 0, 0)->samples[0].stack].count, 1);
	EQ(frame_of(p, &set_of(p, 0, 0)->samples[0], 0)->address, 0x400010);
	EQ(about.not_unwound, 1);
	profile_free(p);
}

TEST(perfread_unwinds_no_stacks_of_other_machines)
{
	static const struct {
		const char *arch;
		u32 frames;
	} cases[] = { { "x86_64", 2 }, { "aarch64", 1 }, { "riscv64", 1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf b = new_copied(), body = new_buf();
		u32 count = 2;
		struct profile *p;

		put(&body, PERFDATA_ARCH, 8);
		put(&body, 8, 4);
		put_text(&body, cases[i].arch);
		add_record(&b, PERFDATA_RECORD_FEATURE, 0, &body);
		add_copied(&b);
		p = read_with(&b, &(struct perfread_options){ .unwind = unwind_two, .arg = &count, .arch = "x86_64" });
		EQ(p->stacks.at[set_of(p, 0, 0)->samples[0].stack].count, cases[i].frames);
		EQ(frame_of(p, &set_of(p, 0, 0)->samples[0], 0)->address, 0x400010);
		EQ(about.not_unwound, cases[i].frames == 1 ? 2 : 0);
		profile_free(p);
	}
}

TEST(perfread_has_no_control_characters_in_what_the_file_says_of_itself)
{
	struct buf b = new_pipe(), body = new_buf();

	put(&body, PERFDATA_OSRELEASE, 8);
	put(&body, 16, 4);
	put_text(&body, "6.1\033[2J\nwick: ");
	add_record(&b, PERFDATA_RECORD_FEATURE, 0, &body);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x10));
	profile_free(read_file(&b));
	STREQ(about.release, "6.1?[2J?wick: ");
}
