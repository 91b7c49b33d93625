/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the program of a kind of sample does, wherever in the kernel it runs: an
 * event becomes a record with the kernel stack and the user stack, or with a
 * copy of the top of the user stack where the process has no tables yet.
 *
 * A kinds/<folder>/<folder>.bpf.c says what the sample weighs, in the unit of
 * its kind, in
 *
 *	u64 measure(struct unwind *u, struct cpu_state *state, void *ctx);
 *
 * which may keep something from sample to sample in state->own. Kinds whose
 * events are perf's include perf_sample.h, which has their programs; one at
 * another hook includes this, says what is known there by the other functions
 * below, and has programs `sample` and `finish` of its own.
 */
#ifndef BPF_SAMPLE_H
#define BPF_SAMPLE_H

#include "walk.h"
#include "process.h"
#include "registers.h"
#include "thread_says.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline u64 measure(struct unwind *u, struct cpu_state *state, void *ctx);

/* Was user code interrupted? Then its registers are in the context. */
static __always_inline int hook_in_user_mode(void *ctx);
static __always_inline void hook_registers(void *ctx, struct kernel_regs *regs);

/* Fills in the kernel's part of the stack, from u->words on; its bytes, or less than 0. */
static __always_inline long hook_kernel_stack(struct unwind *u, void *ctx);

/* The scratch of this CPU, or NULL while a sample that this one interrupts is using it. */
static __always_inline struct unwind *scratch_take(void)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (!u)
		return 0;
	if (u->busy) {
		count(COUNTER_NO_SCRATCH);
		return 0;
	}
	u->busy = 1;
	return u;
}

static __always_inline void *ring_of_cpu(const struct unwind *u)
{
	u32 which = u->trace.cpu % switches.ring_count;

	return bpf_map_lookup_elem(&rings, &which);
}

static __always_inline void emit(struct unwind *u)
{
	u64 words = (u64)u->trace.kernel_count + u->trace.user_count;
	u64 bytes = sizeof(u->trace) + words * 8 + u->trace.slice_bytes;
	u64 flags = BPF_RB_NO_WAKEUP;
	void *ring = ring_of_cpu(u);

	if (u->trace.end == END_SLICE)
		bytes += sizeof(struct slice_regs);
	if (!ring || bytes > sizeof(u->trace) + sizeof(u->words)) {
		count(COUNTER_NO_RING);
		return;
	}
	/* A process without tables gets them the sooner, the sooner we are heard. */
	if (u->trace.end == END_SLICE || bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= switches.ring_bytes / 4)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(ring, &u->trace, bytes, flags))
		count(COUNTER_RING_FULL);
	else
		count(u->trace.flags >> TRACE_WAIT_SHIFT == WAIT_WAKES ? COUNTER_WAKERS : COUNTER_SENT);
}

/*
 * Copies the stack from an address on, step by step, to that many bytes into u->words: as much as is there, up to the
 * limit or the stack's top. A buffer on it may have pages that are not there yet: u->trace.slice_holes. Returns how
 * many bytes. Looked at by the verifier alone, as walk_step() is: half a second, were it looked at in each of its
 * callers.
 */
__noinline int copy_stack(u64 from_va, u64 to, u64 steps)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 top = BPF_CORE_READ(task, mm, start_stack), got = 0, whole = 0, i = 0;
	u64 step = SLICE_STEP_BYTES - (from_va & (SLICE_STEP_BYTES - 1));
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (!u)
		return 0;
	/* In memory, of which the verifier knows nothing: it would follow each number of them. */
	u->trace.slice_holes = 0;
	u->holes = 0;
	LOOP_NO_UNROLL
	for (; i < SLICE_BYTES_MAX / SLICE_STEP_BYTES; i++) {
		if (i >= steps)
			break;
		if (from_va <= top && from_va + got > top)
			break;
		/* Where it goes is one number, checked right before: the verifier adds up the largest there can be. */
		asm volatile("" : "+r"(to));
		if (to > sizeof(u->words) - SLICE_STEP_BYTES || step > SLICE_STEP_BYTES)
			break;
		if (!bpf_probe_read_user((char *)u->words + to, step, (void *)(from_va + got))) {
			whole = got + step;
		} else {
			if (++u->holes > SLICE_HOLES_MAX)
				break;
			u->trace.slice_holes |= 1ull << i;
		}
		got += step;
		to += step;
		step = SLICE_STEP_BYTES;
	}
	/* What lies in a hole at its end is nothing, but the stack goes on behind it. */
	return (int)(i == SLICE_BYTES_MAX / SLICE_STEP_BYTES ? got : whole);
}

