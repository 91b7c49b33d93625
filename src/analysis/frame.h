/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node of a call tree and a row of a table is called: a function, a
 * line, a file, or what samples are grouped by. Fields that nobody needs to
 * tell frames apart are left empty.
 *
 * A frame_set gives equal frames equal numbers, from 0 on. It owns the texts;
 * a frame is good until the next one is added.
 */
#ifndef ANALYSIS_FRAME_H
#define ANALYSIS_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "profile/table.h"

struct frame {
	struct str name;	/* of the function, "libfoo.so+0x1230", or the value of a label */
	struct str file;	/* of the source */
	struct str exe;		/* the file that holds the code */
	struct str build_id;
	struct str type;	/* "kernel", "native", ... as profile.frame.type says; FRAME_LABEL, FRAME_PROCESS */
	union {
		s64 line;
		s64 tid;	/* of FRAME_LABEL: -1 if it is no thread, or unknown */
	};
	union {
		u64 address;
		s64 pid;	/* of FRAME_LABEL: the same of processes */
	};
	bool is_inline;
	u8 source;		/* store's enum name_source: of the name; equal frames may differ in it */
};

#define FRAME_LABEL STR("label")	/* it is what samples are grouped by */
#define FRAME_PROCESS STR("process")	/* the same in files that show a process as its outermost function */

extern const struct table_type frame_table_type;

bool frame_is_label(const struct frame *frame);
bool frame_is_kernel(const struct frame *frame);

/* Neither the root nor a label. */
bool frame_is_function(const struct frame *frame);

/* The file that a function is of: that of its code, or of what has none there, a script's, that of its source. */
struct str frame_home(const struct frame *frame);

/* Frames of one name in one such file are one function, whatever line they were at. */
bool frame_same_function(const struct frame *a, const struct frame *b);

/* By name, and all else that tells rows apart. */
int frame_compare(const struct frame *a, const struct frame *b);

struct frame_set {
	struct arena arena;
	struct table table;
};

#define FRAMES_NONE UINT32_MAX

/* The seed is the profile's: profile_seed(). */
void frame_set_init(struct frame_set *set, u64 seed);
void frame_set_done(struct frame_set *set);

/* FRAMES_NONE if memory ran out. */
u32 frame_set_add(struct frame_set *set, const struct frame *frame);

static inline const struct frame *frame_set_at(const struct frame_set *set, u32 number)
{
	return (const struct frame *)set->table.rows + number;
}

#endif
