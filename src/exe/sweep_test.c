// SPDX-License-Identifier: Apache-2.0
#include "exe/sweep.h"

#include <errno.h>
#include <fcntl.h>

#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "forge.h"
#include "test.h"

#define TEXT 0x1000
#define NONE 0
#define END -1

struct swept {
	struct forge f;
	struct exe *exe;
	struct unwind_rule rule[256];	/* of each byte, as told */
	u64 last_ea;
	u32 count;
};

static void keep_row(void *arg, u64 ea, const struct unwind_rule *rule)
{
	struct swept *swept = arg;

	OK(!swept->count++ || ea > swept->last_ea);
	swept->last_ea = ea;
	for (u64 i = ea - TEXT; i < sizeof(swept->rule) / sizeof(*swept->rule); i++)
		swept->rule[i] = *rule;
}

/* Sweeps that code. */
static void sweep_code(struct swept *swept, const void *code, size_t bytes)
{
	struct sweep *sweep;

	*swept = (struct swept){ 0 };
	forge_init(&swept->f, EM_X86_64);
	forge_section(&swept->f, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, code, bytes);
	forge_finish(&swept->f);
	EQ(exe_open_mem(swept->f.b.data, swept->f.b.len, &swept->exe), 0);
	sweep = sweep_new(swept->exe, 0, ~0ull);
	EQ(sweep_range(sweep, TEXT, TEXT + bytes, keep_row, swept), 0);
	sweep_free(sweep);
}

static void swept_done(struct swept *swept)
{
	exe_free(swept->exe);
	forge_done(&swept->f);
}

/* The rule at a byte: CFA relative to rsp (7) or rbp (6), or NONE, or END in reg; where the caller's rbp is, or 0. */
static void check(const struct swept *swept, u32 at, int reg, int off, int fp_off)
{
	const struct unwind_rule *r = &swept->rule[at];
	int got = r->kind == RULE_NONE ? NONE : r->kind == RULE_END ? END : r->cfa_reg;

	if (got != reg || r->cfa_off != off || r->fp_off != fp_off || (fp_off && r->saved != FP_AT_CFA))
		FAIL("at %u: reg %d off %d fp %d, not reg %d off %d fp %d", at, got, r->cfa_off, r->fp_off,
		     reg, off, fp_off);
}

#define CODE(...) (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ })

TEST(sweep_follows_pushes_and_pops)
{
	_cleanup_(swept_done) struct swept s;

	/* push %rbx; push %rbp; sub $24,%rsp; nop; add $24,%rsp; pop %rbp; pop %rbx; ret */
	sweep_code(&s, CODE(0x53, 0x55, 0x48, 0x83, 0xec, 24, 0x90, 0x48, 0x83, 0xc4, 24, 0x5d, 0x5b, 0xc3));
	check(&s, 0, 7, 8, 0);
	check(&s, 1, 7, 16, 0);
	check(&s, 2, 7, 24, -24);
	check(&s, 6, 7, 48, -24);
	check(&s, 11, 7, 24, -24);
	check(&s, 12, 7, 16, 0);
	check(&s, 13, 7, 8, 0);
}

TEST(sweep_takes_the_frame_pointer_where_there_is_one)
{
	_cleanup_(swept_done) struct swept s;

	/* push %rbp; mov %rsp,%rbp; sub %rax,%rsp; nop; leave; ret */
	sweep_code(&s, CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4, 0x90, 0xc9, 0xc3));
	check(&s, 0, 7, 8, 0);
	check(&s, 1, 7, 16, -16);
	check(&s, 4, 6, 16, -16);
	check(&s, 7, 6, 16, -16);
	check(&s, 9, 7, 8, 0);
}

TEST(sweep_follows_branches_over_an_early_return)
{
	_cleanup_(swept_done) struct swept s;

	/* push %rbx; je 5; pop %rbx; ret; 5: nop; pop %rbx; ret */
	sweep_code(&s, CODE(0x53, 0x74, 0x02, 0x5b, 0xc3, 0x90, 0x5b, 0xc3));
	check(&s, 3, 7, 16, 0);
	check(&s, 4, 7, 8, 0);
	check(&s, 5, 7, 16, 0);
	check(&s, 7, 7, 8, 0);
}

TEST(sweep_gives_blocks_of_a_jump_table_the_depth_of_the_jump)
{
	_cleanup_(swept_done) struct swept s;

	/* push %rbx; jmp *%rax; pop %rbx; ret; nothing jumps here: pop %rbx; ret */
	sweep_code(&s, CODE(0x53, 0xff, 0xe0, 0x5b, 0xc3, 0x5b, 0xc3));
	check(&s, 3, 7, 16, 0);
	check(&s, 4, 7, 8, 0);
	check(&s, 5, 7, 16, 0);
}