/* A copy of the stack from its pointer on. It goes on from the frames that there are. */
static __always_inline void take_slice(struct unwind *u)
{
	u64 at = (u64)u->trace.kernel_count + u->trace.user_count;
	u64 steps = SLICE_BYTES_MAX / SLICE_STEP_BYTES, waiting;
	void *ring = ring_of_cpu(u);

	u->trace.end = END_SLICE;
	u->trace.slice_bytes = 0;
	u->trace.slice_state = (u->is_leaf ? SLICE_IS_LEAF : 0) | (u->is_return ? SLICE_IS_RETURN : 0) |
			       (u->is_guess ? SLICE_IS_GUESS : 0) | (u->sp_lost ? SLICE_SP_LOST : 0) |
			       (u->is_unsure ? SLICE_IS_UNSURE : 0);
	if (at > LEADING_WORDS_MAX + USER_WORDS_MAX)
		return;
	*(struct slice_regs *)&u->words[at] = u->regs;
	/* Rather short slices than no room for other samples, and first those of a process that sent one already. */
	waiting = ring ? bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) : 0;
	if (waiting > switches.ring_bytes / 2)
		steps = 2;
	else if (waiting > switches.ring_bytes / 8 && u->slice_pid == u->trace.pid)
		steps = 5;
	u->slice_pid = u->trace.pid;
	u->trace.slice_bytes = (u32)copy_stack(u->regs.reg[REG_SP], at * 8 + sizeof(struct slice_regs), steps);
}

/* After a slice that is as long as a record can be: what comes next on the stack, in records of their own. */
static __always_inline void emit_rest(struct unwind *u)
{
	u64 va = u->regs.reg[REG_SP];
	void *ring = ring_of_cpu(u);

	u->trace.end = END_SLICE_SHORT;
	u->trace.flags = TRACE_REST;
	u->trace.request_words = 0;
	u->trace.label_words = 0;
	u->trace.kernel_count = 0;
	u->trace.user_count = 0;
	LOOP_NO_UNROLL
	for (u32 part = 0; part < SLICE_RESTS_MAX; part++) {
		u64 bytes = u->trace.slice_bytes;

		if (!ring || bytes <= SLICE_BYTES_MAX - SLICE_STEP_BYTES)
			break;
		va += bytes;
		bytes = (u32)copy_stack(va, 0, SLICE_BYTES_MAX / SLICE_STEP_BYTES);
		u->trace.slice_bytes = bytes;
		if (!bytes || bytes > SLICE_BYTES_MAX ||
		    bpf_ringbuf_output(ring, &u->trace, sizeof(u->trace) + bytes, BPF_RB_FORCE_WAKEUP))
			break;
	}
}

/* Fills u->regs; 0 if there is a user stack to unwind. */
static __always_inline int user_registers(struct unwind *u, void *ctx, struct task_struct *task)
{
	u32 flags = CURRENT(flags);
	/* Where no frame is yet: arm64's would be half of the stack that a program and what it calls may use. */
	struct kernel_regs *regs = (void *)&u->words[WORDS_MAX - sizeof(*regs) / 8];

	if (flags & PF_KTHREAD)
		return unwind_end(u, END_KERNEL_THREAD);
	if (flags & PF_EXITING || !CURRENT(mm))
		return unwind_end(u, END_EXIT);
	if (u->trace.flags & TRACE_USER_MODE) {
		hook_registers(ctx, regs);
	} else {
		if (registers_of_current(task, regs))
			return unwind_end(u, END_NO_REGISTERS);
		if (registers_in_syscall(regs)) {
			u->trace.flags |= TRACE_SYSCALL;
			u->trace.syscall = registers_syscall(regs);
			u->is_return = 1;
		}
		if (BPF_CORE_READ_BITFIELD_PROBED(task, in_execve))
			return unwind_end(u, END_EXEC);
	}
	if (registers_are_32bit(regs))
		return unwind_end(u, END_COMPAT);
	registers_to_dwarf(regs, &u->regs);
	return 0;
}

static __always_inline void kernel_stack(struct unwind *u, void *ctx)
{
	long bytes = hook_kernel_stack(u, ctx);

	if (bytes <= 0)
		return;
	u->trace.kernel_count = (u16)((u64)bytes >> 3);
	if (u->trace.kernel_count >= KERNEL_FRAMES_MAX)
		count(COUNTER_KERNEL_CUT);
}

/* The walk is where the tick was: all registers are known, and nothing was guessed. */
static __always_inline void at_leaf(struct unwind *u)
{
	u->is_leaf = 1;
	u->is_return = 0;
	u->is_guess = 0;
	u->sp_lost = 0;
	u->is_unsure = 0;
}

