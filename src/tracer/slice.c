// SPDX-License-Identifier: Apache-2.0
#include "tracer/slice.h"

#include <string.h>

#include "lang/lang.h"
#include "proc/peek.h"
#include "tracer/tables.h"
#include "unwind.h"

#define LIVE_PAGE_BYTES 4096u
#define LIVE_CHECK_BYTES 256u
#define FUNCTION_BYTES_MAX (256u << 10)	/* hardly any is larger */
#define STEPS_MAX (2 * WALK_FRAMES_MAX)	/* as in bpf/walk.h: a step of a runtime need not push a frame */

/* What bpf/native.h is given to work on, in place of maps and another process's memory. */
static __thread struct {
	struct tables *tables;
	const u8 *memory;	/* copied from the stack pointer on */
	u64 start_va, bytes;
	u64 holes;		/* steps of it that are missing */
	struct slice_process process;
	u32 pid;
	u64 time_ns;		/* when it was copied */
	struct live {
		u32 tid;	/* 0: what is beyond the copy is not to be had */
		bool is_same;	/* it still is where it was */
		bool is_asleep;	/* it waited, and is believed to until its stack was read: then that is looked at */
		u8 first[LIVE_CHECK_BYTES];	/* the top of such a one's stack */
		u32 pages_read;
		u64 page_va;	/* of what is in page; 1: nothing */
		u8 page[LIVE_PAGE_BYTES];
	} live;
} slice;

#define LOOP_NO_UNROLL

static inline const struct map_entry *table_map(u32 index)
{
	return tables_map(slice.tables, index);
}

static inline struct page_entry *table_page(u32 index)
{
	return tables_need_page(slice.tables, index);
}

static inline const struct rows_chunk *table_chunk(u32 index)
{
	return tables_chunk(slice.tables, index);
}

static inline const struct unwind_rule *table_rule(u32 index)
{
	return tables_rule(slice.tables, index);
}

/* Nothing is kept: a process's stacks are copied but a few times. */
static inline struct place *table_place(struct unwind *u, u64 va)
{
	return NULL;
}

static int live_peek(const struct live *live, void *to, u32 bytes, u64 va)
{
	return peek_stack(slice.process.peek, peek_process(slice.process.serial), live->tid, va, to, bytes);
}

/* A copy of perf's is longer than the steps of ours, and has no holes. */
static bool is_hole(u64 va, u32 bytes)
{
	u64 first = slice.start_va / SLICE_STEP_BYTES, last = (va + bytes - 1) / SLICE_STEP_BYTES - first;

	for (u64 step = va / SLICE_STEP_BYTES - first; slice.holes && step <= last; step++)
		if (step < 64 && slice.holes >> step & 1)
			return true;
	return false;
}

/*
 * The process is still where it was if the end of the copy is as it was copied. One that was cut short may end where
 * nothing was copied, which proves nothing.
 */
static bool live_is_same(const struct live *live)
{
	u32 bytes = slice.bytes < LIVE_CHECK_BYTES ? (u32)slice.bytes : LIVE_CHECK_BYTES;
	u64 at = slice.bytes - bytes;
	u8 now[LIVE_CHECK_BYTES];

	return bytes && !is_hole(slice.start_va + at, bytes) &&
	       live_peek(live, now, bytes, slice.start_va + at) == 0 && !memcmp(now, slice.memory + at, bytes);
}

static int live_page(struct live *live, u64 page_va)
{
	if (live->page_va == page_va)
		return 0;
	if (live->tid && !live->is_same)
		live->is_same = live_is_same(live);
	if (!live->is_same)
		live->tid = 0;
	if (!live->tid || live->pages_read >= SLICE_LIVE_PAGES_MAX)
		return -1;
	live->page_va = 1;
	if (live_peek(live, live->page, sizeof(live->page), page_va) < 0)
		return -1;
	live->page_va = page_va;
	live->pages_read++;
	return 0;
}

