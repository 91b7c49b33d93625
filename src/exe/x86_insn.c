// SPDX-License-Identifier: Apache-2.0
#include "exe/x86_insn.h"

#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"

#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1
#define SIB_RSP 0x24	/* rsp and no index, whatever its scale */

/*
 * What follows an opcode:
 *	.  nothing			m  ModRM
 *	b  a byte			B  ModRM and a byte
 *	z  2 or 4 bytes, by prefix 66	Z  ModRM and 2 or 4 bytes
 *	d  4 bytes			w  2 bytes
 *	o  an address			v  2, 4 or 8 bytes, by REX.W
 *	e  3 bytes (enter)		g, h  ModRM, for test also as b, z
 *	x  no such instruction
 */
static const char one_byte[256 + 1] =
	"mmmmbzxxmmmmbzxx"	/* 00: add, or; 0f is handled before */
	"mmmmbzxxmmmmbzxx"
	"mmmmbzxxmmmmbzxx"
	"mmmmbzxxmmmmbzxx"
	"xxxxxxxxxxxxxxxx"	/* 40: REX */
	"................"	/* 50: push, pop */
	"xxxmxxxxzZbB...."
	"bbbbbbbbbbbbbbbb"	/* 70: jcc */
	"BZxBmmmmmmmmmmmm"
	"..........x....."
	"oooo....bz......"	/* a0 */
	"bbbbbbbbvvvvvvvv"
	"BBw.xxBZe.w..bx."	/* c0 */
	"mmmmxxx.mmmmmmmm"
	"bbbbbbbbddxb...."	/* e0: loop, in, out, call, jmp */
	"x.xx..gh......mm";	/* f0 */

static const char two_byte[256 + 1] =
	"mmmmx.....x.xm.B"	/* 0f 00 */
	"mmmmmmmmmmmmmmmm"
	"mmmmxxxxmmmmmmmm"
	"........xxxxxxxx"	/* 30; 38 and 3a are handled before */
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"BBBBmmm.mmmmmmmm"
	"dddddddddddddddd"	/* 80: jcc */
	"mmmmmmmmmmmmmmmm"
	"...mBmxx...mBmmm"	/* a0 */
	"mmmmmmmmmmBmmmmm"
	"mmBmBBBm........"	/* c0 */
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm";

struct decode {
	struct cursor c;
	bool operand_16, address_32, vector;	/* prefixes 66 and 67, VEX or EVEX */
	u8 rex;
	u8 map;			/* 1: one byte, 2: 0f, 3: 0f 38, 4: 0f 3a and others */
	u8 opcode, modrm, sib;
	s32 disp;
	s64 imm;
};

static bool is_prefix(u8 byte)
{
	static const char prefixes[] = "\x66\x67\xf2\xf3\xf0\x2e\x36\x3e\x26\x64\x65";

	return memchr(prefixes, byte, sizeof(prefixes) - 1);
}

/* Prefixes and opcode. */
static void decode_opcode(struct decode *d)
{
	u8 byte = cursor_u8(&d->c);

	for (; is_prefix(byte); byte = cursor_u8(&d->c)) {
		d->operand_16 |= byte == 0x66;
		d->address_32 |= byte == 0x67;
	}
	if ((byte & 0xf0) == 0x40) {
		d->rex = byte & 15;
		byte = cursor_u8(&d->c);
	}
	d->map = 1;
	if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) {
		u8 first = cursor_u8(&d->c);

		d->vector = true;
		d->map = byte == 0xc5 ? 2 : 1 + (first & (byte == 0xc4 ? 31 : 7));
		cursor_skip(&d->c, byte == 0xc5 ? 0 : byte == 0xc4 ? 1 : 2);
		byte = cursor_u8(&d->c);
	} else if (byte == 0x0f) {
		byte = cursor_u8(&d->c);
		d->map = byte == 0x38 ? 3 : byte == 0x3a ? 4 : 2;
		if (d->map > 2)
			byte = cursor_u8(&d->c);
	}
	d->opcode = byte;
}

static void decode_modrm(struct decode *d)
{
	u8 mod, rm;

	d->modrm = cursor_u8(&d->c);
	mod = d->modrm >> 6;
	rm = d->modrm & 7;
	if (mod == 3)
		return;
	if (rm == 4)
		d->sib = cursor_u8(&d->c);
	if (mod == 1)
		d->disp = cursor_int(&d->c, 1);
	else if (mod == 2 || rm == 5 || (rm == 4 && (d->sib & 7) == 5))
		d->disp = cursor_int(&d->c, 4);
}

