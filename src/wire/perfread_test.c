// SPDX-License-Identifier: Apache-2.0
/* perf.data of bytes put together here; test/peers/perfread.py reads what perf has written. */
#include "wire/perfread.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <time.h>
#include <zstd.h>

#include "base/buf.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/format.h"
#include "wire/perfdata.h"

#define USUAL (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define SAMPLE_ID_ALL (1ull << 18)
#define USE_CLOCKID (1ull << 25)
#define PROGRAM "/usr/bin/prog"
#define CPU_CLOCK_ID 7
#define CYCLES_ID 8

/* ---- Making files ---------------------------------------------------------- */

static void put(struct buf *b, u64 value, size_t bytes)
{
	buf_add(b, &value, bytes);
}

static void put_text(struct buf *b, const char *text)
{
	size_t len = strlen(text) + 1;

	buf_add(b, text, len);
	for (; len % 8; len++)
		put(b, 0, 1);
}

static void put_header(struct buf *b, u32 type, u16 misc, size_t body)
{
	put(b, type, 4);
	put(b, misc, 2);
	put(b, body + 8, 2);
}

static void put_record(struct buf *b, u32 type, u16 misc, const struct buf *body)
{
	put_header(b, type, misc, body->len);
	buf_add(b, body->data, body->len);
}

static void add_record(struct buf *b, u32 type, u16 misc, struct buf *body)
{
	put_record(b, type, misc, body);
	buf_done(body);
}

static void put_attr(struct buf *b, u32 type, u64 config, u64 sample_type, u64 flags)
{
	struct perf_event_attr attr = { .type = type, .size = 128, .config = config, .sample_period = 1000000,
					.sample_type = sample_type };
	u8 bytes[128] = { 0 };

	memcpy(bytes, &attr, sizeof(attr) < sizeof(bytes) ? sizeof(attr) : sizeof(bytes));
	memcpy(bytes + 40, &flags, sizeof(flags));
	buf_add(b, bytes, sizeof(bytes));
}

static struct buf new_buf(void)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	return b;
}

static void add_attr(struct buf *b, u32 type, u64 config, u64 sample_type, u64 id)
{
	struct buf body = new_buf();

	put_attr(&body, type, config, sample_type, SAMPLE_ID_ALL);
	put(&body, id, 8);
	add_record(b, PERFDATA_RECORD_ATTR, 0, &body);
}

/* A file in pipe mode whose event is cpu-clock. */
static struct buf new_pipe(void)
{
	struct buf b = new_buf();

	put(&b, PERFDATA_MAGIC, 8);
	put(&b, PERFDATA_PIPE_BYTES, 8);
	add_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, USUAL, CPU_CLOCK_ID);
	return b;
}

static void put_trailer(struct buf *b, u32 pid, u64 time_ns)
{
	put(b, pid, 4);
	put(b, pid, 4);
	put(b, time_ns, 8);
	put(b, 1, 8);
	put(b, CPU_CLOCK_ID, 8);
}

static void add_comm(struct buf *b, u32 pid, u32 tid, const char *name, bool is_exec, u64 time_ns)
{
	struct buf body = new_buf();

	put(&body, pid, 4);
	put(&body, tid, 4);
	put_text(&body, name);
	put_trailer(&body, pid, time_ns);
	add_record(b, PERF_RECORD_COMM, is_exec ? 1u << 13 : 0, &body);
}

static void add_fork(struct buf *b, u32 pid, u32 parent, u32 tid, u64 time_ns)
{
	struct buf body = new_buf();

	put(&body, pid, 4);
	put(&body, parent, 4);
	put(&body, tid, 4);
	put(&body, parent, 4);
	put(&body, time_ns, 8);
	put_trailer(&body, parent, time_ns);
	add_record(b, PERF_RECORD_FORK, 0, &body);
}

static void add_mmap(struct buf *b, u32 pid, u64 start, u64 bytes, u64 offset, const char *name, u64 time_ns)
{
	struct buf body = new_buf();

	put(&body, pid, 4);
	put(&body, pid, 4);
	put(&body, start, 8);
	put(&body, bytes, 8);
	put(&body, offset, 8);
	put_text(&body, name);
	put_trailer(&body, pid, time_ns);
	add_record(b, PERF_RECORD_MMAP, pid == ~0u ? 1 : 2, &body);
}

