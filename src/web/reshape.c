// SPDX-License-Identifier: Apache-2.0
#include "web/reshape.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kinds/kind.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "store/flame.h"
#include "web/links.h"

#define DEPTH_MAX 4096

/* ---- Copying nodes ------------------------------------------------------------------------ */

struct reshape {
	const struct flame *from;
	struct flame *into;
	const char *name;
	u32 *node;		/* of from in into, + 1; 0: not there */
	u32 open;		/* how often the function is on the way down to where we are */
	int err;
};

static int reshape_init(struct reshape *s, const struct flame *from, const char *name)
{
	*s = (struct reshape){ .from = from, .name = name, .into = flame_new() };
	s->node = calloc((size_t)from->nodes.count + 1, sizeof(*s->node));
	if (!s->into || !s->node)
		return -ENOMEM;
	s->into->is_coarse = from->is_coarse;
	s->into->from_ns = from->from_ns;
	s->into->to_ns = from->to_ns;
	/* Both strings are the other's: they are copied. */
	s->into->unit = from->unit;
	s->into->unit.at = arena_copy(&s->into->arena, from->unit.len ? from->unit.at : "", from->unit.len);
	s->into->period = from->period;
	s->into->period.at = arena_copy(&s->into->arena, from->period.len ? from->period.at : "", from->period.len);
	return s->into->unit.at && s->into->period.at ? 0 : -ENOMEM;
}

static void reshape_done(struct reshape *s)
{
	flame_free(s->into);
	free(s->node);
}

static bool is_named(const struct reshape *s, u32 node)
{
	struct str name = flame_frames(s->from)[flame_nodes(s->from)[node].frame].name;

	return str_is(name, s->name);
}

/* The copy of a node's frame below a node of the new flame. */
static u32 copy_below(struct reshape *s, u32 parent, u32 node)
{
	const struct flame_frame *frame = &flame_frames(s->from)[flame_nodes(s->from)[node].frame];
	s64 number = s->err ? s->err : flame_frame(s->into, frame);

	if (number >= 0)
		number = flame_node(s->into, parent, (u32)number);
	if (number >= 0)
		return (u32)number;
	s->err = (int)number;
	return 0;
}

static int finish(struct reshape *s, struct flame **ret_flame)
{
	if (s->err)
		return s->err;
	flame_sum(s->into);
	*ret_flame = TAKE(s->into);
	return 0;
}

/* ---- Callees --------------------------------------------------------------------------------- */

static void enter_callee(void *arg, u32 node)
{
	struct reshape *s = arg;
	u32 parent = flame_nodes(s->from)[node].parent, above = s->open && node ? s->node[parent] : 0;

	s->open += is_named(s, node);
	if (!s->open)
		return;
	s->node[node] = copy_below(s, above ? above - 1 : 0, node) + 1;
	flame_count(s->into, s->node[node] - 1, flame_nodes(s->from)[node].self);
}

static void leave_callee(void *arg, u32 node)
{
	((struct reshape *)arg)->open -= is_named(arg, node);
}

int reshape_callees(const struct flame *flame, const struct links *links, const char *name, struct flame **ret_flame)
{
	_cleanup_(reshape_done) struct reshape s;
	int r = reshape_init(&s, flame, name);

	if (r < 0)
		return r;
	links_visit(links, flame, 0, &(struct visitor){ enter_callee, leave_callee, &s });
	return finish(&s, ret_flame);
}

/* ---- Callers --------------------------------------------------------------------------------- */

/* Of a chain of calls to itself the outermost counts. */
static void enter_caller(void *arg, u32 node)
{
	struct reshape *s = arg;
	u32 at = 0, depth = 0;

	if (!is_named(s, node) || s->open++)
		return;
	for (u32 n = node; n && depth < DEPTH_MAX; n = flame_nodes(s->from)[n].parent, depth++)
		at = copy_below(s, at, n);
	flame_count(s->into, at, flame_nodes(s->from)[node].total);
}

int reshape_callers(const struct flame *flame, const struct links *links, const char *name, struct flame **ret_flame)
{
	_cleanup_(reshape_done) struct reshape s;
	int r = reshape_init(&s, flame, name);

	if (r < 0)
		return r;
	links_visit(links, flame, 0, &(struct visitor){ enter_caller, leave_callee, &s });
	return finish(&s, ret_flame);
}

/* ---- Two in one --------------------------------------------------------------------------------- */

static void copy_all(struct reshape *s)
{
	s->node[0] = 1;
	for (u32 i = 1; i < s->from->nodes.count && !s->err; i++)
		s->node[i] = copy_below(s, s->node[flame_nodes(s->from)[i].parent] - 1, i) + 1;
}

