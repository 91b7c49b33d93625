/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads say of their work: finds the processes whose threads do, and tells the kernel half where.
 *
 *  - For which requests they work. A process is looked at only if it maps a file with one of the variables (bpf/abi.h:
 *    Threads). OpenTelemetry's counts if the process has published a process context (proc/process_context.h) that says
 *    how; both may come at any time, and change. Else that of an APM agent does.
 *  - Variables whose values are wanted as labels (proc/thread_labels.h). A process is looked at if it maps a file with
 *    one of them, until the dynamic linker has said where it is, and when it maps others.
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
struct thread_labels;
struct window_process;

struct requests {
	struct tables *tables;
	struct modules *modules;
	struct peek *peek;
	struct thread_labels *labels;	/* that are wanted; NULL: none */
	bool is_off;		/* nobody is looked at for requests */
	u64 attached;		/* processes whose threads say for which they work */
	u64 refused;		/* ... that did, or could, in a way that was not understood */
	u64 labelled;		/* processes with variables that are wanted as labels */
	u64 labels_refused;	/* ... that are not what they should be, or could not be found out about */
};

/* Its mappings have changed: it may have got variables, or lost them. */
void requests_mapped(const struct requests *requests, struct process *process, u64 now_ns);

/* Looks at it, if that is due, by one of its threads; true if the kernel half is to be told of something new. */
bool requests_look(struct requests *requests, struct process *process, u32 tid, u64 now_ns);

/* The slot that says where (bpf/abi.h: struct thread_places), or 0. */
u32 requests_slot(const struct process *process);

/* The names of attributes, borrowed. */
void requests_describe(const struct process *process, struct window_process *to);

void requests_forget(struct requests *requests, struct process *process, u64 now_ns);

#endif