static void add_ksymbol(struct buf *b, u64 va, u32 bytes, const char *name)
{
	struct buf body = new_buf();

	put(&body, va, 8);
	put(&body, bytes, 4);
	put(&body, 1, 2);
	put(&body, 0, 2);
	put_text(&body, name);
	put_trailer(&body, 0, 0);
	add_record(b, PERF_RECORD_KSYMBOL, 1, &body);
}

struct chain {
	u64 word[8];
	u32 count;
};

#define CHAIN(...) ((struct chain){ { __VA_ARGS__ }, sizeof((u64[]){ __VA_ARGS__ }) / 8 })

static void add_sample_of(struct buf *b, u64 id, u32 pid, u32 tid, u64 time_ns, u64 period, struct chain chain)
{
	struct buf body = new_buf();

	put(&body, id, 8);
	put(&body, 0x1234, 8);
	put(&body, pid, 4);
	put(&body, tid, 4);
	put(&body, time_ns, 8);
	put(&body, 3, 8);
	put(&body, period, 8);
	put(&body, chain.count, 8);
	buf_add(&body, chain.word, chain.count * 8);
	add_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body);
}

static void add_sample(struct buf *b, u32 pid, u64 time_ns, struct chain chain)
{
	add_sample_of(b, CPU_CLOCK_ID, pid, pid, time_ns, 1000000, chain);
}

static void add_round(struct buf *b)
{
	put_header(b, PERFDATA_RECORD_FINISHED_ROUND, 0, 0);
}

/* ---- Looking at what was read ---------------------------------------------- */

static struct perfread_about about;

static struct profile *read_with(struct buf *b, const struct perfread_options *options)
{
	struct profile *profile = NULL;

	EQ(buf_err(b), 0);
	EQ(perfread(b->data, b->len, options, &about, &profile), 0);
	EQ(profile_check(profile), 0);
	buf_done(b);
	return profile;
}

static struct profile *read_file(struct buf *b)
{
	return read_with(b, &(struct perfread_options){ 0 });
}

static struct profile_set *set_of(struct profile *p, u32 resource, u32 set)
{
	OK(resource < p->resources.count && set < p->resources.at[resource].scopes[0].set_count);
	return &p->resources.at[resource].scopes[0].sets[set];
}

static const char *text_of(const struct profile *p, u32 string)
{
	static char texts[4][256];
	static int next;
	char *text = texts[next++ % 4];

	snprintf(text, sizeof(texts[0]), "%.*s", (int)p->strings.at[string].len, p->strings.at[string].at);
	return text;
}

static const struct profile_location *frame_of(const struct profile *p, const struct profile_sample *s, u32 i)
{
	OK(i < p->stacks.at[s->stack].count);
	return &p->locations.at[p->stacks.at[s->stack].at[i]];
}

static const char *file_of(const struct profile *p, const struct profile_location *l)
{
	return text_of(p, p->mappings.at[l->mapping].filename);
}

static const char *name_of(const struct profile *p, u32 resource)
{
	static char text[64];
	struct str name = any_text(keyvalue_find(p->resources.at[resource].attributes,
						 p->resources.at[resource].attribute_count,
						 "process.executable.name"));

	snprintf(text, sizeof(text), "%.*s", (int)name.len, name.len ? name.at : "");
	return text;
}

static bool thread_is(const struct profile *p, const struct profile_sample *s, const char *name)
{
	return str_equal(any_text(profile_attribute_find(p, s->attributes, "thread.name")),
			 (struct str){ name, (u32)strlen(name) });
}

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
	EQ(set_of(p, 0, 0)->duration_ns, 400);
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

static u32 unwind_two(void *arg, const struct perfread_system *system, u32 pid, const struct perfread_sample *sample,
		      u64 ret_va[PERFREAD_UNWOUND_MAX])
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

/* ---- Files ----------------------------------------------------------------- */

static void put_feature_text(struct buf *b, const char *text)
{
	put(b, 64, 4);
	buf_add(b, text, strlen(text));
	for (size_t i = strlen(text); i < 64; i++)
		put(b, 0, 1);
}

/* A file as perf writes it at its end: one event, one mapping, one sample, a host's name and a build id. */
static struct buf new_whole(u32 attr_bytes)
{
	struct buf b = new_buf(), records = new_buf(), host = new_buf(), ids = new_buf();
	u64 data = 104 + attr_bytes + 16 + 8, sections;