static __always_inline void begin(struct unwind *u, void *ctx, u64 pid_tgid)
{
	u->trace.time_ns = bpf_ktime_get_ns();
	u->trace.kernel_pid = pid_tgid >> 32;
	if (!switches.pid_namespace) {
		u->trace.pid = u->trace.kernel_pid;
		u->trace.tid = (u32)pid_tgid;
	}
	u->trace.cpu = (u16)bpf_get_smp_processor_id();
	u->trace.syscall = -1;
	u->trace.kernel_count = 0;
	u->trace.user_count = 0;
	u->trace.request_words = 0;
	u->trace.label_words = 0;
	u->trace.clock_hz = 0;
	u->trace.slice_bytes = 0;
	u->trace.slice_holes = 0;
	u->trace.end = END_NO_REGISTERS;
	u->trace.flags = 0;
	u->trace.slice_state = 0;
	u->trace.kind = (u8)switches.kind;
	u->trace.value = 1;
	u->trace.wake = 0;
	u->trace.lock_va = 0;
	u->trace.holder = 0;
	u->trace.wait_us = 0;
	at_leaf(u);
	u->stack_switches = 0;
	u->fp_va = 0;
	u->bx_va = 0;
	u->map.start_va = 0;
	u->map.end_va = 0;
	u->rows_absent = 0;
	u->user_va_mask = switches.user_va_mask;
	walk_begin(u);
	bpf_get_current_comm(u->trace.comm, sizeof(u->trace.comm));
}

/* 0 if the event is to become a trace, with all but the user stack filled in; 1 if that can be unwound here. */
static __always_inline int sample_begin(struct unwind *u, void *ctx, struct task_struct *task)
{
	u32 cpu = u->trace.cpu;
	struct cpu_state *state = bpf_map_lookup_elem(&cpus, &cpu);
	const struct proc_entry *proc;

	if (!state)
		return 0;
	u->trace.value = measure(u, state, ctx) * u->weight;
	if (u->frames_max == STACKS_NONE) {
		u->trace.end = END_SPARED;
		return 0;
	}
	if (hook_in_user_mode(ctx))
		u->trace.flags |= TRACE_USER_MODE;
	else
		kernel_stack(u, ctx);
	if (user_registers(u, ctx, task))
		return 0;
	proc = process_find(state, u->trace.kernel_pid, &u->trace.id);
	if (!proc) {
		take_slice(u);
		return 0;
	}
	u->map_first = proc->map_first;
	u->map_count = proc->map_count;
	u->maps_serial = proc->maps_serial;
	u->first_slot = proc->slot;
	u->lang = proc->slot ? (u8)proc->start_lang : 0;
	if (proc->thread_slot || obi_map())
		thread_says(proc->thread_slot);	/* slot 0 is empty */
	u->trace.end = END_TRUNCATED;	/* unless it ends before all steps are taken */
	return 1;
}

/* A copy of the whole stack, from the interrupted frame on. */
static __always_inline void slice_from_leaf(struct unwind *u, void *ctx, struct task_struct *task)
{
	at_leaf(u);
	u->trace.user_count = 0;
	u->trace.frame_count = 0;
	u->trace.frames_lost = 0;
	if (!user_registers(u, ctx, task))
		take_slice(u);
}

/* ... from the frame on that the walk has come to. Where registers were saved lies below. */
static __always_inline int slice_from_here(struct unwind *u)
{
	if (native_fp(u))
		return -1;
#if REG_RA != 30
	if (u->bx_va && read_user(u, &u->regs.reg[REG_BX], sizeof(u64), u->bx_va))
		return -1;
#endif
	take_slice(u);
	return 0;
}

/*
 * After the walk: an address in a mapping that user space has not told us of
 * yet needs the copy after all. So does a page that cannot be read here: user
 * space can. (To processors of Armv8.0, which do not set the access flag
 * themselves, a child's pages are such until it touches them.) Code whose rows
 * are not here needs one from there on: however deep the stack, with each
 * sample more of its rows come.
 */
static __always_inline void sample_end(struct unwind *u, void *ctx, struct task_struct *task)
{
	if (u->trace.end == END_NO_ROWS) {
		count(COUNTER_ROWS_MISSES);
		if (slice_from_here(u))
			slice_from_leaf(u, ctx, task);
	} else if (u->trace.end == END_NO_MAPPING || u->trace.end == END_UNREADABLE) {
		slice_from_leaf(u, ctx, task);
	}
	emit(u);
	if (u->trace.end == END_SLICE)
		emit_rest(u);
	count_by(COUNTER_RUN_NS, bpf_ktime_get_ns() - u->trace.time_ns);
	u->busy = 0;
}

/* In a PID namespace below the first: the numbers there; 1 if the process is outside. */
static __always_inline int sample_number(struct unwind *u, struct task_struct *task)
{
	u->trace.pid = process_number(BPF_CORE_READ(task, group_leader));
	u->trace.tid = process_number(task);
	if (u->trace.pid && u->trace.tid)
		return 0;
	count(COUNTER_OUTSIDE);
	u->busy = 0;
	return 1;
}

/* Code of a runtime is for its own program to walk, if the process is known to have that runtime. */
static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule)
{
	if (!u->first_slot)
		return STEP_NATIVE;
	if (u->first_slot == SLOT_LOADING) {
		(void)unwind_end(u, END_NO_ROWS);
		return STEP_END;
	}
	u->lang = lang;
	return STEP_SWITCH;
}

#endif
