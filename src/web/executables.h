/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a flame's frames are of, as JSON: what each has, and how many of its functions have names. */
#ifndef WEB_EXECUTABLES_H
#define WEB_EXECUTABLES_H

#include "base/types.h"

struct buf;
struct calltree;

/* Most of its own first, at most rows_max. -ENOMEM, -E2BIG. docs/api.md says what it looks like. */
int executables_json(const struct calltree *flame, u32 rows_max, struct buf *out);

#endif
