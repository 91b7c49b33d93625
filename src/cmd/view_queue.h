/* SPDX-License-Identifier: Apache-2.0 */
/* How the run queue looks (analysis/queue_profile.h), for people and as JSON: what `report --queue` prints. */
#ifndef CMD_VIEW_QUEUE_H
#define CMD_VIEW_QUEUE_H

#include "base/types.h"

struct buf;
struct queue_profile;
struct terminal;

void view_queue(const struct terminal *terminal, const struct queue_profile *queue, u32 limit, struct buf *out);
void view_queue_json(const struct queue_profile *queue, u32 limit, struct buf *out);

#endif
