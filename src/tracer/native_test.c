// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The unwinder of the kernel half, compiled for this machine: tables and
 * memory are arrays. The code is at 0x10000, its ELF addresses at 0.
 */
#include "test.h"
#include "unwind.h"

#define CODE_VA 0x10000ull
#define STACK_VA 0x7000ull

static struct map_entry maps[4];
static struct page_entry the_page;
static struct rows_chunk the_chunk;
static struct unwind_rule rules[16];
static struct place places[PLACES_MAX];
static u64 stack[64];
static u64 stack_words;
static u64 pac_mask = ~0ull;

#define LOOP_NO_UNROLL

static const struct map_entry *table_map(u32 index)
{
	return index < 4 ? &maps[index] : NULL;
}

static struct page_entry *table_page(u32 index)
{
	return index == 0 ? &the_page : NULL;
}

static const struct rows_chunk *table_chunk(u32 index)
{
	return index == 0 ? &the_chunk : NULL;
}

static const struct unwind_rule *table_rule(u32 index)
{
	return index < 16 ? &rules[index] : NULL;
}

static struct place *table_place(struct unwind *unwind, u64 va)
{
	return &places[place_index(va)];
}

static int read_user(struct unwind *u, void *to, u32 bytes, u64 va)
{
	if (va < STACK_VA || va + bytes > STACK_VA + stack_words * 8)
		return -1;
	memcpy(to, (const char *)stack + (va - STACK_VA), bytes);
	return 0;
}

static const u8 *code_now;	/* the eight bytes before whatever is asked for, if set */

/* Before each return address is a call, but for those behind 0x800. */
static int read_code(struct unwind *u, void *to, u32 bytes, u64 va)
{
	u64 call = REG_RA == 30 ? 0x94000000 : 0xd0ff000000000000;	/* bl; call *%rax */

	if (va < CODE_VA || va > CODE_VA + 0x10000)
		return -1;
	memset(to, 0, bytes);
	if (code_now)
		memcpy(to, code_now, bytes);
	else if (va < CODE_VA + 0x800)
		memcpy(to, &call, bytes);
	return 0;
}

static int may_return(struct unwind *u, u64 return_va)
{
	return 1;
}

static u64 strip_pac(struct unwind *unwind, u64 va)
{
	return va & pac_mask;
}

static int runtime_enter(struct unwind *unwind, u32 lang, const struct unwind_rule *rule);

#include "native.h"

/* What the runtime of the test says, in order; it pushes a frame each time. */
static enum step runtime_says[8];
static u32 runtime_asked;

static int runtime_enter(struct unwind *unwind, u32 lang, const struct unwind_rule *rule)
{
	enum step step = runtime_says[runtime_asked++];

	if (step == STEP_AGAIN || step == STEP_CALLER)
		EQ(unwind_push_runtime(unwind, lang, runtime_asked, 0x1234), 0);
	if (step == STEP_CALLER) {
		unwind->cfa = unwind->regs.reg[REG_SP] + 8;
		EQ(native_return(unwind, CODE_VA + 0x330), 0);
	}
	return step;
}

static struct unwind u;

/* One mapping of 64 KiB with a row every 0x100 bytes: rule i from 0x100 * i on. */
static void setup(void)
{
	memset(&u, 0, sizeof(u));
	memset(places, 0, sizeof(places));
	memset(stack, 0, sizeof(stack));
	maps[0] = (struct map_entry){ CODE_VA, CODE_VA + 0x10000, CODE_VA, 0, 7, 0 };
	the_page = (struct page_entry){ .count = 16 };
	for (u16 i = 0; i < 16; i++) {
		the_chunk.low[i] = (u16)(0x100 * i);
		the_chunk.rule[i] = i;
		rules[i] = (struct unwind_rule){ .kind = RULE_END };
	}
	stack_words = 64;
	runtime_asked = 0;
	u.map_count = 1;
	u.is_leaf = 1;
	u.regs.pc = CODE_VA + 0x110;
	u.regs.reg[REG_SP] = STACK_VA;
}

static void walk(void)
{
	do {
		while (native_quick_step(&u))
			;
	} while (!native_step(&u));
}

