/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large the BPF programs are that were there before us. /proc/kallsyms
 * tells where they start, not where they end; the kernel's list of programs
 * does, to those who may ask.
 */
#ifndef SYMBOL_PROGRAM_SCAN_H
#define SYMBOL_PROGRAM_SCAN_H

#include "base/types.h"

struct kernel_programs;

#define PROGRAM_SCAN_MAX 16384u		/* programs to look at */

/* Sets the sizes of known programs. Returns how many, 0 also where we may not ask, or -ENOMEM. */
int program_scan(struct kernel_programs *programs);

#endif
