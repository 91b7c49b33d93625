/* SPDX-License-Identifier: Apache-2.0 */
/* What a report starts with: which file, which machine, when, how many samples, how whole their stacks are. */
#ifndef CMD_HEADING_H
#define CMD_HEADING_H

struct buf;
struct profile;
struct summary;
struct terminal;

void heading_add(const struct terminal *terminal, const char *path, const struct profile *profile,
		 const struct summary *summary, struct buf *out);

#endif
