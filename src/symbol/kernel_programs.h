/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that comes and goes in a running kernel: BPF programs, their
 * trampolines, and other code that is not in a module. PERF_RECORD_KSYMBOL
 * tells of each; those older than the agent come from /proc/kallsyms.
 *
 * Names are looked up when a window closes, when a short-lived program may be
 * gone already. So one that is gone keeps its name until something else is
 * put at its address, or its place is needed.
 *
 * One thread owns a set.
 */
#ifndef SYMBOL_KERNEL_PROGRAMS_H
#define SYMBOL_KERNEL_PROGRAMS_H

#include <stdbool.h>

#include "symbol/ksym_table.h"

#define KERNEL_PROGRAMS_MAX 4096u
#define KERNEL_PROGRAM_NAME 128		/* KSYM_NAME_LEN of perf records is 256, names of programs are below 50 */

struct kernel_program {
	u64 va;
	u32 bytes;		/* 0: unknown, up to the next one or the end of its page */
	bool gone;
	char *name;
};

struct kernel_programs {
	struct kernel_program *list;	/* ascending, not overlapping */
	u32 count, cap;
	u64 dropped;			/* there was no place or no memory */
};

void kernel_programs_done(struct kernel_programs *programs);

/* A program now lies at va; what was known there is forgotten. */
void kernel_programs_add(struct kernel_programs *programs, u64 va, u32 bytes, const char *name);
void kernel_programs_remove(struct kernel_programs *programs, u64 va);

/* The program at va is that large. False if none is known there. */
bool kernel_programs_set_bytes(struct kernel_programs *programs, u64 va, u32 bytes);

/* The program that an address lies in; borrowed until the next add. */
bool kernel_programs_find(const struct kernel_programs *programs, u64 va, struct ksym *ret_ksym);

#endif
