// SPDX-License-Identifier: Apache-2.0
#include "tracer/sideband_record.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The records as linux/perf_event.h describes them in comments; variable parts come behind. */
struct sample_id {
	u32 pid, tid;
	u64 time_ns;
};

struct mmap2_record {
	struct perf_event_header header;
	u32 pid, tid;
	u64 va, bytes, file_offset;
	u32 major, minor;
	u64 inode, generation;	/* never a build id, whatever the header says: none was asked for (sideband.c) */
	u32 protection, flags;
	char path[];
};

struct comm_record {
	struct perf_event_header header;
	u32 pid, tid;
	char comm[];
};

struct task_record {
	struct perf_event_header header;
	u32 pid, parent_pid, tid, parent_tid;
	u64 time_ns;
};

struct ksymbol_record {
	struct perf_event_header header;
	u64 va;
	u32 bytes;
	u16 type, flags;
	char name[];
};

struct lost_record {
	struct perf_event_header header;
	u64 id, lost;
};

/* The text that starts at `at`, ended within the record before its trailer; NULL if it is not ended there. */
static const char *record_text(const void *record, size_t bytes, size_t at)
{
	if (at >= bytes - sizeof(struct sample_id))
		return NULL;
	return memchr((const char *)record + at, '\0', bytes - sizeof(struct sample_id) - at) ?
	       (const char *)record + at : NULL;
}

static int parse_mmap(const struct mmap2_record *record, size_t bytes, struct sideband_event *event)
{
	const char *path = record_text(record, bytes, offsetof(struct mmap2_record, path));
	struct mapping m = { 0 };

	if (!path)
		return -EBADMSG;
	m.start_va = record->va;
	m.end_va = record->va + record->bytes;
	m.file_offset = record->file_offset;
	m.dev_major = record->major;
	m.dev_minor = record->minor;
	m.inode = record->inode;
	m.kind = mapping_kind_of(path);
	m.path = strdup(path);
	if (!m.path)
		return -ENOMEM;
	*event = (struct sideband_event){ .kind = EVENT_MMAP, .pid = record->pid, .tid = record->tid, .mapping = m };
	return 1;
}

static int parse_comm(const struct comm_record *record, size_t bytes, struct sideband_event *event)
{
	const char *comm = record_text(record, bytes, offsetof(struct comm_record, comm));

	if (!comm)
		return -EBADMSG;
	*event = (struct sideband_event){ .kind = EVENT_COMM, .pid = record->pid, .tid = record->tid };
	if (record->header.misc & PERF_RECORD_MISC_COMM_EXEC)
		event->kind = EVENT_EXEC;
	snprintf(event->comm, sizeof(event->comm), "%s", comm);
	return 1;
}

static int parse_task(const struct task_record *record, struct sideband_event *event)
{
	*event = (struct sideband_event){
		.kind = record->header.type == PERF_RECORD_FORK ? EVENT_FORK : EVENT_EXIT,
		.pid = record->pid,
		.tid = record->tid,
		.parent_pid = record->parent_pid,
		.parent_tid = record->parent_tid,
	};
	return 1;
}

static int parse_ksymbol(const struct ksymbol_record *record, size_t bytes, struct sideband_event *event)
{
	const char *name = record_text(record, bytes, offsetof(struct ksymbol_record, name));
	char *copy = name ? strdup(name) : NULL;

	if (!copy)
		return name ? -ENOMEM : -EBADMSG;
	*event = (struct sideband_event){ .kind = EVENT_KSYMBOL };
	event->symbol.va = record->va;
	event->symbol.bytes = record->bytes;
	event->symbol.registered = !(record->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	event->symbol.name = copy;
	return 1;
}

static const struct {
	u32 type;
	size_t min_bytes;	/* of the fixed part */
} known[] = {
	{ PERF_RECORD_MMAP2, sizeof(struct mmap2_record) },	{ PERF_RECORD_COMM, sizeof(struct comm_record) },
	{ PERF_RECORD_FORK, sizeof(struct task_record) },	{ PERF_RECORD_EXIT, sizeof(struct task_record) },
	{ PERF_RECORD_KSYMBOL, sizeof(struct ksymbol_record) }, { PERF_RECORD_LOST, sizeof(struct lost_record) },
	{ PERF_RECORD_THROTTLE, sizeof(struct perf_event_header) },
};

int event_parse(const void *record, size_t bytes, struct sideband_event *ret_event)
{
	const struct perf_event_header *header = record;
	const struct sample_id *id;
	size_t min = 0;
	int r;

	if (bytes < sizeof(*header) + sizeof(*id) || bytes % 8)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == header->type)
			min = known[i].min_bytes;
	if (!min)
		return 0;
	if (bytes < min + sizeof(*id))
		return -EBADMSG;
	id = (const void *)((const char *)record + bytes - sizeof(*id));
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		r = parse_mmap(record, bytes, ret_event);
		break;
	case PERF_RECORD_COMM:
		r = parse_comm(record, bytes, ret_event);
		break;
	case PERF_RECORD_KSYMBOL:
		r = parse_ksymbol(record, bytes, ret_event);
		break;
	case PERF_RECORD_LOST:
		*ret_event = (struct sideband_event){ .kind = EVENT_LOST,
						      .lost = ((const struct lost_record *)record)->lost };
		r = 1;
		break;
	case PERF_RECORD_THROTTLE:
		*ret_event = (struct sideband_event){ .kind = EVENT_THROTTLE };
		r = 1;
		break;
	default:
		r = parse_task(record, ret_event);
	}
	if (r == 1)
		ret_event->time_ns = id->time_ns;
	return r;
}

void event_done(struct sideband_event *event)
{
	if (event->kind == EVENT_MMAP)
		free(event->mapping.path);
	if (event->kind == EVENT_KSYMBOL)
		free(event->symbol.name);
}
