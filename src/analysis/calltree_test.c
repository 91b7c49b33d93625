// SPDX-License-Identifier: Apache-2.0
#include "analysis/calltree.h"

#include <errno.h>

#include "analysis/summary.h"
#include "profile/profile.h"
#include "test.h"

#define NODES_MAX 1000

/* Adds a sample of functions named by single letters, root first: "mab". */
static void add(struct profile *p, struct profile_set *set, const char *path, s64 value)
{
	u32 at[16], depth = (u32)strlen(path);
	struct profile_sample *sample;

	for (u32 i = 0; i < depth; i++) {
		struct profile_function function = { .name = profile_add_string(p, path + i, 1) };
		struct profile_line line = { .function = profile_add_function(p, &function) };
		struct profile_location location = { .lines = &line, .line_count = 1 };

		at[depth - 1 - i] = profile_add_location(p, &location);
	}
	sample = profile_add_sample(p, set);
	sample->stack = profile_add_stack(p, at, depth);
	sample->values = profile_copy(p, &value, sizeof(value));
	sample->value_count = 1;
}

static struct profile *profile_of(const char *const *paths, const s64 *values)
{
	struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));

	for (; *paths; paths++, values++)
		add(p, set, *paths, *values);
	EQ(profile_err(p), 0);
	return p;
}

static struct summary *summarize(const struct profile *p, enum summary_by by)
{
	struct summary_options options = { .by = by };
	struct summary *s = NULL;

	EQ(summary_new(p, &options, &s), 0);
	return s;
}

/* "m 6/1 [a 5/2 ...]": total/self, children largest first. */
static void print(const struct calltree *t, u32 at, FILE *out)
{
	const struct calltree_node *n = &calltree_nodes(t)[at];
	struct str name = calltree_frame_of(t, at)->name;

	fprintf(out, "%.*s %lld/%lld [", (int)name.len, name.at, n->total, n->self);
	for (u32 c = t->child[at]; c; c = t->next[c])
		print(t, c, out);
	fputc(']', out);
}

static void expect(const struct calltree *t, const char *want)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	print(t, 0, out);
	fclose(out);
	STREQ(text, want);
	free(text);
}

static const char *const paths[] = { "mab", "ma", "mb", "mab", "", NULL };
static const s64 values[] = { 3, 1, 9, 2, 4 };

TEST(calltree_merges_stacks_from_the_root)
{
	struct profile *p = profile_of(paths, values);
	struct summary *s = summarize(p, SUMMARY_FUNCTION);
	struct calltree *t;

	EQ(frames_tree(&s->frames, s, NODES_MAX, &t), 0);
	EQ(calltree_link(t, CALLTREE_BY_TOTAL), 0);
	expect(t, " 19/4 [m 15/0 [b 9/9 []a 6/1 [b 5/5 []]]]");
	calltree_free(t);
	summary_free(s);
	profile_free(p);
}

TEST(calltree_starts_with_the_process)
{
	struct profile *p = profile_of(paths, values);
	struct summary *s = summarize(p, SUMMARY_PROCESS);
	struct calltree *t;

	EQ(frames_tree(&s->frames, s, NODES_MAX, &t), 0);
	EQ(calltree_link(t, CALLTREE_BY_TOTAL), 0);
	expect(t, " 19/0 [[unknown] 19/4 [m 15/0 [b 9/9 []a 6/1 [b 5/5 []]]]]");
	calltree_free(t);
	summary_free(s);
	profile_free(p);
}

TEST(calltree_is_bounded_and_counts_what_that_cost)
{
	struct profile *p = profile_of(paths, values);
	struct summary *s = summarize(p, SUMMARY_FUNCTION);
	struct calltree *t;

	EQ(frames_tree(&s->frames, s, 2, &t), 0);
	EQ(calltree_link(t, CALLTREE_BY_TOTAL), 0);
	expect(t, " 19/4 [m 15/15 []]");
	EQ(t->cut_count, 4);
	calltree_free(t);
	summary_free(s);
	profile_free(p);
}

TEST(calltree_survives_lack_of_memory)
{
	struct profile *p = profile_of(paths, values);
	struct summary *s = summarize(p, SUMMARY_FUNCTION);

	for (long i = 0;; i++) {
		struct calltree *t = NULL;
		int r;

		test_alloc_fail(i);
		r = frames_tree(&s->frames, s, NODES_MAX, &t);
		test_alloc_reset();
		if (r == 0) {
			OK(i > 0);
			calltree_free(t);
			break;
		}
		EQ(r, -ENOMEM);
	}
	summary_free(s);
	profile_free(p);
}
