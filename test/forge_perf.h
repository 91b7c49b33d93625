/* SPDX-License-Identifier: Apache-2.0 */
/* perf.data of bytes put together by tests, and what they look at in what was read of it. */
#ifndef TEST_FORGE_PERF_H
#define TEST_FORGE_PERF_H

#include <linux/perf_event.h>

#include "base/buf.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/perf/perfdata.h"
#include "wire/perf/perfread.h"

#define USUAL (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
	       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define SAMPLE_ID_ALL (1ull << 18)
#define PROGRAM "/usr/bin/prog"
#define CPU_CLOCK_ID 7
#define CYCLES_ID 8

static inline void put(struct buf *b, u64 value, size_t bytes)
{
	buf_add(b, &value, bytes);
}

static inline void put_text(struct buf *b, const char *text)
{
	size_t len = strlen(text) + 1;

	buf_add(b, text, len);
	for (; len % 8; len++)
		put(b, 0, 1);
}

static inline void put_header(struct buf *b, u32 type, u16 misc, size_t body)
{
	put(b, type, 4);
	put(b, misc, 2);
	put(b, body + 8, 2);
}

static inline void put_record(struct buf *b, u32 type, u16 misc, const struct buf *body)
{
	put_header(b, type, misc, body->len);
	buf_add(b, body->data, body->len);
}

static inline void add_record(struct buf *b, u32 type, u16 misc, struct buf *body)
{
	put_record(b, type, misc, body);
	buf_done(body);
}

static inline void put_attr(struct buf *b, u32 type, u64 config, u64 sample_type, u64 flags)
{
	struct perf_event_attr attr = { .type = type, .size = 128, .config = config, .sample_period = 1000000,
					.sample_type = sample_type };
	u8 bytes[128] = { 0 };

	memcpy(bytes, &attr, sizeof(attr) < sizeof(bytes) ? sizeof(attr) : sizeof(bytes));
	memcpy(bytes + 40, &flags, sizeof(flags));
	buf_add(b, bytes, sizeof(bytes));
}

static inline struct buf new_buf(void)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	return b;
}

static inline void add_attr(struct buf *b, u32 type, u64 config, u64 sample_type, u64 id)
{
	struct buf body = new_buf();

	put_attr(&body, type, config, sample_type, SAMPLE_ID_ALL);
	put(&body, id, 8);
	add_record(b, PERFDATA_RECORD_ATTR, 0, &body);
}

/* A file in pipe mode whose event is cpu-clock. */
static inline struct buf new_pipe(void)
{
	struct buf b = new_buf();

	put(&b, PERFDATA_MAGIC, 8);
	put(&b, PERFDATA_PIPE_BYTES, 8);
	add_attr(&b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, USUAL, CPU_CLOCK_ID);
	return b;
}

static inline void put_trailer(struct buf *b, u32 pid, u64 time_ns)
{
	put(b, pid, 4);
	put(b, pid, 4);
	put(b, time_ns, 8);
	put(b, 1, 8);
	put(b, CPU_CLOCK_ID, 8);
}

static inline void add_comm(struct buf *b, u32 pid, u32 tid, const char *name, bool is_exec, u64 time_ns)
{
	struct buf body = new_buf();

	put(&body, pid, 4);
	put(&body, tid, 4);
	put_text(&body, name);
	put_trailer(&body, pid, time_ns);
	add_record(b, PERF_RECORD_COMM, is_exec ? 1u << 13 : 0, &body);
}

static inline void add_fork(struct buf *b, u32 pid, u32 parent, u32 tid, u64 time_ns)
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

static inline void add_mmap(struct buf *b, u32 pid, u64 start, u64 bytes, u64 offset, const char *name, u64 time_ns)
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

static inline void add_ksymbol(struct buf *b, u64 va, u32 bytes, const char *name)
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

static inline void add_sample_of(struct buf *b, u64 id, u32 pid, u32 tid, u64 time_ns, u64 period, struct chain chain)
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

static inline void add_sample(struct buf *b, u32 pid, u64 time_ns, struct chain chain)
{
	add_sample_of(b, CPU_CLOCK_ID, pid, pid, time_ns, 1000000, chain);
}

static inline void add_round(struct buf *b)
{
	put_header(b, PERFDATA_RECORD_FINISHED_ROUND, 0, 0);
}

static struct perfread_about about;

static inline struct profile *read_with(struct buf *b, const struct perfread_options *options)
{
	struct profile *profile = NULL;

	EQ(buf_err(b), 0);
	EQ(perfread(b->data, b->len, options, &about, &profile), 0);
	EQ(profile_check(profile), 0);
	buf_done(b);
	return profile;
}

static inline struct profile *read_file(struct buf *b)
{
	return read_with(b, &(struct perfread_options){ 0 });
}

static inline struct profile_set *set_of(struct profile *p, u32 resource, u32 set)
{
	OK(resource < p->resources.count && set < p->resources.at[resource].scopes[0].set_count);
	return &p->resources.at[resource].scopes[0].sets[set];
}

static inline const char *text_of(const struct profile *p, u32 string)
{
	static char texts[4][256];
	static int next;
	char *text = texts[next++ % 4];

	snprintf(text, sizeof(texts[0]), "%.*s", (int)p->strings.at[string].len, p->strings.at[string].at);
	return text;
}

static inline const struct profile_location *frame_of(const struct profile *p, const struct profile_sample *s, u32 i)
{
	OK(i < p->stacks.at[s->stack].count);
	return &p->locations.at[p->stacks.at[s->stack].at[i]];
}

static inline const char *file_of(const struct profile *p, const struct profile_location *l)
{
	return text_of(p, p->mappings.at[l->mapping].filename);
}

static inline const char *name_of(const struct profile *p, u32 resource)
{
	static char text[64];
	struct str name = any_text(keyvalue_find(p->resources.at[resource].attributes,
						 p->resources.at[resource].attribute_count,
						 "process.executable.name"));

	snprintf(text, sizeof(text), "%.*s", (int)name.len, name.len ? name.at : "");
	return text;
}

static inline bool thread_is(const struct profile *p, const struct profile_sample *s, const char *name)
{
	return str_equal(any_text(profile_attribute_find(p, s->attributes, "thread.name")),
			 (struct str){ name, (u32)strlen(name) });
}

#endif
