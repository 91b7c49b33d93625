/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The programs of a kind whose events are perf's: each event on a CPU is a sample of what runs there. */
#ifndef BPF_PERF_SAMPLE_H
#define BPF_PERF_SAMPLE_H

#include "sample.h"

static __always_inline int hook_in_user_mode(void *ctx)
{
	return registers_in_user_mode(ctx);
}

static __always_inline void hook_registers(void *ctx, struct kernel_regs *regs)
{
	registers_of_context(ctx, regs);
}

static __always_inline long hook_kernel_stack(struct unwind *u, void *ctx)
{
	return bpf_get_stack(ctx, u->words, KERNEL_FRAMES_MAX * 8, 0);
}

/* 1 if this tick is left out: the one that is taken next weighs for it, too. */
static __always_inline int sample_spare(struct unwind *u)
{
	u32 zero = 0;
	const struct pace *now = bpf_map_lookup_elem(&pace, &zero);

	u->weight = u->spared + 1;
	if (now && u->weight < now->every) {
		count(COUNTER_SPARED);
		u->spared = u->weight;
		u->busy = 0;
		return 1;
	}
	u->spared = 0;
	u->frames_max = now ? now->frames_max : 0;
	return 0;
}

static __always_inline struct unwind *sample_take(struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct proc_id id;
	struct unwind *u;

	if (!(u32)pid_tgid)
		return 0;	/* idle */
	count(COUNTER_TICKS);
	id = process_current();
	if (!process_is_wanted(task, pid_tgid >> 32, &id)) {
		count(COUNTER_FILTERED);
		return 0;
	}
	u = scratch_take();
	if (!u)
		return 0;
	if ((switches.pid_namespace && sample_number(u, task)) || sample_spare(u))
		return 0;
	u->trace.id = id;
	begin(u, ctx, pid_tgid);
	return u;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct unwind *u = sample_take(ctx, task);

	if (!u)
		return 0;
	if (sample_begin(u, ctx, task))
		walk(u, ctx);
	sample_end(u, ctx, task);
	return 0;
}

/* The end of a walk that a language's program took over. */
SEC("perf_event")
int finish(struct bpf_perf_event_data *ctx)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (u && u->busy)
		sample_end(u, ctx, (void *)bpf_get_current_task());
	return 0;
}

#endif
