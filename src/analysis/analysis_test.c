// SPDX-License-Identifier: Apache-2.0
/* Trees of random stacks against counting the stacks one by one. */
#include <stdlib.h>

#include "analysis/narrow.h"
#include "analysis/reshape.h"
#include "analysis/sums.h"
#include "base/buf.h"
#include "test.h"

#define ROUNDS 200
#define STACKS 40
#define DEPTH 7

/* Functions are letters; equal ones of one file are one function. */
struct stack {
	char names[DEPTH + 1];	/* from the root on */
	s64 value;
};

static u64 state;

static u32 pick(u32 below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(state >> 33) % below;
}

static void make_stacks(struct stack *stacks)
{
	for (u32 i = 0; i < STACKS; i++) {
		u32 depth = pick(DEPTH + 1);

		for (u32 k = 0; k < depth; k++)
			stacks[i].names[k] = (char)('a' + pick(4));
		stacks[i].names[depth] = '\0';
		stacks[i].value = pick(100);
	}
}

static struct calltree *tree_of(const struct stack *stacks)
{
	struct calltree *tree = calltree_new();

	for (u32 i = 0; i < STACKS; i++) {
		u32 node = 0;

		for (const char *c = stacks[i].names; *c; c++)
			node = (u32)calltree_node(tree, node,
						  (u32)calltree_frame(tree, &(struct frame){ .name = { c, 1 } }));
		calltree_count(tree, node, stacks[i].value);
	}
	calltree_sum(tree);
	EQ(calltree_link(tree, CALLTREE_AS_ADDED), 0);
	return tree;
}

/* The total of the stacks that start like that. */
static s64 count_paths(const struct stack *stacks, const char *path)
{
	s64 total = 0;

	for (u32 i = 0; i < STACKS; i++)
		total += strncmp(stacks[i].names, path, strlen(path)) ? 0 : stacks[i].value;
	return total;
}

static void path_of(const struct calltree *tree, u32 node, char *path)
{
	u32 depth = 0;

	for (u32 n = node; n; n = calltree_nodes(tree)[n].parent)
		depth++;
	path[depth] = '\0';
	for (u32 n = node; n; n = calltree_nodes(tree)[n].parent)
		path[--depth] = calltree_frame_of(tree, n)->name.at[0];
}

/* Every node has what the stacks that go through it have, and nothing is missing. */
static void expect_stacks(const struct calltree *tree, const struct stack *stacks)
{
	s64 selves = 0;

	for (u32 i = 0; i < tree->nodes.count; i++) {
		char path[DEPTH + 1];

		path_of(tree, i, path);
		EQ(calltree_nodes(tree)[i].total, count_paths(stacks, path));
		selves += calltree_nodes(tree)[i].self;
	}
	EQ(selves, count_paths(stacks, ""));
}

static struct frame by_name(const struct frame *frame)
{
	return (struct frame){ .name = frame->name };
}

TEST(calltrees_have_what_their_stacks_have)
{
	struct stack stacks[STACKS];

	for (u64 round = 0; round < ROUNDS; round++) {
		_cleanup_(calltree_freep) struct calltree *tree = NULL;

		state = round;
		make_stacks(stacks);
		tree = tree_of(stacks);
		expect_stacks(tree, stacks);
	}
}

TEST(sums_count_a_function_once_for_each_stack)
{
	struct stack stacks[STACKS];

	for (u64 round = 0; round < ROUNDS; round++) {
		_cleanup_(calltree_freep) struct calltree *tree = NULL;
		_cleanup_(sums_done) struct sums sums = { 0 };

		state = round;
		make_stacks(stacks);
		tree = tree_of(stacks);
		EQ(sums_init(&sums, tree, 0, by_name), 0);
		for (u32 i = 1; i < sums.count; i++) {
			char name = calltree_frames(tree)[sums.at[i].frame].name.at[0];
			s64 self = 0, total = 0;

			for (u32 k = 0; k < STACKS; k++) {
				size_t len = strlen(stacks[k].names);

				total += strchr(stacks[k].names, name) ? stacks[k].value : 0;
				self += len && stacks[k].names[len - 1] == name ? stacks[k].value : 0;
			}
			EQ(sums.at[i].self, self);
			EQ(sums.at[i].total, total);
		}
	}
}

/* A stack with less in it; one that goes weighs nothing. */
static struct stack narrow_stack(struct stack s, const char *focus, const char *ignore, const char *hide, bool collapse)
{
	struct stack left = { .value = s.value };
	u32 depth = 0;

