/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of USDT markers, as assemblers write them: "8@%rdi -4@$5 4@-20(%rbp)", "8@x0 4@[sp, 16]". They come from
 * the file: whatever they say, what comes out is a read that is bounded, or an error. Pure; any thread.
 */
#ifndef TRACER_USDT_ARGUMENT_H
#define TRACER_USDT_ARGUMENT_H

#include "kinds/probe/setup.h"

/* Offsets in struct pt_regs. */
u32 register_of_argument(u32 number);	/* of a function; below REGISTER_ARGUMENTS */
u32 register_of_result(void);
u32 register_of_stack(void);
#if defined(__aarch64__)
#define REGISTER_ARGUMENTS 8
#define STACK_ARGUMENTS_AT 0
#else
#define REGISTER_ARGUMENTS 6
#define STACK_ARGUMENTS_AT 8	/* above the return address */
#endif

/* The argument of that number. -ENOENT: there are not so many; -EOPNOTSUPP: it lies where wick does not look. */
int usdt_argument(const char *arguments, u32 number, struct probe_read *ret_read);

#endif