static int live_read(struct live *live, u8 *to, u32 bytes, u64 va)
{
	while (bytes) {
		u64 at = va % LIVE_PAGE_BYTES;
		u32 part = bytes < LIVE_PAGE_BYTES - at ? bytes : (u32)(LIVE_PAGE_BYTES - at);

		if (!live->tid || live_page(live, va - at))
			return -1;
		memcpy(to, live->page + at, part);
		to += part;
		va += part;
		bytes -= part;
	}
	return 0;
}

static inline int read_user(struct unwind *u, void *to, u32 bytes, u64 va)
{
	u64 at = va - slice.start_va;

	/* Only the older part of the stack holds still, and what called it from another one. */
	if (va < slice.start_va && !u->stack_switches)
		return -1;
	if (at > slice.bytes || bytes > slice.bytes - at || is_hole(va, bytes))
		return live_read(&slice.live, to, bytes, va);
	memcpy(to, slice.memory + at, bytes);
	return 0;
}

static inline u64 strip_pac(struct unwind *u, u64 va)
{
	return va & slice.process.user_va_mask;
}

/* What is not on the stack: as it was after the sample was taken. */
static inline int read_code(struct unwind *u, void *to, u32 bytes, u64 va)
{
	struct lang_process process = { .pid = slice.pid, .serial = slice.process.serial, .peek = slice.process.peek };
	u64 before_ns;
	int r;

	if (!slice.process.may_read)
		return -1;
	before_ns = peek_since(process.peek, slice.time_ns);
	r = lang_read(&process, va, to, bytes);
	(void)peek_since(process.peek, before_ns);
	return r;
}

/* Of the stack what was copied, or still is the same; of the rest of the process what was there later. */
static int read_for_runtime(struct unwind *u, void *to, u32 bytes, u64 va)
{
	u64 at = va - slice.start_va;

	if (va >= slice.start_va && at < slice.bytes + (u64)SLICE_LIVE_PAGES_MAX * LIVE_PAGE_BYTES)
		return read_user(u, to, bytes, va);
	return read_code(u, to, bytes, va);
}

static const struct runtime_slot *find_slot(u32 lang)
{
	u32 number = slice.process.slot;

	for (u32 i = 0; number && i < SLOT_CHAIN; i++) {
		const struct runtime_slot *slot = tables_slot(slice.tables, number);

		if (slot->lang == lang)
			return slot;
		number = slot->next;
	}
	return NULL;
}

/* Most runtimes' frames are not on the stack alone, and the rest has changed since: native ones must do. */
static inline int runtime_enter(struct unwind *u, u32 lang, const struct unwind_rule *rule)
{
	const struct lang_ops *ops = lang < LANG_MAX ? lang_list[lang] : NULL;
	const struct runtime_slot *slot = ops && ops->step ? find_slot(lang) : NULL;

	if (!slot) {
		/* Where its program might have gone on, on another stack, no thread need have begun. */
		u->is_unsure |= rule && rule->kind == RULE_END;
		return STEP_NATIVE;
	}
	if (u->lang_here != lang) {
		u->lang_here = (u8)lang;
		memcpy(u->slot, slot->word, sizeof(u->slot));
		memset(u->state, 0, sizeof(u->state));
	}
	return ops->step(u, read_for_runtime);
}

static inline int may_return(struct unwind *u, u64 return_va);

#include "native.h"

/*
 * Can the call before the address have led to the current frame? One that names a function of the same mapping has, if
 * the frame follows from there. Tail calls are not believed: few stacks are read so.
 */
static bool may_have_called(struct unwind *u, u64 return_va)
{
	u64 callee_va = u->regs.pc - u->is_return, function_va, code;

	if (REG_RA == 30 || read_code(u, &code, sizeof(code), return_va - sizeof(code)) || (u8)(code >> 24) != 0xe8)
		return 1;
	function_va = return_va + (u64)(s64)(s32)(code >> 32);
	if (native_find_map(u, return_va) || callee_va - u->map.start_va >= u->map.end_va - u->map.start_va ||
	    function_va - u->map.start_va >= u->map.end_va - u->map.start_va)
		return 1;
	return callee_va - function_va < FUNCTION_BYTES_MAX;
}