	add_comm(&records, 10, 10, "prog", false, 0);
	add_mmap(&records, 10, 0x400000, 0x2000, 0, PROGRAM, 0);
	add_sample(&records, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	put_feature_text(&host, "lab");
	put_header(&ids, 0, PERFDATA_MISC_BUILD_ID_SIZE, 28 + 16);
	put(&ids, ~0ull, 4);
	for (u64 i = 1; i <= 20; i++)
		put(&ids, i, 1);
	put(&ids, 20, 4);
	put_text(&ids, PROGRAM);
	put(&b, PERFDATA_MAGIC, 8);
	put(&b, 104, 8);
	put(&b, attr_bytes + 16, 8);
	put(&b, 104, 8);
	put(&b, attr_bytes + 16, 8);
	put(&b, data, 8);
	put(&b, records.len, 8);
	put(&b, 0, 8);
	put(&b, 0, 8);
	put(&b, 1 << PERFDATA_BUILD_ID | 1 << PERFDATA_HOSTNAME, 8);
	for (int i = 0; i < 3; i++)
		put(&b, 0, 8);
	put_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, USUAL, SAMPLE_ID_ALL);
	for (u32 i = 128; i < attr_bytes; i++)
		put(&b, 0, 1);
	put(&b, data - 8, 8);
	put(&b, 8, 8);
	put(&b, CPU_CLOCK_ID, 8);
	buf_add(&b, records.data, records.len);
	sections = b.len + 32;
	put(&b, sections, 8);
	put(&b, ids.len, 8);
	put(&b, sections + ids.len, 8);
	put(&b, host.len, 8);
	buf_add(&b, ids.data, ids.len);
	buf_add(&b, host.data, host.len);
	buf_done(&records);
	buf_done(&host);
	buf_done(&ids);
	return b;
}

TEST(perfread_reads_attributes_of_older_and_newer_perfs)
{
	for (u32 bytes = 128; bytes <= 144; bytes += 8) {
		struct buf b = new_whole(bytes);
		struct profile *p = read_file(&b);
		const struct profile_location *l = frame_of(p, &set_of(p, 0, 0)->samples[0], 0);

		STREQ(about.host, "lab");
		OK(!about.is_cut);
		OK(str_equal(any_text(profile_attribute_find(p, p->mappings.at[l->mapping].attributes,
							     "process.executable.build_id.gnu")),
			     STR("0102030405060708090a0b0c0d0e0f1011121314")));
		profile_free(p);
	}
}

TEST(perfread_takes_what_a_cut_file_has)
{
	struct buf whole = new_whole(128);

	for (size_t bytes = 0; bytes < whole.len; bytes++) {
		char *copy = malloc(bytes ? bytes : 1);
		struct profile *p = NULL;
		int r;

		memcpy(copy, whole.data, bytes);
		r = perfread(copy, bytes, &(struct perfread_options){ 0 }, &about, &p);
		EQ(r, bytes < 16 ? -EBADMSG : 0);
		OK(r < 0 || profile_check(p) == 0);
		/* Features come last: the sample is there, and the loss of the names is told by nothing. */
		OK(r < 0 || about.is_cut || about.samples == 1);
		profile_free(p);
		free(copy);
	}
	buf_done(&whole);
}

TEST(perfread_reads_on_where_perf_was_killed)
{
	struct buf b = new_whole(128);
	struct profile *p;
	u64 none = 0;

	memcpy(b.data + 48, &none, sizeof(none));
	p = read_file(&b);
	EQ(about.samples, 1);
	OK(about.is_cut);
	profile_free(p);
}

TEST(perfread_refuses_other_orders_of_bytes)
{
	struct profile *p = NULL;
	char swapped[104] = "2ELIFREP", old[104] = "PERFFILE", else_[104] = "PERFILE3";

	EQ(perfread(swapped, sizeof(swapped), &(struct perfread_options){ 0 }, &about, &p), -EPROTONOSUPPORT);
	EQ(perfread(old, sizeof(old), &(struct perfread_options){ 0 }, &about, &p), -EPROTONOSUPPORT);
	EQ(perfread(else_, sizeof(else_), &(struct perfread_options){ 0 }, &about, &p), -EBADMSG);
}

