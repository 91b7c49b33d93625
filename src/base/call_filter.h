/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls this process, all its threads and children may make from now on. What it may not fails with EPERM
 * rather than killing it, since libraries probe; calls of another architecture kill it.
 */
#ifndef BASE_CALL_FILTER_H
#define BASE_CALL_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

enum call_test { CALL_ANY, CALL_ABSENT, CALL_HAS_BITS, CALL_DIFFERS, CALL_EQUALS };

/*
 * A call; or one that is to look as if the kernel did not know it (ENOSYS); or only those with an argument (its low
 * half) that has one of some bits, is not a value, or is it.
 */
struct call_rule {
	u32 number;
	enum call_test test;
	u32 argument, value;
};

#define CALL_RULES_MAX 200

/* All but these, for all threads; or these alone, each CALL_ANY, for this one. -errno: the kernel does not filter. */
int call_filter_deny(const struct call_rule *rules, size_t count);
int call_filter_allow(const u32 *numbers, size_t count);

#endif
