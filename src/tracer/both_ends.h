/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a deep stack, put in order. The kernel half and slice.c go on
 * past the frames that a stack has room for: the first ones stay, the leaf's
 * part, and the last ones, the root's (struct trace_record in bpf/abi.h says
 * how they lie). Between them stands one word, FRAME_GAP, with the number of
 * frames that are left out.
 *
 * A recursion is hardly ever twice equally deep. So that its stacks still
 * merge, the root's part is always as long as it can be, and the number is a
 * multiple of GAP_STEP: the leaf's part gives up as many frames as that takes.
 *
 * A stack that was cut before its root (END_TRUNCATED) keeps the leaf's part
 * alone: what the walk met last before it gave up is no root.
 */
#ifndef TRACER_BOTH_ENDS_H
#define TRACER_BOTH_ENDS_H

#include "abi.h"

#define GAP_STEP 256
#define BOTH_ENDS_WORDS_MAX (USER_WORDS_MAX + 1)

/*
 * The words of a stack, leaf first: words themselves, or ordered, where they are put if need be. How many; those of a
 * record that contradicts itself are left out.
 */
u32 both_ends(const struct trace_record *trace, const u64 *words, u64 ordered[BOTH_ENDS_WORDS_MAX],
	      const u64 **ret_words);

#endif
