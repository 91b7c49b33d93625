/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One step of the native unwinder: from a frame to its caller, by the rule of
 * the code it is in, or by the frame pointer where there is none.
 *
 * See unwind.h for what must be there before this header is included.
 */
#ifndef BPF_NATIVE_H
#define BPF_NATIVE_H

#include "unwind.h"

#define GUESS_FRAME_MAX (1 << 20)	/* a guessed frame is not larger than this */
#define STACK_SWITCHES_MAX 32		/* of one walk; calls from C to Go and back may nest */

/* Finds the executable mapping that an address lies in: u->map. */
static inline int native_find_map(struct unwind *u, u64 va)
{
	const struct map_entry *e;

	if (va >= u->map.start_va && va < u->map.end_va)
		return 0;
	u->lo = 0;
	u->hi = u->map_count;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PROC_MAPS_STEPS; i++) {
		if (u->lo >= u->hi)
			break;
		u->mid = (u->lo + u->hi) >> 1;
		e = table_map(u->map_first + (u32)u->mid);
		if (!e)
			return -1;
		if (va < e->start_va)
			u->hi = u->mid;
		else
			u->lo = u->mid + 1;
	}
	if (!u->lo)
		return -1;
	e = table_map(u->map_first + (u32)u->lo - 1);
	if (!e || va < e->start_va || va >= e->end_va)
		return -1;
	u->map = *e;
	return 0;
}

/* The rule at u->ea of u->map, or NULL; u->rows_absent if it is only not here. */
static inline const struct unwind_rule *native_find_rule(struct unwind *u)
{
	struct page_entry *page;
	const struct rows_chunk *chunk;
	u16 low = (u16)u->ea;

	if (u->map.page_base == MAP_NO_ROWS)
		return 0;
	page = table_page(u->map.page_base + (u32)(u->ea >> PAGE_ROWS_SHIFT));
	if (!page)
		return 0;
	/* At once: user space may be replacing it. */
	u->page_word = *(const volatile u64 *)page;
	if (!u->page.count) {
		u->rows_absent |= u->page.chunk == PAGE_ABSENT;
		return 0;
	}
	if (!u->page.used)
		page->used = 1;
	chunk = table_chunk(u->page.chunk);
	if (!chunk)
		return 0;
	u->lo = u->page.first;
	u->hi = (u64)u->page.first + u->page.count;
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PAGE_STEPS; i++) {
		if (u->lo >= u->hi)
			break;
		u->mid = (u->lo + u->hi) >> 1;
		if (low < chunk->low[u->mid & (CHUNK_ROWS - 1)])
			u->hi = u->mid;
		else
			u->lo = u->mid + 1;
	}
	/* The first row of a page has low == 0, so there is always one at or below. */
	u->rule = chunk->rule[(u->lo - 1) & (CHUNK_ROWS - 1)];
	/* Where the entry is another by now, so may be the rows. */
	if (((*(const volatile u64 *)page ^ u->page_word) & PAGE_PLACE_MASK)) {
		u->rows_absent = 1;
		return 0;
	}
	return table_rule(u->rule);
}

/*
 * The frame pointer. Most code uses it as any other register and only saves it for its caller: where it was saved is
 * noted, and read when a rule asks for it.
 */
static inline int native_fp(struct unwind *u)
{
	if (!u->fp_va)
		return 0;
	if (read_user(u, &u->regs.reg[REG_FP], sizeof(u64), u->fp_va))
		return unwind_end(u, END_UNREADABLE);
	u->fp_va = 0;
	return 0;
}

#define BEHIND_CALL_NO      0
#define BEHIND_CALL_YES     1
#define BEHIND_CALL_UNKNOWN 2	/* the code cannot be read */

#if REG_RA == 30
/* bl, blr, blraa and the like */
static inline int native_behind_call(struct unwind *u, u64 return_va)
{
	u32 insn;

	if (read_code(u, &insn, sizeof(insn), return_va - sizeof(insn)))
		return BEHIND_CALL_UNKNOWN;
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}
#else
/*
 * Whether the eight bytes end with the call by register or memory that has so many: FF /2, whose second byte tells how
 * many there are, with the third where it is 0x14.
 */