TEST(perfread_unpacks_records_that_go_on_in_the_next)
{
	struct buf b = new_pipe(), records = new_buf();
	ZSTD_CStream *zstd = ZSTD_createCStream();
	struct profile *p;
	char packed[4096];

	add_comm(&records, 10, 10, "packed", false, 0);
	add_sample(&records, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	for (size_t at = 0; at < records.len; at += 20) {
		size_t left = records.len - at;
		ZSTD_inBuffer in = { records.data + at, left < 20 ? left : 20, 0 };
		ZSTD_outBuffer out = { packed, sizeof(packed), 0 };

		ZSTD_compressStream(zstd, &out, &in);
		ZSTD_flushStream(zstd, &out);
		put_header(&b, PERFDATA_RECORD_COMPRESSED, 0, out.pos);
		buf_add(&b, packed, out.pos);
	}
	ZSTD_freeCStream(zstd);
	buf_done(&records);
	p = read_file(&b);
	EQ(about.samples, 1);
	OK(!about.is_cut);
	STREQ(name_of(p, 0), "packed");
	profile_free(p);
}

TEST(perfread_counts_what_perf_lost_and_passes_over_traces)
{
	struct buf b = new_pipe(), body = new_buf(), aux = new_buf();
	struct profile *p;

	put(&body, CPU_CLOCK_ID, 8);
	put(&body, 41, 8);
	put_trailer(&body, 10, 50);
	add_record(&b, PERF_RECORD_LOST, 0, &body);
	put(&aux, 24, 8);
	for (int i = 0; i < 4; i++)
		put(&aux, 0, 8);
	add_record(&b, PERFDATA_RECORD_AUXTRACE, 0, &aux);
	for (int i = 0; i < 3; i++)
		put(&b, 0x0008000000000009, 8);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	p = read_file(&b);
	EQ(about.lost, 41);
	EQ(about.trace_bytes, 24);
	EQ(about.samples, 1);
	EQ(about.not_understood, 0);
	profile_free(p);
}

/* ---- Clocks ---------------------------------------------------------------- */

TEST(perfread_dates_samples_by_the_clock_that_the_file_tells_of)
{
	struct buf b = new_pipe(), body = new_buf();
	struct profile *p;

	put(&body, PERFDATA_CLOCK_DATA, 8);
	put(&body, 1, 4);
	put(&body, CLOCK_MONOTONIC, 4);
	put(&body, 1000000, 8);
	put(&body, 50, 8);
	add_record(&b, PERFDATA_RECORD_FEATURE, 0, &body);
	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	p = read_with(&b, &(struct perfread_options){ .written_unix_ns = 77 });
	OK(about.has_wall_clock);
	EQ(set_of(p, 0, 0)->samples[0].times_unix_ns[0], 1000050);
	profile_free(p);
}

TEST(perfread_dates_samples_by_the_file_if_it_tells_of_none)
{
	struct buf b = new_pipe();
	struct profile *p;

	add_sample(&b, 10, 100, CHAIN(PERF_CONTEXT_USER, 0x400010));
	add_sample(&b, 10, 300, CHAIN(PERF_CONTEXT_USER, 0x400010));
	p = read_with(&b, &(struct perfread_options){ .written_unix_ns = 1000000 });
	OK(!about.has_wall_clock);
	EQ(set_of(p, 0, 0)->samples[0].times_unix_ns[0], 999800);
	EQ(set_of(p, 0, 0)->time_unix_ns, 999800);
	profile_free(p);
}

/* ---- Memory ---------------------------------------------------------------- */

TEST(perfread_survives_lack_of_memory)
{
	struct buf b = new_whole(128);
	struct profile *p = NULL;
	int r = -ENOMEM;

	for (long i = 0; r < 0; i++) {
		test_alloc_fail(i);
		r = perfread(b.data, b.len, &(struct perfread_options){ 0 }, &about, &p);
		(void)test_alloc_reset();
		OK(r == 0 || r == -ENOMEM);
	}
	EQ(about.samples, 1);
	profile_free(p);
	buf_done(&b);
}

TEST(formats_know_perf_data_by_its_first_bytes)
{
	struct buf b = new_whole(128);

	STREQ(format_by_content(b.data, b.len)->name, "perfdata");
	STREQ(format_by_path("perf.data")->name, "perfdata");
	buf_done(&b);
}