TEST(sweep_begins_functions_where_they_are_called_or_follow_a_return)
{
	_cleanup_(swept_done) struct swept s;

	/* push %rbx; call 6; 6: push %rbx; (the call did not return) pop %rbx; ret; push %rbx; pop %rbx; ret */
	sweep_code(&s, CODE(0x53, 0xe8, 0, 0, 0, 0, 0x53, 0x5b, 0xc3, 0x53, 0x5b, 0xc3));
	check(&s, 1, 7, 16, 0);
	check(&s, 6, 7, 8, 0);
	check(&s, 7, 7, 16, 0);
	check(&s, 9, 7, 8, 0);
	check(&s, 10, 7, 16, 0);
}

TEST(sweep_begins_functions_behind_a_call_that_does_not_return)
{
	static const struct {
		u8 code[4];	/* at 16 */
		int at_16;
	} table[] = {
		{ { 0x31, 0xc0, 0x53, 0xc3 }, 8 },		/* xor %eax,%eax; push %rbx: a function */
		{ { 0x48, 0x83, 0xec, 0x18 }, 8 },		/* sub $24,%rsp: a function */
		{ { 0x48, 0x83, 0xec, 0x08 }, 16 },		/* sub $8,%rsp: perhaps arguments, so it goes on */
		{ { 0x90, 0x31, 0xc0, 0xc3 }, 16 },
		{ { 0x53, 0xeb, 0xfd, 0xc3 }, 16 },		/* jumped to: a loop */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		_cleanup_(swept_done) struct swept s;
		u8 code[21];

		/* push %rbx; call out of here; padding up to 16 */
		memset(code, 0x90, sizeof(code));
		memcpy(code, "\x53\xe8\0\0\0\x10", 6);
		memcpy(code + 16, table[i].code, 4);
		code[20] = 0xc3;
		sweep_code(&s, code, sizeof(code));
		printf("# code %zu\n", i);
		check(&s, 16, 7, table[i].at_16, 0);
	}
}

TEST(sweep_begins_functions_that_only_pointers_lead_to_behind_a_return)
{
	static const struct {
		u8 code[4];	/* at 5, behind a jump by table with a word on the stack and a case that returns */
		int at_5;
	} table[] = {
		{ { 0x53, 0x5b, 0xc3, 0x90 }, 8 },	/* push %rbx: a function */
		{ { 0x89, 0xc0, 0x5b, 0xc3 }, 16 },	/* no prologue, and nobody points there: another case */
		{ { 0x5b, 0xc3, 0x90, 0x90 }, 16 },	/* pop %rbx; ret: another case */
		{ { 0x53, 0xeb, 0xfd, 0xc3 }, 16 },	/* jumped to */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		_cleanup_(swept_done) struct swept s;
		u8 code[10] = { 0x53, 0xff, 0xe0, 0x5b, 0xc3 };	/* push %rbx; jmp *%rax; pop %rbx; ret */

		memcpy(code + 5, table[i].code, 4);
		code[9] = 0xc3;
		sweep_code(&s, code, sizeof(code));
		printf("# code %zu\n", i);
		check(&s, 5, 7, table[i].at_5, 0);
	}
}

TEST(sweep_begins_functions_whose_address_is_taken)
{
	_cleanup_(swept_done) struct swept s;

	/* push %rbx; lea 6(%rip),%rdi (which is 14); jmp *%rax; pop %rbx; ret; nop; nop; and there: nop; ret */
	sweep_code(&s, CODE(0x53, 0x48, 0x8d, 0x3d, 6, 0, 0, 0, 0xff, 0xe0, 0x5b, 0xc3, 0x90, 0x90, 0x89, 0xc0, 0xc3));
	check(&s, 10, 7, 16, 0);
	check(&s, 14, 7, 8, 0);
}

TEST(sweep_knows_nothing_where_the_stack_pointer_is_lost)
{
	_cleanup_(swept_done) struct swept s;

	/* and $-16,%rsp; nop; ret; a new function: ret */
	sweep_code(&s, CODE(0x48, 0x83, 0xe4, 0xf0, 0x90, 0xc3, 0xc3));
	check(&s, 0, 7, 8, 0);
	check(&s, 4, NONE, 0, 0);
	check(&s, 6, 7, 8, 0);
}

