// SPDX-License-Identifier: Apache-2.0
#include "analysis/summary.h"

#include <errno.h>
#include <stdint.h>

#include "test.h"

/* A profile of ticks of 10 ms; what the tests add to is kept here. */
struct fixture {
	struct profile *profile;
	struct profile_set *set;
	u32 mapping;
};

static struct fixture fixture_new(void)
{
	struct fixture f = { .profile = profile_new() };
	struct keyvalue attributes[] = {
		{ STR("process.pid"), { .kind = ANY_INT, .integer = 42 } },
		{ STR("process.executable.path"), { .kind = ANY_STRING, .string = STR("/usr/bin/server") } },
	};
	struct profile_resource *resource = profile_add_resource(f.profile, attributes, 2);
	struct profile_mapping mapping = { .start_va = 0x1000,
					   .limit_va = 0x9000,
					   .filename = profile_add_cstring(f.profile, "/usr/lib/libx.so") };

	f.set = profile_add_set(f.profile, profile_add_scope(f.profile, resource));
	f.set->sample_type = (struct profile_type){ profile_add_cstring(f.profile, "samples"),
						    profile_add_cstring(f.profile, "count") };
	f.set->period_type = (struct profile_type){ profile_add_cstring(f.profile, "cpu"),
						    profile_add_cstring(f.profile, "nanoseconds") };
	f.set->period = 10000000;
	f.set->time_unix_ns = 1000;
	f.set->duration_ns = 500;
	f.mapping = profile_add_mapping(f.profile, &mapping);
	return f;
}

/* A location whose functions are named innermost first, "a b"; "" has only an address. */
static u32 location(struct fixture *f, const char *names, u64 address)
{
	struct profile_line lines[8] = { 0 };
	struct profile_location l = { .mapping = f->mapping, .address = address, .lines = lines };
	char copy[64], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", names);
	while (*names && (name = strsep(&rest, " "))) {
		struct profile_function function = { .name = profile_add_cstring(f->profile, name) };

		lines[l.line_count].line = 7;
		lines[l.line_count++].function = profile_add_function(f->profile, &function);
	}
	return profile_add_location(f->profile, &l);
}

/* Adds count ticks of a stack: locations leaf first, separated by ';'. */
static struct profile_sample *add(struct fixture *f, const char *stack, s64 count)
{
	u32 at[32], depth = 0;
	char copy[128], *rest = copy, *names;
	struct profile_sample *sample;

	snprintf(copy, sizeof(copy), "%s", stack);
	while (*stack && (names = strsep(&rest, ";")))
		at[depth++] = location(f, names, 0x1230);
	sample = profile_add_sample(f->profile, f->set);
	sample->stack = profile_add_stack(f->profile, at, depth);
	sample->values = profile_copy(f->profile, &count, sizeof(count));
	sample->value_count = 1;
	return sample;
}

static const struct summary_row *row(const struct summary *s, const char *name)
{
	for (u32 i = 0; i < s->row_count; i++) {
		if (str_equal(s->rows[i].frame->name, (struct str){ name, (u32)strlen(name) }))
			return &s->rows[i];
	}
	FAIL("no row %s", name);
}

static struct summary *summarize(const struct fixture *f, enum summary_by by)
{
	struct summary_options options = { .by = by };
	struct summary *s = NULL;

	EQ(profile_err(f->profile), 0);
	EQ(summary_new(f->profile, &options, &s), 0);
	return s;
}

