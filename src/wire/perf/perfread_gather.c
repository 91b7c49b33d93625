// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_gather.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"

#define GATHER_BYTES_MAX ((size_t)4 << 30)
#define CONTEXT_USER_DEFERRED ((u64)-640)	/* not in older headers: the next word is a cookie */
#define CONTEXT_FIRST ((u64)-4095)

/* Numbers of registers in perf's masks: arch/.../include/uapi/asm/perf_regs.h. */
#define REGISTER_PC_X86 8
#define REGISTER_PC_ARM64 32
#define REGISTER_NONE 64

void perfread_gather_init(struct perfread_gather *g, const struct perfread_options *options,
			  struct perfread_system *system, struct perfread_about *about)
{
	*g = (struct perfread_gather){ .options = options, .system = system, .about = about };
	arena_init(&g->arena, GATHER_BYTES_MAX);
	interner_init(&g->frames, &g->arena, PERFREAD_TABLE_MAX);
	interner_init(&g->stacks, &g->arena, PERFREAD_TABLE_MAX);
	interner_init(&g->samples, &g->arena, PERFREAD_TABLE_MAX);
}

void perfread_gather_done(struct perfread_gather *g)
{
	interner_done(&g->frames);
	interner_done(&g->stacks);
	interner_done(&g->samples);
	arena_done(&g->arena);
	free(g->sums);
	free(g->ticks);
	free(g->events);
	free(g->stack);
}

static int full(const struct interner *interner)
{
	return interner->count >= interner->max_count ? -E2BIG : -ENOMEM;
}

/* ---- Stacks ---------------------------------------------------------------- */

static int push(struct perfread_gather *g, enum perfread_space space, const struct perfread_range *map, u64 va)
{
	struct perfread_frame frame = { .space = space, .address = va };
	u32 number;
	int r;

	if (map) {
		frame.region = map->region;
		frame.address = va + map->bias;
	}
	number = interner_add(&g->frames, &frame, sizeof(frame), NULL);
	if (number == INTERNER_NONE)
		return full(&g->frames);
	r = array_reserve(&g->stack, &g->stack_cap, g->stack_count + 1, sizeof(*g->stack));
	if (r == 0)
		g->stack[g->stack_count++] = number;
	return r;
}

/* Code that was reported by name may stand for frames without an address: its start is itself, never a return to it. */
static bool is_symbol_start(const struct perfread_system *system, const struct perfread_range *map, u64 va)
{
	const struct perfread_region *region = map ? perfread_system_region(system, map->region) : NULL;

	return region && region->offset == va && perfread_system_file(system, region->file)->kind >= PERFREAD_SYMBOL;
}

static int push_kernel(struct perfread_gather *g, u64 va, bool is_return)
{
	const struct perfread_range *map = perfread_ranges_find(g->system->kernel, va);

	if (is_return && !is_symbol_start(g->system, map, va)) {
		va--;
		map = perfread_ranges_find(g->system->kernel, va);
	}
	return push(g, PERFREAD_KERNEL_SPACE, map, va);
}

static int push_user(struct perfread_gather *g, u32 pid, u64 va)
{
	const struct perfread_process *process = perfread_system_process(g->system, pid);

	if (!process)
		return full(&g->system->pids);
	return push(g, PERFREAD_USER_SPACE, perfread_ranges_find(process->maps, va), va);
}

static int push_word(struct perfread_gather *g, enum perfread_space space, u32 pid, u64 word, bool is_return)
{
	if (space == PERFREAD_KERNEL_SPACE)
		return push_kernel(g, word, is_return);
	if (space == PERFREAD_GUEST_SPACE)
		return push(g, space, NULL, word - is_return);
	return push_user(g, pid, word - is_return);
}

static enum perfread_space space_of_mode(u16 misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
	case PERF_RECORD_MISC_HYPERVISOR:
		return PERFREAD_KERNEL_SPACE;
	case PERF_RECORD_MISC_GUEST_KERNEL:
	case PERF_RECORD_MISC_GUEST_USER:
		return PERFREAD_GUEST_SPACE;
	}
	return PERFREAD_USER_SPACE;
}

static enum perfread_space space_of_marker(u64 marker)
{
	switch (marker) {
	case PERF_CONTEXT_KERNEL:
	case PERF_CONTEXT_HV:
		return PERFREAD_KERNEL_SPACE;
	case PERF_CONTEXT_GUEST:
	case PERF_CONTEXT_GUEST_KERNEL:
	case PERF_CONTEXT_GUEST_USER:
		return PERFREAD_GUEST_SPACE;
	}
	return PERFREAD_USER_SPACE;
}

/* The call chain: markers say what follows; the first address of a part is where it was, the others return to it. */
static int push_chain(struct perfread_gather *g, u16 misc, const struct perfread_sample *sample, bool *ret_has_user)
{
	enum perfread_space space = space_of_mode(misc);
	struct cursor c = sample->chain;
	bool is_return = false;
	int r = 0;

	while (r == 0 && cursor_left(&c)) {
		u64 word = cursor_uint(&c, 8);

		if (word == CONTEXT_USER_DEFERRED) {
			g->about->deferred++;
			cursor_skip(&c, 8);
			break;
		}
		if (word >= CONTEXT_FIRST) {
			space = space_of_marker(word);
			is_return = false;
			continue;
		}
		r = push_word(g, space, sample->pid, word, is_return);
		*ret_has_user |= space == PERFREAD_USER_SPACE;
		is_return = true;
	}
	return r;
}