/* The same of a rule that finds the CFA by a word of the stack: at rsp + off there is CFA - add. */
static void check_slot(const struct swept *swept, u32 at, int off, int add, int fp_off)
{
	EQ(swept->rule[at].kind, RULE_SWEPT_DEREF);
	EQ(swept->rule[at].cfa_add, add);
	check(swept, at, 7, off, fp_off);
}

TEST(sweep_finds_the_stack_by_a_word_that_keeps_it)
{
	_cleanup_(swept_done) struct swept s;

	/*
	 * sub $64,%rsp; mov %rbp,8(%rsp); mov %rsp,%rbp; sub %rax,%rsp; and $-64,%rsp; mov %rbp,120(%rsp);
	 * 24: xor %ebp,%ebp; push %rax; pop %rax; mov 120(%rsp),%rsp; mov 8(%rsp),%rbp; 38: add $64,%rsp; ret
	 */
	sweep_code(&s, CODE(0x48, 0x83, 0xec, 64, 0x48, 0x89, 0x6c, 0x24, 8, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xc4,
			    0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x6c, 0x24, 120, 0x31, 0xed, 0x50, 0x58,
			    0x48, 0x8b, 0x64, 0x24, 120, 0x48, 0x8b, 0x6c, 0x24, 8, 0x48, 0x83, 0xc4, 64, 0xc3));
	check(&s, 4, 7, 72, 0);
	check(&s, 9, 7, 72, -64);
	check(&s, 12, 6, 72, -64);
	check(&s, 19, 6, 72, -64);
	check_slot(&s, 24, 120, 72, -64);
	check_slot(&s, 26, 120, 72, -64);
	check_slot(&s, 27, 128, 72, -64);
	check_slot(&s, 28, 120, 72, -64);
	check(&s, 33, 7, 72, -64);
	check(&s, 38, 7, 72, 0);
	check(&s, 42, 7, 8, 0);
}

TEST(sweep_finds_the_stack_by_another_register)
{
	_cleanup_(swept_done) struct swept s;

	/*
	 * push %rbx; mov %rsp,%r11; and $-64,%rsp; nop; mov %r11,16(%rsp); xor %r11d,%r11d; nop; mov 16(%rsp),%rax;
	 * mov %rax,%rsp; pop %rbx; ret
	 */
	sweep_code(&s, CODE(0x53, 0x49, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xc0, 0x90, 0x4c, 0x89, 0x5c, 0x24, 16,
			    0x45, 0x31, 0xdb, 0x90, 0x48, 0x8b, 0x44, 0x24, 16, 0x48, 0x89, 0xc4, 0x5b, 0xc3));
	check(&s, 4, 7, 16, 0);
	check(&s, 8, 11, 16, 0);
	check_slot(&s, 17, 16, 16, 0);
	check(&s, 26, 7, 16, 0);
	check(&s, 27, 7, 8, 0);
}

TEST(sweep_forgets_registers_and_words_that_become_something_else)
{
	_cleanup_(swept_done) struct swept s;

	/* mov %rsp,%rcx; and $-64,%rsp; call; nop: rcx is anything */
	sweep_code(&s, CODE(0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xc0, 0xe8, 0, 0, 0, 0x10, 0x90));
	check(&s, 7, 2, 8, 0);
	check(&s, 12, NONE, 0, 0);
	swept_done(&s);
	/* mov %rsp,%rcx; and $-64,%rsp; mov %rcx,(%rsp); mov %rax,%rcx; mov %rax,(%rsp); nop */
	sweep_code(&s, CODE(0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x0c, 0x24, 0x48, 0x89, 0xc1,
			    0x48, 0x89, 0x04, 0x24, 0x90));
	check_slot(&s, 14, 0, 8, 0);
	check(&s, 18, NONE, 0, 0);
	swept_done(&s);
	/* mov %rsp,%rcx; and $-64,%rsp; mov %rcx,(%rsp); sub %rax,%rsp; mov %rax,%rcx; nop: the word is elsewhere */
	sweep_code(&s, CODE(0x48, 0x89, 0xe1, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x0c, 0x24, 0x48, 0x29, 0xc4,
			    0x48, 0x89, 0xc1, 0x90));
	check(&s, 14, 2, 8, 0);
	check(&s, 17, NONE, 0, 0);
}