static u64 frame_ea(u32 i)
{
	EQ(u.words[i] >> FRAME_KIND_SHIFT, FRAME_EXE);
	EQ(u.words[i] >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK, 7);
	return u.words[i] & FRAME_EA_MASK;
}

/* The rule of a function that keeps `bytes` on the stack below its return address. */
static struct unwind_rule frame_of(s32 bytes)
{
	return (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = REG_SP, .cfa_off = bytes + 8, .ra_off = -8 };
}

TEST(native_ends_at_code_whose_rows_are_not_here)
{
	setup();
	rules[1] = frame_of(0);
	maps[1] = (struct map_entry){ CODE_VA + 0x20000, CODE_VA + 0x30000, CODE_VA + 0x20000, 0, 8, 0 };
	the_page = (struct page_entry){ .chunk = PAGE_ABSENT };
	walk();
	EQ(u.trace.end, END_NO_ROWS);
	/* Where there are none at all it is a guess. */
	setup();
	the_page = (struct page_entry){ 0 };
	walk();
	EQ(u.trace.end, END_NO_RULE);
}

TEST(native_tells_that_rows_were_used)
{
	setup();
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(the_page.used, 1);
}

TEST(native_walks_to_the_end_rule)
{
	setup();
	rules[1] = frame_of(0);
	rules[2] = frame_of(16);
	stack[0] = CODE_VA + 0x220;
	stack[3] = CODE_VA + 0x330;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 3);
	EQ(frame_ea(0), 0x110);
	EQ(frame_ea(1), 0x21f);
	EQ(frame_ea(2), 0x32f);
}

/* Walks again from the first frame, as another sample of the process. */
static void walk_again(u64 maps_serial)
{
	memset(&u, 0, sizeof(u));
	u.map_count = 1;
	u.maps_serial = maps_serial;
	u.is_leaf = 1;
	u.regs.pc = CODE_VA + 0x110;
	u.regs.reg[REG_SP] = STACK_VA;
	walk();
}

TEST(native_keeps_what_it_has_found_out_about_an_address)
{
	setup();
	rules[1] = frame_of(0);
	rules[2] = frame_of(16);
	stack[0] = CODE_VA + 0x220;
	stack[3] = CODE_VA + 0x330;
	walk_again(5);
	EQ(u.trace.user_count, 3);
	/* It does not look at the tables any more, unless the mappings are others. */
	rules[2] = (struct unwind_rule){ .kind = RULE_END };
	walk_again(5);
	EQ(u.trace.user_count, 3);
	EQ(frame_ea(1), 0x21f);
	EQ(frame_ea(2), 0x32f);
	EQ(u.trace.end, END_COMPLETE);
	walk_again(6);
	EQ(u.trace.user_count, 2);
	/* Mappings without a number are looked up each time. */
	rules[2] = frame_of(16);
	walk_again(0);
	EQ(u.trace.user_count, 3);
}

/* Both ways to take a step, from the same frame. */
static void step_both_ways(struct unwind_rule rule, int is_quick)
{
	static struct unwind before, slow;

	setup();
	rules[1] = rule;
	stack[1] = CODE_VA + 0x220;
	u.maps_serial = 5;
	before = u;
	EQ(native_step(&u), 0);
	slow = u;
	u = before;
	EQ(native_quick_step(&u), is_quick);
	if (!is_quick) {
		EQ(memcmp(&u, &before, sizeof(u)), 0);
		return;
	}
	EQ(memcmp(&u.regs, &slow.regs, sizeof(u.regs)), 0);
	EQ(u.words[0], slow.words[0]);
	EQ(u.trace.user_count, slow.trace.user_count);
	EQ(u.trace.frame_count, slow.trace.frame_count);
	EQ(u.fp_va, slow.fp_va);
	EQ(u.bx_va, slow.bx_va);
	EQ(u.is_leaf, slow.is_leaf);
	EQ(u.is_return, slow.is_return);
}

