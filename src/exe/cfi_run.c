// SPDX-License-Identifier: Apache-2.0
#include "exe/cfi_run.h"

#include <dwarf.h>

/* How deep states may be remembered: compilers nest one or two. */
#define REMEMBERED_MAX 16

/* Not in every <dwarf.h>: advances the "return address is signed" state of arm64, which the sampler does not need. */
#define CFA_AARCH64_negate_ra_state_with_pc 0x2c

struct run {
	const struct cfi_machine *machine;
	const struct cfi_state *initial;	/* what DW_CFA_restore goes back to; NULL in a CIE */
	struct cursor c;
	struct cfi_state state;
	u64 ea;
	cfi_row_fn *row;
	void *arg;
	u32 remembered_count;
	struct cfi_state remembered[REMEMBERED_MAX];
};

static s32 clamp_s32(s64 value)
{
	return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (s32)value;
}

u64 cfi_encoded(struct cursor *c, u8 encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor_uint(c, 8);
	case DW_EH_PE_udata2:
		return cursor_uint(c, 2);
	case DW_EH_PE_sdata2:
		return cursor_int(c, 2);
	case DW_EH_PE_udata4:
		return cursor_uint(c, 4);
	case DW_EH_PE_sdata4:
		return cursor_int(c, 4);
	case DW_EH_PE_uleb128:
		return cursor_uleb(c);
	case DW_EH_PE_sleb128:
		return cursor_sleb(c);
	default:
		c->bad = true;
		return 0;
	}
}

/* Where the rule of a register is kept; others share one that nobody reads. */
static struct cfi_reg *run_reg(struct run *run, u64 reg, struct cfi_reg *other)
{
	if (reg == run->machine->ra)
		return &run->state.ra;
	if (reg == run->machine->fp)
		return &run->state.fp;
	if (reg == run->machine->bx)
		return &run->state.bx;
	return other;
}

static void run_restore(struct run *run, u64 reg)
{
	if (!run->initial)
		run->c.bad = true;
	else if (reg == run->machine->ra)
		run->state.ra = run->initial->ra;
	else if (reg == run->machine->fp)
		run->state.fp = run->initial->fp;
	else if (reg == run->machine->bx)
		run->state.bx = run->initial->bx;
}

static void run_set_reg(struct run *run, u64 reg, enum cfi_reg_kind kind, s64 off)
{
	struct cfi_reg other;

	*run_reg(run, reg, &other) = (struct cfi_reg){ .kind = kind, .off = clamp_s32(off) };
}

static s64 data_aligned(const struct run *run, s64 factored)
{
	return (s64)((u64)factored * (u64)run->machine->data_align);
}

static void run_set_cfa_reg(struct run *run, u64 reg)
{
	run->state.cfa_kind = reg < run->machine->reg_count ? CFI_CFA_REG : CFI_CFA_BAD;
	run->state.cfa_reg = reg < run->machine->reg_count ? reg : 0;
	run->state.cfa_add = 0;
}

/* The row ends at ea: tells it. False to stop. */
static bool run_advance(struct run *run, u64 ea)
{
	bool more = true;

	if (!run->row || ea < run->ea) {	/* addresses ascend, and a CIE has none */
		run->c.bad = true;
		return false;
	}
	if (ea > run->ea)
		more = run->row(run->arg, run->ea, &run->state);
	run->ea = ea;
	return more;
}

static bool run_advance_by(struct run *run, u64 delta)
{
	return run_advance(run, run->ea + delta * run->machine->code_align);
}

static bool run_set_loc(struct run *run)
{
	u64 place = run->machine->place_ea + (u64)(uintptr_t)run->c.at;
	u64 ea = cfi_encoded(&run->c, run->machine->address_encoding);

	return run_advance(run, (run->machine->address_encoding & 0x70) == DW_EH_PE_pcrel ? ea + place : ea);
}

static struct cursor run_block(struct run *run)
{
	u64 bytes = cursor_uleb(&run->c);
	const u8 *at = cursor_skip(&run->c, bytes);

	return at ? cursor_of(at, bytes) : cursor_of(run->c.end, 0);
}

static void run_remember(struct run *run)
{
	if (run->remembered_count == REMEMBERED_MAX)
		run->c.bad = true;
	else
		run->remembered[run->remembered_count++] = run->state;
}

static void run_restore_state(struct run *run)
{
	if (run->remembered_count)
		run->state = run->remembered[--run->remembered_count];
	else
		run->c.bad = true;
}

static void run_def_cfa_offset(struct run *run, s64 off)
{
	run->state.cfa_off = clamp_s32(off);
	if (run->state.cfa_kind != CFI_CFA_REG)
		run->state.cfa_kind = CFI_CFA_BAD;
}

static void run_in_register(struct run *run, u64 reg, u64 other)
{
	run_set_reg(run, reg, CFI_REG_IN_REG, 0);
	if (reg == run->machine->ra)
		run->state.ra.reg = other < run->machine->reg_count ? other : run->machine->ra;
	if (reg == run->machine->fp)
		run->state.fp.kind = CFI_REG_BAD;
}

static void run_expression(struct run *run, u64 reg)
{
	struct cfi_reg other;

	cfi_reg_expression(run_block(run), run_reg(run, reg, &other));
}

