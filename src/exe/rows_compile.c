// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_compile.h"

#include <errno.h>
#include <string.h>

#include "exe/cfi.h"
#include "exe/functions.h"
#include "exe/known.h"
#include "exe/lang_tables.h"
#include "exe/rows.h"
#include "exe/rows_build.h"
#include "exe/sweep.h"

/* Functions are aligned to 16 bytes, so that a smaller gap between two is padding. */
#define GAP_MAX 15
#define FDES_FORGET 8192	/* read, after which the pages of the file are given back */

struct compile {
	const struct exe *exe;
	struct lang_tables lang;
	struct cfi eh, debug;
	bool has_eh, has_debug;
	struct functions functions;
	u32 bad_count;		/* FDEs that could not be read */
	struct rows_build *build;
	struct sweep *sweep;
	int err;
	/* The function at work. */
	u64 start_ea, end_ea;
	const struct cfi_machine *machine;
};

static const struct unwind_rule rule_none = { .kind = RULE_NONE };

static void compile_done(struct compile *compile)
{
	lang_tables_done(&compile->lang);
	cfi_done(&compile->eh);
	cfi_done(&compile->debug);
	functions_done(&compile->functions);
	rows_build_free(compile->build);
	sweep_free(compile->sweep);
}

static bool fits_s16(s32 value)
{
	return value == (s16)value;
}

static bool set_cfa(const struct cfi_state *state, struct unwind_rule *rule)
{
	static const u8 kinds[] = {
		[CFI_CFA_BAD] = RULE_NONE, [CFI_CFA_REG] = RULE_CFA, [CFI_CFA_DEREF] = RULE_DEREF,
		[CFI_CFA_PLT] = RULE_PLT,
	};

	rule->kind = kinds[state->cfa_kind];
	rule->cfa_reg = state->cfa_reg;
	rule->cfa_off = state->cfa_off;
	rule->cfa_add = state->cfa_add;
	return rule->kind != RULE_NONE;
}

static bool set_ra(const struct cfi_machine *machine, const struct cfi_reg *ra, struct unwind_rule *rule)
{
	switch (ra->kind) {
	case CFI_REG_AT_CFA:
		rule->saved |= RA_AT_CFA << 4;
		rule->ra_off = ra->off;
		return fits_s16(ra->off);
	case CFI_REG_IN_REG:
		rule->saved |= RA_IN_REG << 4;
		rule->ra_off = ra->reg;
		return ra->reg != machine->ra || machine->elf_machine == EM_AARCH64;
	case CFI_REG_UNSAID:
	case CFI_REG_SAME:
		rule->saved |= RA_IN_REG << 4;
		rule->ra_off = machine->ra;
		return machine->elf_machine == EM_AARCH64;	/* on x86-64 it is in no register */
	default:
		return false;
	}
}

static bool set_fp(const struct cfi_machine *machine, const struct cfi_reg *fp, struct unwind_rule *rule)
{
	switch (fp->kind) {
	case CFI_REG_UNSAID:
	case CFI_REG_SAME:
	case CFI_REG_UNDEFINED:	/* nobody who was called by this needs it */
		rule->saved |= FP_SAME;
		return true;
	case CFI_REG_AT_CFA:
		rule->saved |= FP_AT_CFA;
		rule->fp_off = fp->off;
		return fits_s16(fp->off);
	case CFI_REG_AT_REG:
		rule->saved |= FP_AT_FP;
		rule->fp_off = fp->off;
		return fp->reg == machine->fp && fits_s16(fp->off);
	default:
		return false;
	}
}

/* Where rbx is saved matters only to frames that are found by it: a place that cannot be told is left out. */
static void set_bx(const struct cfi_reg *bx, struct unwind_rule *rule)
{
	if (rule->kind == RULE_CFA && bx->kind == CFI_REG_AT_CFA)
		rule->cfa_add = bx->off;
}

/* On arm64 both are saved at the bottom of the frame: in a large one they are told from there. */
static void set_save_base(struct cfi_reg *ra, struct cfi_reg *fp, struct unwind_rule *rule)
{
	if (rule->kind != RULE_CFA || ra->kind != CFI_REG_AT_CFA || fits_s16(ra->off))
		return;
	rule->cfa_add = ra->off;
	fp->off -= fp->kind == CFI_REG_AT_CFA ? ra->off : 0;
	ra->off = 0;
}

static struct unwind_rule make_rule(const struct cfi_machine *machine, const struct cfi_state *state)
{
	struct cfi_reg ra = state->ra, fp = state->fp;
	struct unwind_rule rule = { 0 };

	if (ra.kind == CFI_REG_UNDEFINED)
		return (struct unwind_rule){ .kind = RULE_END };
	if (!set_cfa(state, &rule))
		return rule_none;
	if (machine->elf_machine == EM_AARCH64)
		set_save_base(&ra, &fp, &rule);
	if (!set_ra(machine, &ra, &rule) || !set_fp(machine, &fp, &rule))
		return rule_none;
	set_bx(&state->bx, &rule);
	return rule;
}

/* A row of the function at work, which may have been cut at both ends. */
static bool compile_row(void *arg, u64 ea, const struct cfi_state *state)
{
	struct compile *compile = arg;
	struct unwind_rule rule;

	if (ea >= compile->end_ea)
		return false;
	rule = make_rule(compile->machine, state);
	rows_build_add(compile->build, ea < compile->start_ea ? compile->start_ea : ea, &rule);
	return true;
}

