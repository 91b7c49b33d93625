/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a profile as viewers show them: functions, inlined ones too,
 * and addresses where there is no name. Equal functions are one frame, however
 * many addresses and lines of theirs were sampled.
 *
 * Borrows the profile, which must outlive it unchanged. At most as many frames
 * as the profile has lines, locations and processes.
 */
#ifndef WIRE_FRAMES_H
#define WIRE_FRAMES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/interner.h"
#include "profile/profile.h"

struct summary;

#define FRAMES_NONE INTERNER_NONE

struct frame {
	struct str name;	/* never empty: "main", "libx.so+0x1230", "[unknown]" */
	struct str file;	/* of the source */
	struct str module;	/* the file that holds the code */
	struct str type;	/* "kernel", "native", "go", ... as profile.frame.type says; FRAME_PROCESS */
	s64 line;		/* where the function starts; 0 if that is not known */
};

#define FRAME_PROCESS STR("process")

struct frames {
	const struct profile *profile;
	struct frame *at;
	u32 count, cap;
	u32 *starts, *numbers;	/* location i: numbers[starts[i]] up to starts[i + 1], innermost first */
	u32 *path;		/* scratch of frames_path() */
	u32 path_cap;
	struct arena arena;
	struct interner interner;
	struct buf key;
};

/* 0, -ENOMEM, -E2BIG. */
int frames_init(struct frames *frames, const struct profile *profile);
void frames_done(struct frames *frames);

/* The frame that stands for a process at the root, FRAMES_NONE if memory ran out. */
u32 frames_process(struct frames *frames, struct str name);

/* The frames of a location, innermost first; never none. */
struct indices frames_of(const struct frames *frames, u32 location);

/* A whole stack from its root on, after process unless that is FRAMES_NONE. Good until the next call; 0 or -ENOMEM. */
int frames_path(struct frames *frames, u32 process, u32 stack, struct indices *ret_path);

/*
 * Calls visit with every distinct stack of a summary by process, from the
 * name of its process on, until it returns non-zero. What weighs nothing or
 * less, as differences may, is left out.
 */
int frames_each(struct frames *frames, const struct summary *summary,
		int (*visit)(void *context, struct indices path, s64 weight), void *context);

bool frame_is_kernel(const struct frame *frame);

#endif
