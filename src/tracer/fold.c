// SPDX-License-Identifier: Apache-2.0
#include "tracer/fold.h"

#include <stdint.h>

#include "kinds/list.h"
#include "proc/processes.h"
#include "trace/window.h"
#include "tracer/modules.h"
#include "tracer/requests.h"

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

void fold_sample(struct window *window, const struct fold_options *options, u32 process,
		 const struct trace_record *record, const u64 *user, u32 user_count, u8 end)
{
	const u64 *kernel = (const void *)(record + 1);
	struct fold_part parts[2];
	u32 count = 0;

	if (options->kinds >> record->kind & 1)
		parts[count++] = part_of(record, record->kind, 1);
	if (options->kinds >> KIND_WALL & 1 && (record->kind == KIND_CPU || record->kind == KIND_OFF_CPU))
		parts[count++] = part_of(record, KIND_WALL, record->kind == KIND_CPU ? options->period_ns : 1);
	for (u32 i = 0; i < count; i++) {
		struct trace_record *part = &parts[i].record;

		if (part->value || !parts[i].cpu_wait_value)
			window_add(window, process, part, kernel, user, user_count, end, modules_binary,
				   options->modules);
		part->flags = WAIT_CPU << TRACE_WAIT_SHIFT;
		part->value = parts[i].cpu_wait_value;
		if (part->value)
			window_add(window, process, part, kernel, user, user_count, end, modules_binary,
				   options->modules);
	}
}

struct window_frame *fold_nameless(void)
{
	static const struct window_line line = { "[frame without a name]", "", 0 };
	static struct window_frame frame = { .type = "unknown", .line_count = 1, .lines = &line };

	return &frame;
}
