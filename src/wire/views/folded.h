/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, as FlameGraph's scripts and their many relatives use them:
 *
 *	process;outermost;...;innermost count
 *
 * Frames of the kernel end in _[k]. A semicolon in a name becomes a colon,
 * control characters become spaces. Equal lines are joined. Of a profile with
 * several sample types the first is written.
 *
 * Read back, the process is only the outermost frame: nothing in the file says
 * whether there is one.
 */
#ifndef WIRE_FOLDED_H
#define WIRE_FOLDED_H

#include <stddef.h>

#include "base/buf.h"

struct profile;

int folded_decode(const void *at, size_t bytes, struct profile **ret_profile);
int folded_encode(const struct profile *profile, struct buf *out);

#endif
