// SPDX-License-Identifier: Apache-2.0
#include "analysis/frame.h"

#include <errno.h>

#define SET_BYTES_MAX ((size_t)4 << 30)
#define SET_FRAMES_MAX (64u << 20)

static u64 hash_str(u64 hash, struct str s)
{
	return hash_bytes(hash_mix(hash, s.len), s.at, s.len);
}

static u64 frame_hash(const void *row, u64 seed)
{
	const struct frame *f = row;
	u64 hash = hash_str(hash_str(hash_str(seed, f->name), f->file), f->exe);

	return hash_mix(hash_mix(hash_str(hash_str(hash, f->build_id), f->type), f->address),
			(u64)f->line << 1 | f->is_inline);
}

static bool frame_equal(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return x->address == y->address && x->line == y->line && x->is_inline == y->is_inline &&
	       str_equal(x->name, y->name) && str_equal(x->file, y->file) && str_equal(x->exe, y->exe) &&
	       str_equal(x->build_id, y->build_id) && str_equal(x->type, y->type);
}

static int own_str(struct arena *arena, struct str *s)
{
	const char *copy = s->len ? arena_copy(arena, s->at, s->len) : "";

	if (!copy)
		return -ENOMEM;
	s->at = copy;
	return 0;
}

static int frame_own(void *owner, void *row)
{
	struct frame *f = row;

	if (own_str(owner, &f->name) < 0 || own_str(owner, &f->file) < 0 || own_str(owner, &f->exe) < 0 ||
	    own_str(owner, &f->build_id) < 0 || own_str(owner, &f->type) < 0)
		return -ENOMEM;
	return 0;
}

const struct table_type frame_table_type = { sizeof(struct frame), frame_hash, frame_equal, frame_own };

bool frame_is_label(const struct frame *frame)
{
	return str_equal(frame->type, FRAME_LABEL);
}

bool frame_is_kernel(const struct frame *frame)
{
	return str_equal(frame->type, STR("kernel"));
}

bool frame_is_function(const struct frame *frame)
{
	return frame->name.len && !frame_is_label(frame);
}

struct str frame_home(const struct frame *frame)
{
	return frame->exe.len ? frame->exe : frame->file;
}

bool frame_same_function(const struct frame *a, const struct frame *b)
{
	return str_equal(a->name, b->name) && str_equal(a->exe, b->exe) && str_equal(frame_home(a), frame_home(b));
}

int frame_compare(const struct frame *a, const struct frame *b)
{
	int r = str_compare(a->name, b->name);

	if (!r)
		r = str_compare(a->exe, b->exe);
	if (!r)
		r = str_compare(a->file, b->file);
	if (!r && !frame_is_label(a))
		return (a->line > b->line) - (a->line < b->line);
	if (!r)
		r = (a->pid > b->pid) - (a->pid < b->pid);
	return r ? r : (a->tid > b->tid) - (a->tid < b->tid);
}

void frame_set_init(struct frame_set *set, u64 seed)
{
	arena_init(&set->arena, SET_BYTES_MAX);
	table_init(&set->table, &frame_table_type, &set->arena, seed, SET_FRAMES_MAX);
}

void frame_set_done(struct frame_set *set)
{
	table_done(&set->table);
	arena_done(&set->arena);
}

u32 frame_set_add(struct frame_set *set, const struct frame *frame)
{
	s64 number = table_add(&set->table, frame);

	return number < 0 ? FRAMES_NONE : (u32)number;
}
