// SPDX-License-Identifier: Apache-2.0
#include "analysis/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calltree.h"
#include "analysis/summary.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "profile/any.h"
#include "profile/nameless.h"

#define UNKNOWN STR("[unknown]")

static u32 frames_add(struct frames *f, const struct frame *frame)
{
	u32 number = frame_set_add(&f->set, frame);

	f->at = frame_set_at(&f->set, 0);
	f->count = f->set.table.count;
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

static bool is_by_file(const struct summary_options *options)
{
	return options && options->by == SUMMARY_EXECUTABLE && !options->with_type;
}

/* What is known of a function, and of it what tells frames apart. */
static struct frame make_frame(struct frames *f, const struct profile_location *l, const struct profile_line *line)
{
	const struct profile *p = f->profile;
	const struct summary_options *o = f->options;
	const struct profile_function *function = &p->functions.at[line ? line->function : 0];
	struct frame frame = { .exe = p->strings.at[p->mappings.at[l->mapping].filename] };

	if (!o || o->with_type)
		frame.type = frame_type(p, l, frame.exe);
	frame.is_inline = o && o->with_type && line && line + 1 < l->lines + l->line_count;
	if (is_by_file(o)) {
		frame.name = frame.exe.len ? frame.exe : UNKNOWN;
		frame.exe = (struct str){ 0 };
		return frame;
	}
	frame.name = p->strings.at[function->name ? function->name : function->system_name];
	if (!frame.name.len)
		frame.name = nameless_name(&f->set.arena, frame.exe, l->address);
	if (!o || (o->by == SUMMARY_LINE && line)) {
		frame.file = p->strings.at[function->filename];
		frame.line = o ? line->line : function->start_line;
	}
	return frame;
}

/* The lines of a location that count: all; the outermost if only physical functions do; none if only its file does. */
static u32 first_line(const struct frames *f, const struct profile_location *l)
{
	if (is_by_file(f->options))
		return l->line_count;
	return f->options && f->options->physical && l->line_count ? l->line_count - 1 : 0;
}

static int name_locations(struct frames *f)
{
	const struct profile *p = f->profile;

	for (u32 i = 0; i < p->locations.count; i++) {
		const struct profile_location *l = &p->locations.at[i];
		u32 first = first_line(f, l);

		for (u32 k = f->starts[i]; k < f->starts[i + 1]; k++, first++) {
			struct frame frame = make_frame(f, l, first < l->line_count ? &l->lines[first] : NULL);

			f->numbers[k] = arena_err(&f->set.arena) ? FRAMES_NONE : frames_add(f, &frame);
			if (f->numbers[k] == FRAMES_NONE)
				return -ENOMEM;
		}
	}
	return 0;
}

int frames_init(struct frames *frames, const struct profile *profile, const struct summary_options *options)
{
	u64 total = 0;

	*frames = (struct frames){ .profile = profile, .options = options, .for_viewers = !options };
	frame_set_init(&frames->set, profile_seed(profile));
	if (options && options->only_stacks)
		return 0;
	frames->starts = array_calloc((size_t)profile->locations.count + 1, sizeof(*frames->starts));
	if (!frames->starts)
		return -ENOMEM;
	for (u32 i = 0; i < profile->locations.count; i++) {
		const struct profile_location *l = &profile->locations.at[i];
		u32 lines = l->line_count - first_line(frames, l);

		total += lines ? lines : 1;
		if (total > PROFILE_TABLE_MAX)
			return -E2BIG;
		frames->starts[i + 1] = (u32)total;
	}
	frames->numbers = array_calloc(total ? total : 1, sizeof(*frames->numbers));
	return frames->numbers ? name_locations(frames) : -ENOMEM;
}

void frames_done(struct frames *frames)
{
	frame_set_done(&frames->set);
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

int frames_path(struct frames *frames, u32 first, u32 stack, struct indices *ret_path)
{
	struct indices locations = frames->profile->stacks.at[stack];
	u64 need = first != FRAMES_NONE;
	u32 count = 0;

	for (u32 i = 0; i < locations.count; i++)
		need += frames_of(frames, locations.at[i]).count;
	if (path_reserve(frames, need) < 0)
		return -ENOMEM;
	if (first != FRAMES_NONE)
		frames->path[count++] = first;
	for (u32 i = locations.count; i-- > 0;) {
		struct indices lines = frames_of(frames, locations.at[i]);

		for (u32 k = lines.count; k-- > 0;)
			frames->path[count++] = lines.at[k];
	}
	*ret_path = (struct indices){ frames->path, count };
	return 0;
}

/* The first frame of stacks of an owner: for viewers its name alone, FRAMES_NONE if that is not known. */
static int name_owners(struct frames *f, const struct summary *summary, u32 **ret_first)
{
	u32 count = summary->frames.set.table.count;
	_cleanup_(freep) u32 *first = array_calloc((size_t)count + 1, sizeof(*first));

	if (!first)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		const struct frame *owner = frame_set_at(&summary->frames.set, i);

		first[i] = !f->for_viewers ? i : FRAMES_NONE;
		if (!f->for_viewers || str_equal(owner->name, UNKNOWN))
			continue;
		first[i] = frames_process(f, owner->name);
		if (first[i] == FRAMES_NONE)
			return -ENOMEM;
	}
	*ret_first = TAKE(first);
	return 0;
}

int frames_each(struct frames *frames, const struct summary *summary,
		int (*visit)(void *context, struct indices path, s64 weight), void *context)
{
	_cleanup_(freep) u32 *first = NULL;
	u32 unknown = frames->for_viewers ? frames_process(frames, UNKNOWN) : 0;
	const struct summary_cell *cells = summary->cells.rows;
	int r = unknown == FRAMES_NONE ? -ENOMEM : name_owners(frames, summary, &first);

	for (u32 i = 0; i < summary->cells.count && r == 0; i++) {
		u32 owner = cells[i].owner;
		struct indices path;

		if (frames->for_viewers && cells[i].value <= 0)
			continue;
		r = frames_path(frames, owner == FRAMES_NONE ? owner : first[owner], cells[i].stack, &path);
		if (r == 0 && !path.count && frames->for_viewers)
			path = (struct indices){ &unknown, 1 };
		if (r == 0)
			r = visit(context, path, cells[i].value);
	}
	return r;
}

/* ---- A tree ---------------------------------------------------------------------------- */

static int add_path(void *context, struct indices path, s64 weight)
{
	struct calltree *tree = context;
	u32 node = 0;

	for (u32 i = 0; i < path.count; i++) {
		s64 below = calltree_node(tree, node, path.at[i] + 1);

		if (below == -E2BIG) {
			tree->cut_count += path.count - i;
			break;
		}
		if (below < 0)
			return (int)below;
		node = (u32)below;
	}
	calltree_count(tree, node, weight);
	return 0;
}

/* Frames of ours are distinct, and so are the tree's. */
static int copy_frames(const struct frames *frames, struct calltree *tree)
{
	s64 r = 0;

	for (u32 i = 0; i < frames->set.table.count && r >= 0; i++)
		r = calltree_frame(tree, frame_set_at(&frames->set, i));
	return r < 0 ? (int)r : 0;
}

int frames_tree(struct frames *frames, const struct summary *summary, u32 nodes_max, struct calltree **ret_tree)
{
	_cleanup_(calltree_freep) struct calltree *tree = calltree_new_max(nodes_max);
	int r;

	if (!tree)
		return -ENOMEM;
	r = frames_each(frames, summary, add_path, tree);
	if (r == 0)
		r = copy_frames(frames, tree);
	if (r < 0)
		return r;
	calltree_sum(tree);
	*ret_tree = TAKE(tree);
	return 0;
}
