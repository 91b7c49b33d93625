// SPDX-License-Identifier: Apache-2.0
/* Stacks whose frames are numbered from the leaf on, pushed as the walk does. */
#include "tracer/both_ends.h"

#include <stdint.h>

#include "test.h"
#include "unwind.h"

static struct unwind u;
static u64 ordered[BOTH_ENDS_WORDS_MAX];

static u64 native(u32 number)
{
	return (u64)FRAME_VA << FRAME_KIND_SHIFT | number;
}

static void setup(void)
{
	memset(&u, 0, sizeof(u));
	u.trace.end = END_COMPLETE;
	u.trace.kernel_count = 3;
}

/* So many frames; each third is a runtime's. */
static void push(u32 from, u32 to)
{
	for (u32 i = from; i < to; i++)
		EQ(i % 3 == 2 ? unwind_push_runtime(&u, 1, i, i) : unwind_push(&u, native(i)), 0);
}

/* Looks at all frames in their order: each is the next one, but for those that are left out, which it returns. */
static u32 left_out(u32 total, u32 *ret_leaf)
{
	const u64 *words;
	u32 count = both_ends(&u.trace, u.words + u.trace.kernel_count, ordered, &words), number = 0, gap = 0;

	for (u32 i = 0; i < count; i++, number++) {
		if (words[i] >> FRAME_KIND_SHIFT == FRAME_GAP) {
			EQ(gap, 0);
			gap = (u32)(words[i] & FRAME_LOW_MASK);
			*ret_leaf = number;
			number += gap - 1;
		} else if (number % 3 == 2) {
			EQ(words[i], (u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | 1ull << FRAME_LANG_SHIFT | number);
			EQ(words[++i], number);
		} else {
			EQ(words[i], native(number));
		}
	}
	EQ(number, total);
	return gap;
}

TEST(both_ends_keeps_all_frames_of_a_stack_that_has_room)
{
	static const u32 depths[] = { 0, 1, LEAF_FRAMES_MAX - 1, LEAF_FRAMES_MAX, LEAF_FRAMES_MAX + 1, 1000,
				      USER_FRAMES_MAX };
	u32 leaf;

	for (u32 i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
		setup();
		push(0, depths[i]);
		EQ(left_out(depths[i], &leaf), 0);
	}
}

TEST(both_ends_counts_each_frame_that_it_leaves_out)
{
	u32 leaf = 0;

	for (u32 depth = USER_FRAMES_MAX + 1; depth <= WALK_FRAMES_MAX; depth += 1 + depth / 7) {
		u32 gap;

		setup();
		push(0, depth);
		gap = left_out(depth, &leaf);
		EQ(gap % GAP_STEP, 0);
		OK(gap >= depth - USER_FRAMES_MAX && gap < depth - USER_FRAMES_MAX + GAP_STEP);
		EQ(depth - leaf - gap, ROOT_FRAMES_MAX);
	}
}

TEST(both_ends_does_not_show_frames_that_others_took_the_place_of_and_gave_back)
{
	u32 leaf = 0, words;

	/* 300 frames are pushed for good, 900 for nothing: of the 1,000 before, those at the root's end are gone. */
	setup();
	push(0, 1000);
	words = u.trace.user_count;
	push(1000, 1900);
	unwind_give_back(&u, 1000, words);
	push(1000, 1300);
	EQ(left_out(1300, &leaf) % GAP_STEP, 0);
	/* Where that was none, nothing is. */
	setup();
	push(0, 100);
	words = u.trace.user_count;
	push(100, 2000);
	unwind_give_back(&u, 100, words);
	push(100, 600);
	EQ(left_out(600, &leaf), 0);
}

TEST(both_ends_keeps_the_leaf_part_of_a_stack_without_end)
{
	const u64 *words;
	u32 count, frames = 0;

	setup();
	push(0, WALK_FRAMES_MAX);
	EQ(unwind_push(&u, native(0)), -1);
	EQ(u.trace.end, END_TRUNCATED);
	count = both_ends(&u.trace, u.words + u.trace.kernel_count, ordered, &words);
	for (u32 i = 0; i < count; i += words[i] >> FRAME_KIND_SHIFT == FRAME_RUNTIME ? 2 : 1)
		frames++;
	EQ(frames, LEAF_FRAMES_MAX);
}

TEST(both_ends_does_not_believe_a_record_that_contradicts_itself)
{
	const u64 *words;

	setup();
	push(0, 2000);
	for (u32 i = 0; i < 3; i++) {
		struct trace_record trace = u.trace;

		if (i == 0)
			trace.frame_count = UINT32_MAX;
		else if (i == 1)
			trace.frames_lost = UINT32_MAX;
		else
			trace.user_count--;
		OK(both_ends(&trace, u.words + 3, ordered, &words) <= BOTH_ENDS_WORDS_MAX);
	}
}