static inline int native_is_call_by(u64 code, u32 bytes)
{
	u8 modrm = (u8)(code >> 8 * (9 - bytes)), sib = (u8)(code >> 8 * (10 - bytes) % 64);

	if ((u8)(code >> 8 * (8 - bytes)) != 0xff || (modrm & 0x38) != 0x10)
		return 0;
	switch (bytes) {
	case 2:
		return modrm >= 0xc0 || (modrm < 0x40 && modrm != 0x14 && modrm != 0x15);
	case 3:
		return (modrm >> 6 == 1 && modrm != 0x54) || (modrm == 0x14 && (sib & 7) != 5);
	case 4:
		return modrm == 0x54;
	case 6:
		return (modrm >> 6 == 2 && modrm != 0x94) || modrm == 0x15;
	default:
		return modrm == 0x94 || (modrm == 0x14 && (sib & 7) == 5);
	}
}

/* Does a call instruction end right before the address? Words that only look like return addresses hardly ever do. */
static inline int native_behind_call(struct unwind *u, u64 return_va)
{
	u64 code;

	if (read_code(u, &code, sizeof(code), return_va - sizeof(code)))
		return BEHIND_CALL_UNKNOWN;
	return (u8)(code >> 24) == 0xe8 || native_is_call_by(code, 2) || native_is_call_by(code, 3) ||
	       native_is_call_by(code, 4) || native_is_call_by(code, 6) || native_is_call_by(code, 7);
}
#endif

/*
 * Goes to the caller: its stack pointer is u->cfa. Without one the stack is not whole, since the first functions of
 * threads are known, and have RULE_END: what led here was wrong. But for a coroutine of which a runtime knows that all
 * its frames were met.
 */
static inline int native_return(struct unwind *u, u64 return_va)
{
	if (!return_va)
		return unwind_end(u, u->ends_at_zero && !u->is_unsure ? END_COMPLETE : END_NO_ROOT);
	/* Only a leaf that has pushed nothing leaves the stack pointer where it is. */
	if (u->cfa < u->regs.reg[REG_SP] || (u->cfa == u->regs.reg[REG_SP] && !u->is_leaf))
		return unwind_end(u, END_NO_PROGRESS);
	return_va = strip_pac(u, return_va);
	if (!may_return(u, return_va))
		return unwind_end(u, END_SLICE_SHORT);
	u->regs.pc = return_va;
	u->regs.reg[REG_SP] = u->cfa;
	u->is_leaf = 0;
	u->is_return = 1;
	return 0;
}

/*
 * A frame with the caller's frame pointer and the return address at fp. On x86-64 they are the top of the frame. On
 * arm64 they may lie anywhere in it, mostly at its bottom: the caller's stack pointer is then only known not to be
 * below.
 */
static inline int native_frame_pointer(struct unwind *u)
{
	u64 saved[2];

	if (native_fp(u))
		return -1;
	if (!u->regs.reg[REG_FP])
		return unwind_end(u, END_NO_ROOT);
	if (read_user(u, saved, sizeof(saved), u->regs.reg[REG_FP]))
		return unwind_end(u, END_UNREADABLE);
	u->cfa = u->regs.reg[REG_FP] + sizeof(saved);
	u->regs.reg[REG_FP] = saved[0];
	u->sp_lost = REG_RA == 30;
	return native_return(u, saved[1]);
}

/* The caller is on another stack: wherever that is, it is no step back; a few times. */
static inline int native_switch(struct unwind *u)
{
	if (u->stack_switches >= STACK_SWITCHES_MAX)
		return unwind_end(u, END_NO_PROGRESS);
	u->stack_switches++;
	u->regs.reg[REG_SP] = 0;
	return native_frame_pointer(u);
}

/* A guessed caller is believed only if it lies in code, behind a call. */
static inline int native_may_return_to(struct unwind *u, u64 return_va)
{
	return !native_find_map(u, return_va) && native_behind_call(u, return_va) == BEHIND_CALL_YES;
}

/* Code without a rule: hand-written or generated. */
static inline int native_guess(struct unwind *u)
{
	u64 sp = u->regs.reg[REG_SP], fp, word;

	u->is_guess = u->is_leaf ? GUESS_OF_LEAF : GUESS_OF_CALLER;
#if REG_RA == 30
	if (u->is_leaf && native_may_return_to(u, strip_pac(u, u->regs.reg[REG_RA]))) {
		u->cfa = sp;
		return native_return(u, u->regs.reg[REG_RA]);
	}
#else
	if (u->is_leaf && !read_user(u, &word, sizeof(word), sp) && native_may_return_to(u, word)) {
		u->cfa = sp + sizeof(word);
		return native_return(u, word);
	}
#endif
	if (native_fp(u))
		return -1;
	fp = u->regs.reg[REG_FP];
	if (fp < sp || fp - sp > GUESS_FRAME_MAX || fp & 7)
		return unwind_end(u, END_NO_RULE);
	if (read_user(u, &word, sizeof(word), fp + sizeof(word)))
		return unwind_end(u, END_UNREADABLE);
	if (!native_may_return_to(u, strip_pac(u, word)))
		return unwind_end(u, END_NO_RULE);
	return native_frame_pointer(u);
}

