/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code whose unwind rule is known without call frame information, or better
 * than that has it:
 *
 *  - signal trampolines, by their instructions: the kernel's frame lies on
 *    the stack. At sp + cfa_off are, on x86-64, the registers of struct
 *    sigcontext: r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip; on
 *    arm64 x0-x30, sp, pc;
 *  - the entry point of a program: nobody called it;
 *  - where a coroutine of makecontext() ends, and where clone() of musl on arm64
 *    starts a thread: nobody called them either;
 *  - the first function of a greenlet, above which the stack is another's;
 *  - .plt, for which not every linker writes an FDE;
 *  - the text of a Go older than the tables we read, which keeps frame pointers;
 *  - the arm64 vDSO of kernels that strip its .eh_frame.
 *
 * What is left of x86-64 code is for exe/sweep.h to find out.
 */
#ifndef EXE_KNOWN_H
#define EXE_KNOWN_H

#include <stdbool.h>

#include "abi.h"

struct cfi_fde;
struct exe;
struct functions;

enum known_rule {
	KNOWN_NONE,
	KNOWN_END,
	KNOWN_SIGNAL,
	KNOWN_PLT,		/* an x86-64 entry of 16 bytes that pushes at its byte 11 */
	KNOWN_CALLED,		/* nothing was pushed since the call */
	KNOWN_PUSHED_PAIR,	/* arm64: x30 lies above one other word */
	KNOWN_FRAME,
	KNOWN_COUNT
};

/* The rule on a machine, x86-64 or arm64. */
const struct unwind_rule *known_rule(u16 machine, enum known_rule known);

/* True, and where its row begins, if the FDE is that of a signal trampoline. */
bool known_signal_fde(const struct exe *exe, const struct cfi_fde *fde, u64 *ret_start_ea);

/* Where a program begins. */
struct known_program {
	u64 start_ea, start_end_ea;	/* _start: the ELF entry point */
	u64 main_ea;			/* main(): what glibc's _start gives to __libc_start_main, on x86-64; or 0 */
};

/* False for libraries, and what has no entry point in code. */
bool known_program(const struct exe *exe, struct known_program *ret_program);

/*
 * Adds to the functions (settled) what is known of addresses that they do not cover, and marks the entry point.
 * has_tables: those of a language's own tables are among them.
 */
void known_fill(const struct exe *exe, bool has_tables, struct functions *functions);

/*
 * The same in two parts, for a file whose functions are read page by page. All of its code but the entry point is left
 * for later; the functions are the one there, if any. What is known of names, which no large library has, is left out.
 */
void known_fill_unread(const struct exe *exe, struct functions *functions);

/* ... and what the functions of a range (settled) leave open there. */
struct known_range {
	u64 start_ea, end_ea;
};
void known_fill_range(const struct exe *exe, const struct known_range *range, struct functions *functions);

#endif