static char decode_shape(const struct decode *d)
{
	switch (d->map) {
	case 1:
		return one_byte[d->opcode];
	case 2:
		return two_byte[d->opcode];
	case 4:
		return 'B';
	default:
		return 'm';
	}
}

static void decode_rest(struct decode *d)
{
	char shape = decode_shape(d);
	size_t z = d->operand_16 ? 2 : 4;
	bool test = false;

	if (shape == 'x') {
		d->c.bad = true;
		return;
	}
	if (strchr("mBZgh", shape)) {
		decode_modrm(d);
		test = (d->modrm & 0x30) == 0;
	}
	if (shape == 'b' || shape == 'B' || (shape == 'g' && test))
		d->imm = cursor_int(&d->c, 1);
	else if (shape == 'z' || shape == 'Z' || (shape == 'h' && test))
		d->imm = cursor_int(&d->c, z);
	else if (shape == 'd')
		d->imm = cursor_int(&d->c, 4);
	else if (shape == 'w')
		d->imm = cursor_uint(&d->c, 2);
	else if (shape == 'e')
		cursor_skip(&d->c, 3);
	else if (shape == 'o')
		cursor_skip(&d->c, d->address_32 ? 4 : 8);
	else if (shape == 'v')
		d->imm = cursor_int(&d->c, d->rex & REX_W ? 8 : z);
}

/* cmov, imul, bit counts, movzx and movsx, of those that begin with 0f. */
static bool writes_reg(u8 opcode)
{
	return (opcode & 0xf0) == 0x40 || opcode == 0xaf || (opcode & 0xfe) == 0xb6 ||
	       (opcode >= 0xb8 && opcode <= 0xbf && opcode != 0xb9 && opcode != 0xba && opcode != 0xbb);
}

/* Destinations among general registers: of ModRM's two, r/m or reg. -1 if memory, or nothing that we look at. */
static int written_reg(const struct decode *d)
{
	int rm = d->modrm >> 6 == 3 ? (d->modrm & 7) | (d->rex & REX_B) << 3 : -1;
	int reg = (d->modrm >> 3 & 7) | (d->rex & REX_R) << 1, op = d->modrm >> 3 & 7;

	if (d->map != 1)
		return d->map == 2 && writes_reg(d->opcode) ? reg : -1;
	if (d->opcode < 0x38)		/* add, or, adc, sbb, and, sub, xor */
		return (d->opcode & 7) == 1 ? rm : (d->opcode & 7) == 3 ? reg : -1;
	switch (d->opcode) {
	case 0x63:	/* movsxd */
	case 0x69:	/* imul */
	case 0x6b:
	case 0x8b:	/* mov */
	case 0x8d:	/* lea */
		return reg;
	case 0x81:
	case 0x83:
		return op == 7 ? -1 : rm;	/* cmp */
	case 0x87:	/* xchg */
		return reg == X86_RSP || reg == X86_RBP ? reg : rm;
	case 0x89:	/* mov */
	case 0xc1:	/* shifts */
	case 0xc7:	/* mov */
	case 0xd1:
	case 0xd3:
		return rm;
	case 0xf7:
		return op == 2 || op == 3 ? rm : -1;	/* not, neg */
	case 0xff:
		return op <= 1 ? rm : -1;	/* inc, dec */
	case 0xb8 ... 0xbf:
		return (d->opcode & 7) | (d->rex & REX_B) << 3;
	default:
		return -1;
	}
}

/* Is ModRM's memory disp(%rsp)? */
static bool is_stack_word(const struct decode *d)
{
	return d->modrm >> 6 != 3 && (d->modrm & 7) == X86_RSP && (d->sib & 0x3f) == SIB_RSP &&
	       !(d->rex & (REX_X | REX_B)) && d->rex & REX_W;
}

/* The register that mov copies to another, or whose sum with a displacement lea makes; -1 if it is neither. */
static int copied_reg(const struct decode *d)
{
	int rm = (d->modrm & 7) | (d->rex & REX_B) << 3, reg = (d->modrm >> 3 & 7) | (d->rex & REX_R) << 1;
	bool registers = d->modrm >> 6 == 3;

	if (!(d->rex & REX_W))
		return -1;
	if (d->opcode == 0x89 && registers)
		return reg;
	if (d->opcode == 0x8b && registers)
		return rm;
	if (d->opcode == 0x8d && !registers && (d->modrm & 0xc7) != 5 &&	/* but for N(%rip) */
	    ((d->modrm & 7) != X86_RSP || is_stack_word(d)))
		return rm;
	return -1;
}

