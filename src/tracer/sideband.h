/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to processes, as the kernel tells it: perf's side-band records
 * (mmap, comm, fork, exit, symbols of BPF programs, throttling), from one
 * dummy event on each CPU.
 *
 * Each CPU has its own buffer; sideband_read() takes what is there from all of
 * them, and hands events on in the order of time once no earlier one can
 * still come: those up to a given time.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_SIDEBAND_H
#define TRACER_SIDEBAND_H

#include <stdbool.h>

#include "abi.h"
#include "base/cleanup.h"
#include "proc/maps.h"

struct sideband;

enum event_kind {
	EVENT_MMAP, EVENT_COMM, EVENT_EXEC, EVENT_FORK, EVENT_EXIT, EVENT_KSYMBOL, EVENT_LOST, EVENT_THROTTLE,
};

/* Strings are good until the event has been handled. */
struct sideband_event {
	enum event_kind kind;
	u64 time_ns;
	u64 order;		/* of arrival, among equal times */
	u32 pid, tid;
	union {
		struct mapping mapping;			/* MMAP */
		char comm[COMM_BYTES];			/* COMM, EXEC */
		struct { u32 parent_pid, parent_tid; };	/* FORK */
		struct {				/* KSYMBOL */
			u64 va;
			u32 bytes;
			bool registered;
			char *name;
		} symbol;
		u64 lost;				/* LOST */
	};
};

struct sideband_stats {
	u64 events;
	u64 lost;	/* records the kernel could not deliver */
	u64 malformed;
	u64 late;	/* came after one that was later had been handled */
	u64 throttled;	/* times the kernel paused sampling for taking too long */
};

int sideband_new(struct sideband **ret_sideband);
void sideband_free(struct sideband *sideband);
DEFINE_CLEANUP(struct sideband *, sideband_free)

/* Listens on one more CPU. Its file descriptor: other events of the CPU may write their records there. */
int sideband_add_cpu(struct sideband *sideband, u32 cpu);
/* Takes over what is in its buffer, and listens no more. */
void sideband_remove_cpu(struct sideband *sideband, u32 cpu);

/* Takes over what is in the buffers. */
void sideband_read(struct sideband *sideband);

/* One more event, as if it had been in a buffer. Takes what it owns. */
void sideband_add(struct sideband *sideband, struct sideband_event *event);

/* Hands on, in order, the events taken over that are not later than until_ns. */
void sideband_dispatch(struct sideband *sideband, u64 until_ns,
		       void (*handle)(void *arg, const struct sideband_event *event), void *arg);

/* Is there an exec of that process among the events taken over but not handed on? */
bool sideband_exec_waits(const struct sideband *sideband, u32 pid);

/* Are there events that wait for their time? */
bool sideband_waits(const struct sideband *sideband);

struct sideband_stats sideband_stats(const struct sideband *sideband);

#endif
