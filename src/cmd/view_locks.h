/* SPDX-License-Identifier: Apache-2.0 */
/* How locks look (analysis/locks.h), for people and as JSON: what `report --locks` prints. Foreign text is escaped. */
#ifndef CMD_VIEW_LOCKS_H
#define CMD_VIEW_LOCKS_H

#include "base/types.h"

struct buf;
struct locks;
struct terminal;

void view_locks(const struct terminal *terminal, const struct locks *locks, u32 limit, struct buf *out);
void view_locks_json(const struct locks *locks, u32 limit, struct buf *out);

#endif
