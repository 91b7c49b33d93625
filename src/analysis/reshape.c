// SPDX-License-Identifier: Apache-2.0
#include "analysis/reshape.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calltree.h"
#include "base/array.h"
#include "base/budget.h"
#include "base/str.h"
#include "kinds/kind.h"
#include "profile/any.h"
#include "profile/profile.h"

#define DEPTH_MAX 4096

/* ---- Copying nodes ------------------------------------------------------------------------ */

struct reshape {
	const struct calltree *from;
	struct calltree *into;
	struct reshape_function function;
	u32 *node;		/* of from in into, + 1; 0: not there */
	u32 open;		/* how often the function is on the way down to where we are */
	int err;
};

static int reshape_init(struct reshape *s, const struct calltree *from, struct reshape_function function)
{
	*s = (struct reshape){ .from = from, .function = function, .into = calltree_new_like(from) };
	s->node = array_calloc((size_t)from->nodes.count + 1, sizeof(*s->node));
	return s->into && s->node ? 0 : -ENOMEM;
}

static void reshape_done(struct reshape *s)
{
	calltree_free(s->into);
	free(s->node);
}

static bool is_named(const struct reshape *s, u32 node)
{
	const struct frame *frame = calltree_frame_of(s->from, node);

	return str_is(frame->name, s->function.name) &&
	       (!s->function.home || str_is(frame_home(frame), s->function.home));
}

/* The copy of a node's frame below a node of the new tree. */
static u32 copy_below(struct reshape *s, u32 parent, u32 node)
{
	s64 number = s->err ? s->err : calltree_frame(s->into, calltree_frame_of(s->from, node));

	if (number >= 0)
		number = calltree_node(s->into, parent, (u32)number);
	if (number >= 0)
		return (u32)number;
	s->err = (int)number;
	return 0;
}

static int finish(struct reshape *s, struct calltree **ret_tree)
{
	if (s->err)
		return s->err;
	calltree_sum(s->into);
	*ret_tree = TAKE(s->into);
	return 0;
}

/* ---- Callees --------------------------------------------------------------------------------- */

static void enter_callee(void *arg, u32 node)
{
	struct reshape *s = arg;
	u32 parent = calltree_nodes(s->from)[node].parent, above = s->open && node ? s->node[parent] : 0;

	s->open += is_named(s, node);
	if (!s->open)
		return;
	s->node[node] = copy_below(s, above ? above - 1 : 0, node) + 1;
	calltree_count(s->into, s->node[node] - 1, calltree_nodes(s->from)[node].self);
}

static void leave_callee(void *arg, u32 node)
{
	((struct reshape *)arg)->open -= is_named(arg, node);
}

int reshape_callees(const struct calltree *tree, const struct reshape_function *function, struct calltree **ret_tree)
{
	_cleanup_(reshape_done) struct reshape s;
	int r = reshape_init(&s, tree, *function);

	if (r < 0)
		return r;
	calltree_visit(tree, 0, &(struct calltree_visitor){ enter_callee, leave_callee, &s });
	return finish(&s, ret_tree);
}

/* ---- Callers --------------------------------------------------------------------------------- */

/* Of a chain of calls to itself the outermost counts. */
static void enter_caller(void *arg, u32 node)
{
	struct reshape *s = arg;
	u32 at = 0, depth = 0;

	if (!is_named(s, node) || s->open++)
		return;
	for (u32 n = node; n && depth < DEPTH_MAX; n = calltree_nodes(s->from)[n].parent, depth++)
		at = copy_below(s, at, n);
	calltree_count(s->into, at, calltree_nodes(s->from)[node].total);
}

int reshape_callers(const struct calltree *tree, const struct reshape_function *function, struct calltree **ret_tree)
{
	_cleanup_(reshape_done) struct reshape s;
	int r = reshape_init(&s, tree, *function);

	if (r < 0)
		return r;
	calltree_visit(tree, 0, &(struct calltree_visitor){ enter_caller, leave_callee, &s });
	return finish(&s, ret_tree);
}

/* ---- Bottom up ------------------------------------------------------------------------------- */

static u32 label_of(const struct calltree *tree, u32 node)
{
	while (node && calltree_nodes(tree)[node].parent)
		node = calltree_nodes(tree)[node].parent;
	return node && frame_is_label(calltree_frame_of(tree, node)) ? node : 0;
}

int reshape_inverted(const struct calltree *tree, struct calltree **ret_tree)
{
	_cleanup_(reshape_done) struct reshape s;
	int r = reshape_init(&s, tree, (struct reshape_function){ "", NULL });

	for (u32 i = 0; i < tree->nodes.count && r == 0 && !s.err; i++) {
		u32 label = calltree_nodes(tree)[i].self ? label_of(tree, i) : 0, at, depth = 0;

		if (!calltree_nodes(tree)[i].self)
			continue;
		at = label ? copy_below(&s, 0, label) : 0;
		for (u32 n = i; n != label && depth < DEPTH_MAX; n = calltree_nodes(tree)[n].parent, depth++)
			at = copy_below(&s, at, n);
		calltree_count(s.into, at, calltree_nodes(tree)[i].self);
		if (i % 4096 == 0)
			r = budget_check();
	}
	return r < 0 ? r : finish(&s, ret_tree);
}

