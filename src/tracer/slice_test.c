// SPDX-License-Identifier: Apache-2.0
/* A copied stack of three functions: a leaf, its caller with a buffer of two steps, and the first one. */
#include "tracer/slice.h"

#include <unistd.h>

#include "exe/rows.h"
#include "test.h"
#include "tracer/rows_test.h"
#include "tracer/tables.h"
#include "unwind.h"

/* Our own, so that they can be read as a process's. */
#define CODE_VA ((u64)code)
#define STACK_VA ((u64)memory + 16)
#define BUFFER_BYTES (2 * SLICE_STEP_BYTES)
#define STACK_WORDS (BUFFER_BYTES / 8 + 16)

/* Rules from 0 on (the leaf), from 0x100 on (with the buffer), from 0x200 on (the first function). */
static struct {
	struct rows head;
	struct unwind_rule rules[3];
	struct rows_page page;
	u16 low[3], rule[3];
} file = {
	.head = { .magic = ROWS_MAGIC, .bytes = sizeof(file), .rule_count = 3, .page_count = 1, .row_count = 3 },
	.rules = {
		{ .kind = RULE_CFA, .cfa_reg = REG_SP, .cfa_off = 16, .ra_off = -8 },
		{ .kind = RULE_CFA, .cfa_reg = REG_SP, .cfa_off = BUFFER_BYTES + 8, .ra_off = -8 },
		{ .kind = RULE_END },
	},
	.page = { .number = 0, .count = 3 },
	.low = { 0, 0x100, 0x200 },
	.rule = { 0, 1, 2 },
};

static struct {
	struct trace_record head;
	struct slice_regs regs;
	u64 stack[STACK_WORDS];
} sample;

static _Alignas(4096) u8 memory[8192];
static _Alignas(65536) u8 code[4096];

/* What precedes the place in the first function that is returned to: a call of that function, or none. */
static void set_call(s32 function)
{
	s32 away = function - 0x210;
	u32 insn = 0x94000000 | (u32)(function - 0x20c) / 4 % (1 << 26);

	memset(code, 0, sizeof(code));
	if (function && REG_RA == 30) {
		memcpy(code + 0x20c, &insn, sizeof(insn));
	} else if (function) {
		code[0x20b] = 0xe8;
		memcpy(code + 0x20c, &away, sizeof(away));
	}
}

static struct unwind u;

/* How the stack of a record ends. */
static u8 end_of_record(const struct trace_record *record, bool may_read)
{
	struct map_entry map = { .start_va = CODE_VA, .end_va = CODE_VA + 0x1000, .bias = CODE_VA, .binary = 7 };
	_cleanup_(tables_freep) struct tables *tables = NULL;
	struct slice_process process = { .map_count = 1, .user_va_mask = ~0ull, .may_read = may_read };
	struct row_pages_range rows;

	EQ(tables_new(NULL, sizeof(struct rows_chunk), &tables), 0);
	EQ(tables_add_rows(tables, copied_rows(&file.head), 0, 0x1000, &rows), 0);
	map.page_base = tables_page_base(&rows);
	EQ(tables_add_maps(tables, 0, &map, 1, &process.map_first), 0);
	EQ(slice_unwind(&u, tables, record, &process), may_read && u.trace.end == END_COMPLETE);
	return u.trace.end;
}

/* ... when these steps of the copy are missing, and it is so long. */
static u8 end_of(u16 holes, u32 slice_bytes, bool may_read)
{
	sample.head = (struct trace_record){ .end = END_SLICE, .pid = (u32)getpid(), .tid = (u32)getpid(),
					     .slice_state = SLICE_IS_LEAF,
					     .slice_bytes = slice_bytes, .slice_holes = holes };
	sample.regs.pc = CODE_VA + 0x10;
	sample.regs.reg[REG_SP] = STACK_VA;
	sample.stack[1] = CODE_VA + 0x110;
	sample.stack[2 + BUFFER_BYTES / 8] = CODE_VA + 0x210;
	memcpy(memory + 16, sample.stack, sizeof(sample.stack));
	return end_of_record(&sample.head, may_read);
}

static u8 end_with(u16 holes)
{
	return end_of(holes, sizeof(sample.stack), false);
}

TEST(slice_is_walked_past_steps_that_are_missing)
{
	EQ(end_with(0), END_COMPLETE);
	EQ(u.trace.user_count, 3);
	EQ(end_with(1 << 1), END_COMPLETE);
	EQ(u.trace.user_count, 3);
}

TEST(slice_ends_where_a_missing_step_is_needed)
{
	EQ(end_with(1 << 0), END_SLICE_SHORT);
	EQ(u.trace.user_count, 1);
	EQ(end_with(1 << 2), END_SLICE_SHORT);
	EQ(u.trace.user_count, 2);
}

TEST(slice_goes_on_in_the_process_if_its_end_is_the_same)
{
	set_call(0x100);
	EQ(end_of(0, SLICE_STEP_BYTES, false), END_SLICE_SHORT);
	EQ(end_of(0, SLICE_STEP_BYTES, true), END_COMPLETE);
	EQ(u.trace.user_count, 3);
	/* It was cut where nothing had been copied: what is there now may be of another call. */
	EQ(end_of(1 << 1, SLICE_STEP_BYTES, true), END_SLICE_SHORT);
	EQ(u.trace.user_count, 2);
}

/* The kernel half has found a frame, and gone to its caller, for which it had no rows. */
TEST(slice_goes_on_from_the_frames_that_there_are)
{
	static struct {
		struct trace_record head;
		u64 frame;
		struct slice_regs regs;
		u64 stack[STACK_WORDS];
	} rest;

	EQ(end_with(0), END_COMPLETE);
	rest.head = sample.head;
	rest.head.user_count = 1;
	rest.head.slice_state = SLICE_IS_RETURN;
	rest.frame = u.words[0];
	rest.regs.pc = CODE_VA + 0x110;
	rest.regs.reg[REG_SP] = STACK_VA + 16;
	memcpy(rest.stack, sample.stack + 2, sizeof(sample.stack) - 16);
	EQ(end_of_record(&rest.head, false), END_COMPLETE);
	EQ(u.trace.user_count, 3);
	EQ(u.words[0], rest.frame);
	EQ(u.words[1] & FRAME_EA_MASK, 0x10f);
}

TEST(slice_does_not_believe_a_stack_that_has_changed_since)
{
	/* What is there now is no return address, though it lies in code. */
	set_call(0);
	EQ(end_of(0, SLICE_STEP_BYTES, true), END_SLICE_SHORT);
	EQ(u.trace.user_count, 2);
	/* Or it is one, but of a call of another function. */
	set_call(0x180);
	EQ(end_of(0, SLICE_STEP_BYTES, true), REG_RA == 30 ? END_COMPLETE : END_SLICE_SHORT);
	/* What was copied is believed. */
	EQ(end_of(0, sizeof(sample.stack), false), END_COMPLETE);
}