static void classify_sp_write(const struct decode *d, struct x86_insn *insn)
{
	int op = d->modrm >> 3 & 7, from = copied_reg(d);

	insn->kind = X86_SP_LOST;
	if ((d->opcode == 0x83 || d->opcode == 0x81) && (op == 0 || op == 5)) {
		insn->kind = X86_ADD_SP;
		insn->amount = op == 0 ? (s32)d->imm : (s32)(0 - (u32)d->imm);
	} else if (from >= 0) {
		insn->kind = from == X86_RSP ? X86_ADD_SP : X86_SP_IS_REG;
		insn->reg = from;
		insn->amount = d->disp;
	} else if (d->opcode == 0x8b && is_stack_word(d)) {
		insn->kind = X86_LOAD;
		insn->amount = d->disp;
	}
}

/* Instructions that write a register, or one to the stack. */
static void classify_write(const struct decode *d, struct x86_insn *insn)
{
	int reg = written_reg(d);

	insn->reg = reg;
	if (d->map == 1 && d->opcode == 0x89 && is_stack_word(d)) {
		insn->kind = X86_STORE;
		insn->reg = (d->modrm >> 3 & 7) | (d->rex & REX_R) << 1;
		insn->amount = d->disp;
	} else if (reg == X86_RSP) {
		classify_sp_write(d, insn);
	} else if (d->map == 1 && d->opcode == 0x8b && is_stack_word(d)) {
		insn->kind = X86_LOAD;
		insn->amount = d->disp;
	} else if (reg >= 0 && d->map == 1 && d->opcode != 0x8d && copied_reg(d) == X86_RSP) {
		insn->kind = X86_REG_IS_SP;
	} else if (reg == X86_RBP) {
		bool zeroed = (d->opcode == 0x31 || d->opcode == 0x33) && d->modrm == 0xed &&
			      !(d->rex & (REX_R | REX_B));

		insn->kind = zeroed ? X86_FP_ZERO : X86_FP_LOST;
	}
}

static void classify_jump(const struct decode *d, u64 next_ea, struct x86_insn *insn)
{
	if (d->opcode == 0xe8)
		insn->kind = X86_CALL;
	else if (d->opcode == 0xe9 || d->opcode == 0xeb)
		insn->kind = X86_JUMP;
	else
		insn->kind = X86_BRANCH;
	insn->target = next_ea + d->imm;
}

static void classify_one_byte(const struct decode *d, u64 next_ea, struct x86_insn *insn)
{
	int op = d->modrm >> 3 & 7;

	switch (d->opcode) {
	case 0x50 ... 0x5f:
		insn->kind = d->opcode < 0x58 ? X86_PUSH : X86_POP;
		insn->reg = (d->opcode & 7) | (d->rex & REX_B) << 3;
		return;
	case 0x68:
	case 0x6a:
	case 0x9c:
		insn->kind = X86_PUSH;
		return;
	case 0x8f:
	case 0x9d:
		insn->kind = X86_POP;
		return;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0xe8:
	case 0xe9:
	case 0xeb:
		classify_jump(d, next_ea, insn);
		return;
	case 0xc2:
	case 0xc3:
	case 0xcc:
	case 0xf4:
		insn->kind = X86_STOP;
		return;
	case 0xc8:
		insn->kind = X86_SP_LOST;
		return;
	case 0xc9:
		insn->kind = X86_LEAVE;
		return;
	case 0xff:
		insn->kind = op == 6 ? X86_PUSH : op == 4 ? X86_JUMP : op == 2 ? X86_CALL : X86_OTHER;
		if (op >= 2)
			return;
	}
	classify_write(d, insn);
}

struct x86_insn x86_decode(const u8 *at, size_t bytes, u64 ea)
{
	struct decode d = { .c = cursor_of(at, bytes < 15 ? bytes : 15) };
	struct x86_insn insn = { .kind = X86_BAD, .bytes = 1, .reg = -1 };

	decode_opcode(&d);
	if (!d.c.bad)
		decode_rest(&d);
	if (d.c.bad)
		return insn;
	insn.kind = X86_OTHER;
	insn.bytes = d.c.at - at;
	if (d.vector)
		return insn;
	if (d.map == 1)
		classify_one_byte(&d, ea + insn.bytes, &insn);
	else if (d.map == 2 && (d.opcode & 0xf0) == 0x80)
		classify_jump(&d, ea + insn.bytes, &insn);
	else if (d.map == 2 && d.opcode == 0x0b)
		insn.kind = X86_STOP;
	else
		classify_write(&d, &insn);
	return insn;
}
