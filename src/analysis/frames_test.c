// SPDX-License-Identifier: Apache-2.0
#include "analysis/frames.h"

#include "profile/any.h"
#include "analysis/summary.h"
#include "test.h"

static u32 add_function(struct profile *p, const char *name, s64 start_line)
{
	return profile_add_function(p, &(struct profile_function){
		.name = profile_add_cstring(p, name), .filename = profile_add_cstring(p, "a.c"),
		.start_line = start_line });
}

/* Two addresses of main, in one of which f is inlined; an address without a name; one in the kernel. */
static struct profile *make(u32 *ret_stack)
{
	struct profile *p = profile_new();
	u32 f = add_function(p, "f", 10), main_ = add_function(p, "main", 20);
	u32 library = profile_add_mapping(p, &(struct profile_mapping){
		.filename = profile_add_cstring(p, "/lib/x.so") });
	u32 kernel = profile_add_mapping(p, &(struct profile_mapping){
		.filename = profile_add_cstring(p, "[kernel.kallsyms]") });
	struct profile_line lines[] = { { .function = f, .line = 12 }, { .function = main_, .line = 22 } };
	u32 stack[] = {
		profile_add_location(p, &(struct profile_location){ .mapping = kernel, .address = 16 }),
		profile_add_location(p, &(struct profile_location){ .mapping = library, .address = 0x30 }),
		profile_add_location(p, &(struct profile_location){ .line_count = 2, .lines = lines, .address = 1 }),
		profile_add_location(p, &(struct profile_location){ .line_count = 1, .lines = lines + 1 }),
	};

	*ret_stack = profile_add_stack(p, stack, 4);
	return p;
}

static void expect_frame(const struct frame *frame, const char *name, const char *type, s64 line)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)frame->name.len, frame->name.at);
	STREQ(text, name);
	snprintf(text, sizeof(text), "%.*s", (int)frame->type.len, frame->type.at);
	STREQ(text, type);
	EQ(frame->line, line);
}

TEST(frames_are_functions_from_the_root_on)
{
	u32 stack;
	_cleanup_(profile_freep) struct profile *p = make(&stack);
	_cleanup_(frames_done) struct frames frames;
	struct indices path;
	u32 process;

	EQ(frames_init(&frames, p, NULL), 0);
	process = frames_process(&frames, STR("sh"));
	EQ(frames_path(&frames, process, stack, &path), 0);
	EQ(path.count, 6);
	expect_frame(&frames.at[path.at[0]], "sh", "process", 0);
	expect_frame(&frames.at[path.at[1]], "main", "", 20);
	EQ(path.at[2], path.at[1]);
	expect_frame(&frames.at[path.at[3]], "f", "", 10);
	expect_frame(&frames.at[path.at[4]], "x.so+0x30", "", 0);
	expect_frame(&frames.at[path.at[5]], "[kernel.kallsyms]+0x10", "kernel", 0);
	OK(frame_is_kernel(&frames.at[path.at[5]]));
	OK(!frame_is_kernel(&frames.at[path.at[4]]));
	EQ(frames_path(&frames, FRAMES_NONE, 0, &path), 0);
	EQ(path.count, 0);
}

struct seen {
	u32 count, frames;
	s64 weight;
};

static int see(void *context, struct indices path, s64 weight)
{
	struct seen *seen = context;

	seen->count++;
	seen->frames += path.count;
	seen->weight += weight;
	return 0;
}

TEST(frames_leave_out_stacks_that_weigh_nothing)
{
	static const s64 values[] = { 3, 0, -5, 4 };
	u32 stack;
	_cleanup_(profile_freep) struct profile *p = make(&stack);
	_cleanup_(frames_done) struct frames frames;
	_cleanup_(summary_freep) struct summary *summary = NULL;
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, NULL, 0));
	struct profile_set *set = profile_add_set(p, scope);
	struct seen seen = { 0 };

	for (u32 i = 0; i < 4; i++) {
		struct profile_sample *s = profile_add_sample(p, set);

		/* The last has no frames at all, and is there nevertheless. */
		s->stack = i == 3 ? 0 : profile_add_stack(p, p->stacks.at[stack].at, 4 - i);
		s->values = profile_copy(p, &values[i], sizeof(values[i]));
		s->value_count = 1;
	}
	EQ(frames_init(&frames, p, NULL), 0);
	EQ(summary_new(p, &(struct summary_options){ .by = SUMMARY_PROCESS }, &summary), 0);
	EQ(frames_each(&frames, summary, see, &seen), 0);
	EQ(seen.count, 2);
	EQ(seen.frames, 5 + 1);
	EQ(seen.weight, 7);
}
