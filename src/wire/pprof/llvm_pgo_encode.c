// SPDX-License-Identifier: Apache-2.0
/*
 * Samples are counted at the line where they were taken: of the innermost
 * function that is inlined there, found by the lines of the calls that lead
 * to it from the function that has the code. What called that is of no use:
 * how long a call takes is not how often it is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturate.h"
#include "profile/table.h"
#include "wire/format.h"
#include "wire/pprof/pgo.h"

#define DEPTH_MAX 64		/* inlined functions in each other; what is deeper counts at the deepest */
#define OFFSET_MASK 0xffff	/* as LLVM cuts them */
#define NODES_MAX PROFILE_TABLE_MAX

/* A function, alone or inlined into another, or one of its lines. Node 0 holds the functions that have code. */
struct node {
	u32 parent;
	u32 offset;		/* from the start of the parent: the line, or where it is inlined */
	u32 name;		/* of the function, a string; 0: a line */
	u32 child, next;	/* those below it, 0 ends */
	s64 total;
};

static u64 node_hash(const void *row, u64 seed)
{
	const struct node *node = row;

	return hash_mix(hash_mix(seed, (u64)node->parent << 32 | node->offset), node->name);
}

static bool node_equal(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return x->parent == y->parent && x->offset == y->offset && x->name == y->name;
}

static const struct table_type node_type = { sizeof(struct node), node_hash, node_equal, NULL };

struct encoder {
	const struct profile *p;
	struct buf *out;
	struct table nodes;
	s64 *sums;		/* of leaf locations */
};

/* ---- Counting ------------------------------------------------------------------------ */

static void add_leaf(void *context, u32 stack, s64 value)
{
	struct encoder *e = context;
	struct indices locations = e->p->stacks.at[stack];

	if (locations.count)
		e->sums[locations.at[0]] = saturating_add(e->sums[locations.at[0]], value);
}

/* The name that the compiler knows it by. One with a space in it is none. */
static u32 linkage_name(const struct profile *p, const struct profile_function *f)
{
	u32 name = f->system_name ? f->system_name : f->name;
	struct str text = p->strings.at[name];

	for (u32 i = 0; i < text.len; i++)
		if ((unsigned char)text.at[i] <= ' ')
			return 0;
	return text.len ? name : 0;
}

/* Can every line of it be found from the start of its function? */
static bool is_placed(const struct profile *p, const struct profile_location *l)
{
	for (u32 i = 0; i < l->line_count; i++) {
		const struct profile_function *f = &p->functions.at[l->lines[i].function];

		if (l->lines[i].line <= 0 || f->start_line <= 0 || !linkage_name(p, f))
			return false;
	}
	return l->line_count;
}

static int enter(struct encoder *e, u32 parent, u32 offset, u32 name, s64 value, u32 *ret_node)
{
	struct node key = { .parent = parent, .offset = offset, .name = name };
	s64 number = table_add(&e->nodes, &key);
	struct node *node;

	if (number < 0)
		return (int)number;
	node = (struct node *)e->nodes.rows + number;
	node->total = saturating_add(node->total, value);
	*ret_node = (u32)number;
	return 0;
}

static int add_location(struct encoder *e, const struct profile_location *l, s64 value)
{
	u32 node = 0, offset = 0, first = l->line_count > DEPTH_MAX ? l->line_count - DEPTH_MAX : 0;
	int r = 0;

	for (u32 i = l->line_count; i-- > first && r == 0;) {
		const struct profile_function *f = &e->p->functions.at[l->lines[i].function];

		r = enter(e, node, offset, linkage_name(e->p, f), value, &node);
		offset = (u32)(l->lines[i].line - f->start_line) & OFFSET_MASK;
	}
	return r < 0 ? r : enter(e, node, offset, 0, value, &node);
}

static int count(struct encoder *e)
{
	u32 root;
	int r = enter(e, UINT32_MAX, 0, 0, 0, &root);

	for (u32 i = 1; i < e->p->locations.count && r == 0; i++)
		if (e->sums[i] > 0 && is_placed(e->p, &e->p->locations.at[i]))
			r = add_location(e, &e->p->locations.at[i], e->sums[i]);
	return r;
}

/* ---- Order --------------------------------------------------------------------------- */

/* Functions by weight, what is in them by place; lines before what is inlined there. */
static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct node *nodes = context, *a = &nodes[*(const u32 *)left], *b = &nodes[*(const u32 *)right];

	if (!a->parent && !b->parent && a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

static int link_nodes(struct encoder *e)
{
	struct node *nodes = e->nodes.rows;
	_cleanup_(freep) u32 *order = calloc(e->nodes.count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (u32 i = 1; i < e->nodes.count; i++)
		order[i] = i;
	qsort_r(order + 1, e->nodes.count - 1, sizeof(*order), compare_nodes, nodes);
	for (u32 i = e->nodes.count; i-- > 1;) {
		u32 *first = &nodes[nodes[order[i]].parent].child;

		nodes[order[i]].next = *first;
		*first = order[i];
	}
	return 0;
}

/* ---- Text ---------------------------------------------------------------------------- */

/* What gcc and clang split off a function belongs to it. */
static struct str whole_name(struct str name)
{
	const char *part = name.len ? memmem(name.at, name.len, ".cold", 5) : NULL;

	return part && part > name.at ? (struct str){ name.at, (u32)(part - name.at) } : name;
}

static void put_node(struct encoder *e, const struct node *node, u32 depth)
{
	struct str name = whole_name(e->p->strings.at[node->name]);

	if (depth)
		buf_addf(e->out, "%*s%u: ", (int)depth, "", node->offset);
	if (!node->name) {
		buf_addf(e->out, "%lld\n", node->total);
		return;
	}
	buf_add(e->out, name.at, name.len);
	buf_addf(e->out, depth ? ":%lld\n" : ":%lld:0\n", node->total);
}

/* Depth is bounded by DEPTH_MAX. */
static void put_nodes(struct encoder *e)
{
	const struct node *nodes = e->nodes.rows;
	u32 at = nodes[0].child, depth = 0;

	while (at) {
		put_node(e, &nodes[at], depth);
		if (nodes[at].child) {
			at = nodes[at].child;
			depth++;
			continue;
		}
		while (at && !nodes[at].next) {
			at = nodes[at].parent;
			depth--;
		}
		at = nodes[at].next;
	}
}

int llvm_pgo_encode(const struct profile *profile, struct buf *out)
{
	struct encoder e = { .p = profile, .out = out, .sums = calloc(profile->locations.count, sizeof(*e.sums)) };
	int r = 0;

	table_init(&e.nodes, &node_type, NULL, profile_seed(profile), NODES_MAX);
	if (!e.sums)
		return -ENOMEM;
	if (!pgo_each(profile, add_leaf, &e) || !pgo_has_lines(profile))
		r = -ENODATA;
	if (r == 0)
		r = count(&e);
	if (r == 0)
		r = link_nodes(&e);
	if (r == 0)
		put_nodes(&e);
	table_done(&e.nodes);
	free(e.sums);
	return r < 0 ? r : buf_err(out);
}

const struct format_ops format_llvm_pgo = {
	.name = "llvm-pgo",
	.help = "for clang -fprofile-sample-use: LLVM's sample profile, text",
	.content_type = "text/plain; charset=utf-8",
	.suffixes = (const char *const[]){ ".afdo", ".llvm-pgo", NULL },
	.encode = llvm_pgo_encode,
};
