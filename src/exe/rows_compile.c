// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_compile.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exe/cfi.h"
#include "exe/functions.h"
#include "exe/known.h"
#include "exe/lang_file.h"
#include "exe/lang_tables.h"
#include "exe/rows.h"
#include "exe/rows_build.h"
#include "exe/sweep.h"

/* Functions are aligned to 16 bytes, so that a smaller gap between two is padding. */
#define GAP_MAX 15
#define FDES_FORGET 8192	/* read, after which the pages of the file are given back */

struct compile {
	const struct exe *exe;
	struct known_range code;	/* that is looked at */
	u64 from_ea;		/* where the rows that are wanted begin */
	u32 whole_max;		/* functions of a file that is compiled as a whole */
	struct lang_tables lang;
	struct cfi eh, debug;
	struct cfi_index index;
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
	rows_build_tell(compile->build, ea < compile->start_ea ? compile->start_ea : ea, &rule);
	return true;
}

static void compile_fde(struct compile *compile, struct cfi *cfi, const struct function *function)
{
	struct cfi_fde fde;

	if (!cfi_read(cfi, function->ref, &fde)) {
		rows_build_drop(compile->build, 1);
		rows_build_tell(compile->build, function->start_ea, &rule_none);
		return;
	}
	compile->start_ea = function->start_ea;
	compile->end_ea = function_end(function);
	compile->machine = &fde.cie->machine;
	if (!cfi_run_fde(compile->machine, &fde.cie->initial, fde.start_ea, fde.program, compile_row, compile))
		rows_build_drop(compile->build, 1);
}

static void compile_swept(struct compile *compile, const struct function *function)
{
	int r = -ENOMEM;

	if (!compile->sweep)
		compile->sweep = sweep_new(compile->exe, compile->code.start_ea, compile->code.end_ea);
	if (compile->sweep)
		r = sweep_range(compile->sweep, function->start_ea, function_end(function), rows_build_tell,
				compile->build);
	if (r == -E2BIG)
		rows_build_tell(compile->build, function->start_ea, &ROWS_UNSWEPT);
	else if (r == -ENODATA)
		rows_build_tell(compile->build, function->start_ea, &rule_none);
	else if (r < 0)
		compile->err = r;
}

static void collect_fde(struct compile *compile, const struct cfi_fde *fde, u64 fde_offset,
			enum function_source source, struct functions *functions)
{
	u64 start;

	/* What the linker dropped keeps an FDE for address 0 or so. */
	if (!exe_executable(compile->exe, fde->start_ea))
		return;
	if (fde->cie->is_signal && known_signal_fde(compile->exe, fde, &start))
		functions_add(functions, start, fde->end_ea, FUNCTION_KNOWN, KNOWN_SIGNAL);
	else
		functions_add(functions, fde->start_ea, fde->end_ea, source, fde_offset);
}

/* Adds the functions of a section to a list and settles it. */
static void collect(struct compile *compile, struct cfi *cfi, enum function_source source, struct functions *functions)
{
	u64 offset = 0, fde_offset;
	struct cfi_fde fde;
	u32 count = 0;

	while (cfi_next(cfi, &offset, &fde, &fde_offset, &compile->bad_count) > 0) {
		if (++count % FDES_FORGET == 0)
			exe_forget(compile->exe);
		collect_fde(compile, &fde, fde_offset, source, functions);
	}
	functions_settle(functions);
}