static void compile_fde(struct compile *compile, struct cfi *cfi, const struct function *function)
{
	struct cfi_fde fde;

	if (!cfi_read(cfi, function->ref, &fde)) {
		rows_build_drop(compile->build, 1);
		rows_build_add(compile->build, function->start_ea, &rule_none);
		return;
	}
	compile->start_ea = function->start_ea;
	compile->end_ea = function_end(function);
	compile->machine = &fde.cie->machine;
	if (!cfi_run_fde(compile->machine, &fde.cie->initial, fde.start_ea, fde.program, compile_row, compile))
		rows_build_drop(compile->build, 1);
}

static void add_rule(void *arg, u64 ea, const struct unwind_rule *rule)
{
	rows_build_add(arg, ea, rule);
}

static void compile_swept(struct compile *compile, const struct function *function)
{
	int r = -ENOMEM;

	if (!compile->sweep)
		compile->sweep = sweep_new(compile->exe, 0, ~0ull);
	if (compile->sweep)
		r = sweep_range(compile->sweep, function->start_ea, function_end(function), add_rule,
				compile->build);
	if (r == -E2BIG)
		rows_build_add(compile->build, function->start_ea, &ROWS_UNSWEPT);
	else if (r == -ENODATA)
		rows_build_add(compile->build, function->start_ea, &rule_none);
	else if (r < 0)
		compile->err = r;
}

/* Adds the functions of a section to a list and settles it. */
static void collect(struct compile *compile, struct cfi *cfi, enum function_source source, struct functions *functions)
{
	u64 offset = 0, fde_offset, start;
	struct cfi_fde fde;
	u32 count = 0;

	while (cfi_next(cfi, &offset, &fde, &fde_offset, &compile->bad_count) > 0) {
		if (++count % FDES_FORGET == 0)
			exe_forget(compile->exe);
		/* What the linker dropped keeps an FDE for address 0 or so. */
		if (!exe_executable(compile->exe, fde.start_ea))
			continue;
		if (fde.cie->is_signal && known_signal_fde(compile->exe, &fde, &start))
			functions_add(functions, start, fde.end_ea, FUNCTION_KNOWN, KNOWN_SIGNAL);
		else
			functions_add(functions, fde.start_ea, fde.end_ea, source, fde_offset);
	}
	functions_settle(functions);
}

/* The functions of a language's own tables come before all others: what else the file says of them fills gaps. */
static void collect_lang(struct compile *compile)
{
	struct functions functions = { 0 };

	if (lang_tables_open(compile->exe, &compile->lang) < 0)
		return;
	compile->lang.ops->functions(compile->lang.state, &functions);
	functions_settle(&functions);
	functions_fill(&functions, &compile->functions);
	compile->functions = functions;
}

static int compile_collect(struct compile *compile, const struct exe *debug)
{
	struct functions others = { 0 };

	compile->has_eh = cfi_open_eh(&compile->eh, compile->exe) == 0;
	compile->has_debug = cfi_open_debug(&compile->debug, compile->exe) == 0;
	if (!compile->has_debug && debug && debug->machine == compile->exe->machine)
		compile->has_debug = cfi_open_debug(&compile->debug, debug) == 0;
	if (compile->has_eh)
		collect(compile, &compile->eh, FUNCTION_EH, &compile->functions);
	if (compile->has_debug) {
		collect(compile, &compile->debug, FUNCTION_DEBUG, &others);
		functions_fill(&compile->functions, &others);
	}
	collect_lang(compile);
	known_fill(compile->exe, compile->lang.ops, &compile->functions);
	return compile->functions.err;
}

static u64 compile_functions(struct compile *compile)
{
	u64 end = 0, text_bytes = 0;

	for (u32 i = 0; i < compile->functions.count; i++) {
		const struct function *f = &compile->functions.at[i];

		if (f->start_ea - end > GAP_MAX)
			rows_build_add(compile->build, end, &rule_none);
		if (f->source == FUNCTION_KNOWN)
			rows_build_add(compile->build, f->start_ea, known_rule(compile->exe->machine, f->ref));
		else if (f->source == FUNCTION_SWEPT)
			compile_swept(compile, f);
		else if (f->source == FUNCTION_LANG)
			compile->lang.ops->rows(compile->lang.state, f->ref, add_rule, compile->build);
		else
			compile_fde(compile, f->source == FUNCTION_EH ? &compile->eh : &compile->debug, f);
		end = function_end(f);
		text_bytes += f->source == FUNCTION_SWEPT ? 0 : f->bytes;
		if (i % FDES_FORGET == 0)
			exe_forget(compile->exe);
	}
	rows_build_add(compile->build, end, &rule_none);
	return text_bytes;
}

int rows_compile(const struct exe *exe, const struct exe *debug, struct rows **ret_rows)
{
	_cleanup_(compile_done) struct compile compile = { .exe = exe };
	u64 text_bytes;
	int r;

	if (exe->elf_class != ELFCLASS64 || (exe->machine != EM_X86_64 && exe->machine != EM_AARCH64))
		return -ENODATA;
	compile.build = rows_build_new();
	if (!compile.build)
		return -ENOMEM;
	r = compile_collect(&compile, debug);
	if (r < 0)
		return r;
	rows_build_drop(compile.build, compile.bad_count + compile.functions.dropped_count);
	text_bytes = compile_functions(&compile);
	if (compile.err)
		return compile.err;
	return rows_build_finish(compile.build, exe->machine, text_bytes, ret_rows);
}
