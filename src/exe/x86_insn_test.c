// SPDX-License-Identifier: Apache-2.0
#include "exe/x86_insn.h"

#include "test.h"

#define EA 0x1000

TEST(x86_insn_tells_length_kind_and_operand)
{
	static const struct {
		const char *code, *text;
		int bytes, kind;
		long operand;	/* register, amount or target, whatever the kind has */
	} table[] = {
		{ "\x55", "push %rbp", 1, X86_PUSH, X86_RBP },
		{ "\x41\x55", "push %r13", 2, X86_PUSH, 13 },
		{ "\x6a\x10", "push $16", 2, X86_PUSH, -1 },
		{ "\x68\x10\0\0\0", "push $16", 5, X86_PUSH, -1 },
		{ "\xff\x75\xf8", "push -8(%rbp)", 3, X86_PUSH, -1 },
		{ "\x5d", "pop %rbp", 1, X86_POP, X86_RBP },
		{ "\x41\x5c", "pop %r12", 2, X86_POP, 12 },
		{ "\x48\x83\xec\x18", "sub $24,%rsp", 4, X86_ADD_SP, -24 },
		{ "\x48\x81\xec\x00\x10\0\0", "sub $4096,%rsp", 7, X86_ADD_SP, -4096 },
		{ "\x48\x83\xc4\x18", "add $24,%rsp", 4, X86_ADD_SP, 24 },
		{ "\x48\x83\xc4\x80", "add $-128,%rsp", 4, X86_ADD_SP, -128 },
		{ "\x48\x8d\x64\x24\x08", "lea 8(%rsp),%rsp", 5, X86_ADD_SP, 8 },
		{ "\x48\x8d\xa4\x24\x38\xff\xff\xff", "lea -200(%rsp),%rsp", 8, X86_ADD_SP, -200 },
		{ "\x48\x83\xe4\xf0", "and $-16,%rsp", 4, X86_SP_LOST, 0 },
		{ "\x48\x29\xc4", "sub %rax,%rsp", 3, X86_SP_LOST, 0 },
		{ "\x44\x89\xec", "mov %r13d,%esp", 3, X86_SP_LOST, 0 },
		{ "\x48\x8d\x25\0\0\0\0", "lea 0(%rip),%rsp", 7, X86_SP_LOST, 0 },
		{ "\x48\x8d\x24\x04", "lea (%rsp,%rax),%rsp", 4, X86_SP_LOST, 0 },
		{ "\x8b\x44\x24\x08", "mov 8(%rsp),%eax", 4, X86_OTHER, 0 },
		{ "\x49\x8b\x04\x24", "mov (%r12),%rax", 4, X86_OTHER, 0 },
		{ "\x48\x8b\x04\x04", "mov (%rsp,%rax),%rax", 4, X86_OTHER, 0 },
		{ "\x49\x89\x2c\x24", "mov %rbp,(%r12)", 4, X86_OTHER, 0 },
		{ "\x31\xed", "xor %ebp,%ebp", 2, X86_FP_ZERO, 0 },
		{ "\x45\x31\xed", "xor %r13d,%r13d", 3, X86_OTHER, 0 },
		{ "\x48\x89\xc5", "mov %rax,%rbp", 3, X86_FP_LOST, 0 },
		{ "\x0f\xb6\x2f", "movzbl (%rdi),%ebp", 3, X86_FP_LOST, 0 },
		{ "\x0f\x44\xe8", "cmove %eax,%ebp", 3, X86_FP_LOST, 0 },
		{ "\xbd\x01\0\0\0", "mov $1,%ebp", 5, X86_FP_LOST, 0 },
		{ "\x49\xbd\x01\0\0\0\0\0\0\0", "movabs $1,%r13", 10, X86_OTHER, 0 },
		{ "\x48\x83\xfc\x10", "cmp $16,%rsp", 4, X86_OTHER, 0 },
		{ "\xc9", "leave", 1, X86_LEAVE, 0 },
		{ "\xc3", "ret", 1, X86_STOP, 0 },
		{ "\xf3\xc3", "repz ret", 2, X86_STOP, 0 },
		{ "\x0f\x0b", "ud2", 2, X86_STOP, 0 },
		{ "\xe8\x0b\0\0\0", "call +16", 5, X86_CALL, EA + 16 },
		{ "\xff\x15\0\0\0\0", "call *(%rip)", 6, X86_CALL, 0 },
		{ "\xe9\xfb\xff\xff\xff", "jmp .", 5, X86_JUMP, EA },
		{ "\xeb\x02", "jmp +4", 2, X86_JUMP, EA + 4 },
		{ "\x3e\xff\xe0", "notrack jmp *%rax", 3, X86_JUMP, 0 },
		{ "\x74\xfe", "je .", 2, X86_BRANCH, EA },
		{ "\x0f\x84\0\x01\0\0", "je +262", 6, X86_BRANCH, EA + 262 },
		{ "\xf3\x0f\x1e\xfa", "endbr64", 4, X86_OTHER, 0 },
		{ "\x66\x2e\x0f\x1f\x84\0\0\0\0\0", "cs nopw", 10, X86_OTHER, 0 },
		{ "\xc5\xf8\x77", "vzeroupper", 3, X86_OTHER, 0 },
		{ "\xc4\xe3\x79\x14\xc0\x01", "vpextrb $1,%xmm0,%eax", 6, X86_OTHER, 0 },
		{ "\x62\xf1\xfe\x48\x6f\x46\x01", "vmovdqu64 64(%rsi),%zmm0", 7, X86_OTHER, 0 },
		{ "\x66\x0f\x3a\x0f\xc1\x08", "palignr $8,%xmm1,%xmm0", 6, X86_OTHER, 0 },
		{ "\x66\xc7\x00\x01\x00", "movw $1,(%rax)", 5, X86_OTHER, 0 },
		{ "\xf6\x04\x25\0\0\0\0\x01", "testb $1,0", 8, X86_OTHER, 0 },
		{ "\xf7\xd8", "neg %eax", 2, X86_OTHER, 0 },
		{ "\x06", "(invalid)", 1, X86_BAD, 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct x86_insn insn;
		char code[32] = { 0 };
		long operand;

		memcpy(code, table[i].code, table[i].bytes);
		insn = x86_decode((const u8 *)code, sizeof(code), EA);
		operand = insn.kind == X86_PUSH || insn.kind == X86_POP ? insn.reg :
			  insn.kind == X86_CALL || insn.kind == X86_JUMP || insn.kind == X86_BRANCH ?
			  (long)insn.target : insn.amount;
		if (insn.bytes != table[i].bytes || insn.kind != table[i].kind || operand != table[i].operand)
			FAIL("%s: %d bytes, kind %d, operand %ld", table[i].text, insn.bytes, insn.kind, operand);
	}
}

TEST(x86_insn_tells_what_the_stack_pointer_goes_through)
{
	static const struct {
		const char *code, *text;
		int bytes, kind, reg, amount;
	} table[] = {
		{ "\x4c\x89\xec", "mov %r13,%rsp", 3, X86_SP_IS_REG, 13, 0 },
		{ "\x49\x8b\xe5", "mov %r13,%rsp", 3, X86_SP_IS_REG, 13, 0 },
		{ "\x48\x89\xec", "mov %rbp,%rsp", 3, X86_SP_IS_REG, X86_RBP, 0 },
		{ "\x48\x8d\x65\xf0", "lea -16(%rbp),%rsp", 4, X86_SP_IS_REG, X86_RBP, -16 },
		{ "\x49\x8d\x65\xf0", "lea -16(%r13),%rsp", 4, X86_SP_IS_REG, 13, -16 },
		{ "\x49\x8d\x23", "lea (%r11),%rsp", 3, X86_SP_IS_REG, 11, 0 },
		{ "\x48\x89\xe5", "mov %rsp,%rbp", 3, X86_REG_IS_SP, X86_RBP, 0 },
		{ "\x48\x8b\xec", "mov %rsp,%rbp", 3, X86_REG_IS_SP, X86_RBP, 0 },
		{ "\x49\x89\xe3", "mov %rsp,%r11", 3, X86_REG_IS_SP, 11, 0 },
		{ "\x48\x8b\x64\x24\x78", "mov 120(%rsp),%rsp", 5, X86_LOAD, X86_RSP, 120 },
		{ "\x48\x8b\x84\x24\x98\0\0\0", "mov 152(%rsp),%rax", 8, X86_LOAD, 0, 152 },
		{ "\x4c\x8b\x04\x24", "mov (%rsp),%r8", 4, X86_LOAD, 8, 0 },
		{ "\x48\x89\x6c\x24\x08", "mov %rbp,8(%rsp)", 5, X86_STORE, X86_RBP, 8 },
		{ "\x4c\x89\x24\x24", "mov %r12,(%rsp)", 4, X86_STORE, 12, 0 },
		{ "\x48\x89\x44\x24\x08", "mov %rax,8(%rsp)", 5, X86_STORE, 0, 8 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct x86_insn insn;
		char code[32] = { 0 };

		memcpy(code, table[i].code, table[i].bytes);
		insn = x86_decode((const u8 *)code, sizeof(code), EA);
		if (insn.bytes != table[i].bytes || insn.kind != table[i].kind || insn.reg != table[i].reg ||
		    insn.amount != table[i].amount)
			FAIL("%s: %d bytes, kind %d, register %d, amount %d", table[i].text, insn.bytes, insn.kind,
			     insn.reg, insn.amount);
	}
}

TEST(x86_insn_refuses_what_is_cut)
{
	static const u8 code[] = { 0x48, 0x81, 0xec, 0x00, 0x10, 0, 0 };

	for (size_t bytes = 0; bytes < sizeof(code); bytes++) {
		EQ(x86_decode(code, bytes, EA).kind, X86_BAD);
		EQ(x86_decode(code, bytes, EA).bytes, 1);
	}
	EQ(x86_decode(code, sizeof(code), EA).kind, X86_ADD_SP);
}
