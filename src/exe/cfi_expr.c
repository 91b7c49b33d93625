// SPDX-License-Identifier: Apache-2.0
#include "exe/cfi_run.h"

#include <dwarf.h>
#include <elf.h>

#define X86_RIP 16

/* DW_OP_bregN or DW_OP_bregx: a register and an offset. False if the expression begins with another operation. */
static bool read_breg(struct cursor *c, u8 op, u64 *ret_reg, s64 *ret_off)
{
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		*ret_reg = op - DW_OP_breg0;
	else if (op == DW_OP_bregx)
		*ret_reg = cursor_uleb(c);
	else
		return false;
	*ret_off = cursor_sleb(c);
	return !c->bad;
}

static bool fits_s32(s64 value)
{
	return value == (s32)value;
}

/*
 * What linkers write for .plt on x86-64, where each entry of 16 bytes pushes
 * one word on its way: sp + off + (((pc & 15) >= threshold) << 3).
 */
static bool read_plt(struct cursor c, s32 *ret_threshold)
{
	u64 reg = 0;
	s64 off = 0;
	u8 threshold;

	if (!read_breg(&c, cursor_u8(&c), &reg, &off) || reg != X86_RIP || off)
		return false;
	if (cursor_u8(&c) != DW_OP_lit15 || cursor_u8(&c) != DW_OP_and)
		return false;
	threshold = cursor_u8(&c);
	if (threshold < DW_OP_lit0 || threshold > DW_OP_lit15)
		return false;
	if (cursor_u8(&c) != DW_OP_ge || cursor_u8(&c) != DW_OP_lit3 || cursor_u8(&c) != DW_OP_shl ||
	    cursor_u8(&c) != DW_OP_plus || cursor_left(&c))
		return false;
	*ret_threshold = threshold - DW_OP_lit0;
	return !c.bad;
}

/* A constant that is added at the end, by any of the ways to say so. */
static bool read_plus(struct cursor *c, s64 *ret_add)
{
	u8 op = cursor_u8(c);

	if (op == DW_OP_plus_uconst) {
		*ret_add = cursor_uleb(c);
		return !c->bad;
	}
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		*ret_add = op - DW_OP_lit0;
	else if (op == DW_OP_const1u || op == DW_OP_const2u || op == DW_OP_const4u)
		*ret_add = cursor_uint(c, op == DW_OP_const1u ? 1 : op == DW_OP_const2u ? 2 : 4);
	else if (op == DW_OP_const1s || op == DW_OP_const2s || op == DW_OP_const4s)
		*ret_add = cursor_int(c, op == DW_OP_const1s ? 1 : op == DW_OP_const2s ? 2 : 4);
	else
		return false;
	op = cursor_u8(c);
	if (op == DW_OP_minus)
		*ret_add = -*ret_add;
	return !c->bad && (op == DW_OP_plus || op == DW_OP_minus);
}

void cfi_cfa_expression(const struct cfi_machine *machine, struct cursor c, struct cfi_state *state)
{
	struct cfi_state cfa = { .cfa_kind = CFI_CFA_REG };
	s64 off = 0, add = 0;
	u64 reg = 0;
	bool known = read_breg(&c, cursor_u8(&c), &reg, &off) && reg < machine->reg_count;

	if (known && reg == machine->sp && machine->elf_machine == EM_X86_64 && read_plt(c, &cfa.cfa_add)) {
		cfa.cfa_kind = CFI_CFA_PLT;
	} else if (known && cursor_left(&c) && *c.at == DW_OP_deref) {
		c.at++;
		cfa.cfa_kind = CFI_CFA_DEREF;
		known = !cursor_left(&c) || (read_plus(&c, &add) && !cursor_left(&c));
		cfa.cfa_add = (s32)add;
	} else if (known && cursor_left(&c)) {
		known = fits_s32(off) && read_plus(&c, &add) && !cursor_left(&c) && fits_s32(add);
		off = known ? off + add : off;
	}
	known &= fits_s32(off) && fits_s32(add);
	state->cfa_kind = known ? cfa.cfa_kind : CFI_CFA_BAD;
	state->cfa_reg = reg;
	state->cfa_off = (s32)off;
	state->cfa_add = cfa.cfa_add;
}

void cfi_reg_expression(struct cursor c, struct cfi_reg *ret_reg)
{
	s64 off = 0;
	u64 reg = 0;
	bool known = read_breg(&c, cursor_u8(&c), &reg, &off) && !cursor_left(&c) && reg < 256 && fits_s32(off);

	*ret_reg = known ? (struct cfi_reg){ .kind = CFI_REG_AT_REG, .reg = reg, .off = (s32)off }
			 : (struct cfi_reg){ .kind = CFI_REG_BAD };
}
