/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the ids of a file, which may be any 64-bit numbers but 0, to 1, 2, 3,
 * ... in the order they were added. Ids that are that already cost nothing to
 * look up; others are sorted once and searched.
 */
#ifndef WIRE_IDMAP_H
#define WIRE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct idmap_entry {
	u64 id;
	u32 number;
};

struct idmap {
	struct idmap_entry *entries;
	u32 count, cap;
	bool scattered;		/* some id is not its number */
};

void idmap_done(struct idmap *map);

/* Gives the id the next number; -EBADMSG for 0, -ENOMEM. */
int idmap_add(struct idmap *map, u64 id);

/* To be called after the last id was added; -EBADMSG if one came twice. */
int idmap_finish(struct idmap *map);

/* The number of an id, or 0. */
u32 idmap_find(const struct idmap *map, u64 id);

#endif
