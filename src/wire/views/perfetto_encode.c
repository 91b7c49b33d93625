// SPDX-License-Identifier: Apache-2.0
/*
 * A trace is a list of packets, all of one sequence here. Numbers of interned
 * rows (iid) are ours plus 1, since 0 means none:
 *
 *	Trace.packet	clocks | processes, threads | interned strings, mappings, frames, callstacks | samples ...
 *
 * Lanes are slices on a track of their thread, after all that.
 *
 * Frames are the lines of locations one after the other, callstacks are our
 * stacks. Rows may be spread over packets, which keeps each of them small.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frames.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "profile/any.h"
#include "wire/events.h"
#include "wire/format.h"
#include "wire/lanes.h"
#include "wire/pb.h"
#include "wire/views/perfetto.h"
#include "wire/sample_types.h"

#define PACKET_BYTES ((size_t)1 << 20)		/* a packet of rows ends once it is larger */
#define NOBODY_PID 0x7f000000u			/* and up: processes and threads that have no number */
#define CLOCK_REALTIME_ID 1
#define CLOCK_BOOTTIME_ID 6

enum packet {
	PACKET_PROCESSES = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_SAMPLE = 66,
	PACKET_IS_FIRST = 87,
};

enum flags { FLAGS_NEW_STATE = 1, FLAGS_NEEDS_STATE = 2 };

enum interned {
	INTERNED_EVENT_NAMES = 2,
	INTERNED_NAMES = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_BUILD_IDS = 16,
	INTERNED_PATHS = 17,
	INTERNED_SOURCES = 18,
	INTERNED_MAPPINGS = 19,
};

struct encoder {
	const struct profile *p;
	struct buf *out;
	struct frames frames;
	struct event_list events;
	struct lanes lanes;
	u64 start_unix_ns;
	size_t packet, rows;	/* where those that are open begin */
};

static void encoder_done(struct encoder *e)
{
	frames_done(&e->frames);
	events_done(&e->events);
	lanes_done(&e->lanes);
}

static void begin_packet(struct encoder *e, enum flags flags)
{
	e->packet = pb_begin(e->out, 1);
	pb_put_varint(e->out, PACKET_SEQUENCE, 1);
	pb_put_varint(e->out, PACKET_FLAGS, flags);
}

/* ---- What comes first ------------------------------------------------------------------ */

/* Times are those of the wall clock, and the trace's own clock is set to it. */
static void put_clocks(struct encoder *e)
{
	static const u32 clocks[] = { CLOCK_REALTIME_ID, CLOCK_BOOTTIME_ID };
	size_t snapshot, clock;

	begin_packet(e, FLAGS_NEW_STATE);
	pb_put_varint(e->out, PACKET_IS_FIRST, 1);
	snapshot = pb_begin(e->out, PACKET_CLOCKS);
	for (int i = 0; i < 2; i++) {
		clock = pb_begin(e->out, 1);
		pb_put_varint(e->out, 1, clocks[i]);
		pb_put_varint(e->out, 2, e->start_unix_ns);
		pb_end(e->out, clock);
	}
	pb_end(e->out, snapshot);
	pb_end(e->out, e->packet);
}

static void put_defaults(struct encoder *e)
{
	size_t defaults, sample, timebase;

	begin_packet(e, FLAGS_NEEDS_STATE);
	defaults = pb_begin(e->out, PACKET_DEFAULTS);
	pb_put_varint(e->out, 58, CLOCK_REALTIME_ID);
	sample = pb_begin(e->out, 12);
	timebase = pb_begin(e->out, 1);
	if (e->events.period_ns)
		pb_put_varint(e->out, 2, 1000000000 / e->events.period_ns);
	pb_put_string(e->out, 10, e->events.type.at, e->events.type.len);
	pb_end(e->out, timebase);
	pb_end(e->out, sample);
	pb_end(e->out, defaults);
	pb_end(e->out, e->packet);
}