TEST(native_takes_most_steps_quickly_and_to_the_same_end)
{
	struct unwind_rule rule = frame_of(8);

	step_both_ways(rule, 1);
	rule.saved = FP_AT_CFA;
	rule.fp_off = -16;
	step_both_ways(rule, 1);
	if (REG_RA != 30) {
		rule.cfa_add = -24;
		step_both_ways(rule, 1);
		rule.cfa_add = 0;
	}
	rule.lang = 1;
	runtime_says[0] = STEP_NATIVE;
	step_both_ways(rule, 0);
	step_both_ways((struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = REG_SP, .cfa_off = 16, .ra_off = -8,
					     .saved = FP_AT_FP }, 0);
}

TEST(native_asks_the_runtime_about_a_kept_address_too)
{
	setup();
	rules[1] = frame_of(0);
	rules[1].lang = 1;
	stack[0] = CODE_VA + 0x220;
	runtime_says[0] = STEP_NATIVE;
	runtime_says[1] = STEP_END;
	walk_again(5);
	EQ(u.trace.user_count, 2);
	walk_again(5);
	EQ(u.trace.user_count, 0);
	EQ(runtime_asked, 2);
}

TEST(native_does_not_keep_how_it_came_to_an_address)
{
	/* A trampoline is entered at its start by a signal; code without a rule may be anybody's guess. */
	setup();
	rules[1] = frame_of(0);
	rules[2] = (struct unwind_rule){ .kind = RULE_SIGNAL };
	stack[0] = CODE_VA + 0x201;
	walk_again(5);
	rules[2] = (struct unwind_rule){ .kind = RULE_NONE };
	stack[0] = CODE_VA + 0x301;
	rules[3] = (struct unwind_rule){ .kind = RULE_NONE };
	walk_again(5);
	for (u32 i = 0; i < PLACES_MAX; i++)
		OK(places[i].rule.kind != RULE_SIGNAL && (!places[i].maps_serial || places[i].rule.kind));
}

TEST(native_looks_up_a_return_address_inside_its_call)
{
	/* The call was the last instruction of its function: the address behind it belongs to the next. */
	setup();
	rules[1] = frame_of(0);
	rules[2] = frame_of(0);
	stack[0] = CODE_VA + 0x300;
	stack[1] = CODE_VA + 0x330;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 3);
	EQ(frame_ea(1), 0x2ff);
}

TEST(native_does_not_take_a_zero_for_the_end)
{
	setup();
	rules[1] = frame_of(0);
	walk();
	EQ(u.trace.end, END_NO_ROOT);
	EQ(u.trace.user_count, 1);
	/* Nor a frame pointer of 0, of code that keeps them. */
	setup();
	rules[1] = (struct unwind_rule){ .kind = RULE_FRAME, .cfa_reg = REG_FP };
	walk();
	EQ(u.trace.end, END_NO_ROOT);
	/* Nor one above a frame that was guessed. */
	setup();
	rules[1] = (struct unwind_rule){ .kind = RULE_NONE };
	u.regs.reg[REG_FP] = STACK_VA + 4 * 8;
	walk();
	EQ(u.trace.end, END_NO_RULE);
}

TEST(native_believes_what_was_swept_only_behind_a_call)
{
	for (int is_call = 0; is_call < 2; is_call++) {
		setup();
		rules[1] = frame_of(0);
		rules[1].kind = RULE_SWEPT;
		stack[0] = CODE_VA + (is_call ? 0x220 : 0x920);
		walk();
		EQ(u.trace.end, is_call ? END_COMPLETE : END_NO_RULE);
		EQ(u.trace.user_count, is_call ? 2 : 1);
	}
	/* The same where a word of the stack leads there. */
	for (int is_call = 0; is_call < 2; is_call++) {
		setup();
		rules[1] = frame_of(2 * 8);
		rules[1].kind = RULE_SWEPT_DEREF;
		rules[1].cfa_off = 2 * 8;
		rules[1].cfa_add = 3 * 8;
		stack[2] = STACK_VA + 4 * 8;
		stack[6] = CODE_VA + (is_call ? 0x220 : 0x920);
		walk();
		EQ(u.trace.end, is_call ? END_COMPLETE : END_NO_RULE);
		EQ(u.trace.user_count, is_call ? 2 : 1);
	}
	/* Where it leads nowhere, the frame pointer may do better. */
	setup();
	rules[1] = frame_of(0);
	rules[1].kind = RULE_SWEPT;
	stack[0] = CODE_VA + 0x920;
	u.regs.reg[REG_FP] = STACK_VA + 4 * 8;
	stack[5] = CODE_VA + 0x220;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	OK(u.words[1] & FRAME_GUESSED);
}