	if ((*focus && !strchr(s.names, *focus)) || (*ignore && strchr(s.names, *ignore)))
		return (struct stack){ 0 };
	for (const char *c = s.names; *c; c++)
		if (*c != *hide && !(collapse && depth && left.names[depth - 1] == *c))
			left.names[depth++] = *c;
	return left;
}

TEST(narrowing_is_leaving_stacks_and_frames_out)
{
	struct stack stacks[STACKS];
	struct buf why;

	buf_init(&why, 1024);
	for (u64 round = 0; round < ROUNDS; round++) {
		static const char *const texts[] = { "", "a", "b", "c", "d" };
		_cleanup_(calltree_freep) struct calltree *tree = NULL;
		const char *chosen[NARROW_RULE_COUNT];
		struct narrow narrow = { 0 };

		state = round;
		make_stacks(stacks);
		tree = tree_of(stacks);
		narrow.collapse = pick(2);
		for (u32 rule = 0; rule < NARROW_RULE_COUNT; rule++) {
			chosen[rule] = texts[pick(5)];
			if (*chosen[rule])
				EQ(narrow_add(&narrow, rule, chosen[rule], &why), 0);
		}
		EQ(narrow_calltree(&narrow, &tree, &why), 0);
		for (u32 i = 0; i < STACKS; i++)
			stacks[i] = narrow_stack(stacks[i], chosen[NARROW_FOCUS], chosen[NARROW_IGNORE],
						 chosen[NARROW_HIDE], narrow.collapse);
		expect_stacks(tree, stacks);
	}
	buf_done(&why);
}

TEST(a_tree_bottom_up_has_each_stack_reversed)
{
	struct stack stacks[STACKS];

	for (u64 round = 0; round < ROUNDS; round++) {
		_cleanup_(calltree_freep) struct calltree *tree = NULL, *inverted = NULL, *back = NULL;

		state = round;
		make_stacks(stacks);
		tree = tree_of(stacks);
		EQ(reshape_inverted(tree, &inverted), 0);
		EQ(reshape_inverted(inverted, &back), 0);
		expect_stacks(back, stacks);
		for (u32 i = 0; i < STACKS; i++)
			for (size_t a = 0, b = strlen(stacks[i].names); a + 1 < b; a++) {
				char first = stacks[i].names[a];

				stacks[i].names[a] = stacks[i].names[--b];
				stacks[i].names[b] = first;
			}
		expect_stacks(inverted, stacks);
	}
}

TEST(a_tree_bottom_up_keeps_whose_it_is_outermost)
{
	_cleanup_(calltree_freep) struct calltree *tree = calltree_new(), *inverted = NULL;
	static const struct frame frames[] = { { .name = STR("web"), .type = STR("label") }, { .name = STR("main") },
					       { .name = STR("work") } };
	const char *want[] = { "", "web", "work", "main" };
	u32 at = 0;

	for (u32 i = 0; i < 3; i++)
		at = (u32)calltree_node(tree, at, (u32)calltree_frame(tree, &frames[i]));
	calltree_count(tree, at, 7);
	calltree_sum(tree);
	EQ(reshape_inverted(tree, &inverted), 0);
	EQ(inverted->nodes.count, 4);
	for (u32 i = 0; i < 4; i++) {
		OK(str_is(calltree_frame_of(inverted, i)->name, want[i]));
		EQ(calltree_nodes(inverted)[i].total, 7);
	}
}

TEST(two_trees_compare_the_same_from_both_sides)
{
	struct stack one[STACKS], other[STACKS];

	for (u64 round = 0; round < ROUNDS; round++) {
		_cleanup_(calltree_freep) struct calltree *a = NULL, *b = NULL, *ab = NULL, *ba = NULL;
		char path[DEPTH + 1];

		state = round;
		make_stacks(one);
		make_stacks(other);
		a = tree_of(one);
		b = tree_of(other);
		EQ(reshape_join(a, b, &ab), 0);
		EQ(reshape_join(b, a, &ba), 0);
		EQ(ab->nodes.count, ba->nodes.count);
		expect_stacks(ab, one);
		expect_stacks(ba, other);
		for (u32 i = 0; i < ab->nodes.count; i++) {
			path_of(ab, i, path);
			EQ(ab->base[i], count_paths(other, path));
			path_of(ba, i, path);
			EQ(ba->base[i], count_paths(one, path));
		}
	}
}
