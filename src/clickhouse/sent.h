/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stacks a server has: those that were sent lately, by hash and day. It
 * may have forgotten one, which is sent again then, and never takes more memory
 * than it was made with. A stack is forgotten with its day, since the key has it.
 */
#ifndef CLICKHOUSE_SENT_H
#define CLICKHOUSE_SENT_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct sent;

/* At least that many stacks; NULL without memory. */
struct sent *sent_new(u32 stacks);
void sent_free(struct sent *sent);
DEFINE_CLEANUP(struct sent *, sent_free)

u64 sent_key(u64 stack_hash, u32 day);

bool sent_has(struct sent *sent, u64 key);
void sent_add(struct sent *sent, u64 key);
void sent_clear(struct sent *sent);

u64 sent_forgotten(const struct sent *sent);	/* how many made room for others */

#endif