#if REG_RA == 16
TEST(native_knows_calls)
{
	static const struct {
		u8 code[8];
		int is_call;
	} table[] = {
		{ { 0, 0, 0, 0xe8, 1, 2, 3, 4 }, 1 },			/* call rel32 */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0xd0 }, 1 },		/* call *%rax */
		{ { 0, 0, 0, 0, 0, 0x41, 0xff, 0xd1 }, 1 },		/* call *%r9 */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0x10 }, 1 },		/* call *(%rax) */
		{ { 0, 0, 0, 0, 0, 0xff, 0x50, 8 }, 1 },		/* call *8(%rax) */
		{ { 0, 0, 0, 0, 0, 0xff, 0x14, 0xc8 }, 1 },		/* call *(%rax,%rcx,8) */
		{ { 0, 0, 0, 0, 0xff, 0x54, 0x24, 8 }, 1 },		/* call *8(%rsp) */
		{ { 0, 0, 0xff, 0x15, 1, 2, 3, 4 }, 1 },		/* call *rel32(%rip) */
		{ { 0, 0, 0xff, 0x90, 1, 2, 3, 4 }, 1 },		/* call *disp32(%rax) */
		{ { 0, 0xff, 0x94, 0x24, 1, 2, 3, 4 }, 1 },		/* call *disp32(%rsp) */
		{ { 0, 0xff, 0x14, 0xc5, 1, 2, 3, 4 }, 1 },		/* call *disp32(,%rax,8) */
		{ { 0, 0, 0, 0xe9, 1, 2, 3, 4 }, 0 },			/* jmp rel32 */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0xe0 }, 0 },		/* jmp *%rax */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0x15 }, 0 },		/* cut short */
		{ { 0, 0, 0, 0, 0, 0, 0xff, 0x14 }, 0 },
		{ { 0, 0, 0, 0, 0, 0xff, 0x54, 8 }, 0 },
		{ { 0, 0, 0, 0, 0xff, 0x50, 0x24, 8 }, 0 },		/* a byte too long */
		{ { 0, 0xff, 0x90, 0, 1, 2, 3, 4 }, 0 },
		{ { 0, 0, 0, 0, 0, 0, 0, 0xc3 }, 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		setup();
		printf("# code %zu\n", i);
		EQ(native_behind_call(&u, CODE_VA + 0x10000), BEHIND_CALL_NO);
		code_now = table[i].code;
		EQ(native_behind_call(&u, CODE_VA + 0x100), table[i].is_call);
		code_now = NULL;
	}
	EQ(native_behind_call(&u, 8), BEHIND_CALL_UNKNOWN);
}
#endif

TEST(native_restores_the_frame_pointer)
{
	setup();
	rules[1] = frame_of(8);
	rules[1].saved = FP_AT_CFA;
	rules[1].fp_off = -16;
	rules[2] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = REG_FP, .cfa_off = 16, .ra_off = -8 };
	stack[0] = STACK_VA + 8 * 8;
	stack[1] = CODE_VA + 0x220;
	stack[9] = CODE_VA + 0x330;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 3);
}

TEST(native_follows_a_realigned_stack)
{
	setup();
	u.regs.reg[REG_FP] = STACK_VA + 4 * 8;
	rules[1] = (struct unwind_rule){ .kind = RULE_DEREF, .cfa_reg = REG_FP, .cfa_off = -8, .cfa_add = 0,
					 .ra_off = -8, .saved = FP_AT_FP, .fp_off = 0 };
	stack[3] = STACK_VA + 12 * 8;
	stack[4] = 0x1234;
	stack[11] = CODE_VA + 0x220;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 2);
	EQ(native_fp(&u), 0);
	EQ(u.regs.reg[REG_FP], 0x1234);
}