/* What was read from a thread that may have gone on is believed behind a call that can have led here. */
static inline int may_return(struct unwind *u, u64 return_va)
{
	return !slice.live.pages_read || (native_behind_call(u, return_va) == BEHIND_CALL_YES &&
					   (slice.live.is_asleep || may_have_called(u, return_va)));
}

/* The frames that the kernel half has found, and the state of the one that it has come to. */
static void begin(struct unwind *u, const struct trace_record *record)
{
	const u64 *words = (const u64 *)(record + 1) + record->kernel_count;
	const u64 *regs = words + record->user_count;

	memset(u, 0, offsetof(struct unwind, words));
	memcpy(u->words, words, record->user_count * sizeof(*words));
	u->trace.user_count = record->user_count;
	u->trace.frame_count = record->frame_count;
	u->trace.frames_lost = record->frames_lost;
	memcpy(&u->regs, regs, sizeof(u->regs));
	slice.memory = (const u8 *)regs + sizeof(u->regs);
	slice.start_va = u->regs.reg[REG_SP];
	slice.bytes = record->slice_bytes;
	slice.holes = record->slice_holes;
	u->map_first = slice.process.map_first;
	u->map_count = slice.process.map_count;
	u->user_va_mask = slice.process.user_va_mask;
	u->is_leaf = !!(record->slice_state & SLICE_IS_LEAF);
	u->is_return = !!(record->slice_state & SLICE_IS_RETURN);
	u->is_guess = record->slice_state & SLICE_IS_GUESS ? GUESS_OF_CALLER : 0;
	u->sp_lost = !!(record->slice_state & SLICE_SP_LOST);
	u->is_unsure = !!(record->slice_state & SLICE_IS_UNSURE);
}

static void unwind(struct unwind *u, const struct trace_record *record)
{
	u32 steps = 0;

	begin(u, record);
	while (!native_step(u))
		if (++steps == STEPS_MAX) {
			(void)unwind_end(u, END_TRUNCATED);
			break;
		}
	if (u->trace.end == END_UNREADABLE)
		u->trace.end = END_SLICE_SHORT;
}

static bool read_top(const struct live *live, const struct trace_record *record, u8 *ret_top)
{
	const struct slice_regs *regs = (const void *)((const u64 *)(record + 1) + record->kernel_count +
						       record->user_count);

	return live_peek(live, ret_top, LIVE_CHECK_BYTES, regs->reg[REG_SP]) == 0;
}

/* One that has gone on meanwhile has most likely written to the top of its stack. */
static bool still_sleeps(const struct live *live, const struct trace_record *record)
{
	u8 now[LIVE_CHECK_BYTES];

	return !live->is_asleep || (read_top(live, record, now) && !memcmp(now, live->first, sizeof(now)));
}

bool slice_unwind(struct unwind *u, struct tables *tables, const struct trace_record *record,
		  const struct slice_process *process)
{
	struct live *live = &slice.live;
	bool is_live;

	slice.tables = tables;
	slice.process = *process;
	slice.pid = record->pid;
	slice.time_ns = record->time_ns;
	live->tid = process->may_read ? record->tid : 0;
	live->is_asleep = record->slice_state & SLICE_IS_ASLEEP && live->tid && read_top(live, record, live->first);
	live->is_same = live->is_asleep;
	live->pages_read = 0;
	live->page_va = 1;
	unwind(u, record);
	is_live = live->pages_read && u->trace.end == END_COMPLETE && still_sleeps(live, record);
	if (live->pages_read && !is_live) {
		live->tid = 0;
		live->pages_read = 0;
		unwind(u, record);
	}
	return is_live;
}
