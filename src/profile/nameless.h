/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for code that has none: "libx.so+0x1230", the bare address where the file is not known either, "[unknown]"
 * where nothing is.
 */
#ifndef PROFILE_NAMELESS_H
#define PROFILE_NAMELESS_H

#include "profile/profile.h"

struct arena;

/* Never empty; with an arena that has run out of memory it is "[unknown]". */
struct str nameless_name(struct arena *arena, struct str module, u64 address);

/* Every frame gets a name, for those who leave frames without one out of what they show. -ENOMEM, -E2BIG. */
int nameless_name_all(struct profile *profile);

#endif
