// SPDX-License-Identifier: Apache-2.0
#include "lang/named.h"

#include <errno.h>
#include <stdio.h>

#include "test.h"

static u32 asked;

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	char function[32];

	asked++;
	if (frame[1] == 404)
		return -ENOENT;
	if (frame[1] == 7) {
		lang_names_label(names, "user", "al\xff" "ice");
		return 0;
	}
	snprintf(function, sizeof(function), "f%llu", (unsigned long long)frame[1]);
	lang_names_line(names, "inlined", "a.py", 3);
	lang_names_line(names, function, "", 0);
	return 0;
}

static const struct lang_ops ops = { .look = { .type = "test" }, .resolve = resolve };

static const struct window_frame *find(struct named *names, u64 word, u64 generation)
{
	return named_find(names, &ops, NULL, &(struct lang_process){ 0 }, (u64[2]){ 1, word }, generation);
}

TEST(named_frames_are_asked_for_once)
{
	struct named names;
	const struct window_frame *frame;

	named_init(&names);
	asked = 0;
	frame = find(&names, 5, 0);
	EQ(frame->line_count, 2);
	STREQ(frame->lines[0].function, "inlined");
	STREQ(frame->lines[0].file, "a.py");
	EQ(frame->lines[0].line, 3);
	STREQ(frame->lines[1].function, "f5");
	STREQ(frame->type, "test");
	OK(find(&names, 5, 0) == frame);
	EQ(asked, 1);
	OK(find(&names, 5, 1) != find(&names, 5, 0));
	EQ(asked, 2);
	named_done(&names);
}

TEST(named_frames_tell_of_frames_that_have_none)
{
	const struct window_frame *frame;
	struct named names;

	named_init(&names);
	STREQ(find(&names, 404, 0)->lines[0].function, "[test frame without a name]");
	EQ(names.unnamed, 1);
	frame = named_find(&names, &ops, NULL, &(struct lang_process){ 0 }, (u64[2]){ FRAME_LABELS, 404 }, 0);
	EQ(frame->line_count, 0);
	EQ(names.unnamed, 2);
	EQ(find(&names, 7, 0)->line_count, 0);
	EQ(find(&names, 7, 0)->label_count, 1);
	STREQ(find(&names, 7, 0)->labels[0].value, "al?ice");
	named_done(&names);
}

TEST(named_frames_stay_within_their_room)
{
	const struct window_frame *frame;
	struct named names;

	named_init(&names);
	for (u64 i = 1000; i < 60000; i++) {
		frame = find(&names, i, 0);
		if (!frame)	/* full: the next one begins anew */
			frame = find(&names, i, 0);
		OK(frame && frame->line_count == 2);
	}
	OK(names.evictions > 0);
	OK(names.arena.held <= 2 * NAMED_BYTES_MAX);
	named_done(&names);
}
