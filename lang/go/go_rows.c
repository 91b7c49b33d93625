// SPDX-License-Identifier: Apache-2.0
/*
 * Unwind rows of Go code. pcsp tells at each instruction by how much the stack has grown since the call, so that rows
 * are exact in prologues and in leaves without a frame too.
 *
 *	x86-64				arm64
 *	CFA = sp + depth + 8		CFA = sp + depth
 *	return address at CFA - 8	return address at sp; in x30 where the depth is 0
 *	caller's fp at CFA - 16		caller's fp at sp - 8, where fp points to
 *
 * Some functions of the runtime go over to another stack, of the thread or of the goroutine, and leave the frame
 * pointer where it was (runtime/asm_amd64.s: systemstack, asmcgocall, cgocallback; the callers of the vDSO): their
 * caller is found by it. Others begin anew there (mcall, morestack, gogo).
 */
#include <string.h>

#include "exe/elf.h"
#include "exe/functions.h"
#include "exe/known.h"
#include "lang/go/go_tables.h"
#include "lang/go/pclntab.h"

#define DEPTH_MAX (1 << 28)
#define CODE_MAX 4096		/* of a function in assembly, looked at for how it treats fp and sp */

#define X86_SP 7
#define X86_FP 6
#define ARM64_SP 31
#define ARM64_FP 29

enum treatment {
	TREAT_PLAIN,
	TREAT_END,		/* nobody called it, or nobody we would show */
	TREAT_SWITCH,		/* goes over to another stack; fp stays */
	TREAT_LEAVE,		/* ... and does not come back */
	TREAT_SIGNAL,		/* returns from a signal handler */
};

static const struct {
	const char *name;
	enum treatment treatment;
} known_functions[] = {
	{ "runtime.mcall", TREAT_LEAVE },
	{ "runtime.morestack", TREAT_LEAVE },
	{ "runtime.gogo", TREAT_LEAVE },
	{ "gogo", TREAT_LEAVE },
	/* What the kernel calls when a signal comes: the frame it left leads to what was interrupted. */
	{ "runtime.sigtramp", TREAT_PLAIN },
	{ "runtime.cgoSigtramp", TREAT_PLAIN },
	{ "runtime.sigreturn", TREAT_SIGNAL },
	{ "runtime.sigreturn__sigaction", TREAT_SIGNAL },
};

static const struct unwind_rule rule_end = { .kind = RULE_END };
static const struct unwind_rule rule_none = { .kind = RULE_NONE };

static enum treatment treatment_of(const struct pclntab *table, const struct go_function *function)
{
	/* All of them are marked in one way or another; the names of other functions are not looked at. */
	if (!(function->flags & (GO_TOP_FRAME | GO_SP_WRITE | GO_ASM)))
		return TREAT_PLAIN;
	for (size_t i = 0; i < sizeof(known_functions) / sizeof(known_functions[0]); i++)
		if (pclntab_is_named(table, function, known_functions[i].name))
			return known_functions[i].treatment;
	if (function->flags & GO_TOP_FRAME)
		return TREAT_END;
	return function->flags & GO_SP_WRITE ? TREAT_SWITCH : TREAT_PLAIN;
}

void go_rows_functions(const void *tables, struct functions *ret_functions)
{
	const struct pclntab *table = tables;
	struct go_function function;

	for (u32 i = 0; i < table->function_count; i++) {
		/* C code that Go's linker took in has a name, but no depth. */
		if (!pclntab_function(table, i, &function) || !function.pcsp)
			continue;
		/* A handler returns to its first instruction, and return addresses are looked up one byte lower. */
		if (treatment_of(table, &function) == TREAT_SIGNAL)
			functions_add(ret_functions, function.start_ea - 1, function.end_ea, FUNCTION_KNOWN,
				      KNOWN_SIGNAL);
		else
			functions_add(ret_functions, function.start_ea, function.end_ea, FUNCTION_LANG, i);
	}
}

/* How a function in assembly treats its registers, as addresses of instructions; ~0: it does not. */
struct habits {
	u64 fp_saved_ea;	/* from here on the caller's fp is at CFA - 16 */
	u64 fp_set_ea;		/* ... and fp points there */
	u64 sp_set_ea;		/* from here on sp is on another stack */
};

/* mov N(%reg),%rsp or mov %reg,%rsp */
static bool sets_sp(const u8 *code, size_t left)
{
	if (left < 3 || (code[0] != 0x48 && code[0] != 0x49))
		return false;
	if (code[1] == 0x8b)
		return (code[2] >> 3 & 7) == 4 && (code[2] & 7) != 4 && (code[2] & 0xc7) != 5;
	return code[1] == 0x89 && (code[2] & 0xc7) == 0xc4;
}

/* The assembler writes push %rbp; mov %rsp,%rbp, before 1.21 mov %rbp,N(%rsp); lea N(%rsp),%rbp. */
static void find_frame(const u8 *code, size_t bytes, u64 ea, struct habits *habits)
{
	static const u8 push[] = { 0x55, 0x48, 0x89, 0xe5 };
	static const u8 save[] = { 0x48, 0x89, 0x6c, 0x24 }, lea[] = { 0x48, 0x8d, 0x6c, 0x24 };

	for (size_t i = 0; i + 10 <= bytes; i++) {
		if (!memcmp(code + i, push, sizeof(push))) {
			habits->fp_saved_ea = ea + i + 1;
			habits->fp_set_ea = ea + i + 4;
			return;
		}
		if (!memcmp(code + i, save, 4) && !memcmp(code + i + 5, lea, 4) && code[i + 4] == code[i + 9]) {
			habits->fp_saved_ea = ea + i + 5;
			habits->fp_set_ea = ea + i + 10;
			return;
		}
	}
}