int reshape_join(const struct flame *a, const struct flame *b, struct flame **ret_flame, s64 **ret_compared)
{
	_cleanup_(reshape_done) struct reshape s;
	_cleanup_(freep) u32 *of_b = calloc((size_t)b->nodes.count + 1, sizeof(*of_b));
	_cleanup_(freep) s64 *compared = NULL;
	int r = reshape_init(&s, a, "");

	if (r < 0 || !of_b)
		return -ENOMEM;
	copy_all(&s);
	for (u32 i = 0; i < a->nodes.count && !s.err; i++)
		flame_count(s.into, s.node[i] - 1, flame_nodes(a)[i].self);
	free(s.node);
	s.node = TAKE(of_b);
	s.from = b;
	copy_all(&s);
	compared = calloc((size_t)s.into->nodes.count + 1, sizeof(*compared));
	if (!compared)
		return -ENOMEM;
	for (u32 i = 0; i < b->nodes.count && !s.err; i++)
		compared[s.node[i] - 1] = flame_nodes(b)[i].total;
	r = finish(&s, ret_flame);
	if (r == 0)
		*ret_compared = TAKE(compared);
	return r;
}

/* ---- A profile -------------------------------------------------------------------------------------- */

static u32 add_location(struct profile *p, const struct flame_frame *f)
{
	u32 type = 0, build_id = 0;
	struct profile_mapping mapping = { .filename = profile_add_string(p, f->exe.at, f->exe.len) };
	struct profile_function function = { .name = profile_add_string(p, f->name.at, f->name.len),
					     .filename = profile_add_string(p, f->file.at, f->file.len),
					     .start_line = f->line };
	struct profile_line line = { .function = profile_add_function(p, &function) };
	struct profile_location location = { .address = f->address, .lines = &line, .line_count = 1 };

	if (f->type.len) {
		type = profile_add_attribute(p, &(struct profile_attribute){
			.key = profile_add_cstring(p, "profile.frame.type"),
			.value = { .kind = ANY_STRING, .string = f->type } });
		location.attributes = (struct indices){ &type, 1 };
	}
	if (f->build_id.len) {
		build_id = profile_add_attribute(p, &(struct profile_attribute){
			.key = profile_add_cstring(p, "process.executable.build_id.gnu"),
			.value = { .kind = ANY_STRING, .string = f->build_id } });
		mapping.attributes = (struct indices){ &build_id, 1 };
	}
	location.mapping = profile_add_mapping(p, &mapping);
	return profile_add_location(p, &location);
}

static void add_node(struct profile *p, const struct flame *flame, const u32 *locations, struct profile_set *set,
		     u32 node)
{
	u32 stack[DEPTH_MAX], depth = 0;
	struct profile_sample *sample;

	for (u32 n = node; n && depth < DEPTH_MAX; n = flame_nodes(flame)[n].parent)
		stack[depth++] = locations[flame_nodes(flame)[n].frame];
	sample = profile_add_sample(p, set);
	if (!sample)
		return;
	sample->stack = profile_add_stack(p, stack, depth);
	sample->values = profile_copy(p, &flame_nodes(flame)[node].self, sizeof(s64));
	sample->value_count = 1;
}

static void describe_set(struct profile *p, const struct flame *flame, const char *type, struct profile_set *set)
{
	const struct kind *kind = kind_of(str_of(type), STR(""));

	profile_set_describe(p, set, kind && kind->period.type ? kind : kind_list[KIND_CPU], 0);
	if (type)
		set->sample_type.type = profile_add_cstring(p, type);
	set->sample_type.unit = profile_add_string(p, flame->unit.at, flame->unit.len);
	set->time_unix_ns = flame->from_ns;
	set->duration_ns = flame->to_ns - flame->from_ns;
	for (u32 i = 0; i < flame->period.len && set->period < INT64_MAX / 20; i++)
		set->period = set->period * 10 + (flame->period.at[i] - '0');
	if (!set->period)
		set->period_type = (struct profile_type){ 0 };
}

int reshape_profile(const struct flame *flame, const char *type, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(freep) u32 *locations = calloc((size_t)flame->frames.count + 1, sizeof(*locations));
	struct profile_resource *resource = p ? profile_add_resource(p, NULL, 0) : NULL;
	struct profile_scope *scope = resource ? profile_add_scope(p, resource) : NULL;
	struct profile_set *set = scope ? profile_add_set(p, scope) : NULL;

	if (!set || !locations)
		return -ENOMEM;
	describe_set(p, flame, type, set);
	for (u32 i = 1; i < flame->frames.count; i++)
		locations[i] = add_location(p, &flame_frames(flame)[i]);
	for (u32 i = 0; i < flame->nodes.count && !profile_err(p); i++)
		if (flame_nodes(flame)[i].self)
			add_node(p, flame, locations, set, i);
	if (profile_err(p) < 0)
		return profile_err(p);
	*ret_profile = TAKE(p);
	return 0;
}
