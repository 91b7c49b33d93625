// SPDX-License-Identifier: Apache-2.0
#include "tracer/sideband_record.h"

#include <errno.h>

#include "base/buf.h"
#include "test.h"

/* Appends a record's trailer (pid, tid, time) and sets its length. */
static int parse(struct buf *b, u32 type, u16 misc, struct sideband_event *event)
{
	struct {
		u32 pid, tid;
		u64 time_ns;
	} id = { 10, 11, 12345 };
	struct perf_event_header *header;

	while (b->len % 8)
		buf_add(b, "", 1);
	buf_add(b, &id, sizeof(id));
	EQ(buf_err(b), 0);
	header = (void *)b->data;
	*header = (struct perf_event_header){ .type = type, .misc = misc, .size = (u16)b->len };
	return event_parse(b->data, b->len, event);
}

static void start(struct buf *b)
{
	struct perf_event_header header = { 0 };

	buf_init(b, 4096);
	buf_add(b, &header, sizeof(header));
}

static void add_u32(struct buf *b, u32 value)
{
	buf_add(b, &value, sizeof(value));
}

static void add_u64(struct buf *b, u64 value)
{
	buf_add(b, &value, sizeof(value));
}

static void start_mmap(struct buf *b)
{
	start(b);
	add_u32(b, 10);
	add_u32(b, 11);
	add_u64(b, 0x7f000);
	add_u64(b, 0x2000);
	add_u64(b, 0x1000);
}

static int parse_mmap(const char *path, u16 misc, struct sideband_event *event)
{
	struct buf b;
	int r;

	start_mmap(&b);
	add_u32(&b, 8);
	add_u32(&b, 1);
	add_u64(&b, 4711);
	add_u64(&b, 1);
	add_u32(&b, 5);
	add_u32(&b, 2);
	buf_add(&b, path, strlen(path) + 1);
	r = parse(&b, PERF_RECORD_MMAP2, misc, event);
	buf_done(&b);
	return r;
}

TEST(sideband_reads_a_mapping)
{
	struct sideband_event e;

	EQ(parse_mmap("/lib/x y\n.so", 0, &e), 1);
	EQ(e.kind, EVENT_MMAP);
	EQ(e.time_ns, 12345);
	EQ(e.pid, 10);
	EQ(e.mapping.start_va, 0x7f000);
	EQ(e.mapping.end_va, 0x81000);
	EQ(e.mapping.file_offset, 0x1000);
	EQ(e.mapping.inode, 4711);
	EQ(e.mapping.dev_major, 8);
	EQ(e.mapping.kind, MAPPING_FILE);
	STREQ(e.mapping.path, "/lib/x y\n.so");
	event_done(&e);
}

TEST(sideband_is_not_misled_by_other_listeners_build_ids)
{
	struct sideband_event e;

	EQ(parse_mmap("//anon", PERF_RECORD_MISC_MMAP_BUILD_ID, &e), 1);
	EQ(e.mapping.inode, 4711);
	EQ(e.mapping.kind, MAPPING_ANON);
	event_done(&e);
}

TEST(sideband_tells_exec_from_a_new_name)
{
	struct sideband_event e;
	struct buf b;

	for (int exec = 0; exec < 2; exec++) {
		start(&b);
		add_u32(&b, 10);
		add_u32(&b, 11);
		buf_add(&b, "make", 5);
		EQ(parse(&b, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, &e), 1);
		EQ(e.kind, exec ? EVENT_EXEC : EVENT_COMM);
		STREQ(e.comm, "make");
		EQ(e.tid, 11);
		buf_done(&b);
	}
}

TEST(sideband_reads_fork_and_exit)
{
	struct sideband_event e;
	struct buf b;

	start(&b);
	add_u32(&b, 20);
	add_u32(&b, 10);
	add_u32(&b, 21);
	add_u32(&b, 11);
	add_u64(&b, 99);
	EQ(parse(&b, PERF_RECORD_FORK, 0, &e), 1);
	EQ(e.kind, EVENT_FORK);
	EQ(e.pid, 20);
	EQ(e.parent_pid, 10);
	EQ(e.tid, 21);
	buf_done(&b);
}

TEST(sideband_refuses_text_without_end)
{
	struct sideband_event e;
	struct buf b;

	start(&b);
	add_u32(&b, 10);
	add_u32(&b, 11);
	buf_add(&b, "12345678", 8);
	EQ(parse(&b, PERF_RECORD_COMM, 0, &e), -EBADMSG);
	buf_done(&b);
}

TEST(sideband_refuses_short_records_of_every_kind)
{
	u8 record[64] __attribute__((aligned(8))) = { 0 };
	struct sideband_event e;

	for (u32 type = 0; type < 25; type++) {
		for (size_t bytes = 0; bytes < sizeof(record); bytes += 8) {
			int r;

			((struct perf_event_header *)record)->type = type;
			r = event_parse(record, bytes, &e);
			if (r == 1)
				event_done(&e);
			OK(r <= 1);
			OK(bytes >= 24 || r == -EBADMSG);
		}
	}
}