#if REG_RA == 16
TEST(native_knows_how_far_a_plt_stub_is)
{
	for (u64 at = 0; at < 16; at++) {
		setup();
		u.regs.pc = CODE_VA + 0x110 + at;
		rules[1] = (struct unwind_rule){ .kind = RULE_PLT, .cfa_reg = REG_SP, .cfa_off = 8, .cfa_add = 11,
						 .ra_off = -8 };
		stack[at >= 11] = CODE_VA + 0x220;
		walk();
		EQ(u.trace.end, END_COMPLETE);
		EQ(frame_ea(1), 0x21f);
	}
}

TEST(native_walks_through_a_signal_frame)
{
	setup();
	rules[1] = frame_of(0);
	rules[2] = (struct unwind_rule){ .kind = RULE_SIGNAL, .cfa_off = 40 };
	rules[3] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = 3, .cfa_off = 8, .ra_off = -8 };
	stack[0] = CODE_VA + 0x201;
	/* sp is now 1: the registers are 5 words further on; bx 11th, sp 15th, ip 16th. */
	stack[6 + 11] = STACK_VA + 40 * 8;
	stack[6 + 15] = STACK_VA + 32 * 8;
	stack[6 + 16] = CODE_VA + 0x300;
	stack[40] = CODE_VA + 0x440;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 4);
	EQ(frame_ea(1), 0x201);	/* where it was entered */
	EQ(frame_ea(2), 0x300);
	EQ(frame_ea(3), 0x43f);
}
#endif

TEST(native_knows_other_registers_in_the_leaf_and_its_caller)
{
	setup();
	u.regs.reg[4] = STACK_VA;
	u.regs.reg[5] = STACK_VA + 3 * 8;
	rules[1] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = 4, .cfa_off = 8, .ra_off = -8 };
	rules[2] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = 5, .cfa_off = 8, .ra_off = -8 };
	rules[3] = rules[2];
	stack[0] = CODE_VA + 0x220;
	stack[3] = CODE_VA + 0x320;
	walk();
	EQ(u.trace.user_count, 3);
	EQ(u.trace.end, END_NO_REGISTER);
}

#if REG_RA == 16
TEST(native_finds_rbx_where_a_callee_saved_it)
{
	setup();
	u.regs.reg[REG_BX] = 0xbad;
	rules[1] = frame_of(8);
	rules[1].cfa_add = -16;
	rules[2] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = REG_BX, .cfa_off = 8, .ra_off = -8 };
	stack[0] = STACK_VA + 20 * 8;
	stack[1] = CODE_VA + 0x220;
	stack[20] = CODE_VA + 0x330;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 3);
}

TEST(native_takes_rbx_from_the_leaf_if_nobody_saved_it)
{
	setup();
	u.regs.reg[REG_BX] = STACK_VA + 20 * 8;
	rules[1] = frame_of(0);
	rules[2] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = REG_BX, .cfa_off = 8, .ra_off = -8 };
	stack[0] = CODE_VA + 0x220;
	stack[20] = CODE_VA + 0x330;
	walk();
	EQ(u.trace.user_count, 3);
}
#endif

TEST(native_refuses_registers_that_do_not_exist)
{
	setup();
	rules[1] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = 200, .cfa_off = 8, .ra_off = -8 };
	walk();
	EQ(u.trace.end, END_NO_REGISTER);
}

TEST(native_stops_where_the_stack_does_not_move)
{
	setup();
	rules[1] = frame_of(0);
	rules[2] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = REG_SP, .cfa_off = 0, .ra_off = 0 };
	stack[0] = stack[1] = CODE_VA + 0x220;
	walk();
	EQ(u.trace.end, END_NO_PROGRESS);
}

TEST(native_says_that_memory_could_not_be_read)
{
	setup();
	rules[1] = frame_of(8000);
	walk();
	EQ(u.trace.end, END_UNREADABLE);
	EQ(u.trace.user_count, 1);
}

TEST(native_says_that_an_address_is_in_no_mapping)
{
	setup();
	rules[1] = frame_of(0);
	stack[0] = 0xdeadbeef;
	walk();
	EQ(u.trace.end, END_NO_MAPPING);
	EQ(u.words[1] >> FRAME_KIND_SHIFT, FRAME_VA);
	EQ(u.words[1] & FRAME_VA_MASK, 0xdeadbeee);
}

