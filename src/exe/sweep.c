// SPDX-License-Identifier: Apache-2.0
#include "exe/sweep.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "exe/code_pointers.h"
#include "exe/elf.h"
#include "exe/rows.h"
#include "exe/x86_insn.h"

#define SP 7	/* as DWARF numbers them */
#define FP 6
#define SYMBOLS_MAX (1u << 20)
#define DEPTH_MAX (1 << 24)
#define WORK_MAX 4096
#define OUTERMOST -1	/* of fp_depth */
#define CLOBBERED -2
#define PROLOGUE_INSNS 4
#define SYSCALL_NEAR 24	/* bytes */

/* Where the stack is, before an instruction. */
struct place {
	s32 depth;		/* CFA - rsp; 0 if rsp was lost */
	s16 fp_saved;		/* CFA - where the caller's rbp is; 0 if it is in rbp */
	s16 fp_depth;		/* CFA - rbp where that is the frame's base; 0: it is the caller's; or see above */
	s16 copy_depth;		/* CFA - another register that rsp was copied to; 0 if there is none */
	s16 slot_depth;		/* CFA - the word at rsp + slot, which has what rsp was before it was lost; or 0 */
	s16 slot;
	u8 copy_reg;
};

struct work {
	u64 at;			/* offset of an instruction */
	struct place place;
};

struct sweep {
	const struct exe *exe;
	u64 from_ea, to_ea;	/* what is to be swept lies between */
	u64 left;		/* bytes that may still be swept */
	u64 end_ns;		/* ... until then */
	u64 *symbols;		/* where functions begin, sorted; read when first needed */
	u32 symbol_count, symbol_cap;
	bool symbols_read;
	struct code_pointers pointers;	/* of the file's data; read when first needed */
	bool pointers_read;
	/* The stretch at work, or a part of it. */
	const u8 *code;
	u64 ea, bytes;
	struct place *place;	/* of each byte */
	u8 *reached;		/* bit map: an instruction begins here, and its place was told */
	u8 *starts;		/* bit map: a function begins here */
	u8 *jumped;		/* bit map: some instruction jumps here */
	u8 *pointed;		/* bit map: some instruction takes this address */
	u32 work_count;
	struct work work[WORK_MAX];
};

static const struct place entry = { .depth = 8 };

struct sweep *sweep_new(const struct exe *exe, u64 start_ea, u64 end_ea)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->exe = exe;
	s->from_ea = start_ea;
	s->to_ea = end_ea;
	s->left = SWEEP_BYTES_MAX;
	s->end_ns = monotonic_ns() + SWEEP_NS;
	return s;
}

static void range_done(struct sweep *s)
{
	free(s->starts);
	free(s->jumped);
	free(s->pointed);
	s->starts = s->jumped = s->pointed = NULL;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	range_done(s);
	free(s->symbols);
	code_pointers_done(&s->pointers);
	free(s);
}

static bool get_bit(const u8 *map, u64 i)
{
	return map[i / 8] >> i % 8 & 1;
}

static void set_bit(u8 *map, u64 i)
{
	map[i / 8] |= 1 << i % 8;
}

static struct x86_insn insn_at(const struct sweep *s, u64 at)
{
	return x86_decode(s->code + at, s->bytes - at, s->ea + at);
}

/* Adds the functions of a symbol table. Without memory for them, calls alone must do. */
static void read_symbols(struct sweep *s, u32 type)
{
	struct exe_section section;
	struct exe_data data;
	u64 count;
	Elf64_Sym sym;

	if (!exe_section_typed(s->exe, type, &section) || section.flags & SHF_COMPRESSED ||
	    exe_section_data(s->exe, &section, 0, &data) < 0)
		return;
	count = data.bytes / sizeof(sym) < SYMBOLS_MAX ? data.bytes / sizeof(sym) : SYMBOLS_MAX;
	for (u64 i = 0; i < count; i++) {
		memcpy(&sym, data.at + i * sizeof(sym), sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_value - s->from_ea >= s->to_ea - s->from_ea)
			continue;
		if (array_reserve(&s->symbols, &s->symbol_cap, s->symbol_count + 1, sizeof(*s->symbols)) < 0)
			return;
		s->symbols[s->symbol_count++] = sym.st_value;
	}
}

