/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for compilers that optimise by them: `go build -pgo` reads pprof,
 * clang's -fprofile-sample-use LLVM's text of samples. Both know lines by
 * their distance from the line that the function starts at: -ENODATA if a
 * profile has no CPU time, or says that of no function. Only written.
 */
#ifndef WIRE_PGO_H
#define WIRE_PGO_H

#include "base/buf.h"
#include "profile/profile.h"

/* default.pgo: pprof with nothing but stacks and their counts. */
int pgo_encode(const struct profile *profile, struct buf *out);

/*
 * LLVM's text: for each function what its lines were sampled at, and in it the
 * functions that were inlined into it.
 *
 *	function:total:entered
 *	 line: count
 *	 line: inlined:total
 *	  line: count
 */
int llvm_pgo_encode(const struct profile *profile, struct buf *out);

/* Does the profile tell lines, and where their functions start? */
bool pgo_has_lines(const struct profile *profile);

/*
 * Calls visit with every sample of CPU time, samples/count if there is that,
 * else cpu/nanoseconds; compilers want nothing else. Returns a set of that
 * type, NULL if there is none.
 */
const struct profile_set *pgo_each(const struct profile *profile,
				   void (*visit)(void *context, u32 stack, s64 value), void *context);

#endif