/* thread: its number among all. */
static u32 pid_of(s64 pid, u32 thread)
{
	return pid >= 0 && pid < NOBODY_PID ? (u32)pid : NOBODY_PID + thread;
}

static u32 tid_of(s64 pid, s64 tid, u32 thread)
{
	return tid >= 0 && tid < NOBODY_PID ? (u32)tid : pid_of(pid, thread);
}

static void put_thread(struct encoder *e, struct str process, struct str name, u32 pid, u32 tid)
{
	size_t row = pb_begin(e->out, 1);

	pb_put_varint(e->out, 1, pid);
	pb_put_string(e->out, 3, process.at, process.len);
	pb_end(e->out, row);
	row = pb_begin(e->out, 2);
	pb_put_varint(e->out, 1, tid);
	pb_put_string(e->out, 2, name.at, name.len);
	pb_put_varint(e->out, 3, pid);
	pb_end(e->out, row);
}

/* Lanes are counted after threads with samples; those of the same thread have the same ids if it has any. */
static u32 lane_number(const struct encoder *e, u32 lane)
{
	return e->events.thread_count + lane;
}

static void put_processes(struct encoder *e)
{
	size_t tree;

	begin_packet(e, FLAGS_NEEDS_STATE);
	pb_put_varint(e->out, PACKET_TIME, e->start_unix_ns);
	tree = pb_begin(e->out, PACKET_PROCESSES);
	for (u32 i = 0; i < e->events.thread_count; i++) {
		const struct events_thread *thread = &e->events.threads[i];

		put_thread(e, thread->process, thread->name, pid_of(thread->pid, i),
			   tid_of(thread->pid, thread->tid, i));
	}
	for (u32 i = 0; i < e->lanes.count; i++) {
		const struct lane *lane = &e->lanes.at[i];

		put_thread(e, lane->process, lane->name, pid_of(lane->pid, lane_number(e, i)),
			   tid_of(lane->pid, lane->tid, lane_number(e, i)));
	}
	pb_end(e->out, tree);
	pb_end(e->out, e->packet);
}

/* ---- Interned rows --------------------------------------------------------------------- */

static void begin_rows(struct encoder *e)
{
	begin_packet(e, FLAGS_NEEDS_STATE);
	e->rows = pb_begin(e->out, PACKET_INTERNED);
}

static void end_rows(struct encoder *e)
{
	pb_end(e->out, e->rows);
	pb_end(e->out, e->packet);
}

/* A row of a table, in a new packet if the present one is large. */
static size_t begin_row(struct encoder *e, enum interned table, u32 iid)
{
	size_t row;

	if (e->out->len - e->packet > PACKET_BYTES) {
		end_rows(e);
		begin_rows(e);
	}
	row = pb_begin(e->out, table);
	pb_put_varint(e->out, 1, iid);
	return row;
}

/* Texts are bytes there. */
static void put_text(struct encoder *e, enum interned table, u32 iid, struct str text)
{
	size_t row = begin_row(e, table, iid);

	pb_put_string(e->out, 2, text.at, text.len);
	pb_end(e->out, row);
}

static void put_build_id(struct encoder *e, u32 mapping)
{
	struct str text = any_text(profile_attribute_find(e->p, e->p->mappings.at[mapping].attributes,
							  "process.executable.build_id.gnu"));
	u8 bytes[64];
	u32 count = 0;
	size_t row = begin_row(e, INTERNED_BUILD_IDS, mapping + 1);

	for (; count < sizeof(bytes) && 2 * count + 1 < text.len; count++) {
		int high = hex_digit(text.at[2 * count]), low = hex_digit(text.at[2 * count + 1]);

		if (high < 0 || low < 0)
			break;
		bytes[count] = (u8)(high << 4 | low);
	}
	pb_put_bytes(e->out, 2, bytes, count);
	pb_end(e->out, row);
}