/* A signal frame holds all registers of what it interrupted: a leaf again. */
static inline int native_signal(struct unwind *u, s32 offset)
{
	u64 at = u->regs.reg[REG_SP] + (s64)offset;
#if REG_RA == 30
	/* struct sigcontext: regs[31], sp, pc (arch/arm64/include/uapi/asm/sigcontext.h) */
	if (read_user(u, &u->regs, sizeof(u->regs), at))
		return unwind_end(u, END_UNREADABLE);
#else
	struct signal_regs *saved = &u->signal;

	if (read_user(u, saved, sizeof(*saved), at))
		return unwind_end(u, END_UNREADABLE);
	u->regs.reg[0] = saved->ax;
	u->regs.reg[1] = saved->dx;
	u->regs.reg[2] = saved->cx;
	u->regs.reg[3] = saved->bx;
	u->regs.reg[4] = saved->si;
	u->regs.reg[5] = saved->di;
	u->regs.reg[6] = saved->bp;
	u->regs.reg[7] = saved->sp;
	__builtin_memcpy(&u->regs.reg[8], saved->r8_15, sizeof(saved->r8_15));
	u->regs.pc = saved->ip;
#endif
	u->fp_va = 0;
	u->bx_va = 0;
	u->sp_lost = 0;
	u->is_leaf = 1;
	u->is_return = 0;
	return 0;
}

/*
 * The register that a rule names, known beyond sp and fp in the leaf; and in its caller: assembly (OpenSSL's AES-GCM)
 * that keeps its CFA in any register calls only what leaves it alone. The dynamic linker's lazy binding, which realigns
 * its stack, is found by rbx: that one is remembered where its callees saved it.
 */
static inline int native_register(struct unwind *u, u32 number, u64 *ret_value)
{
	u64 index;

	if (number == REG_FP && native_fp(u))
		return -1;
	if (number == REG_BX && u->bx_va)
		return read_user(u, ret_value, sizeof(*ret_value), u->bx_va) ? unwind_end(u, END_UNREADABLE) : 0;
	if (!u->is_leaf && (u->trace.frame_count != 2 || number == REG_RA) && number != REG_SP && number != REG_FP &&
	    number != REG_BX)
		return unwind_end(u, END_NO_REGISTER);
	/* Through volatile memory, so that the check stays a check of what is used, as the verifier wants it. */
	u->mid = number;
	index = u->mid;
	if (index >= REG_COUNT)
		return unwind_end(u, END_NO_REGISTER);
	*ret_value = u->regs.reg[index];
	return 0;
}

static inline int native_cfa(struct unwind *u, const struct unwind_rule *rule)
{
	u64 base;

	if (native_register(u, rule->cfa_reg, &base))
		return -1;
	base += (s64)rule->cfa_off;
	if (rule->kind == RULE_PLT) {
		base += ((u->regs.pc - u->is_return) & 15) >= (u64)rule->cfa_add ? 8 : 0;
	} else if (rule->kind == RULE_DEREF || rule->kind == RULE_SWEPT_DEREF) {
		if (read_user(u, &base, sizeof(base), base))
			return unwind_end(u, END_UNREADABLE);
		base += (s64)rule->cfa_add;
	}
	u->cfa = base;
	if (REG_RA != 30 && rule->kind == RULE_CFA && rule->cfa_add)
		u->bx_va = base + (s64)rule->cfa_add;
	return 0;
}

static inline int native_apply(struct unwind *u, const struct unwind_rule *rule)
{
	u64 return_va, base;

	/* Where the stack pointer is lost, the chain of frame records goes on. */
	if (u->sp_lost && rule->cfa_reg == REG_SP)
		return native_frame_pointer(u);
	u->sp_lost = 0;
	if (native_cfa(u, rule))
		return -1;
	base = u->cfa + (REG_RA == 30 && rule->kind == RULE_CFA ? (s64)rule->cfa_add : 0);
	if ((rule->saved & 15) == FP_AT_CFA) {
		u->fp_va = base + (s64)rule->fp_off;
	} else if ((rule->saved & 15) == FP_AT_FP) {
		if (native_fp(u))
			return -1;
		u->fp_va = u->regs.reg[REG_FP] + (s64)rule->fp_off;
	}
	if (rule->saved >> 4 == RA_IN_REG) {
		if (native_register(u, (u16)rule->ra_off, &return_va))
			return -1;
	} else if (read_user(u, &return_va, sizeof(return_va), base + (s64)rule->ra_off)) {
		return unwind_end(u, END_UNREADABLE);
	}
	return native_return(u, return_va);
}