TEST(summary_adds_self_and_total)
{
	struct fixture f = fixture_new();
	struct summary *s;

	add(&f, "leaf;main", 3);
	add(&f, "main", 1);
	add(&f, "leaf;main", 2);
	s = summarize(&f, SUMMARY_FUNCTION);
	EQ(s->row_count, 2);
	EQ(s->unit, UNIT_NANOSECONDS);
	EQ(s->total, 60000000);
	EQ(s->sample_count, 6);
	EQ(s->period, 10000000);
	EQ(s->time_unix_ns, 1000);
	EQ(s->duration_ns, 500);
	OK(&s->rows[0] == row(s, "leaf"));
	EQ(s->rows[0].self, 50000000);
	EQ(row(s, "main")->self, 10000000);
	EQ(row(s, "main")->total, 60000000);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_counts_recursion_once)
{
	struct fixture f = fixture_new();
	struct summary *s;

	add(&f, "fib;fib;fib;main", 4);
	s = summarize(&f, SUMMARY_FUNCTION);
	EQ(row(s, "fib")->self, 40000000);
	EQ(row(s, "fib")->total, 40000000);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_counts_inlined_functions_or_their_host)
{
	struct fixture f = fixture_new();
	struct summary_options physical = { .by = SUMMARY_FUNCTION, .physical = true };
	struct summary *s;

	add(&f, "inner middle outer;main", 1);
	s = summarize(&f, SUMMARY_FUNCTION);
	EQ(row(s, "inner")->self, 10000000);
	EQ(row(s, "outer")->total, 10000000);
	EQ(row(s, "outer")->self, 0);
	summary_free(s);
	EQ(summary_new(f.profile, &physical, &s), 0);
	EQ(s->row_count, 2);
	EQ(row(s, "outer")->self, 10000000);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_names_what_has_no_name)
{
	struct fixture f = fixture_new();
	struct summary *s;

	add(&f, "", 1);
	add(&f, ";main", 1);
	s = summarize(&f, SUMMARY_FUNCTION);
	EQ(row(s, "[no stack]")->total, 10000000);
	EQ(row(s, "libx.so+0x1230")->self, 10000000);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_groups_by_executable_and_line)
{
	struct fixture f = fixture_new();
	struct summary *s;

	add(&f, "a b;main", 2);
	s = summarize(&f, SUMMARY_EXECUTABLE);
	EQ(s->row_count, 1);
	EQ(row(s, "/usr/lib/libx.so")->total, 20000000);
	summary_free(s);
	s = summarize(&f, SUMMARY_LINE);
	EQ(row(s, "a")->frame->line, 7);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_groups_by_process_and_thread)
{
	struct fixture f = fixture_new();
	u32 worker[2], other[2];
	struct summary *s;

	worker[0] = profile_add_attribute_int(f.profile, "thread.id", 43);
	worker[1] = profile_add_attribute_string(f.profile, "thread.name", "worker");
	other[0] = profile_add_attribute_string(f.profile, "pid", "77");
	other[1] = profile_add_attribute_string(f.profile, "thread.name", "cron");
	add(&f, "main", 1)->attributes = profile_copy_indices(f.profile, worker, 2);
	add(&f, "leaf;main", 2)->attributes = profile_copy_indices(f.profile, worker, 2);
	add(&f, "main", 5)->attributes = profile_copy_indices(f.profile, other, 2);
	s = summarize(&f, SUMMARY_THREAD);
	EQ(s->row_count, 2);
	EQ(row(s, "worker")->frame->pid, 42);
	EQ(row(s, "worker")->frame->tid, 43);
	EQ(row(s, "worker")->self, 30000000);
	EQ(row(s, "cron")->frame->pid, 77);
	summary_free(s);
	s = summarize(&f, SUMMARY_PROCESS);
	EQ(s->rows[0].frame->pid, 77);
	EQ(s->rows[1].frame->pid, 42);
	EQ(s->rows[1].total, 30000000);
	OK(row(s, "server") == &s->rows[0]);
	EQ(s->rows[1].frame->name.len, 6);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_sums_one_sample_type)
{
	struct fixture f = fixture_new();
	struct summary_options bytes = { .by = SUMMARY_FUNCTION, .type = "space" }, none = { .type = "colour" };
	struct summary *s = NULL;

	add(&f, "main", 1);
	f.set = profile_add_set(f.profile, &f.profile->resources.at[0].scopes[0]);
	f.set->sample_type = (struct profile_type){ profile_add_cstring(f.profile, "space"),
						    profile_add_cstring(f.profile, "kilobytes") };
	add(&f, "alloc;main", 3);
	s = summarize(&f, SUMMARY_FUNCTION);
	EQ(s->total, 10000000);
	EQ(s->other_type_count, 1);
	summary_free(s);
	EQ(summary_new(f.profile, &bytes, &s), 0);
	EQ(s->unit, UNIT_BYTES);
	EQ(s->total, 3 * 1024);
	EQ(s->sample_count, 1);
	summary_free(s);
	EQ(summary_new(f.profile, &none, &s), -ENOENT);
	profile_free(f.profile);
}

/* A process may have page faults and no tick; what is shown does not depend on which process comes first. */
TEST(summary_shows_the_first_of_wicks_kinds_and_counts_no_empty_samples)
{
	struct fixture f = fixture_new();
	struct profile_type samples = f.set->sample_type, faults = { profile_add_cstring(f.profile, "page-faults"),
								     samples.unit };
	struct summary *s;

	f.set->sample_type = f.set->period_type = faults;
	add(&f, "fill;main", 70);
	f.set = profile_add_set(f.profile, &f.profile->resources.at[0].scopes[0]);
	*f.set = (struct profile_set){ .sample_type = samples, .period = 10000000 };
	f.set->period_type = (struct profile_type){ profile_add_cstring(f.profile, "cpu"),
						    profile_add_cstring(f.profile, "nanoseconds") };
	add(&f, "main", 2);
	add(&f, "fill;main", 0);
	s = summarize(&f, SUMMARY_FUNCTION);
	EQ(s->total, 20000000);
	EQ(s->sample_count, 2);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_saturates_instead_of_wrapping)
{
	struct fixture f = fixture_new();
	struct summary *s;

	add(&f, "main", INT64_MAX);
	add(&f, "main", INT64_MAX);
	s = summarize(&f, SUMMARY_FUNCTION);
	EQ(s->total, INT64_MAX);
	EQ(s->rows[0].self, INT64_MAX);
	summary_free(s);
	profile_free(f.profile);
}

TEST(summary_of_an_empty_profile_is_empty)
{
	struct profile *profile = profile_new();
	struct summary_options options = { .by = SUMMARY_FUNCTION };
	struct summary *s;

	EQ(summary_new(profile, &options, &s), 0);
	EQ(s->row_count, 0);
	EQ(s->total, 0);
	summary_free(s);
	profile_free(profile);
}

TEST(summary_survives_lack_of_memory)
{
	struct fixture f = fixture_new();
	struct summary_options options = { .by = SUMMARY_THREAD };
	long count;

	add(&f, "a b;main", 2);
	for (long i = 0;; i++) {
		struct summary *s = NULL;
		int r;

		test_alloc_fail(i);
		r = summary_new(f.profile, &options, &s);
		count = test_alloc_reset();
		if (r == 0) {
			OK(count <= i);
			summary_free(s);
			break;
		}
		EQ(r, -ENOMEM);
		OK(!s);
	}
	profile_free(f.profile);
}
