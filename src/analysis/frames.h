/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a profile, and its stacks as paths of them. For viewers they
 * are functions, inlined ones too, and addresses where there is no name: equal
 * functions are one frame, however many addresses and lines of theirs were
 * sampled. For summaries they are what a row is.
 *
 * Borrows the profile, which must outlive it unchanged. At most as many frames
 * as the profile has lines, locations and owners of samples.
 */
#ifndef ANALYSIS_FRAMES_H
#define ANALYSIS_FRAMES_H

#include "analysis/frame.h"
#include "profile/profile.h"

struct calltree;
struct summary;
struct summary_options;

struct frames {
	const struct profile *profile;
	const struct summary_options *options;	/* while they are made; NULL: as viewers show them */
	bool for_viewers;
	struct frame_set set;
	const struct frame *at;	/* of the set, with a name each: "main", "libx.so+0x1230", "[unknown]" */
	u32 count;
	u32 *starts, *numbers;	/* location i: numbers[starts[i]] up to starts[i + 1], innermost first */
	u32 *path;		/* scratch of frames_path() */
	u32 path_cap;
};

/* options NULL: name, source file, first line and type of functions, for viewers. 0, -ENOMEM, -E2BIG. */
int frames_init(struct frames *frames, const struct profile *profile, const struct summary_options *options);
void frames_done(struct frames *frames);

/* The frame that stands for a process at the root, FRAMES_NONE if memory ran out. */
u32 frames_process(struct frames *frames, struct str name);

/* The frames of a location, innermost first; never none. */
struct indices frames_of(const struct frames *frames, u32 location);

/* A whole stack from its root on, after `first` unless that is FRAMES_NONE. Good until the next call; 0 or -ENOMEM. */
int frames_path(struct frames *frames, u32 first, u32 stack, struct indices *ret_path);

/*
 * Calls visit with every distinct stack of a summary, from whose it is on,
 * until it returns non-zero. For viewers the summary is one by process, and
 * what weighs nothing or less, as differences may, is left out; else it is the
 * summary that the frames belong to.
 */
int frames_each(struct frames *frames, const struct summary *summary,
		int (*visit)(void *context, struct indices path, s64 weight), void *context);

/* All in one tree, whose frame i + 1 is our frame i. Beyond nodes_max values stay in the last node of their path. */
int frames_tree(struct frames *frames, const struct summary *summary, u32 nodes_max, struct calltree **ret_tree);

#endif
