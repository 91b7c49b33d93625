/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A merged tree of functions: what a flame graph shows. Parents stand before
 * their children; node 0 is the root.
 */
#ifndef STORE_FLAME_H
#define STORE_FLAME_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/types.h"
#include "profile/profile.h"
#include "profile/table.h"
#include "store/names.h"

struct flame_frame {
	struct str name;		/* of the function, "libfoo.so+0x1230", or the value of a label */
	struct str file, exe, build_id, type;
	u32 line;
	bool is_inline;
	u8 source;			/* enum name_source: of the name; equal frames may differ in it */
	u64 address;
};

struct flame_node {
	u32 parent, frame;
	s64 self, total;
};

struct flame {
	struct arena arena;
	struct table frames, nodes;	/* of struct flame_frame, struct flame_node */
	struct str unit, period;	/* of the values; "" if they differ */
	bool is_coarse;			/* the range was wider than asked, since only roll-ups are left of it */
	u64 from_ns, to_ns;		/* what it really covers */
};

struct flame *flame_new(void);
void flame_free(struct flame *flame);
DEFINE_CLEANUP(struct flame *, flame_free)

/* What a function without a name is called, by where it is: "libfoo.so+0x1230", which the flame owns. */
struct str flame_place_name(struct flame *flame, struct str exe, u64 address);

static inline const struct flame_node *flame_nodes(const struct flame *flame)
{
	return flame->nodes.rows;
}

static inline const struct flame_frame *flame_frames(const struct flame *flame)
{
	return flame->frames.rows;
}

/* The number of a frame or node, added if it is new; strings are copied. -ENOMEM, -E2BIG. */
s64 flame_frame(struct flame *flame, const struct flame_frame *frame);
s64 flame_node(struct flame *flame, u32 parent, u32 frame);

/* The same for a node that is known to be new. */
s64 flame_append(struct flame *flame, u32 parent, u32 frame);
void flame_count(struct flame *flame, u32 node, s64 value);

/* Sums up: total is what a node and those below it have. */
void flame_sum(struct flame *flame);

/* Adds to both, where totals are known. */
void flame_add(struct flame *flame, u32 node, s64 self, s64 total);

/* Instead of that, where nodes are left out: it has all of it itself until flame_count() takes away what they have. */
void flame_set_total(struct flame *flame, u32 node, s64 total);

#endif