/* The frame's word. A signal trampoline is entered at its start, not called: there the address is not in a call. */
static inline u64 native_frame(struct unwind *u, const struct unwind_rule *rule, int found)
{
	u64 frame;

	if (rule && rule->kind == RULE_SIGNAL)
		u->ea += u->is_return;
	if (found && u->map.binary)
		frame = (u64)FRAME_EXE << FRAME_KIND_SHIFT | (u64)u->map.binary << FRAME_BINARY_SHIFT |
			(u->ea & FRAME_EA_MASK);
	else
		frame = (u64)FRAME_VA << FRAME_KIND_SHIFT | ((u->ea + u->map.bias) & FRAME_VA_MASK);
	return u->is_guess ? frame | FRAME_GUESSED : frame;
}

/*
 * Is the return address the first of a function, with no code before it? Nobody called it: makecontext() put the
 * address there for a coroutine to return to, and there is no caller.
 */
static inline int native_is_made_up(struct unwind *u, const struct unwind_rule *rule)
{
	if (!u->is_return || (rule && rule->kind != RULE_NONE))
		return 0;
	u->ea++;
	rule = native_find_rule(u);
	if (rule && (rule->kind == RULE_END ||
		     (rule->kind == RULE_CFA && rule->saved >> 4 == RA_IN_REG && rule->cfa_off == 0)))
		return 1;
	u->ea--;
	return 0;
}

/* Is the caller that a rule from disassembly leads to nobody's? What cannot be read proves nothing. */
static inline int native_is_refuted(struct unwind *u, const struct unwind_rule *rule)
{
	u64 return_va;

	return (rule->kind == RULE_SWEPT || rule->kind == RULE_SWEPT_DEREF) && !u->sp_lost && !native_cfa(u, rule) &&
	       !read_user(u, &return_va, sizeof(return_va), u->cfa + (s64)rule->ra_off) &&
	       native_behind_call(u, return_va) == BEHIND_CALL_NO;
}

/* Goes from the current frame to its caller by its rule, or by the frame pointer. */
static inline int native_caller(struct unwind *u, const struct unwind_rule *rule)
{
	/* Guesses find return addresses; a frame pointer that was found so is not for all that rules do with one. */
	if (u->is_guess == GUESS_OF_CALLER && rule && rule->kind == RULE_DEREF)
		u->is_unsure = 1;
	u->is_guess = 0;
	if (!rule || rule->kind == RULE_NONE || native_is_refuted(u, rule))
		return native_guess(u);
	if (rule->kind == RULE_END)
		return unwind_end(u, u->is_unsure ? END_NO_ROOT : END_COMPLETE);
	if (rule->kind == RULE_SIGNAL)
		return u->sp_lost ? unwind_end(u, END_NO_REGISTER) : native_signal(u, rule->cfa_off);
	if (rule->kind == RULE_FRAME)
		return native_frame_pointer(u);
	if (rule->kind == RULE_SWITCH)
		return native_switch(u);
	return native_apply(u, rule);
}

/* The runtime whose code this is, unless nobody can walk it. */
static inline u32 native_lang(struct unwind *u, const struct unwind_rule *rule)
{
	u32 lang = u->map.lang ? u->map.lang : rule ? rule->lang : 0;

	return lang && !(u->langs_off >> (lang & 31) & 1) ? lang : 0;
}

/* Is what is kept there of that address? */
static inline int native_knows(const struct unwind *u, const struct place *place, u64 va)
{
	return place && place->va == va && place->maps_serial && place->maps_serial == u->maps_serial;
}

/* Keeps what goes by the address alone: not how it was come to. */
static inline void native_keep(struct unwind *u, struct place *place, u64 va, const struct unwind_rule *rule)
{
	if (!place || rule->kind == RULE_NONE || rule->kind == RULE_SIGNAL)
		return;
	place->maps_serial = 0;
	place->va = va;
	place->frame = native_frame(u, rule, 1) & ~FRAME_GUESSED;
	place->rule = *rule;
	place->lang = u->map.lang ? u->map.lang : rule->lang;
	place->maps_serial = u->maps_serial;
}