/* A file that does not say of which machine it is, is most likely of this one. */
static bool can_unwind(const struct perfread_gather *g, const struct perfread_sample *sample)
{
	const struct perfread_options *o = g->options;

	return o->unwind && cursor_left(&sample->stack) &&
	       (!o->arch || !*g->about->arch || !strcmp(o->arch, g->about->arch));
}

static u32 pc_register(const char *arch)
{
	if (!strcmp(arch, "aarch64"))
		return REGISTER_PC_ARM64;
	return !*arch || !strcmp(arch, "x86_64") || !strcmp(arch, "i686") ? REGISTER_PC_X86 : REGISTER_NONE;
}

/* The user part from the registers and the copied stack. */
static int push_copied(struct perfread_gather *g, const struct perfread_sample *sample)
{
	u32 count = 0, pc = pc_register(g->about->arch);
	u64 va[PERFREAD_UNWOUND_MAX], ip;
	int r = 0;

	if (can_unwind(g, sample))
		count = g->options->unwind(g->options->arg, g->about, g->system, sample, va);
	if (!count) {
		g->about->not_unwound++;
		return perfread_sample_register(sample, pc, &ip) ? push_user(g, sample->pid, ip) : 0;
	}
	for (u32 i = 0; i < count && r == 0; i++)
		r = push_user(g, sample->pid, va[i]);
	return r;
}

static int find_stack(struct perfread_gather *g, u16 misc, const struct perfread_sample *sample, u32 *ret_stack)
{
	bool has_user = false;
	int r;

	g->stack_count = 0;
	r = push_chain(g, misc, sample, &has_user);
	if (r == 0 && !has_user && sample->regs_abi)
		r = push_copied(g, sample);
	if (r == 0 && !g->stack_count && sample->ip)
		r = push_word(g, space_of_mode(misc), sample->pid, sample->ip, false);
	if (r < 0)
		return r;
	*ret_stack = interner_add(&g->stacks, g->stack, g->stack_count * sizeof(*g->stack), NULL);
	return *ret_stack == INTERNER_NONE ? full(&g->stacks) : 0;
}

/* ---- Sums ------------------------------------------------------------------ */

static int add_tick(struct perfread_gather *g, u32 number, const struct perfread_sample *sample)
{
	int r;

	if (!sample->has_time)
		g->lacks_times = true;
	if (g->tick_count == PERFREAD_TICKS_MAX)
		g->lacks_times = g->about->times_left_out = true;
	if (g->lacks_times)
		return 0;
	r = array_reserve(&g->ticks, &g->tick_cap, g->tick_count + 1, sizeof(*g->ticks));
	if (r < 0)
		return r;
	g->ticks[g->tick_count++] = (struct perfread_tick){ .sample = number, .time_ns = sample->time_ns,
							    .period = sample->period };
	return 0;
}

static int add_event(struct perfread_gather *g, const struct perfread_sample *sample)
{
	int r = array_reserve(&g->events, &g->event_cap, sample->event + 1, sizeof(*g->events));
	struct perfread_event_sum *event;

	if (r < 0)
		return r;
	event = &g->events[sample->event];
	if (!event->count++)
		event->period = sample->fixed_period ? sample->fixed_period : sample->period;
	event->differs |= sample->period != event->period;
	event->varies |= !sample->period || !event->period || sample->period % event->period;
	if (sample->has_time) {
		if (!g->first_ns || sample->time_ns < g->first_ns)
			g->first_ns = sample->time_ns;
		if (sample->time_ns > g->last_ns)
			g->last_ns = sample->time_ns;
	}
	return 0;
}

int perfread_gather_sample(struct perfread_gather *g, u16 misc, const struct perfread_sample *sample)
{
	struct perfread_sample_key key = {
		.program = perfread_system_program(g->system, sample->pid),
		.event = sample->event,
		.tid = sample->has_tid ? sample->tid : PERFREAD_NO_NUMBER,
		.cpu = sample->has_cpu ? sample->cpu : PERFREAD_NO_NUMBER,
	};
	u32 number;
	int r;

	if (!key.program)
		return full(&g->system->pids);
	key.name = sample->has_tid ? perfread_system_thread(g->system, sample->pid, sample->tid) : 0;
	r = find_stack(g, misc, sample, &key.stack);
	if (r < 0)
		return r;
	number = interner_add(&g->samples, &key, sizeof(key), NULL);
	if (number == INTERNER_NONE)
		return full(&g->samples);
	r = array_reserve(&g->sums, &g->sum_cap, number + 1, sizeof(*g->sums));
	if (r < 0)
		return r;
	g->sums[number].count++;
	g->sums[number].periods = saturating_add(g->sums[number].periods, sample->period);
	g->about->samples++;
	r = add_event(g, sample);
	return r < 0 ? r : add_tick(g, number, sample);
}
