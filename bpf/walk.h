/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The walk from the interrupted frame to the first of the thread, in the
 * kernel. A program that includes this walks native frames by itself; what
 * becomes of a frame that lies in the code of a runtime it decides in
 *
 *	int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule);
 *
 * The program of a kind (bpf/sample.h) hands such frames over to the runtime's
 * program, by a tail call. Each lang/<folder>/<folder>.bpf.c includes this,
 * defines runtime_step() for its own frames, and ends with WALKER(): see
 * lang/README.md.
 *
 * The maps below are a kind's own: a sample of one may be taken while a walk
 * of another is under way. Its object makes them; a language's object is
 * loaded for each kind, as a program of the kind's type, and takes over that
 * kind's maps. So a walk finds its state without asking whose it is.
 *
 * One step of the walk is a global function: the verifier looks at it once,
 * alone, however often it is called. So a plain bounded loop of 16384 frames
 * loads on every kernel that has global functions (v5.6), without bpf_loop.
 */
#ifndef BPF_WALK_H
#define BPF_WALK_H

#include "tables.h"

/* The programs of languages, by enum lang (lang/list.h); that of LANG_NUMBER_NONE ends the walk. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, LANG_NUMBERS_MAX);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} walkers SEC(".maps");

/* The unwind in progress. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind);
} scratch SEC(".maps");

/*
 * One value a CPU; sized when loaded. An array, and shared memory: its address is in the program, and begins at a page,
 * so that nothing lies in two lines of the cache.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

static __always_inline struct place *table_place(struct unwind *u, u64 va)
{
	u32 cpu = u->trace.cpu;
	struct cpu_state *state = bpf_map_lookup_elem(&cpus, &cpu);

	return state ? &state->places[place_index(va)] : 0;
}

static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule);

#include "native.h"

#define SWITCHES_MAX 24	/* tail calls for a walk; the kernel allows 33 */
#define WALK_BATCH 128	/* the verifier keeps a few branches for each round of the loop around it, 8192 at most */
#define WALK_BATCHES 16
#define QUICK_STEPS 8	/* at once */
#define HIDDEN_RETURNS_MAX 8	/* functions of a stack that are probed where they return */
#define URETPROBE_DEPTH_MAX 64	/* kernel/events/uprobes.c, MAX_URETPROBE_DEPTH */

/*
 * Programs that make tail calls may have functions only from v5.10 on (x86-64) and v6.0 (arm64): where the kernel says
 * no (switches.may_switch), all code is walked as native.
 */

static __always_inline void walk_begin(struct unwind *u)
{
	u->lang = 0;
	u->lang_here = 0;
	u->switch_count = 0;
	u->trace.frame_count = 0;
	u->trace.frames_lost = 0;
	u->first_slot = 0;
	u->langs_off = 0;
	u->ends_at_zero = 0;
}

/* Global functions of v5.10 take no pointers: the state is looked up again. */
__noinline int walk_step(u32 unused)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (!u)
		return 1;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < QUICK_STEPS && native_quick_step(u); i++)
		;
	return native_step(u);
}

/* Many steps. The verifier goes round a loop as often as it may turn, but round this one only once, alone, too. */
__noinline int walk_steps(u32 unused)
{
	asm volatile("" : : "r"(unused));	/* callers would pass what they have not set */
	LOOP_NO_UNROLL
	for (u64 i = 0; i < WALK_BATCH; i++)
		if (walk_step(0))
			return 1;
	return 0;
}

/* Returns only if the program that should take over is not there: its code is then walked as native. */
static __always_inline void walk_switch(struct unwind *u, void *ctx)
{
	u32 lang = u->lang;

	if (switches.may_switch && u->switch_count < SWITCHES_MAX) {
		u->switch_count++;
		bpf_tail_call(ctx, &walkers, lang);
	}
	count(COUNTER_NO_WALKER);
	u->langs_off |= 1u << (lang & 31);
	u->lang = 0;
}

/* Whoever is sampled waits: a deep stack of frames that take long is cut. Asked for deep ones only. */
static __always_inline int walk_is_late(struct unwind *u)
{
	if (u->frames_max && u->trace.frame_count >= u->frames_max)
		return unwind_end(u, END_TRUNCATED);
	return bpf_ktime_get_ns() - u->trace.time_ns > WALK_NS_MAX ? unwind_end(u, END_TRUNCATED) : 0;
}

/* Many more, likewise: 1 if the walk has ended, or goes on in another program. */
__noinline int walk_batches(u32 unused)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);

	if (!u)
		return 1;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < WALK_BATCHES; i++)
		if (walk_steps(0) || walk_is_late(u) || u->lang)
			return 1;
	return 0;
}