TEST(sweep_believes_the_way_on_which_the_stack_was_not_lost)
{
	_cleanup_(swept_done) struct swept s;

	/* push %rbx; call 12; 6: pop %rbx; ret; 8: four nops; 12: and $-64,%rsp; jmp 6; first by the second function */
	sweep_code(&s, CODE(0x53, 0xe8, 6, 0, 0, 0, 0x5b, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x48, 0x83, 0xe4, 0xc0,
			    0xeb, 0xf4));
	check(&s, 6, 7, 16, 0);
	check(&s, 7, 7, 8, 0);
	check(&s, 16, NONE, 0, 0);
}

TEST(sweep_ends_where_a_new_stack_begins)
{
	_cleanup_(swept_done) struct swept s;

	/* As in clone: many nops; syscall; xor %ebp,%ebp; pop %rdi; call *%r9; hlt */
	sweep_code(&s, CODE(0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
			    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x05, 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1,
			    0xf4));
	check(&s, 26, 7, 8, 0);
	check(&s, 27, END, 0, 0);
	check(&s, 30, END, 0, 0);
}

TEST(sweep_takes_no_other_zero_in_rbp_for_the_end)
{
	_cleanup_(swept_done) struct swept s;

	/* xor %ebp,%ebp; mov %rax,%rsp; nop; ret, as a virtual machine with a stack of its own may do */
	sweep_code(&s, CODE(0x31, 0xed, 0x48, 0x89, 0xc4, 0x90, 0xc3));
	check(&s, 5, NONE, 0, 0);
}

TEST(sweep_refuses_padding_and_what_is_not_there)
{
	_cleanup_(swept_done) struct swept s;
	_cleanup_(sweep_freep) struct sweep *sweep = NULL;
	static const u8 padding[] = { 0xc3, 0x90, 0x66, 0x90, 0x0f, 0x1f, 0x40, 0, 0xcc, 0xcc, 0, 0 };

	sweep_code(&s, padding, sizeof(padding));
	sweep = sweep_new(s.exe, 0, ~0ull);
	EQ(sweep_range(sweep, TEXT + 1, TEXT + sizeof(padding), keep_row, &s), -ENODATA);
	EQ(sweep_range(sweep, TEXT, TEXT + 100, keep_row, &s), -ENODATA);
	EQ(sweep_range(sweep, TEXT, TEXT, keep_row, &s), -ENODATA);
	EQ(sweep_range(sweep, 0, SWEEP_BYTES_MAX + 1, keep_row, &s), -E2BIG);
}

struct tally {
	const struct rows *rows;
	u32 same, different;
};

static void compare_row(void *arg, u64 ea, const struct unwind_rule *rule)
{
	const struct unwind_rule *want;
	struct tally *tally = arg;

	want = rows_find(tally->rows, ea);
	if (!want || want->kind != RULE_CFA || rule->kind != RULE_SWEPT || want->cfa_reg != rule->cfa_reg)
		return;
	tally->same += want->cfa_off == rule->cfa_off;
	tally->different += want->cfa_off != rule->cfa_off;
}

TEST(sweep_agrees_with_call_frame_information)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(sweep_freep) struct sweep *sweep = NULL;
	struct tally tally = { 0 };
	struct exe_section text;
	struct rows *rows;

	EQ(exe_map(fd, NULL, &exe), 0);
	if (exe->machine != EM_X86_64)
		SKIP("x86-64 only");
	EQ(rows_compile(exe, NULL, &rows), 0);
	OK(exe_section_named(exe, ".text", &text));
	tally.rows = rows;
	sweep = sweep_new(exe, 0, ~0ull);
	OK(text.bytes > 2 * SWEEP_PART_BYTES);
	if (text.bytes > SWEEP_BYTES_MAX)
		text.bytes = SWEEP_BYTES_MAX;	/* with sanitizers */
	EQ(sweep_range(sweep, text.ea, text.ea + text.bytes, compare_row, &tally), 0);
	printf("# %u the same, %u different\n", tally.same, tally.different);
	OK(tally.same > 10000);
	OK(tally.different * 20 < tally.same);
	free(rows);
}

TEST(sweep_looks_at_a_section_that_is_shorter_than_padding)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(forge_done) struct forge f;
	_cleanup_(freep) struct rows *rows = NULL;

	forge_init(&f, EM_X86_64);
	forge_section(&f, ".fini", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x28880,
		      "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3", 9);	/* sub $8,%rsp; add $8,%rsp; ret */
	forge_finish(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	EQ(rows_compile(exe, NULL, &rows), 0);
	EQ(rows_find(rows, 0x28880)->cfa_off, 8);
	EQ(rows_find(rows, 0x28884)->cfa_off, 16);
	EQ(rows_find(rows, 0x28888)->cfa_off, 8);
}
