// SPDX-License-Identifier: Apache-2.0
#include "store/flame.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/saturate.h"
#include "profile/any.h"

#define FRAMES_MAX (16u << 20)
#define NODES_MAX (64u << 20)
#define BYTES_MAX ((size_t)2 << 30)

static u64 hash_str(u64 hash, struct str s)
{
	return hash_bytes(hash_mix(hash, s.len), s.at, s.len);
}

static u64 frame_hash(const void *row, u64 seed)
{
	const struct flame_frame *f = row;
	u64 hash = hash_str(hash_str(hash_str(seed, f->name), f->file), f->exe);

	return hash_mix(hash_mix(hash_str(hash_str(hash, f->build_id), f->type), f->address),
			(u64)f->line << 1 | f->is_inline);
}

static bool frame_equal(const void *a, const void *b)
{
	const struct flame_frame *x = a, *y = b;

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
	struct flame_frame *f = row;

	if (own_str(owner, &f->name) < 0 || own_str(owner, &f->file) < 0 || own_str(owner, &f->exe) < 0 ||
	    own_str(owner, &f->build_id) < 0 || own_str(owner, &f->type) < 0)
		return -ENOMEM;
	return 0;
}

static u64 node_hash(const void *row, u64 seed)
{
	const struct flame_node *n = row;

	return hash_mix(seed, (u64)n->parent << 32 | n->frame);
}

static bool node_equal(const void *a, const void *b)
{
	const struct flame_node *x = a, *y = b;

	return x->parent == y->parent && x->frame == y->frame;
}

static const struct table_type frame_type = { sizeof(struct flame_frame), frame_hash, frame_equal, frame_own };
static const struct table_type node_type = { sizeof(struct flame_node), node_hash, node_equal, NULL };

struct flame *flame_new(void)
{
	_cleanup_(flame_freep) struct flame *flame = calloc(1, sizeof(*flame));

	if (!flame)
		return NULL;
	arena_init(&flame->arena, BYTES_MAX);
	table_init(&flame->frames, &frame_type, &flame->arena, 0, FRAMES_MAX);
	table_init(&flame->nodes, &node_type, NULL, 0, NODES_MAX);
	flame->unit.at = flame->period.at = "";
	if (flame_frame(flame, &(struct flame_frame){ 0 }) < 0 || flame_node(flame, 0, 0) < 0)
		return NULL;
	return TAKE(flame);
}

void flame_free(struct flame *flame)
{
	if (!flame)
		return;
	table_done(&flame->frames);
	table_done(&flame->nodes);
	arena_done(&flame->arena);
	free(flame);
}

struct str flame_place_name(struct flame *flame, struct str exe, u64 address)
{
	struct str base = str_base_name(exe);
	char text[300];
	int len = snprintf(text, sizeof(text), "%.*s+0x%llx", (int)(base.len < 255 ? base.len : 255),
			   base.len ? base.at : "", address);
	char *copy = arena_copy(&flame->arena, text, (size_t)len);

	return copy ? (struct str){ copy, (u32)len } : STR("[unknown]");
}

s64 flame_frame(struct flame *flame, const struct flame_frame *frame)
{
	return table_add(&flame->frames, frame);
}

s64 flame_node(struct flame *flame, u32 parent, u32 frame)
{
	return table_add(&flame->nodes, &(struct flame_node){ .parent = parent, .frame = frame });
}

s64 flame_append(struct flame *flame, u32 parent, u32 frame)
{
	return table_append(&flame->nodes, &(struct flame_node){ .parent = parent, .frame = frame });
}

void flame_count(struct flame *flame, u32 node, s64 value)
{
	struct flame_node *n = (struct flame_node *)flame->nodes.rows + node;

	if (__builtin_add_overflow(n->self, value, &n->self))
		n->self = value > 0 ? INT64_MAX : INT64_MIN;
}

void flame_sum(struct flame *flame)
{
	struct flame_node *nodes = flame->nodes.rows;

	for (u32 i = 0; i < flame->nodes.count; i++)
		nodes[i].total = nodes[i].self;
	for (u32 i = flame->nodes.count; i-- > 1;)
		if (__builtin_add_overflow(nodes[nodes[i].parent].total, nodes[i].total, &nodes[nodes[i].parent].total))
			nodes[nodes[i].parent].total = INT64_MAX;
}

void flame_add(struct flame *flame, u32 node, s64 self, s64 total)
{
	struct flame_node *n = (struct flame_node *)flame->nodes.rows + node;

	n->self = saturating_add(n->self, self);
	n->total = saturating_add(n->total, total);
}

void flame_set_total(struct flame *flame, u32 node, s64 total)
{
	struct flame_node *n = (struct flame_node *)flame->nodes.rows + node;

	n->self = n->total = total;
}
