// SPDX-License-Identifier: Apache-2.0
#include "analysis/difference.h"

#include <errno.h>

#include "profile/profile.h"
#include "analysis/summary.h"
#include "test.h"

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

static struct summary *summarize(const struct profile *p)
{
	struct summary_options options = { .by = SUMMARY_FUNCTION };
	struct summary *s = NULL;

	EQ(summary_new(p, &options, &s), 0);
	return s;
}

static const char *const paths[] = { "mab", "ma", "mb", "mab", "", NULL };
static const s64 values[] = { 3, 1, 9, 2, 4 };

TEST(difference_orders_by_change_of_share)
{
	static const char *const after_paths[] = { "ma", "mc", NULL };
	static const s64 after_values[] = { 5, 5 };
	struct profile *before = profile_of(paths, values), *after = profile_of(after_paths, after_values);
	struct summary *b = summarize(before), *a = summarize(after);
	struct difference *d;

	EQ(difference_new(b, a, false, &d), 0);
	EQ(d->row_count, 5);
	OK(d->rows[0].frame->name.at[0] == 'b');
	EQ(d->rows[0].before.self, 14);
	EQ(d->rows[0].after.self, 0);
	OK(d->rows[1].frame->name.at[0] == 'c');
	OK(d->rows[1].after.self_share == 0.5);
	OK(d->rows[1].before.self_share == 0);
	difference_free(d);
	EQ(difference_new(b, a, true, &d), 0);
	OK(d->rows[0].frame->name.at[0] == 'b');
	OK(d->rows[4].frame->name.at[0] == 'a');
	difference_free(d);
	summary_free(a);
	summary_free(b);
	profile_free(after);
	profile_free(before);
}

TEST(difference_survives_lack_of_memory)
{
	struct profile *p = profile_of(paths, values);
	struct summary *s = summarize(p);

	for (long i = 0;; i++) {
		struct difference *d = NULL;
		int r;

		test_alloc_fail(i);
		r = difference_new(s, s, false, &d);
		test_alloc_reset();
		if (r == 0) {
			OK(i > 0);
			EQ(d->rows[0].before.self, d->rows[0].after.self);
			difference_free(d);
			break;
		}
		EQ(r, -ENOMEM);
	}
	summary_free(s);
	profile_free(p);
}