/* Number 1 is that of frames without one: a frame that has none would be dropped. */
static void put_mapping(struct encoder *e, u32 i)
{
	const struct profile_mapping *m = &e->p->mappings.at[i];
	size_t row;

	put_text(e, INTERNED_PATHS, i + 1, e->p->strings.at[m->filename]);
	put_build_id(e, i);
	row = begin_row(e, INTERNED_MAPPINGS, i + 1);
	pb_put_varint(e->out, 2, i + 1);
	pb_put_varint_nonzero(e->out, 3, m->file_offset);
	pb_put_varint_nonzero(e->out, 4, m->start_va);
	pb_put_varint_nonzero(e->out, 5, m->limit_va);
	pb_put_varint(e->out, 7, i + 1);
	pb_end(e->out, row);
}

static void put_location(struct encoder *e, u32 i)
{
	const struct profile_location *l = &e->p->locations.at[i];

	for (u32 k = e->frames.starts[i]; k < e->frames.starts[i + 1]; k++) {
		const struct profile_line *line = l->line_count ? &l->lines[k - e->frames.starts[i]] : NULL;
		u32 number = e->frames.numbers[k];
		size_t row = begin_row(e, INTERNED_FRAMES, k + 1);

		pb_put_varint(e->out, 2, number + 1);
		pb_put_varint(e->out, 3, l->mapping + 1);
		pb_put_varint_nonzero(e->out, 4, l->address);
		if (e->frames.at[number].file.len)
			pb_put_varint(e->out, 5, number + 1);
		if (line && line->line > 0 && line->line <= UINT32_MAX)
			pb_put_varint(e->out, 6, (u64)line->line);
		pb_end(e->out, row);
	}
}

/* From the root on. */
static void put_callstack(struct encoder *e, u32 stack)
{
	struct indices locations = e->p->stacks.at[stack];
	size_t row = begin_row(e, INTERNED_CALLSTACKS, stack + 1);

	for (u32 i = locations.count; i-- > 0;)
		for (u32 k = e->frames.starts[locations.at[i] + 1]; k-- > e->frames.starts[locations.at[i]];)
			pb_put_varint(e->out, 2, k + 1);
	pb_end(e->out, row);
}

static void put_rows(struct encoder *e)
{
	begin_rows(e);
	for (u32 i = 0; i < e->frames.count; i++) {
		put_text(e, INTERNED_NAMES, i + 1, e->frames.at[i].name);
		if (e->frames.at[i].file.len)
			put_text(e, INTERNED_SOURCES, i + 1, e->frames.at[i].file);
	}
	for (u32 i = 0; i < e->p->mappings.count; i++)
		put_mapping(e, i);
	for (u32 i = 0; i < e->p->locations.count; i++)
		put_location(e, i);
	for (u32 i = 0; i < e->p->stacks.count; i++)
		put_callstack(e, i);
	end_rows(e);
}

/* ---- Samples --------------------------------------------------------------------------- */

static void put_sample(struct encoder *e, const struct event *event)
{
	const struct events_thread *thread = &e->events.threads[event->thread];
	size_t sample;

	begin_packet(e, FLAGS_NEEDS_STATE);
	pb_put_varint(e->out, PACKET_TIME, e->events.start_unix_ns + event->time_ns);
	sample = pb_begin(e->out, PACKET_SAMPLE);
	pb_put_varint(e->out, 2, pid_of(thread->pid, event->thread));
	pb_put_varint(e->out, 3, tid_of(thread->pid, thread->tid, event->thread));
	pb_put_varint(e->out, 4, event->stack + 1);
	pb_end(e->out, sample);
	pb_end(e->out, e->packet);
}

static void put_samples(struct encoder *e)
{
	double total = 0, share;

	for (u32 i = 0; i < e->events.count; i++)
		total += e->events.at[i].value > 0 ? (double)e->events.at[i].value : 0;
	share = total > PERFETTO_SAMPLES_MAX ? PERFETTO_SAMPLES_MAX / total : 1;
	for (u32 i = 0; i < e->events.count && !buf_err(e->out); i++) {
		const struct event *event = &e->events.at[i];
		u32 times = event->value > 0 ? (u32)((double)event->value * share + 0.5) : 0;

		/* Nothing that was seen is left out. */
		for (u32 k = 0; k < (times || event->value <= 0 ? times : 1); k++)
			put_sample(e, event);
	}
}

