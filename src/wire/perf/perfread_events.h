/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a perf.data file, and what their samples look like: each
 * event says in its attr (struct perf_event_attr) which fields its samples
 * have. An id in a sample, at the same place for all of a file, tells its event.
 *
 * At most PERFREAD_EVENTS_MAX events and PERFREAD_IDS_MAX ids, each as often as it is listed, since events may all
 * point to the same list; more are -E2BIG.
 */
#ifndef WIRE_PERFREAD_EVENTS_H
#define WIRE_PERFREAD_EVENTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/interner.h"
#include "base/types.h"
#include "wire/perf/perfread_file.h"

#define PERFREAD_EVENTS_MAX 65536u
#define PERFREAD_IDS_MAX (4u << 20)
#define PERFREAD_EVENT_NAME 256

struct perfread_event {
	u32 type;
	bool is_freq, has_trailers, has_clock;
	int clock;			/* CLOCK_..., if it has one */
	u64 config, period, sample_type, read_format, branch_type, regs_user;
	char *name;			/* or NULL */
};

struct perfread_events {
	struct arena arena;
	struct perfread_event *at;
	u32 count, cap;
	struct interner ids;
	u32 *event_of_id;		/* by number of the id */
	u32 id_cap, listed;		/* listed: ids so far, with those that came before */
};

/* Fields that an event's samples do not have are 0. */
struct perfread_sample {
	u32 event;
	u32 pid, tid, cpu;
	bool has_tid, has_time, has_cpu;
	u64 ip, time_ns;
	s64 period;
	s64 fixed_period;		/* which the event was to have; 0: perf chose it */
	struct cursor chain;		/* u64 each: addresses, and markers of what they are */
	bool has_chain;
	u64 regs_abi, regs_mask;	/* user registers: those of the mask, u64 each */
	struct cursor regs;
	struct cursor stack;		/* copied, from the stack pointer on */
};

/* What stands behind every other record of the kernel. */
struct perfread_trailer {
	u64 time_ns;			/* 0: not known */
};

void perfread_events_init(struct perfread_events *events);
void perfread_events_done(struct perfread_events *events);

/* An attr of any length, and its ids. -ENOMEM, -E2BIG. */
int perfread_events_add(struct perfread_events *events, struct cursor attr, struct cursor ids);

/* The names that the file has for its events (PERFDATA_EVENT_DESC). -ENOMEM. */
int perfread_events_describe(struct perfread_events *events, struct cursor bytes);

/* The same of one event (PERFDATA_RECORD_EVENT_UPDATE). -ENOMEM. */
int perfread_events_update(struct perfread_events *events, struct cursor bytes);

/* What perf calls the event, if the file does not say. */
void perfread_event_name(const struct perfread_event *event, char ret_name[PERFREAD_EVENT_NAME]);

/* Is it the output of a BPF program? */
bool perfread_event_is_output(const struct perfread_event *event);

/* Does a period of it count nanoseconds of CPU time? */
bool perfread_event_is_time(const struct perfread_event *event);

/* False: the record is too short for what it should hold, or of no event. */
bool perfread_sample_read(const struct perfread_events *events, struct cursor body, struct perfread_sample *ret_sample);

/* A user register, by its number in perf's masks. False: the sample does not have it. */
bool perfread_sample_register(const struct perfread_sample *sample, u32 number, u64 *ret_value);

/* Cuts the trailer off from the end of a record. */
struct perfread_trailer perfread_trailer_take(const struct perfread_events *events, struct cursor *body);

#endif
