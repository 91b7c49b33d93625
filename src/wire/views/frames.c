// SPDX-License-Identifier: Apache-2.0
#include "wire/views/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "profile/any.h"
#include "profile/nameless.h"
#include "profile/summary.h"
#include "profile/table.h"

#define FRAMES_BYTES_MAX ((size_t)4 << 30)
#define KEY_BYTES_MAX ((size_t)64 << 20)
#define UNKNOWN STR("[unknown]")

static void key_add(struct buf *key, struct str text)
{
	buf_add(key, &text.len, sizeof(text.len));
	if (text.len)
		buf_add(key, text.at, text.len);
}

static u32 frames_add(struct frames *f, const struct frame *frame)
{
	bool is_new;
	u32 number;

	f->key.len = 0;
	key_add(&f->key, frame->name);
	key_add(&f->key, frame->file);
	key_add(&f->key, frame->module);
	key_add(&f->key, frame->type);
	buf_add(&f->key, &frame->line, sizeof(frame->line));
	if (buf_err(&f->key) < 0 ||
	    array_grow(&f->at, &f->cap, f->count, PROFILE_TABLE_MAX, sizeof(*f->at)) < 0)
		return FRAMES_NONE;
	number = interner_add(&f->interner, f->key.data, f->key.len, &is_new);
	if (number != INTERNER_NONE && is_new)
		f->at[f->count++] = *frame;
	return number;
}

u32 frames_process(struct frames *frames, struct str name)
{
	return frames_add(frames, &(struct frame){ .name = name, .type = FRAME_PROCESS });
}

/* ---- Naming -------------------------------------------------------------------------- */

static struct str frame_type(const struct profile *p, const struct profile_location *l, struct str module)
{
	const struct any *type = l->attributes.count ? profile_attribute_find(p, l->attributes, "profile.frame.type")
						     : NULL;

	if (type && type->kind == ANY_STRING)
		return type->string;
	return str_starts(module, "[kernel") ? STR("kernel") : (struct str){ 0 };
}

static u32 add_line(struct frames *f, const struct profile_location *l, const struct profile_line *line)
{
	const struct profile *p = f->profile;
	const struct profile_function *function = &p->functions.at[line ? line->function : 0];
	struct frame frame = { .name = p->strings.at[function->name ? function->name : function->system_name],
			       .file = p->strings.at[function->filename],
			       .module = p->strings.at[p->mappings.at[l->mapping].filename],
			       .line = function->start_line };

	frame.type = frame_type(p, l, frame.module);
	if (!frame.name.len)
		frame.name = nameless_name(&f->arena, frame.module, l->address);
	return arena_err(&f->arena) ? FRAMES_NONE : frames_add(f, &frame);
}

static int name_locations(struct frames *f)
{
	const struct profile *p = f->profile;

	for (u32 i = 0; i < p->locations.count; i++) {
		const struct profile_location *l = &p->locations.at[i];

		for (u32 k = f->starts[i]; k < f->starts[i + 1]; k++) {
			f->numbers[k] = add_line(f, l, l->line_count ? &l->lines[k - f->starts[i]] : NULL);
			if (f->numbers[k] == FRAMES_NONE)
				return -ENOMEM;
		}
	}
	return 0;
}

int frames_init(struct frames *frames, const struct profile *profile)
{
	u64 total = 0;

	*frames = (struct frames){ .profile = profile };
	arena_init(&frames->arena, FRAMES_BYTES_MAX);
	interner_init(&frames->interner, &frames->arena, PROFILE_TABLE_MAX);
	buf_init(&frames->key, KEY_BYTES_MAX);
	frames->starts = calloc((size_t)profile->locations.count + 1, sizeof(*frames->starts));
	if (!frames->starts)
		return -ENOMEM;
	for (u32 i = 0; i < profile->locations.count; i++) {
		total += profile->locations.at[i].line_count ? profile->locations.at[i].line_count : 1;
		if (total > PROFILE_TABLE_MAX)
			return -E2BIG;
		frames->starts[i + 1] = (u32)total;
	}
	frames->numbers = calloc(total ? total : 1, sizeof(*frames->numbers));
	return frames->numbers ? name_locations(frames) : -ENOMEM;
}

void frames_done(struct frames *frames)
{
	interner_done(&frames->interner);
	arena_done(&frames->arena);
	buf_done(&frames->key);
	free(frames->at);
	free(frames->starts);
	free(frames->numbers);
	free(frames->path);
}

/* ---- Reading ------------------------------------------------------------------------- */

struct indices frames_of(const struct frames *frames, u32 location)
{
	u32 start = frames->starts[location];

	return (struct indices){ frames->numbers + start, frames->starts[location + 1] - start };
}

static int path_reserve(struct frames *f, u64 need)
{
	u32 *path;

	if (need <= f->path_cap)
		return 0;
	path = need > PROFILE_TABLE_MAX ? NULL : reallocarray(f->path, need * 2, sizeof(*path));
	if (!path)
		return -ENOMEM;
	f->path = path;
	f->path_cap = (u32)need * 2;
	return 0;
}

int frames_path(struct frames *frames, u32 process, u32 stack, struct indices *ret_path)
{
	struct indices locations = frames->profile->stacks.at[stack];
	u64 need = process != FRAMES_NONE;
	u32 count = 0;

	for (u32 i = 0; i < locations.count; i++)
		need += frames_of(frames, locations.at[i]).count;
	if (path_reserve(frames, need) < 0)
		return -ENOMEM;
	if (process != FRAMES_NONE)
		frames->path[count++] = process;
	for (u32 i = locations.count; i-- > 0;) {
		struct indices lines = frames_of(frames, locations.at[i]);

		for (u32 k = lines.count; k-- > 0;)
			frames->path[count++] = lines.at[k];
	}
	*ret_path = (struct indices){ frames->path, count };
	return 0;
}

/* The frames of all processes that a summary tells apart; FRAMES_NONE for those without a name. */
static int name_processes(struct frames *f, const struct summary *summary, u32 **ret_processes)
{
	u32 count;
	const struct summary_row *rows = summary_group_rows(summary, &count);
	_cleanup_(freep) u32 *processes = calloc((size_t)count + 1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		bool known = !str_equal(rows[i].name, UNKNOWN);

		processes[i] = known ? frames_process(f, rows[i].name) : FRAMES_NONE;
		if (known && processes[i] == FRAMES_NONE)
			return -ENOMEM;
	}
	*ret_processes = TAKE(processes);
	return 0;
}

int frames_each(struct frames *frames, const struct summary *summary,
		int (*visit)(void *context, struct indices path, s64 weight), void *context)
{
	_cleanup_(freep) u32 *processes = NULL;
	u32 count, unknown = frames_process(frames, UNKNOWN);
	const struct summary_cell *cells = summary_cells(summary, &count);
	int r = unknown == FRAMES_NONE ? -ENOMEM : name_processes(frames, summary, &processes);

	for (u32 i = 0; i < count && r == 0; i++) {
		struct indices path;

		if (cells[i].value <= 0)
			continue;
		r = frames_path(frames, processes[cells[i].group], cells[i].stack, &path);
		if (r == 0 && !path.count)
			path = (struct indices){ &unknown, 1 };
		if (r == 0)
			r = visit(context, path, cells[i].value);
	}
	return r;
}

bool frame_is_kernel(const struct frame *frame)
{
	return str_equal(frame->type, STR("kernel"));
}
