/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Lanes: all that a thread did, one thing after the other, without gaps: it ran, waited, wanted a CPU. That is told
 * when it comes back to a CPU, when it ends, and at the end of a window: from where it was last told (lane_ns) up to
 * now, in one record, since in a round these three follow each other.
 *
 * What is not known is left out, and counted: where switches were not looked at, since there were too many of them,
 * and what is more than a CPU may tell.
 */
#ifndef KINDS_OFF_CPU_LANES_H
#define KINDS_OFF_CPU_LANES_H

#include "kinds/list.h"
#include "weigh.h"

/* What is told of a lane. The mask below needs room for twice as many frames. */
#define LANE_STACK_MASK (2 * LANE_FRAMES_MAX * 8 - 1)

struct lane_report {
	struct trace_record trace;
	struct lane_times times;
	u64 kernel[2 * LANE_FRAMES_MAX];
	struct kernel_regs regs;
};
#define LANE_BYTES_MAX (sizeof(struct trace_record) + sizeof(struct lane_times) + 2 * LANE_FRAMES_MAX * 8)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct lane_report);
} lane_reports SEC(".maps");

/* Up to when switches of a CPU were not looked at: what begins before is not known. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} shed_until SEC(".maps");

static __always_inline void lanes_shed(u64 until_ns)
{
	u32 zero = 0;
	u64 *until = bpf_map_lookup_elem(&shed_until, &zero);

	if (until && *until < until_ns)
		*until = until_ns;
}

static __always_inline int lane_is_known(const struct thread_notes *t)
{
	u32 zero = 0;
	const u64 *until = bpf_map_lookup_elem(&shed_until, &zero);

	return until && *until <= t->lane_ns;
}

static __always_inline void lane_lose(struct thread_notes *t, u64 now)
{
	count(COUNTER_LANES_LOST);
	t->lane_ns = now;
}

static __always_inline u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* What it did since that was last told. out_ns is 0 of one that runs. */
static __always_inline void lane_measure(const struct thread_notes *t, u64 now, struct lane_times *to)
{
	u64 from = t->lane_ns, left = now, woken = now;

	if (t->out_ns) {
		left = later(t->since_ns, from);
		if (t->wait == WAIT_CPU)
			woken = left;
		else if (t->woken_ns && t->woken_ns < now)
			woken = later(t->woken_ns, left);
	}
	to->ran_ns = left - from;
	to->waited_ns = woken - left;
	to->queued_ns = now - woken;
}

/* It leaves a CPU: if it was not known to be on one, it came there unseen. */
static __always_inline void lane_leave(struct thread_notes *t, u64 now)
{
	if (t->out_ns)
		lane_lose(t, now);
	t->woken_ns = 0;
}

/* 1 if it is not to be told of: a process outside of the namespace. */
static __always_inline int report_begin(struct trace_record *trace, struct task_struct *task, const struct proc_id *id,
					u64 now)
{
	__builtin_memset(trace, 0, sizeof(*trace));
	trace->time_ns = now;
	trace->id = *id;
	trace->kernel_pid = (u32)task->tgid;
	trace->pid = switches.pid_namespace ? process_number(BPF_CORE_READ(task, group_leader)) : (u32)task->tgid;
	trace->tid = switches.pid_namespace ? process_number(task) : (u32)task->pid;
	trace->syscall = -1;
	trace->kind = (u8)switches.kind;
	trace->end = END_NOT_TAKEN;
	bpf_probe_read_kernel_str(trace->comm, sizeof(trace->comm), task->comm);
	return !trace->pid || !trace->tid;
}

/* In which functions of the kernel a thread waits, and what it has called; how many bytes they are. */
static __always_inline u32 lane_stack(struct lane_report *r, struct task_struct *task, u32 wait)
{
	long bytes = bpf_get_task_stack(task, r->kernel, LANE_FRAMES_MAX * 8, 0);

	if (!registers_of_task(task, &r->regs)) {
		if (registers_are_32bit(&r->regs)) {
			wait = wait == WAIT_CPU || wait == WAIT_STOP ? wait : WAIT_UNKNOWN;
		} else if (registers_in_syscall(&r->regs)) {
			r->trace.flags = TRACE_SYSCALL;
			r->trace.syscall = registers_syscall(&r->regs);
		}
	}
	r->trace.flags |= (u8)(wait << TRACE_WAIT_SHIFT);
	return bytes > 0 ? (u32)bytes & LANE_STACK_MASK : 0;
}

/* Fills in a record of what the thread did since that was last told. Its bytes; 0 if it is not to be told. */
static __noinline u32 lane_fill(struct lane_report *r, struct task_struct *task, const struct thread_notes *t, u64 now)
{
	struct proc_id id = process_id(task);
	u32 bytes = 0;

	if (report_begin(&r->trace, task, &id, now))
		return 0;
	r->trace.kind = KIND_LANES;
	r->trace.end = END_COMPLETE;
	r->trace.cpu = t->cpu;
	lane_measure(t, now, &r->times);
	if (t->out_ns)
		bytes = lane_stack(r, task, t->wait);
	r->trace.user_count = (u16)((sizeof(r->times) + bytes) >> 3);
	return sizeof(r->trace) + sizeof(r->times) + bytes;
}

static __noinline int lane_send(struct task_struct *task, struct thread_notes *t, u64 now)
{
	u32 one = 1, which = bpf_get_smp_processor_id() % switches.ring_count, bytes;
	struct lane_report *r = bpf_map_lookup_elem(&lane_reports, &one);
	void *ring = bpf_map_lookup_elem(&rings, &which);
	u64 flags = BPF_RB_NO_WAKEUP;

	if (!r || !ring)
		return 0;
	bytes = lane_fill(r, task, t, now);
	if (!bytes || bytes > LANE_BYTES_MAX)
		return 0;
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= switches.ring_bytes / 4)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(ring, r, bytes, flags))
		count(COUNTER_LANES_LOST);
	t->lane_ns = now;
	return 0;
}

/* It comes back to a CPU: if it was not known to be away, it left unseen. */
static __always_inline void lane_return(struct task_struct *task, struct thread_notes *t, u64 now, int has_room)
{
	t->cpu = bpf_get_smp_processor_id();
	if (t->out_ns && has_room && lane_is_known(t))
		lane_send(task, t, now);
	else
		lane_lose(t, now);
}

static __always_inline void lane_end(struct task_struct *task, struct thread_notes *t, u64 now)
{
	if (lane_is_known(t))
		lane_send(task, t, now);
	else
		lane_lose(t, now);
}

/* Where a thread's lane is now. Less than 0 if that does not fit. */
static __always_inline int account_lane(struct seq_file *seq, struct task_struct *task, struct thread_notes *t, u64 now)
{
	u32 zero = 0, bytes;
	struct lane_report *r = bpf_map_lookup_elem(&lane_reports, &zero);
	u64 lane_ns = t->lane_ns;

	if (!r || now < lane_ns)
		return 0;
	if (!lane_is_known(t)) {
		lane_lose(t, now);
		return 0;
	}
	bytes = lane_fill(r, task, t, now);
	/* It has told that itself meanwhile, at a switch. */
	if (!bytes || bytes > LANE_BYTES_MAX || t->lane_ns != lane_ns)
		return 0;
	if (bpf_seq_write(seq, r, bytes))
		return -1;
	t->lane_ns = now;
	return 0;
}

#endif