/*
 * The rule at va, in u->here: copied, so that the verifier sees one way on from here, not one for each place it may
 * have come from.
 */
static inline const struct unwind_rule *native_rule(struct unwind *u, struct place *place, u64 va)
{
	const struct unwind_rule *rule;

	if (native_knows(u, place, va)) {
		u->here = place->rule;
		return &u->here;
	}
	rule = native_find_rule(u);
	if (!rule)
		return 0;
	native_keep(u, place, va, rule);
	u->here = *rule;
	return &u->here;
}

/*
 * Pushes the frame at va, by the tables: STEP_NATIVE if *ret_rule leads to its caller, or what the runtime whose code
 * it is has done.
 */
static inline int native_look_up(struct unwind *u, u64 va, struct place *place, const struct unwind_rule **ret_rule)
{
	const struct unwind_rule *rule = 0;
	int found = !native_find_map(u, va), made_up = 0, step = STEP_NATIVE;
	u32 lang;

	u->ea = va - u->map.bias;
	if (found) {
		rule = native_rule(u, place, va);
		lang = native_lang(u, rule);
		if (lang)
			step = runtime_enter(u, lang, rule);
		*ret_rule = rule;
		if (step != STEP_NATIVE)
			return step;
		made_up = native_is_made_up(u, rule);
	}
	if (u->rows_absent) {
		(void)unwind_end(u, END_NO_ROWS);
		return STEP_END;
	}
	if (unwind_push(u, native_frame(u, rule, found)))
		return STEP_END;
	if (!found)
		(void)unwind_end(u, END_NO_MAPPING);
	else if (made_up)
		(void)unwind_end(u, u->is_unsure ? END_NO_ROOT : END_COMPLETE);
	return found && !made_up ? STEP_NATIVE : STEP_END;
}

/*
 * The same as native_step() for the frames that most are: kept, of no runtime, and with a caller that is found by the
 * stack pointer. 1 if it was such a frame; else nothing has changed, and native_step() finds out what it is.
 */
static inline int native_quick_step(struct unwind *u)
{
	u64 va = u->regs.pc - u->is_return, sp = u->regs.reg[REG_SP], cfa, base, return_va;
	const struct place *place = table_place(u, va);
	const struct unwind_rule *rule;

	if (!native_knows(u, place, va) || place->lang || u->is_guess || u->sp_lost)
		return 0;
	rule = &place->rule;
	if (rule->kind != RULE_CFA || rule->cfa_reg != REG_SP || rule->saved >> 4 != RA_AT_CFA ||
	    (rule->saved & 15) == FP_AT_FP)
		return 0;
	cfa = sp + (s64)rule->cfa_off;
	base = cfa + (REG_RA == 30 ? (s64)rule->cfa_add : 0);
	if (cfa <= sp || read_user(u, &return_va, sizeof(return_va), base + (s64)rule->ra_off) || !return_va ||
	    unwind_push(u, place->frame))
		return 0;
	if (rule->saved & 15)
		u->fp_va = base + (s64)rule->fp_off;
	if (REG_RA != 30 && rule->cfa_add)
		u->bx_va = cfa + (s64)rule->cfa_add;
	u->regs.pc = strip_pac(u, return_va);
	u->regs.reg[REG_SP] = cfa;
	u->is_leaf = 0;
	u->is_return = 1;
	return 1;
}

/*
 * Pushes the current frame and goes to its caller. -1 when the stack has ended: u->trace.end says why. 1 when another
 * program must go on: that of u->lang.
 */
static inline int native_step(struct unwind *u)
{
	const struct unwind_rule *rule = 0;
	u64 va = u->regs.pc - u->is_return;
	struct place *place = table_place(u, va);
	int step = STEP_NATIVE;

	if (native_knows(u, place, va) && !place->lang) {
		if (unwind_push(u, u->is_guess ? place->frame | FRAME_GUESSED : place->frame))
			return -1;
		u->here = place->rule;
		rule = &u->here;
	} else {
		step = native_look_up(u, va, place, &rule);
	}
	if (step == STEP_SWITCH)
		return 1;
	if (step == STEP_END)
		return -1;
	if (step == STEP_NATIVE || step == STEP_UNWIND)
		return native_caller(u, rule);
	u->is_guess = 0;
	return 0;
}

#endif
