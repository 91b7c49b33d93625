// SPDX-License-Identifier: Apache-2.0
#include "tracer/fold.h"

#include <stdint.h>

#include "kinds/list.h"
#include "kinds/probe/setup.h"
#include "proc/processes.h"
#include "trace/window.h"
#include "tracer/modules.h"
#include "tracer/requests.h"

#define LANES_WINDOW_MAX (2u << 20)	/* the rest of a window is for samples */

u32 fold_process(struct window *window, const struct process *p, const struct trace_record *record)
{
	struct window_process about = { .pid = record->pid, .comm = record->comm, .exe_path = "", .command_line = "" };
	u64 serial = p ? p->serial : ~(record->id.start_ns ^ (u64)record->pid << 40 ^ record->id.exec_id << 20);

	if (p) {
		about.comm = p->comm[0] ? p->comm : record->comm;
		about.exe_path = p->exe_path ? p->exe_path : "";
		about.command_line = p->command_line ? p->command_line : "";
		about.description = p->description.text;
		about.description_bytes = p->description.bytes;
		about.description_number = p->description.number;
		requests_describe(p, &about);
	}
	return window_process(window, serial, &about);
}

/* What a sample weighs; of a wait, the part apart that the thread lacked a CPU only. */
struct fold_part {
	struct trace_record record;
	u64 cpu_wait_value;
};

static struct fold_part part_of(const struct trace_record *record, u32 kind, u64 factor)
{
	struct fold_part part = { *record, 0 };

	part.record.kind = (u8)kind;
	part.record.value *= factor;
	if (record->flags >> TRACE_WAIT_SHIFT && record->cpu_wait == UINT32_MAX)
		part.cpu_wait_value = part.record.value;
	else if (record->flags >> TRACE_WAIT_SHIFT)
		part.cpu_wait_value = (u64)((double)part.record.value * record->cpu_wait / 0x1p32);
	part.record.value -= part.cpu_wait_value;
	return part;
}

void fold_sample(struct window *window, struct fold_options *options, u32 process,
		 const struct trace_record *record, const u64 *user, u32 user_count, u8 end)
{
	const u64 *kernel = (const void *)(record + 1);
	struct fold_part parts[3];
	u32 count = 0, time_count = window->time_count;
	u64 period_ns = record->clock_hz ? 1000000000ull / record->clock_hz : options->period_ns;

	if (record->flags >> TRACE_WAIT_SHIFT == WAIT_WAKES) {
		window_add_waker(window, process, record, kernel, user, user_count, end, modules_binary,
				 options->modules);
		return;
	}
	if (options->kinds >> record->kind & 1)
		parts[count++] = part_of(record, record->kind, 1);
	if (options->kinds >> KIND_WAKEUP & 1 && record->kind == KIND_OFF_CPU)
		parts[count++] = part_of(record, KIND_WAKEUP, 1);
	if (options->kinds >> KIND_WALL & 1 && (record->kind == KIND_CPU || record->kind == KIND_OFF_CPU))
		parts[count++] = part_of(record, KIND_WALL, record->kind == KIND_CPU ? period_ns : 1);
	for (u32 i = 0; i < count; i++) {
		struct trace_record *part = &parts[i].record;

		if (part->value || !parts[i].cpu_wait_value)
			window_add(window, process, part, kernel, user, user_count, end, modules_binary,
				   options->modules);
		part->flags = WAIT_CPU << TRACE_WAIT_SHIFT;
		part->wake = 0;
		part->lock_va = 0;
		part->holder = 0;
		part->wait_us = 0;
		part->value = parts[i].cpu_wait_value;
		if (part->value)
			window_add(window, process, part, kernel, user, user_count, end, modules_binary,
				   options->modules);
	}
	if (record->kind >= KIND_PROBES && record->cpu_wait == PAIR_BEGUN && window->time_count > time_count)
		pairs_begin(&options->pairs, record, window);
}

void fold_lane(struct window *window, struct fold_options *options, u32 process, const struct trace_record *record)
{
	const struct lane_times *times = (const void *)(record + 1);
	u16 frames = (u16)(record->user_count - sizeof(*times) / 8);
	u32 wait = record->flags >> TRACE_WAIT_SHIFT;
	const struct {
		u64 value;
		u32 wait;
		u16 frames;
	} parts[] = {
		{ times->ran_ns, WAIT_NOT, 0 },
		{ times->waited_ns, wait, frames },
		{ times->queued_ns, WAIT_CPU, wait == WAIT_CPU ? frames : 0 },
	};
	struct trace_record part = *record;

	if (window->time_count > LANES_WINDOW_MAX || options->lanes_left < 3) {
		options->lanes_lost++;
		return;
	}
	part.time_ns -= times->ran_ns + times->waited_ns + times->queued_ns;
	part.user_count = 0;
	for (u32 i = 0; i < 3; part.time_ns += parts[i].value, i++) {
		part.value = parts[i].value;
		part.flags = (u8)(parts[i].wait << TRACE_WAIT_SHIFT);
		part.kernel_count = parts[i].frames;
		if (!part.value)
			continue;
		window_add(window, process, &part, (const u64 *)(times + 1), NULL, 0, record->end, modules_binary,
			   options->modules);
		options->lanes_left--;
	}
}

bool fold_end(struct window *window, struct fold_options *options, const struct trace_record *record)
{
	if (record->kind < KIND_PROBES || record->cpu_wait != PAIR_ENDED)
		return false;
	pairs_end(&options->pairs, record, window);
	return true;
}

struct window_frame *fold_nameless(void)
{
	static const struct window_line line = { "[frame without a name]", "", 0 };
	static struct window_frame frame = { .type = "unknown", .line_count = 1, .lines = &line };

	return &frame;
}