/* sub x29, sp, #8 and mov sp, REG */
static void find_habits_arm64(const u8 *code, size_t bytes, u64 ea, struct habits *habits)
{
	for (size_t i = 0; i + 4 <= bytes; i += 4) {
		u32 word;

		memcpy(&word, code + i, sizeof(word));
		if (word == 0xd10023fd && habits->fp_set_ea == ~0ull)
			habits->fp_set_ea = ea + i + 4;
		if ((word & 0xfffffc1f) == 0x9100001f && habits->sp_set_ea == ~0ull)
			habits->sp_set_ea = ea + i + 4;
	}
}

static struct habits find_habits(const struct pclntab *table, const struct go_function *function)
{
	struct habits habits = { ~0ull, ~0ull, ~0ull };
	size_t bytes = function->end_ea - function->start_ea;
	const u8 *code;

	bytes = bytes < CODE_MAX ? bytes : CODE_MAX;
	code = exe_bytes_at(table->exe, function->start_ea, bytes);
	if (!code)
		return habits;
	if (table->quantum != 1) {
		find_habits_arm64(code, bytes, function->start_ea, &habits);
		return habits;
	}
	find_frame(code, bytes, function->start_ea, &habits);
	for (size_t i = 0; i < bytes && habits.sp_set_ea == ~0ull; i++)
		if (sets_sp(code + i, bytes - i))
			habits.sp_set_ea = function->start_ea + i + 3;
	return habits;
}

static struct unwind_rule depth_rule(const struct pclntab *table, s32 depth, bool has_fp)
{
	if (depth < 0 || depth > DEPTH_MAX)
		return rule_none;
	if (table->quantum == 1)
		return (struct unwind_rule){
			.kind = RULE_CFA, .cfa_reg = X86_SP, .cfa_off = depth + 8, .ra_off = -8,
			.fp_off = has_fp && depth >= 8 ? -16 : 0,
			.saved = has_fp && depth >= 8 ? FP_AT_CFA : FP_SAME,
		};
	if (!depth)
		return *known_rule(EM_AARCH64, KNOWN_CALLED);
	return (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = ARM64_SP, .cfa_off = depth, .cfa_add = -depth,
				     .fp_off = -8, .saved = FP_AT_CFA };
}

static struct unwind_rule switch_rule(const struct pclntab *table)
{
	return (struct unwind_rule){ .kind = RULE_SWITCH, .cfa_reg = table->quantum == 1 ? X86_FP : ARM64_FP };
}

/* A function while its rows are told. */
struct telling {
	const struct pclntab *table;
	struct habits habits;
	enum treatment treatment;
	struct unwind_rule special;	/* where it is on another stack */
	void (*row)(void *arg, u64 ea, const struct unwind_rule *rule);
	void *arg;
};

/*
 * From where on what has that depth has the special rule. Not all depths can be believed: the arm64 assembler does not
 * count what it stores with a change of sp.
 */
static u64 special_from(const struct telling *telling, s32 depth)
{
	const struct habits *habits = &telling->habits;

	if (telling->treatment != TREAT_SWITCH && telling->treatment != TREAT_LEAVE)
		return ~0ull;
	if (telling->treatment == TREAT_LEAVE || habits->fp_set_ea == ~0ull)
		return habits->sp_set_ea;
	return depth ? habits->fp_set_ea : ~0ull;
}

/* A range of one depth: it is cut where fp is saved, and where the stack changes. */
static void tell_range(const struct telling *telling, const struct go_values *range)
{
	u64 saved_ea = telling->habits.fp_saved_ea, special_ea = special_from(telling, range->value);
	struct unwind_rule rule = depth_rule(telling->table, range->value, range->start_ea >= saved_ea);

	telling->row(telling->arg, range->start_ea, special_ea <= range->start_ea ? &telling->special : &rule);
	if (saved_ea > range->start_ea && saved_ea < range->end_ea && saved_ea < special_ea) {
		rule = depth_rule(telling->table, range->value, true);
		telling->row(telling->arg, saved_ea, &rule);
	}
	if (special_ea > range->start_ea && special_ea < range->end_ea)
		telling->row(telling->arg, special_ea, &telling->special);
}

void go_rows_tell(const void *tables, u32 number, void (*row)(void *arg, u64 ea, const struct unwind_rule *rule),
		  void *arg)
{
	struct telling telling = { .table = tables, .row = row, .arg = arg };
	struct go_function function;
	struct go_values values;

	if (!pclntab_function(tables, number, &function))
		return;
	telling.treatment = treatment_of(tables, &function);
	go_values_init(&values, tables, &function, function.pcsp);
	if (telling.treatment == TREAT_END || !go_values_next(&values)) {
		row(arg, function.start_ea, telling.treatment == TREAT_END ? &rule_end : &rule_none);
		return;
	}
	if (function.flags & (GO_ASM | GO_SP_WRITE))
		telling.habits = find_habits(tables, &function);
	telling.special = telling.treatment == TREAT_LEAVE ? rule_end : switch_rule(tables);
	do {
		tell_range(&telling, &values);
	} while (go_values_next(&values));
}
