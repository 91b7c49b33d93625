/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules of x86-64 code that has no call frame information, such as
 * all of musl: found by following the stack pointer through each function,
 * from its first instruction along every branch.
 *
 * Functions begin where the code calls, where the symbol table says, where
 * pointers lead behind the end of another, and behind what neither falls
 * through nor is jumped to. A block that is reached by a jump table alone has
 * the stack depth of that jump. Code that aligns the stack keeps what it was
 * before in rbp, in another register, or in a word of the new one: that is
 * followed, too. Where the depth is
 * not known there is no rule: RULE_NONE. Where rbp was zeroed behind a system
 * call, as the ABI marks the outermost frame, and the stack then leaves the
 * function's frame (clone), it is RULE_END. All others are RULE_SWEPT or
 * RULE_SWEPT_DEREF: the kernel half looks whether they lead behind a call.
 */
#ifndef EXE_SWEEP_H
#define EXE_SWEEP_H

#include "abi.h"
#include "base/cleanup.h"

struct exe;
struct sweep;

/*
 * At a time, and for how long: who waits for the rules of 100 MiB has no stack meanwhile. What is past that is for when
 * a stack ends there (exe/rows_part.h).
 */
#define SWEEP_BYTES_MAX (8u << 20)
#define SWEEP_NS 3000000000ull
/* Followed at a time, or up to twice as much: each byte of it needs 16 of memory. */
#define SWEEP_PART_BYTES (1u << 19)

typedef void sweep_row_fn(void *arg, u64 ea, const struct unwind_rule *rule);

/* For code of one file, which must outlive it, between these addresses. NULL without memory. */
struct sweep *sweep_new(const struct exe *exe, u64 start_ea, u64 end_ea);
void sweep_free(struct sweep *sweep);
DEFINE_CLEANUP(struct sweep *, sweep_free)

/* The last function at or before an address, between those, by the symbol table; 0 if it tells none. */
u64 sweep_function_before(struct sweep *sweep, u64 ea);

/*
 * Tells the rows of a stretch of code in ascending order, the first at its start. What there is no time for is
 * ROWS_UNSWEPT. -E2BIG past the limits, -ENOMEM, or -ENODATA if the file has no such bytes or they are padding.
 */
int sweep_range(struct sweep *sweep, u64 start_ea, u64 end_ea, sweep_row_fn *row, void *arg);

/*
 * Where functions begin in some code without call frame information, by its instructions alone: told in ascending
 * order. -ENOMEM, or -ENODATA if the file has no such bytes.
 */
#define SWEEP_STARTS_BYTES_MAX (64u << 10)
typedef void sweep_start_fn(void *arg, u64 ea);
int sweep_starts(const struct exe *exe, u64 start_ea, u64 end_ea, sweep_start_fn *start, void *arg);

#endif