/* The functions between two addresses, and the one that reaches the first of them, by the index. */
static void collect_range(struct compile *compile, const struct known_range *range)
{
	const struct cfi_index *index = &compile->index;
	struct cfi_fde fde;
	u64 fde_offset;

	for (u32 i = cfi_index_find(index, range->start_ea);
	     i < index->count && cfi_index_start(index, i) < range->end_ea; i++) {
		if (cfi_index_read(&compile->eh, index, i, &fde, &fde_offset))
			collect_fde(compile, &fde, fde_offset, FUNCTION_EH, &compile->functions);
		else
			compile->bad_count++;
	}
	functions_settle(&compile->functions);
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

static bool has_language(const struct exe *exe)
{
	_cleanup_(freep) struct lang_file *file = calloc(1, sizeof(*file));
	_cleanup_(lang_tables_done) struct lang_tables tables = { 0 };

	return !file || (lang_file_find(exe, NULL, file) == 0 && file->mark_count) ||
	       lang_tables_open(exe, &tables) == 0;
}

/*
 * Are its rows for later? Not where functions are found by more than the index, nor where a language's unwinder looks
 * at its code, which is marked in rows that are all there.
 */
static bool is_unread(struct compile *compile)
{
	return compile->has_eh && !compile->has_debug && cfi_open_index(&compile->eh, &compile->index) == 0 &&
	       compile->index.count > compile->whole_max && !has_language(compile->exe);
}

/* The rows of a file that is for later: of its code only what is not to be found by the index. */
static void collect_unread(struct compile *compile)
{
	u64 entry_ea = compile->exe->entry_ea;

	if (exe_executable(compile->exe, entry_ea))
		collect_range(compile, &(struct known_range){ entry_ea, entry_ea + 1 });
	known_fill_unread(compile->exe, &compile->functions);
}

static int compile_collect(struct compile *compile, const struct exe *debug)
{
	struct functions others = { 0 };

	compile->has_eh = cfi_open_eh(&compile->eh, compile->exe) == 0;
	compile->has_debug = cfi_open_debug(&compile->debug, compile->exe) == 0;
	if (!compile->has_debug && debug && debug->machine == compile->exe->machine)
		compile->has_debug = cfi_open_debug(&compile->debug, debug) == 0;
	if (is_unread(compile)) {
		collect_unread(compile);
		return compile->functions.err;
	}
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

static void compile_function(struct compile *compile, const struct function *f)
{
	if (f->source == FUNCTION_KNOWN)
		rows_build_tell(compile->build, f->start_ea, known_rule(compile->exe->machine, f->ref));
	else if (f->source == FUNCTION_UNREAD)
		rows_build_tell(compile->build, f->start_ea, &ROWS_UNREAD);
	else if (f->source == FUNCTION_SWEPT)
		compile_swept(compile, f);
	else if (f->source == FUNCTION_LANG)
		compile->lang.ops->rows(compile->lang.state, f->ref, rows_build_tell, compile->build);
	else
		compile_fde(compile, f->source == FUNCTION_EH ? &compile->eh : &compile->debug, f);
}

static u64 compile_functions(struct compile *compile)
{
	u64 end = 0, text_bytes = 0;

	for (u32 i = 0; i < compile->functions.count; i++) {
		const struct function *f = &compile->functions.at[i];

		if (f->start_ea - end > GAP_MAX)
			rows_build_tell(compile->build, end, &rule_none);
		end = function_end(f);
		if (end + GAP_MAX < compile->from_ea)
			continue;
		compile_function(compile, f);
		text_bytes += f->source == FUNCTION_SWEPT ? 0 : f->bytes;
		if (i % FDES_FORGET == 0)
			exe_forget(compile->exe);
	}
	rows_build_tell(compile->build, end, &rule_none);
	return text_bytes;
}

/* The rows of the functions that were collected. */
static int compile_rows(struct compile *compile, struct rows **ret_rows)
{
	u64 text_bytes;

	rows_build_drop(compile->build, compile->bad_count + compile->functions.dropped_count);
	text_bytes = compile_functions(compile);
	if (compile->err)
		return compile->err;
	return rows_build_finish(compile->build, compile->exe->machine, text_bytes, ret_rows);
}

static bool has_rules(const struct exe *exe)
{
	return exe->elf_class == ELFCLASS64 && (exe->machine == EM_X86_64 || exe->machine == EM_AARCH64);
}

int rows_compile_within(const struct exe *exe, const struct exe *debug, u32 whole_max, struct rows **ret_rows)
{
	_cleanup_(compile_done) struct compile compile = { .exe = exe, .code = { 0, UINT64_MAX },
							   .whole_max = whole_max };
	int r;

	if (!has_rules(exe))
		return -ENODATA;
	compile.build = rows_build_new();
	if (!compile.build)
		return -ENOMEM;
	r = compile_collect(&compile, debug);
	return r < 0 ? r : compile_rows(&compile, ret_rows);
}

int rows_compile(const struct exe *exe, const struct exe *debug, struct rows **ret_rows)
{
	return rows_compile_within(exe, debug, UINT32_MAX, ret_rows);
}

int rows_compile_page(const struct exe *exe, u64 page_ea, u64 start_ea, u64 end_ea, struct rows **ret_rows)
{
	_cleanup_(compile_done) struct compile compile = { .exe = exe, .code = { start_ea, end_ea },
							   .from_ea = page_ea };

	if (!has_rules(exe) || cfi_open_eh(&compile.eh, exe) < 0 || cfi_open_index(&compile.eh, &compile.index) < 0)
		return -ENODATA;
	compile.build = rows_build_new();
	if (!compile.build)
		return -ENOMEM;
	rows_build_set_part(compile.build, page_ea, page_ea + (1u << ROWS_PAGE_SHIFT));
	collect_range(&compile, &compile.code);
	known_fill_range(exe, &compile.code, &compile.functions);
	return compile.functions.err ? compile.functions.err : compile_rows(&compile, ret_rows);
}