TEST(native_cuts_a_stack_that_never_ends)
{
	/* Each frame is a word; past the memory there is the first page again. */
	setup();
	rules[1] = frame_of(0);
	for (u32 i = 0; i < 64; i++)
		stack[i] = CODE_VA + 0x120;
	while (u.trace.end != END_TRUNCATED) {
		if (u.regs.reg[REG_SP] >= STACK_VA + 60 * 8)
			u.regs.reg[REG_SP] = STACK_VA;
		if (native_step(&u))
			break;
	}
	EQ(u.trace.end, END_TRUNCATED);
	EQ(u.trace.frame_count, WALK_FRAMES_MAX);
	EQ(u.trace.frames_lost, WALK_FRAMES_MAX - USER_FRAMES_MAX);
	EQ(u.trace.user_count, LEAF_FRAMES_MAX + 2 * ROOT_FRAMES_MAX);
}

TEST(native_guesses_by_the_frame_pointer)
{
	setup();
	rules[1] = (struct unwind_rule){ .kind = RULE_NONE };
	u.regs.reg[REG_FP] = STACK_VA + 4 * 8;
	stack[0] = 0x1111;	/* no return address */
	stack[4] = 0;
	stack[5] = CODE_VA + 0x220;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 2);
	OK(u.words[1] & FRAME_GUESSED);
	OK(!(u.words[0] & FRAME_GUESSED));
}

TEST(native_goes_on_but_is_not_sure_where_a_guess_is_taken_further)
{
	setup();
	rules[1] = frame_of(0);
	rules[2] = (struct unwind_rule){ .kind = RULE_NONE };
	rules[3] = (struct unwind_rule){ .kind = RULE_DEREF, .cfa_reg = REG_FP, .cfa_add = 16, .ra_off = -8 };
	u.regs.reg[REG_FP] = STACK_VA + 4 * 8;
	stack[0] = CODE_VA + 0x220;
	stack[4] = STACK_VA + 8 * 8;
	stack[5] = CODE_VA + 0x330;
	stack[8] = STACK_VA + 10 * 8;
	stack[11] = CODE_VA + 0x440;
	walk();
	EQ(u.trace.user_count, 4);
	EQ(u.trace.end, END_NO_ROOT);
#if REG_RA == 16
	/* That of an interrupted function is the caller's own more often than not. */
	setup();
	rules[1] = (struct unwind_rule){ .kind = RULE_NONE };
	rules[2] = (struct unwind_rule){ .kind = RULE_DEREF, .cfa_reg = REG_FP, .cfa_add = 16, .ra_off = -8 };
	u.regs.reg[REG_FP] = STACK_VA + 8 * 8;
	stack[0] = CODE_VA + 0x220;
	stack[8] = STACK_VA + 10 * 8;
	stack[11] = CODE_VA + 0x330;
	walk();
	EQ(u.trace.user_count, 3);
	EQ(u.trace.end, END_COMPLETE);
#endif
}

#if REG_RA == 16
TEST(native_guesses_that_a_leaf_has_pushed_nothing)
{
	setup();
	rules[1] = (struct unwind_rule){ .kind = RULE_NONE };
	stack[0] = CODE_VA + 0x220;
	walk();
	EQ(u.trace.user_count, 2);
	EQ(frame_ea(1), 0x21f);
}
#endif

TEST(native_does_not_believe_a_guess_outside_of_code)
{
	setup();
	rules[1] = (struct unwind_rule){ .kind = RULE_NONE };
	u.regs.reg[REG_FP] = STACK_VA + 4 * 8;
	stack[5] = 0x99;
	walk();
	EQ(u.trace.end, END_NO_RULE);
	EQ(u.trace.user_count, 1);
}

TEST(native_ends_at_a_function_that_was_made_to_be_returned_to)
{
	setup();
	rules[1] = frame_of(0);
	rules[2] = (struct unwind_rule){ .kind = RULE_NONE };
	rules[3] = (struct unwind_rule){ .kind = RULE_CFA, .cfa_reg = REG_SP, .ra_off = 1, .saved = RA_IN_REG << 4 };
	stack[0] = CODE_VA + 0x300;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 2);
	EQ(frame_ea(1), 0x300);
	/* But not in the middle of one. */
	setup();
	rules[1] = frame_of(0);
	rules[2] = (struct unwind_rule){ .kind = RULE_NONE };
	stack[0] = CODE_VA + 0x280;
	u.regs.reg[REG_FP] = 8;		/* no record, but not the sign of none on arm64 either */
	walk();
	EQ(u.trace.end, END_NO_RULE);
}