/* Instructions that say where the CFA is. */
static void run_cfa_op(struct run *run, u8 op)
{
	struct cursor *c = &run->c;

	switch (op) {
	case DW_CFA_def_cfa:
		run_set_cfa_reg(run, cursor_uleb(c));
		run->state.cfa_off = clamp_s32(cursor_uleb(c));
		break;
	case DW_CFA_def_cfa_sf:
		run_set_cfa_reg(run, cursor_uleb(c));
		run->state.cfa_off = clamp_s32(data_aligned(run, cursor_sleb(c)));
		break;
	case DW_CFA_def_cfa_register:
		run_set_cfa_reg(run, cursor_uleb(c));
		break;
	case DW_CFA_def_cfa_offset:
		run_def_cfa_offset(run, cursor_uleb(c));
		break;
	case DW_CFA_def_cfa_offset_sf:
		run_def_cfa_offset(run, data_aligned(run, cursor_sleb(c)));
		break;
	case DW_CFA_def_cfa_expression:
		cfi_cfa_expression(run->machine, run_block(run), &run->state);
		break;
	}
}

/* Instructions that say where a register is. */
static void run_reg_op(struct run *run, u8 op, u64 reg)
{
	struct cursor *c = &run->c;

	switch (op) {
	case DW_CFA_offset_extended:
		run_set_reg(run, reg, CFI_REG_AT_CFA, data_aligned(run, cursor_uleb(c)));
		break;
	case DW_CFA_offset_extended_sf:
		run_set_reg(run, reg, CFI_REG_AT_CFA, data_aligned(run, cursor_sleb(c)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		run_set_reg(run, reg, CFI_REG_AT_CFA, data_aligned(run, -(s64)(u32)cursor_uleb(c)));
		break;
	case DW_CFA_restore_extended:
		run_restore(run, reg);
		break;
	case DW_CFA_undefined:
		run_set_reg(run, reg, CFI_REG_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		run_set_reg(run, reg, CFI_REG_SAME, 0);
		break;
	case DW_CFA_register:
		run_in_register(run, reg, cursor_uleb(c));
		break;
	case DW_CFA_expression:
		run_expression(run, reg);
		break;
	case DW_CFA_val_expression:
		(void)run_block(run);
		run_set_reg(run, reg, CFI_REG_BAD, 0);
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		(void)cursor_uleb(c);
		run_set_reg(run, reg, CFI_REG_BAD, 0);
		break;
	}
}

/* The rest. False to stop. */
static bool run_other_op(struct run *run, u8 op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save:	/* DW_CFA_AARCH64_negate_ra_state there */
	case CFA_AARCH64_negate_ra_state_with_pc:
		return true;
	case DW_CFA_set_loc:
		return run_set_loc(run);
	case DW_CFA_advance_loc1:
		return run_advance_by(run, cursor_u8(&run->c));
	case DW_CFA_advance_loc2:
		return run_advance_by(run, cursor_uint(&run->c, 2));
	case DW_CFA_advance_loc4:
		return run_advance_by(run, cursor_uint(&run->c, 4));
	case DW_CFA_remember_state:
		run_remember(run);
		return true;
	case DW_CFA_restore_state:
		run_restore_state(run);
		return true;
	case DW_CFA_GNU_args_size:
		(void)cursor_uleb(&run->c);
		return true;
	default:
		run->c.bad = true;
		return false;
	}
}

/* Runs one instruction. False to stop. */
static bool run_step(struct run *run)
{
	u8 op = cursor_u8(&run->c), low = op & 0x3f;

	if ((op & 0xc0) == DW_CFA_advance_loc)
		return run_advance_by(run, low);
	if (op & 0xc0) {
		if ((op & 0xc0) == DW_CFA_offset)
			run_set_reg(run, low, CFI_REG_AT_CFA, data_aligned(run, cursor_uleb(&run->c)));
		else
			run_restore(run, low);
		return true;
	}
	switch (op) {
	case DW_CFA_def_cfa ... DW_CFA_def_cfa_expression:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_offset_sf:
		run_cfa_op(run, op);
		return true;
	case DW_CFA_offset_extended ... DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset ... DW_CFA_val_expression:
	case DW_CFA_GNU_negative_offset_extended:
		run_reg_op(run, op, cursor_uleb(&run->c));
		return true;
	default:
		return run_other_op(run, op);
	}
}

bool cfi_run_cie(const struct cfi_machine *machine, struct cursor program, struct cfi_state *ret_initial)
{
	struct run run = { .machine = machine, .c = program };

	while (cursor_left(&run.c) && !run.c.bad)
		run_step(&run);
	*ret_initial = run.state;
	return !run.c.bad;
}

bool cfi_run_fde(const struct cfi_machine *machine, const struct cfi_state *initial, u64 start_ea,
		 struct cursor program, cfi_row_fn *row, void *arg)
{
	struct run run;

	/* The remembered states are left as they are: clearing them would cost more than most programs. */
	run.machine = machine;
	run.initial = initial;
	run.c = program;
	run.state = *initial;
	run.ea = start_ea;
	run.row = row;
	run.arg = arg;
	run.remembered_count = 0;
	while (cursor_left(&run.c) && !run.c.bad)
		if (!run_step(&run) && !run.c.bad)
			return true;
	if (run.c.bad)
		run.state = (struct cfi_state){ 0 };
	row(arg, run.ea, &run.state);
	return !run.c.bad;
}
