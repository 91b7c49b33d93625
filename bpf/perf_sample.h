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

#define KIND_IS_CPU (switches.kind == 0)
#define OTHER_TICK_NS 1500	/* what a tick costs that is looked at only, with its interrupt: counts as ours */

/* 1 if this tick is left out: the one that is taken next weighs for it, too. Those of a clock beside weigh alone. */
static __always_inline int sample_spare(struct unwind *u, u32 clock_hz)
{
	u32 zero = 0;
	const struct pace *now = bpf_map_lookup_elem(&pace, &zero);

	u->frames_max = now ? now->frames_max : 0;
	u->weight = 1;
	if (clock_hz)
		return 0;
	u->weight = u->spared + 1;
	if (now && u->weight < now->every) {
		count(COUNTER_SPARED);
		u->spared = u->weight;
		u->busy = 0;
		return 1;
	}
	u->spared = 0;
	return 0;
}

/* Which clock ticks, where there are several; 0: the one that is always there. */
static __always_inline u32 sample_clock(struct bpf_perf_event_data *ctx, u64 rules)
{
	struct perf_event *event = 0;

	if (!KIND_IS_CPU || !(rules & RULES_HAVE_CLOCKS))
		return 0;
	bpf_core_read(&event, sizeof(event), &((struct bpf_perf_event_data_kern *)ctx)->event);
	return BPF_CORE_READ(event, attr.wakeup_events);
}

/* A process is sampled by one clock: 1 if this tick is another's. */
static __always_inline int sample_by_other(u64 rules, const struct verdict *verdict, u32 clock_hz)
{
	if (!KIND_IS_CPU || !(rules & RULES_HAVE_CLOCKS) || clock_hz == (verdict ? verdict->clock_hz : 0))
		return 0;
	count(COUNTER_OTHER_CLOCK);
	if (clock_hz)
		count_by(COUNTER_RUN_NS, OTHER_TICK_NS);
	return 1;
}

static __always_inline struct unwind *sample_take(struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct proc_id id;
	struct unwind *u;
	const struct verdict *verdict;
	u64 rules = process_rules();
	u32 clock_hz, every;

	if (!(u32)pid_tgid)
		return 0;	/* idle */
	id = process_current();
	verdict = process_verdict(rules, pid_tgid >> 32, &id);
	clock_hz = sample_clock(ctx, rules);
	if (sample_by_other(rules, verdict, clock_hz))
		return 0;
	count(COUNTER_TICKS);
	every = verdict ? verdict->every : 1;
	if (!every || !process_is_chosen(task, pid_tgid >> 32, &id)) {
		count(COUNTER_FILTERED);
		return 0;
	}
	/* By chance: a process need not come by on this CPU again, and what it does may keep step with any count. */
	if (every > 1 && !clock_hz && bpf_get_prandom_u32() % every) {
		count(COUNTER_THINNED);
		return 0;
	}
	u = scratch_take();
	if (!u)
		return 0;
	if ((switches.pid_namespace && sample_number(u, task)) || sample_spare(u, clock_hz))
		return 0;
	if (!clock_hz)
		u->weight *= every;
	u->trace.id = id;
	begin(u, ctx, pid_tgid);
	u->trace.clock_hz = (u16)clock_hz;
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
