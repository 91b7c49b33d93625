/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the call frame programs of CIEs and FDEs: a table of rows, each saying
 * from some address on how to find the CFA, the return address, the caller's
 * frame pointer and, on x86-64, its rbx (the dynamic linker finds its frame by
 * that). Other registers are not followed: no unwind rule needs them.
 */
#ifndef EXE_CFI_RUN_H
#define EXE_CFI_RUN_H

#include <stdbool.h>

#include "base/cursor.h"
#include "base/types.h"

#define NO_REGISTER 0xff

/* DWARF numbers of what we follow on one machine, and the factors of a CIE. */
struct cfi_machine {
	u16 elf_machine;
	u8 sp, fp, bx, ra, reg_count;	/* bx: NO_REGISTER where it is not followed */
	u8 address_encoding;	/* DW_EH_PE_*, of addresses in programs */
	u64 place_ea;		/* add a pointer into the section to get its ELF address */
	u64 code_align;
	s64 data_align;
};

enum cfi_cfa_kind {
	CFI_CFA_BAD,	/* nothing defined it, or an expression we do not know */
	CFI_CFA_REG,	/* reg + off */
	CFI_CFA_DEREF,	/* *(reg + off) + add */
	CFI_CFA_PLT,	/* sp + off + ((pc & 15) >= add ? 8 : 0) */
};

enum cfi_reg_kind {
	CFI_REG_UNSAID,	/* no rule given */
	CFI_REG_SAME,
	CFI_REG_UNDEFINED,
	CFI_REG_AT_CFA,	/* saved at CFA + off */
	CFI_REG_AT_REG,	/* saved at reg + off */
	CFI_REG_IN_REG,	/* is in reg */
	CFI_REG_BAD,	/* a rule we do not know */
};

struct cfi_reg {
	u8 kind;	/* enum cfi_reg_kind */
	u8 reg;
	s32 off;
};

struct cfi_state {
	u8 cfa_kind;	/* enum cfi_cfa_kind */
	u8 cfa_reg;
	s32 cfa_off, cfa_add;
	struct cfi_reg ra, fp, bx;
};

/* One row: it holds from ea on. False ends the run. */
typedef bool cfi_row_fn(void *arg, u64 ea, const struct cfi_state *state);

/* Runs the program of a CIE. False if it is malformed. */
bool cfi_run_cie(const struct cfi_machine *machine, struct cursor program, struct cfi_state *ret_initial);

/*
 * Runs the program of an FDE and tells its rows, in ascending order. False if it is malformed: the last row told, with
 * CFI_CFA_BAD, is then where that began.
 */
bool cfi_run_fde(const struct cfi_machine *machine, const struct cfi_state *initial, u64 start_ea,
		 struct cursor program, cfi_row_fn *row, void *arg);

/* Recognises the few shapes of expressions that compilers, linkers and libraries use for a CFA; else CFI_CFA_BAD. */
void cfi_cfa_expression(const struct cfi_machine *machine, struct cursor expression, struct cfi_state *state);

/* Likewise for where a register is saved: an address relative to a register. */
void cfi_reg_expression(struct cursor expression, struct cfi_reg *ret_reg);

/* A DW_EH_PE_* encoded number: format alone, without what it is relative to. */
u64 cfi_encoded(struct cursor *c, u8 encoding);

#endif