/*
 * A function that is probed where it returns, by whomever, has a return address into a page of the kernel's: the walk
 * has just ended there. The kernel knows which it was. 1 if the walk goes on there.
 */
__noinline int walk_hidden_return(u32 unused)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	struct return_instance *at;
	u64 stack;

	if (!u || !bpf_core_field_exists(task->utask) || !u->trace.user_count ||
	    u->trace.frame_count > LEAF_FRAMES_MAX)
		return 0;
	stack = u->regs.reg[REG_SP] - (REG_RA == 30 ? 0 : 8);
	at = BPF_CORE_READ(task, utask, return_instances);
	LOOP_NO_UNROLL
	for (u64 i = 0; i < URETPROBE_DEPTH_MAX && at; i++) {
		if (BPF_CORE_READ(at, stack) == stack) {
			u->regs.pc = BPF_CORE_READ(at, orig_ret_vaddr);
			unwind_give_back(u, u->trace.frame_count - 1, u->trace.user_count - 1u);
			u->trace.end = END_TRUNCATED;	/* unless it ends before all steps are taken */
			return 1;
		}
		at = BPF_CORE_READ(at, next);
	}
	return 0;
}

/* From the current frame on. In the end, u->trace.end says why. */
static __always_inline void walk(struct unwind *u, void *ctx)
{
	LOOP_NO_UNROLL
	for (u64 round = 0; round <= SLOT_CHAIN + HIDDEN_RETURNS_MAX; round++) {
		LOOP_NO_UNROLL
		for (u64 i = 0; !u->lang && i < 2 * WALK_FRAMES_MAX / WALK_BATCH / WALK_BATCHES; i++)
			if (walk_batches(0))
				break;
		if (u->lang)
			walk_switch(u, ctx);
		else if (u->trace.end != END_NO_MAPPING || !walk_hidden_return(0))
			break;
	}
}

/* The thread's own pointer: fs on x86-64, tpidr_el0 on arm64. */
static __always_inline u64 walk_thread_pointer(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

#if defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ(task, thread.uw.tp_value);
#else
	return BPF_CORE_READ(task, thread.fsbase);
#endif
}

/* Gets the language's words of this process: 0, or -1 if it has none. */
static __always_inline int walk_take_over(struct unwind *u, u32 lang)
{
	u32 index = u->first_slot;

	u->lang = 0;
	__builtin_memset(u->state, 0, sizeof(u->state));
	LOOP_NO_UNROLL
	for (u64 i = 0; i < SLOT_CHAIN && index; i++) {
		struct runtime_slot *slot = bpf_map_lookup_elem(&slots, &index);

		if (!slot)
			return -1;
		if (slot->lang == lang) {
			__builtin_memcpy(u->slot, slot->word, sizeof(u->slot));
			u->lang_here = (u8)lang;
			return 0;
		}
		index = slot->next;
	}
	u->langs_off |= 1u << (lang & 31);
	return -1;
}

/* Ends the walk in the program that sends the sample. */
static __always_inline void walk_finish(struct unwind *u, void *ctx)
{
	bpf_tail_call(ctx, &walkers, LANG_NUMBER_NONE);
	count(COUNTER_WALK_LOST);
	u->busy = 0;
}

/* The program of a language, by its runtime_step(). BEGIN is done when it takes over. */
#define WALKER_WITH(LANG, BEGIN)                                                                                \
	char LICENSE[] SEC("license") = "GPL";                                                                  \
                                                                                                                \
	static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule)             \
	{                                                                                                       \
		if (lang == (LANG))                                                                             \
			return runtime_step(u, rule);                                                           \
		u->lang = (u8)lang;                                                                             \
		return STEP_SWITCH;                                                                             \
	}                                                                                                       \
                                                                                                                \
	SEC("perf_event")                                                                                       \
	int walk_language(void *ctx)                                                      \
	{                                                                                                       \
		u32 zero = 0;                                                                                   \
		struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);                                        \
                                                                                                                \
		if (!u || !u->busy)                                                                             \
			return 0;                                                                               \
		if (!walk_take_over(u, LANG)) {                                                                 \
			BEGIN;                                                                                  \
		}                                                                                               \
		walk(u, ctx);                                                                                   \
		walk_finish(u, ctx);                                                                            \
		return 0;                                                                                       \
	}

#define WALKER(LANG) WALKER_WITH(LANG, (void)0)

#endif