/* ---- Lanes ----------------------------------------------------------------------------- */

enum slice { SLICE_BEGIN = 1, SLICE_END = 2 };

/* Numbers of names are reasons, plus 1. */
static void put_lane_names(struct encoder *e)
{
	begin_rows(e);
	for (u32 i = REASON_NONE; i <= REASON_OTHER; i++) {
		const char *name = lane_part_name(&(struct lane_part){ .reason = i });

		put_text(e, INTERNED_EVENT_NAMES, i + 1, (struct str){ name, (u32)strlen(name) });
	}
	end_rows(e);
}

static void put_track(struct encoder *e, u32 i)
{
	const struct lane *lane = &e->lanes.at[i];
	size_t track, thread;

	begin_packet(e, FLAGS_NEEDS_STATE);
	track = pb_begin(e->out, PACKET_TRACK);
	pb_put_varint(e->out, 1, i + 1);
	thread = pb_begin(e->out, 4);
	pb_put_varint(e->out, 1, pid_of(lane->pid, lane_number(e, i)));
	pb_put_varint(e->out, 2, tid_of(lane->pid, lane->tid, lane_number(e, i)));
	pb_put_string(e->out, 5, lane->name.at, lane->name.len);
	pb_end(e->out, thread);
	pb_end(e->out, track);
	pb_end(e->out, e->packet);
}

static void put_slice(struct encoder *e, u32 track, enum slice type, u64 time_ns, u32 name)
{
	size_t event;

	begin_packet(e, FLAGS_NEEDS_STATE);
	pb_put_varint(e->out, PACKET_TIME, time_ns);
	event = pb_begin(e->out, PACKET_EVENT);
	pb_put_varint(e->out, 9, type);
	pb_put_varint(e->out, 11, track);
	if (type == SLICE_BEGIN)
		pb_put_varint(e->out, 10, name);
	pb_end(e->out, event);
	pb_end(e->out, e->packet);
}

static void put_lanes(struct encoder *e)
{
	if (e->lanes.count)
		put_lane_names(e);
	for (u32 i = 0; i < e->lanes.count; i++) {
		const struct lane_part *parts = e->lanes.parts + e->lanes.at[i].first;

		put_track(e, i);
		for (u32 k = 0; k < e->lanes.at[i].count && !buf_err(e->out); k++) {
			put_slice(e, i + 1, SLICE_BEGIN, parts[k].start_ns, parts[k].reason + 1);
			put_slice(e, i + 1, SLICE_END, parts[k].end_ns, 0);
		}
	}
}

static int encode(struct encoder *e, const char *type)
{
	int r = events_init(&e->events, e->p, type);

	if (r == 0)
		r = lanes_init(&e->lanes, e->p);
	e->start_unix_ns = lanes_begin_ns(&e->lanes, &e->events);
	if (r == 0)
		r = frames_init(&e->frames, e->p, NULL);
	if (r < 0)
		return r;
	put_clocks(e);
	put_defaults(e);
	put_processes(e);
	put_rows(e);
	put_samples(e);
	put_lanes(e);
	return buf_err(e->out);
}

int perfetto_encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(sample_types_done) struct sample_types types;
	struct encoder e = { .p = profile, .out = out };
	int r = sample_types_init(&types, profile);

	if (r < 0)
		return r;
	r = encode(&e, lanes_other_type(&types));
	encoder_done(&e);
	return r;
}

const struct format_ops format_perfetto = {
	.name = "perfetto",
	.help = "a Perfetto trace, for ui.perfetto.dev",
	.content_type = "application/octet-stream",
	.suffixes = (const char *const[]){ ".perfetto-trace", ".pftrace", NULL },
	.is_binary = true,
	.encode = perfetto_encode,
};
