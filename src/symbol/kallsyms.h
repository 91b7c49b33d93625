/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel addresses: /proc/kallsyms, read at the first question and
 * again, at most every KALLSYMS_RELOAD_NS, when an address has no name and the
 * list of modules has changed; plus the BPF programs that were reported since.
 *
 * One thread owns it. Answers are borrowed until the next call that is not
 * a kallsyms_problem().
 */
#ifndef SYMBOL_KALLSYMS_H
#define SYMBOL_KALLSYMS_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "symbol/ksym_table.h"

struct kallsyms;

#define KALLSYMS_RELOAD_NS 10000000000ull

/* Tests name files of their own. */
struct kallsyms_paths {
	const char *kallsyms;		/* NULL: /proc/kallsyms */
	const char *modules;		/* NULL: /proc/modules */
	const char *kptr_restrict;	/* NULL: /proc/sys/kernel/kptr_restrict */
};

struct kallsyms_stats {
	u64 loads, dropped;
	u64 held_bytes;
};

/* One line of the file. Strings are cut out of the line itself. */
struct kallsyms_line {
	u64 va;
	char type;
	char *name, *module;	/* module is "" for the kernel itself */
};

struct kallsyms *kallsyms_new(const struct kallsyms_paths *paths);
void kallsyms_free(struct kallsyms *kallsyms);
DEFINE_CLEANUP(struct kallsyms *, kallsyms_free)

/* The function at an address. now_ns is any clock that only rises. */
bool kallsyms_find(struct kallsyms *kallsyms, u64 va, u64 now_ns, struct ksym *ret_ksym);

/* A BPF program or other code was put at va, or is gone. */
void kallsyms_program(struct kallsyms *kallsyms, u64 va, u32 bytes, const char *name, bool registered);

/* "" or a sentence: why there are no names, and what to do. Known after the first question. */
const char *kallsyms_problem(const struct kallsyms *kallsyms);

struct kallsyms_stats kallsyms_stats(const struct kallsyms *kallsyms);

/* Takes one NUL-ended line apart, in place; false if it is malformed. */
bool kallsyms_parse(char *line, struct kallsyms_line *ret_line);

#endif