TEST(native_strips_signatures_of_return_addresses)
{
	setup();
	pac_mask = 0xffffffffffffull;
	rules[1] = frame_of(0);
	stack[0] = 0xab12000000000000ull | (CODE_VA + 0x220);
	walk();
	pac_mask = ~0ull;
	EQ(u.trace.end, END_COMPLETE);
	EQ(frame_ea(1), 0x21f);
}

TEST(native_finds_the_mapping_among_many)
{
	setup();
	maps[0] = (struct map_entry){ 0x100, 0x200, 0, MAP_NO_ROWS, 1, 0 };
	maps[1] = (struct map_entry){ 0x200, 0x300, 0, MAP_NO_ROWS, 2, 0 };
	maps[2] = (struct map_entry){ CODE_VA, CODE_VA + 0x10000, CODE_VA, 0, 7, 0 };
	maps[3] = (struct map_entry){ 0x90000, 0x91000, 0, MAP_NO_ROWS, 3, 0 };
	u.map_count = 4;
	EQ(native_find_map(&u, 0x2ff), 0);
	EQ(u.map.binary, 2);
	EQ(native_find_map(&u, 0x300), -1);
	EQ(native_find_map(&u, 0xff), -1);
	EQ(native_find_map(&u, 0x90fff), 0);
	EQ(u.map.binary, 3);
	EQ(native_find_map(&u, 0x91000), -1);
	EQ(native_find_map(&u, CODE_VA), 0);
	EQ(u.map.binary, 7);
}

TEST(native_asks_the_runtime_about_frames_in_its_code)
{
	setup();
	rules[1] = frame_of(0);
	rules[1].lang = 3;
	rules[2] = frame_of(0);
	stack[0] = CODE_VA + 0x220;
	stack[1] = CODE_VA + 0x330;
	runtime_says[0] = STEP_AGAIN;
	runtime_says[1] = STEP_AGAIN;
	runtime_says[2] = STEP_UNWIND;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(runtime_asked, 3);
	/* Two frames of two words each in place of the native one, then the two native callers. */
	EQ(u.trace.frame_count, 4);
	EQ(u.trace.user_count, 6);
	EQ(u.words[0], (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | 3ull << FRAME_LANG_SHIFT | 1);
	EQ(u.words[1], 0x1234);
	EQ(u.words[2], (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | 3ull << FRAME_LANG_SHIFT | 2);
	EQ(frame_ea(4), 0x21f);
	EQ(frame_ea(5), 0x32f);
}

TEST(native_shows_what_the_runtime_does_not_know)
{
	setup();
	rules[1] = frame_of(0);
	rules[1].lang = 3;
	stack[0] = CODE_VA + 0x220;
	runtime_says[0] = STEP_NATIVE;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 2);
	EQ(frame_ea(0), 0x110);
	EQ(frame_ea(1), 0x21f);
}

TEST(native_goes_on_where_the_runtime_left_off)
{
	setup();
	maps[0].lang = 3;
	runtime_says[0] = STEP_CALLER;
	runtime_says[1] = STEP_NATIVE;
	walk();
	EQ(u.trace.end, END_COMPLETE);
	EQ(u.trace.user_count, 3);
	EQ(frame_ea(2), 0x32f);
}

TEST(native_stops_for_another_program)
{
	setup();
	rules[1] = frame_of(0);
	rules[1].lang = 3;
	runtime_says[0] = STEP_SWITCH;
	EQ(native_step(&u), 1);
	EQ(u.trace.user_count, 0);
	/* Nobody took over: the code is walked as native, and the runtime not asked again. */
	u.langs_off = 1u << 3;
	stack[0] = CODE_VA + 0x220;
	walk();
	EQ(runtime_asked, 1);
	EQ(u.trace.user_count, 2);
	runtime_says[0] = STEP_END;
	setup();
	maps[0].lang = 3;
	EQ(native_step(&u), -1);
}
