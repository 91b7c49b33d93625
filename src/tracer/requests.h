/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For which requests the threads of processes work: finds the processes whose threads say so (OpenTelemetry's thread
 * context), and tells the kernel half where. A process is looked at only if it maps a file with the variable, and has
 * published a process context (proc/process_context.h) that says how; both may come at any time, and change.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_REQUESTS_H
#define TRACER_REQUESTS_H

#include <stdbool.h>

#include "base/types.h"
#include "proc/processes.h"

struct modules;
struct peek;
struct tables;
struct window_process;

struct requests {
	struct tables *tables;
	struct modules *modules;
	struct peek *peek;
	bool is_off;		/* nobody is looked at */
	u64 attached;		/* processes whose threads say so */
	u64 refused;		/* ... that did, or could, in a way that was not understood */
};

/* Its mappings have changed: it may have got the variable, or lost it. */
void requests_mapped(const struct requests *requests, struct process *process, u64 now_ns);

/* Looks at it, if that is due, by one of its threads; true if the kernel half is to be told of something new. */
bool requests_look(struct requests *requests, struct process *process, u32 tid, u64 now_ns);

/* The slot that says where (bpf/abi.h: struct variable_place), or 0. */
u32 requests_slot(const struct process *process);

/* The names of attributes, borrowed. */
void requests_describe(const struct process *process, struct window_process *to);

void requests_forget(struct requests *requests, struct process *process, u64 now_ns);

#endif