/* ---- Two in one --------------------------------------------------------------------------------- */

static void copy_all(struct reshape *s)
{
	s->node[0] = 1;
	for (u32 i = 1; i < s->from->nodes.count && !s->err; i++)
		s->node[i] = copy_below(s, s->node[calltree_nodes(s->from)[i].parent] - 1, i) + 1;
}

int reshape_join(const struct calltree *a, const struct calltree *b, struct calltree **ret_tree)
{
	_cleanup_(reshape_done) struct reshape s;
	_cleanup_(freep) u32 *of_b = array_calloc((size_t)b->nodes.count + 1, sizeof(*of_b));
	int r = reshape_init(&s, a, (struct reshape_function){ "", NULL });

	if (r < 0 || !of_b)
		return -ENOMEM;
	copy_all(&s);
	for (u32 i = 0; i < a->nodes.count && !s.err; i++)
		calltree_count(s.into, s.node[i] - 1, calltree_nodes(a)[i].self);
	free(s.node);
	s.node = TAKE(of_b);
	s.from = b;
	copy_all(&s);
	s.into->base = array_calloc((size_t)s.into->nodes.count + 1, sizeof(*s.into->base));
	if (!s.into->base)
		return -ENOMEM;
	for (u32 i = 0; i < b->nodes.count && !s.err; i++)
		s.into->base[s.node[i] - 1] = calltree_nodes(b)[i].total;
	return finish(&s, ret_tree);
}

/* ---- A profile -------------------------------------------------------------------------------------- */

static u32 add_location(struct profile *p, const struct frame *f)
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

/* locations: by frame, made when a stack first needs it; a frame that no value is of does not become one. */
static void add_node(struct profile *p, const struct calltree *tree, u32 *locations, struct profile_set *set, u32 node)
{
	u32 stack[DEPTH_MAX], depth = 0;
	struct profile_sample *sample;

	for (u32 n = node; n && depth < DEPTH_MAX; n = calltree_nodes(tree)[n].parent) {
		u32 frame = calltree_nodes(tree)[n].frame;

		if (frame_is_label(&calltree_frames(tree)[frame]))
			break;
		if (!locations[frame])
			locations[frame] = add_location(p, &calltree_frames(tree)[frame]);
		stack[depth++] = locations[frame];
	}
	sample = profile_add_sample(p, set);
	if (!sample)
		return;
	sample->stack = profile_add_stack(p, stack, depth);
	sample->values = profile_copy(p, &calltree_nodes(tree)[node].self, sizeof(s64));
	sample->value_count = 1;
}

static void describe_set(struct profile *p, const struct calltree *tree, const char *type, struct profile_set *set)
{
	const struct kind *kind = kind_of(str_of(type), STR(""));

	profile_set_describe(p, set, kind && kind->period.type ? kind : kind_list[KIND_CPU], 0);
	if (type)
		set->sample_type.type = profile_add_cstring(p, type);
	set->sample_type.unit = profile_add_string(p, tree->unit.at, tree->unit.len);
	set->time_unix_ns = tree->from_ns;
	set->duration_ns = tree->to_ns - tree->from_ns;
	for (u32 i = 0; i < tree->period.len && set->period < INT64_MAX / 20; i++)
		set->period = set->period * 10 + (tree->period.at[i] - '0');
	if (!set->period)
		set->period_type = (struct profile_type){ 0 };
}

/* Of the resource that a label stands for; of what has none, one without attributes. */
static struct profile_set *add_set(struct profile *p, const struct calltree *tree, u32 label, const char *type,
				   const char *attribute)
{
	struct str text = calltree_frame_of(tree, label)->name;
	struct keyvalue whose = { str_of(attribute), { .kind = ANY_STRING, .string = text } };
	bool is_known = label && !str_is(text, "(none)");
	struct profile_resource *resource = profile_add_resource(p, &whose, is_known);
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, resource));

	if (set)
		describe_set(p, tree, type, set);
	return set;
}

int reshape_profile(const struct calltree *tree, const char *type, const char *attribute, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	_cleanup_(freep) u32 *locations = array_calloc((size_t)tree->frames.count + 1, sizeof(*locations));
	_cleanup_(freep) struct profile_set **sets = array_calloc((size_t)tree->nodes.count + 1, sizeof(*sets));

	if (!p || !locations || !sets)
		return -ENOMEM;
	/* A node is of the set that its parent is of. */
	for (u32 i = 0; i < tree->nodes.count && !profile_err(p); i++) {
		const struct calltree_node *node = &calltree_nodes(tree)[i];

		if (i && node->parent)
			sets[i] = sets[node->parent];
		else if (i || node->self)
			sets[i] = add_set(p, tree, i, type, attribute);
		if (node->self && sets[i])
			add_node(p, tree, locations, sets[i], i);
	}
	if (profile_err(p) < 0)
		return profile_err(p);
	*ret_profile = TAKE(p);
	return 0;
}