static int compare_u64(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The first symbol at or behind an address. */
static u32 find_symbol(struct sweep *s, u64 ea)
{
	u32 lo = 0, hi;

	if (!s->symbols_read) {
		read_symbols(s, SHT_SYMTAB);
		read_symbols(s, SHT_DYNSYM);
		if (s->symbol_count)
			qsort(s->symbols, s->symbol_count, sizeof(*s->symbols), compare_u64);
		s->symbols_read = true;
	}
	for (hi = s->symbol_count; lo < hi;) {
		u32 mid = lo + (hi - lo) / 2;

		if (s->symbols[mid] < ea)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void mark_symbols(struct sweep *s)
{
	for (u32 i = find_symbol(s, s->ea); i < s->symbol_count && s->symbols[i] - s->ea < s->bytes; i++)
		set_bit(s->starts, s->symbols[i] - s->ea);
}

u64 sweep_function_before(struct sweep *s, u64 ea)
{
	u32 i = find_symbol(s, ea + 1);

	return i ? s->symbols[i - 1] : 0;
}

/* An address that an instruction takes: lea N(%rip),REG; mov $N,REG; mov $N,MEMORY or push $N. 0 if it does not. */
static u64 taken_address(const struct sweep *s, u64 at, const struct x86_insn *insn)
{
	const u8 *code = s->code + at;
	u32 i = (code[0] & 0xf0) == 0x40;
	s32 number;

	if (insn->bytes < i + 5)
		return 0;
	memcpy(&number, code + insn->bytes - sizeof(number), sizeof(number));
	if (code[i] == 0x8d && (code[i + 1] & 0xc7) == 5)
		return s->ea + at + insn->bytes + (u64)(s64)number;
	return (code[i] & 0xf8) == 0xb8 || code[i] == 0xc7 || code[i] == 0x68 ? (u64)(s64)number : 0;
}

/*
 * Functions that the code itself calls, where it jumps, and what it takes the address of. Decoding finds instructions
 * again soon after data.
 */
static void mark_targets(struct sweep *s)
{
	struct x86_insn insn;

	for (u64 at = 0; at < s->bytes; at += insn.bytes) {
		u64 taken;

		insn = insn_at(s, at);
		taken = taken_address(s, at, &insn);
		if (taken - s->ea < s->bytes)
			set_bit(s->pointed, taken - s->ea);
		if (insn.kind == X86_CALL && insn.target - s->ea < s->bytes)
			set_bit(s->starts, insn.target - s->ea);
		if ((insn.kind == X86_BRANCH || insn.kind == X86_JUMP) && insn.target - s->ea < s->bytes)
			set_bit(s->jumped, insn.target - s->ea);
	}
}

/* Padding between functions. */
static bool is_padding(const struct sweep *s, u64 at, const struct x86_insn *insn)
{
	const u8 *code = s->code + at;
	u32 i = 0;

	while (i < insn->bytes && (code[i] == 0x66 || code[i] == 0x2e))
		i++;
	return code[i] == 0x90 || code[i] == 0xcc || (i + 1 < insn->bytes && code[i] == 0x0f && code[i + 1] == 0x1f);
}

/* Does the code there soon save a register that belongs to its caller, or at once take stack up to an alignment? */
static bool has_prologue(const struct sweep *s, u64 at)
{
	struct x86_insn insn = { .kind = X86_OTHER };

	for (int i = 0; i < PROLOGUE_INSNS && at < s->bytes; i++, at += insn.bytes) {
		insn = insn_at(s, at);
		if (insn.kind == X86_PUSH && (insn.reg == X86_RBX || insn.reg == X86_RBP || insn.reg >= X86_R12))
			return true;
		if (!i && insn.kind == X86_ADD_SP && insn.amount <= -24 && insn.amount % 16 == -8)
			return true;
		if (insn.kind != X86_OTHER && insn.kind != X86_STORE && insn.kind != X86_LOAD)
			return false;
	}
	return false;
}

/* True if compilers would begin a function here: aligned, nothing jumps to it; blocks inside have no prologue. */
static bool looks_like_start(const struct sweep *s, u64 at)
{
	return (s->ea + at) % 16 == 0 && !get_bit(s->jumped, at) && has_prologue(s, at);
}

static bool is_pointed_by_data(const struct sweep *s, u64 at)
{
	u32 i = code_pointers_from(&s->pointers, s->ea + at);

	return i < s->pointers.count && s->pointers.at[i] == s->ea + at;
}

/*
 * Functions that only pointers lead to, right behind the end of another. What has its address taken by an instruction
 * is one. Data points to labels of a computed goto, too, but those have no prologue; what begins with one is a function
 * even if no pointer was found. Behind a call, which may return, it needs both.
 */
static bool is_pointer_start(const struct sweep *s, u64 at, bool behind_call)
{
	bool is_taken = get_bit(s->pointed, at), is_pointed = is_taken || is_pointed_by_data(s, at);
	bool pushes = insn_at(s, at).kind == X86_PUSH;

	if (get_bit(s->jumped, at))
		return false;
	if (behind_call)
		return is_pointed && has_prologue(s, at);
	return is_taken || (is_pointed && pushes) || ((is_pointed || pushes) && has_prologue(s, at));
}

static void mark_pointer_starts(struct sweep *s)
{
	struct x86_insn insn, before = { .kind = X86_OTHER };

	if (!s->pointers_read)
		code_pointers_find(s->exe, s->from_ea, s->to_ea, &s->pointers);
	s->pointers_read = true;
	for (u64 at = 0; at < s->bytes; at += insn.bytes) {
		bool ended = before.kind == X86_STOP || before.kind == X86_JUMP, called = before.kind == X86_CALL;

		insn = insn_at(s, at);
		if (ended && is_padding(s, at, &insn))
			continue;
		if ((ended || called) && is_pointer_start(s, at, called))
			set_bit(s->starts, at);
		before = insn;
	}
}

/* Functions that follow padding behind a call: one that does not return, or there would be no padding. */
static void mark_behind_calls(struct sweep *s)
{
	bool call = false, padding = false;
	struct x86_insn insn;

	for (u64 at = 0; at < s->bytes; at += insn.bytes) {
		insn = insn_at(s, at);
		if (call && is_padding(s, at, &insn)) {
			padding = true;
			continue;
		}
		if (call && padding && looks_like_start(s, at))
			set_bit(s->starts, at);
		call = insn.kind == X86_CALL;
		padding = false;
	}
}

static s16 s16_or_0(s32 value)
{
	return value == (s16)value ? (s16)value : 0;
}

static void move_sp(struct place *p, s64 amount)
{
	s64 depth = p->depth - amount, slot = p->slot - amount;

	/* Below 8 it would leave the frame, return address and all. */
	if (p->depth)
		p->depth = depth >= 8 && depth < DEPTH_MAX ? (s32)depth : 0;
	p->slot = s16_or_0(slot);
	if (p->slot != slot)
		p->slot_depth = 0;
}

/* CFA - what is in a register; 0 if that is not known. */
static s32 register_depth(const struct place *p, int reg)
{
	if (reg == X86_RSP)
		return p->depth;
	if (reg == X86_RBP)
		return p->fp_depth > 0 ? p->fp_depth : 0;
	return reg == p->copy_reg ? p->copy_depth : 0;
}

/* A register has got what is so far from the CFA, or something else: 0. */
static void set_register(struct place *p, int reg, s32 depth)
{
	s16 short_depth = s16_or_0(depth);

	if (reg == X86_RSP) {
		p->depth = depth;
		p->slot_depth = 0;
	} else if (reg == X86_RBP) {
		p->fp_depth = short_depth ? short_depth : CLOBBERED;
	} else if (reg >= 0 && (short_depth || reg == p->copy_reg)) {
		p->copy_reg = (u8)reg;
		p->copy_depth = short_depth;
	}
}

static void place_push(struct place *p, int reg)
{
	move_sp(p, -8);
	if (reg == X86_RBP && !p->fp_saved && p->fp_depth != CLOBBERED)
		p->fp_saved = s16_or_0(p->depth);
}

/* The caller's rbp is back, if that is what is there. */
static void place_restore_fp(struct place *p, s64 depth)
{
	if (p->fp_saved && p->fp_saved == depth)
		p->fp_saved = 0;
	p->fp_depth = 0;
}

static void place_pop(struct place *p, int reg)
{
	if (reg == X86_RBP)
		place_restore_fp(p, p->depth);
	else
		set_register(p, reg, 0);
	if (reg != X86_RSP)
		move_sp(p, 8);
}

static void place_store(struct place *p, int reg, s32 amount)
{
	s64 saved = (s64)p->depth - amount;
	s32 depth = register_depth(p, reg);

	if (p->depth) {
		/* The word is in the frame, below the return address. */
		if (reg == X86_RBP && !p->fp_depth && !p->fp_saved && saved >= 16 && saved <= INT16_MAX)
			p->fp_saved = (s16)saved;
	} else if (depth && amount >= 0 && amount <= INT16_MAX) {
		p->slot = (s16)amount;
		p->slot_depth = s16_or_0(depth);
	} else if (amount == p->slot) {
		p->slot_depth = 0;
	}
}

static void place_load(struct place *p, int reg, s32 amount)
{
	if (reg == X86_RBP && p->depth && p->fp_saved == (s64)p->depth - amount)
		place_restore_fp(p, p->fp_saved);
	else
		set_register(p, reg, amount == p->slot ? p->slot_depth : 0);
}

/* What a function that is called may change. */
static void place_call(struct place *p)
{
	if (p->copy_reg != X86_RBX && p->copy_reg < X86_R12)
		p->copy_depth = 0;
}

/* Where the stack is after an instruction that goes on to the next. */
static struct place place_after(struct place p, const struct x86_insn *insn)
{
	switch (insn->kind) {
	case X86_OTHER:
		set_register(&p, insn->reg, 0);
		break;
	case X86_PUSH:
		place_push(&p, insn->reg);
		break;
	case X86_POP:
		place_pop(&p, insn->reg);
		break;
	case X86_ADD_SP:
		move_sp(&p, insn->amount);
		break;
	case X86_SP_LOST:
		set_register(&p, X86_RSP, 0);
		break;
	case X86_REG_IS_SP:
		set_register(&p, insn->reg, p.depth);
		break;
	case X86_SP_IS_REG:
		set_register(&p, X86_RSP, register_depth(&p, insn->reg));
		move_sp(&p, insn->amount);
		break;
	case X86_STORE:
		place_store(&p, insn->reg, insn->amount);
		break;
	case X86_LOAD:
		place_load(&p, insn->reg, insn->amount);
		break;
	case X86_FP_LOST:
		set_register(&p, X86_RBP, 0);
		break;
	case X86_FP_ZERO:
		p.fp_depth = OUTERMOST;
		break;
	case X86_LEAVE:
		set_register(&p, X86_RSP, register_depth(&p, X86_RBP));
		place_pop(&p, X86_RBP);
		break;
	case X86_CALL:
		place_call(&p);
		break;
	}
	return p;
}

static bool is_known(const struct place *p)
{
	return p->depth || p->fp_depth > 0 || p->fp_depth == OUTERMOST || p->slot_depth || p->copy_depth;
}

/* Was the instruction reached before? Where the stack was lost on the way there, another way may know better. */
static bool is_done(const struct sweep *s, u64 at, const struct place *place)
{
	return get_bit(s->reached, at) && (is_known(&s->place[at]) || !is_known(place));
}

static void add_work(struct sweep *s, u64 target_ea, struct place place)
{
	u64 at = target_ea - s->ea;

	if (at < s->bytes && !is_done(s, at, &place) && !get_bit(s->starts, at) && s->work_count < WORK_MAX)
		s->work[s->work_count++] = (struct work){ at, place };
}

/* Has the kernel been called right before? That, then rbp zeroed, is the start of a thread: clone() in its child. */
static bool is_behind_syscall(const struct sweep *s, u64 at)
{
	static const u8 syscall[] = { 0x0f, 0x05 };
	const u8 *code = exe_bytes_at(s->exe, s->ea + at - SYSCALL_NEAR, SYSCALL_NEAR);

	return code && memmem(code, SYSCALL_NEAR, syscall, sizeof(syscall));
}

/* Follows the code from there to where it ends or was followed before; branches become work. */
static void walk(struct sweep *s, u64 at, struct place place)
{
	struct x86_insn insn;

	for (bool first = true; at < s->bytes && !is_done(s, at, &place); at += insn.bytes, first = false) {
		/* What falls into the next function did not: the call before it does not return. */
		if (!first && get_bit(s->starts, at))
			return;
		insn = insn_at(s, at);
		if (insn.kind == X86_BAD)
			return;
		set_bit(s->reached, at);
		s->place[at] = place;
		if (insn.kind == X86_BRANCH || (insn.kind == X86_JUMP && insn.target))
			add_work(s, insn.target, place);
		if (insn.kind == X86_JUMP || insn.kind == X86_STOP)
			return;
		if (insn.kind == X86_FP_ZERO && !is_behind_syscall(s, at))
			insn.kind = X86_FP_LOST;
		place = place_after(place, &insn);
	}
}

static void walk_all(struct sweep *s, u64 at, struct place place)
{
	walk(s, at, place);
	while (s->work_count) {
		struct work work = s->work[--s->work_count];

		walk(s, work.at, work.place);
	}
}

/* What known functions reach. */
static void follow_starts(struct sweep *s)
{
	for (u64 at = 0; at < s->bytes; at++)
		if (get_bit(s->starts, at))
			walk_all(s, at, entry);
}

/* The rest: blocks behind a jump table, and functions that only pointers lead to. */
static void follow_rest(struct sweep *s)
{
	struct place table = { 0 };	/* at the last jump by table in this function */
	struct x86_insn insn;

	for (u64 at = 0; at < s->bytes; at += insn.bytes) {
		insn = insn_at(s, at);
		if (get_bit(s->starts, at) || looks_like_start(s, at))
			table = (struct place){ 0 };
		if (!get_bit(s->reached, at) && !is_padding(s, at, &insn))
			walk_all(s, at, is_known(&table) ? table : entry);
		/* With nothing on the stack it is the last call of a function. */
		if (get_bit(s->reached, at) && insn.kind == X86_JUMP && !insn.target &&
		    s->place[at].depth != entry.depth)
			table = s->place[at];
	}
}

/*
 * How to get from there to the CFA. Code that has put its base into a word of the stack wants the register for other
 * things. A frame pointer is a better base than rsp: code that has one may push in loops. Other registers are the last,
 * as they are known in leaves only.
 */
static struct unwind_rule make_cfa(const struct place *p)
{
	static const u8 dwarf[] = { 0, 2, 1, 3, SP, FP, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

	if (p->slot_depth)
		return (struct unwind_rule){ .kind = RULE_SWEPT_DEREF, .cfa_reg = SP, .cfa_off = p->slot,
					     .cfa_add = p->slot_depth };
	if (p->fp_depth > 0 && (p->fp_saved || !p->depth))
		return (struct unwind_rule){ .kind = RULE_SWEPT, .cfa_reg = FP, .cfa_off = p->fp_depth };
	if (p->depth)
		return (struct unwind_rule){ .kind = RULE_SWEPT, .cfa_reg = SP, .cfa_off = p->depth };
	if (p->fp_depth == OUTERMOST)
		return (struct unwind_rule){ .kind = RULE_END };
	if (p->copy_depth)
		return (struct unwind_rule){ .kind = RULE_SWEPT, .cfa_reg = dwarf[p->copy_reg % 16],
					     .cfa_off = p->copy_depth };
	return (struct unwind_rule){ .kind = RULE_NONE };
}

/* rbx is not followed: only glibc's dynamic linker finds a frame by it, and what that calls has FDEs. */
static struct unwind_rule make_rule(const struct place *p)
{
	struct unwind_rule rule = make_cfa(p);

	if (rule.kind == RULE_NONE || rule.kind == RULE_END)
		return rule;
	rule.ra_off = -8;
	if (p->fp_saved) {
		rule.saved = FP_AT_CFA;
		rule.fp_off = -p->fp_saved;
	}
	return rule;
}

static void tell_rows(const struct sweep *s, sweep_row_fn *row, void *arg)
{
	static const struct unwind_rule none = { .kind = RULE_NONE };
	struct x86_insn insn;

	if (!get_bit(s->reached, 0))
		row(arg, s->ea, &none);
	for (u64 at = 0; at < s->bytes; at += insn.bytes) {
		struct unwind_rule rule;

		insn = insn_at(s, at);
		if (!get_bit(s->reached, at))
			continue;
		rule = make_rule(&s->place[at]);
		row(arg, s->ea + at, &rule);
	}
}

/* True if there is no code at all. */
static bool all_padding(const struct sweep *s)
{
	struct x86_insn insn;

	for (u64 at = 0; at < s->bytes; at += insn.bytes) {
		insn = insn_at(s, at);
		if (s->code[at] && !is_padding(s, at, &insn))
			return false;
	}
	return true;
}

/* Follows and tells a part of the stretch, which begins where a function does. */
static int sweep_part(struct sweep *s, sweep_row_fn *row, void *arg)
{
	s->place = calloc(s->bytes, sizeof(*s->place));
	s->reached = calloc(s->bytes / 8 + 1, 1);
	if (s->place && s->reached) {
		follow_starts(s);
		follow_rest(s);
		tell_rows(s, row, arg);
	}
	free(s->reached);
	free(s->place);
	return s->place && s->reached ? 0 : -ENOMEM;
}

/* Where the part that begins there ends: with a function, if there is a place for that. */
static u64 part_end(const u8 *starts, u64 at, u64 bytes)
{
	u64 last = at + 2 * SWEEP_PART_BYTES;

	if (bytes <= last)
		return bytes;
	for (at += SWEEP_PART_BYTES; at < last; at += 8)
		if (get_bit(starts, at))
			return at;
	return last;
}

/* The stretch part by part, as the memory of places is 8 times that of the code. Functions are known in all of it. */
static int sweep_parts(struct sweep *s, sweep_row_fn *row, void *arg)
{
	const u8 *code = s->code;
	const u64 ea = s->ea, bytes = s->bytes;
	u8 *starts = s->starts, *jumped = s->jumped;
	int r = 0;

	for (u64 at = 0, end; r == 0 && at < bytes; at = end) {
		end = part_end(starts, at, bytes);
		s->code = code + at;
		s->ea = ea + at;
		s->bytes = end - at;
		s->starts = starts + at / 8;
		s->jumped = jumped + at / 8;
		if (monotonic_ns() > s->end_ns) {
			row(arg, s->ea, &ROWS_UNSWEPT);
			break;
		}
		r = sweep_part(s, row, arg);
	}
	s->starts = starts;
	s->jumped = jumped;
	return r;
}

/* Finds the functions of a stretch of code. range_done() follows, whatever comes of it. */
static int range_begin(struct sweep *s, u64 start_ea, u64 end_ea)
{
	u64 bytes = end_ea - start_ea;

	s->code = exe_bytes_at(s->exe, start_ea, bytes);
	s->ea = start_ea;
	s->bytes = bytes;
	if (!bytes || !s->code || all_padding(s))
		return -ENODATA;
	s->starts = calloc(bytes / 8 + 1, 1);
	s->jumped = calloc(bytes / 8 + 1, 1);
	s->pointed = calloc(bytes / 8 + 1, 1);
	if (!s->starts || !s->jumped || !s->pointed)
		return -ENOMEM;
	mark_symbols(s);
	mark_targets(s);
	mark_behind_calls(s);
	mark_pointer_starts(s);
	return 0;
}

int sweep_range(struct sweep *s, u64 start_ea, u64 end_ea, sweep_row_fn *row, void *arg)
{
	u64 bytes = end_ea - start_ea;
	int r;

	if (bytes > s->left || monotonic_ns() > s->end_ns)
		return -E2BIG;
	r = range_begin(s, start_ea, end_ea);
	if (r == 0) {
		s->left -= bytes;
		r = sweep_parts(s, row, arg);
	}
	range_done(s);
	return r;
}

/* What is aligned behind the end of a function and padding is the next one, unless it is jumped to. */
static void mark_aligned_starts(struct sweep *s)
{
	bool ended = false, padding = false;
	struct x86_insn insn;

	for (u64 at = 0; at < s->bytes; at += insn.bytes) {
		insn = insn_at(s, at);
		if (ended && is_padding(s, at, &insn)) {
			padding = true;
			continue;
		}
		if (ended && padding && (s->ea + at) % 16 == 0 && !get_bit(s->jumped, at))
			set_bit(s->starts, at);
		ended = insn.kind == X86_STOP || insn.kind == X86_JUMP;
		padding = false;
	}
}

int sweep_starts(const struct exe *exe, u64 start_ea, u64 end_ea, sweep_start_fn *start, void *arg)
{
	_cleanup_(sweep_freep) struct sweep *s = sweep_new(exe, start_ea, end_ea);
	int r;

	if (!s)
		return -ENOMEM;
	/* All symbols and pointers of a file for a few KiB: that would take long. */
	s->symbols_read = s->pointers_read = true;
	r = range_begin(s, start_ea, end_ea);
	if (r < 0)
		return r;
	mark_aligned_starts(s);
	for (u64 at = 0; at < s->bytes; at++)
		if (get_bit(s->starts, at))
			start(arg, s->ea + at);
	return 0;
}
