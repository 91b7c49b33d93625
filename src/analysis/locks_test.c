// SPDX-License-Identifier: Apache-2.0
#include "analysis/locks.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#define SECOND 1000000000ll

struct fixture {
	struct profile *profile;
	struct profile_set *set;
};

static struct fixture fixture_new(const char *type)
{
	struct fixture f = { .profile = profile_new() };
	struct keyvalue attributes[] = {
		{ STR("process.pid"), { .kind = ANY_INT, .integer = 42 } },
		{ STR("process.executable.name"), { .kind = ANY_STRING, .string = STR("server") } },
	};
	struct profile_resource *resource = profile_add_resource(f.profile, attributes, 2);

	f.set = profile_add_set(f.profile, profile_add_scope(f.profile, resource));
	f.set->sample_type = (struct profile_type){ profile_add_cstring(f.profile, type),
						    profile_add_cstring(f.profile, "nanoseconds") };
	f.set->duration_ns = 4 * SECOND;
	return f;
}

/* Names leaf first, separated by ';'. */
static u32 stack(struct fixture *f, const char *names)
{
	char copy[256], *rest = copy, *name;
	u32 at[32], count = 0;

	snprintf(copy, sizeof(copy), "%s", names);
	while ((name = strsep(&rest, ";"))) {
		struct profile_function function = { .name = profile_add_cstring(f->profile, name) };
		struct profile_line line = { .function = profile_add_function(f->profile, &function) };

		at[count++] = profile_add_location(f->profile, &(struct profile_location){ .line_count = 1,
											   .lines = &line });
	}
	return profile_add_stack(f->profile, at, count);
}

struct wait {
	const char *stack, *address;
	s64 tid, holder;		/* 0: not known */
	const char *waker;		/* NULL: it still waits */
	s64 value;
	u64 time;
};

static void add(struct fixture *f, const struct wait *w)
{
	struct profile_sample *sample = profile_add_sample(f->profile, f->set);
	char name[32];
	u32 at[8], count = 0;

	snprintf(name, sizeof(name), "thread-%lld", (long long)w->tid);
	at[count++] = profile_add_attribute_int(f->profile, "thread.id", w->tid);
	at[count++] = profile_add_attribute_string(f->profile, "thread.name", name);
	at[count++] = profile_add_attribute_string(f->profile, "lock.address", w->address);
	at[count++] = profile_add_attribute_int(f->profile, "lock.longest_wait_us", w->value / 1000);
	if (w->holder)
		at[count++] = profile_add_attribute_int(f->profile, "lock.holder.thread.id", w->holder);
	if (w->waker)
		at[count++] = profile_add_attribute_string(f->profile, "waker.thread.name", w->waker);
	sample->stack = stack(f, w->stack);
	sample->attributes = profile_copy_indices(f->profile, at, count);
	sample->times_unix_ns = profile_copy(f->profile, &w->time, sizeof(w->time));
	sample->values = profile_copy(f->profile, &w->value, sizeof(w->value));
	sample->time_count = sample->value_count = 1;
}

static struct locks *locks_of(struct fixture *f)
{
	struct locks *locks;

	EQ(profile_check(f->profile), 0);
	EQ(locks_new(f->profile, &locks), 0);
	return locks;
}

static void done(struct fixture *f, struct locks *locks)
{
	locks_free(locks);
	profile_free(f->profile);
}

#define MUTEX ";pthread_mutex_unlock;__lll_lock_wake;[woken by b];__lll_lock_wait;pthread_mutex_lock;"

TEST(locks_tell_who_waits_where_and_who_let_go)
{
	struct fixture f = fixture_new("wakeup");
	struct locks *l;

	add(&f, &(struct wait){ "main;let_go" MUTEX "want;main", "0x10", 1, 7, "b", SECOND, 1 });
	add(&f, &(struct wait){ "main;let_go" MUTEX "want;main", "0x10", 2, 7, "b", 2 * SECOND, 2 });
	add(&f, &(struct wait){ "main;other" MUTEX "want;main", "0x20", 1, 7, "b", SECOND, 3 });
	l = locks_of(&f);
	EQ(l->row_count, 2);
	OK(str_is(l->rows[0].address, "0x10"));
	OK(str_is(l->rows[0].process, "server"));
	EQ(l->rows[0].pid, 42);
	EQ(l->rows[0].kind, LOCK_MUTEX);
	EQ(l->rows[0].waited, 3 * SECOND);
	EQ(l->rows[0].longest, 2 * SECOND);
	EQ(l->rows[0].waiters, 2);
	EQ(l->rows[0].site_count, 1);
	EQ(l->rows[0].holder_count, 1);
	OK(str_is(l->parts[l->rows[0].first_part].function, "want"));
	OK(str_is(l->parts[l->rows[0].first_part + 1].function, "let_go"));
	OK(str_is(l->parts[l->rows[0].first_part + 1].thread, "b"));
	EQ(l->parts[l->rows[0].first_part + 1].tid, 7);
	OK(str_is(l->parts[l->rows[1].first_part + 1].function, "other"));
	EQ(l->ring_count, 0);
	done(&f, l);
}

TEST(a_wait_for_what_nobody_has_is_no_lock)
{
	struct fixture f = fixture_new("off_cpu");
	struct locks *l;

	add(&f, &(struct wait){ "__futex_wait;pthread_cond_wait;consume;main", "0x10", 1, 0, NULL, SECOND, 1 });
	l = locks_of(&f);
	EQ(l->row_count, 0);
	EQ(l->event_waited, SECOND);
	done(&f, l);
}

static const char *const waiting = "__lll_lock_wait;pthread_mutex_lock;take;main";

TEST(threads_that_wait_for_each_other_are_a_deadlock)
{
	struct fixture f = fixture_new("off_cpu");
	struct locks *l;

	/* 1 -> 2 -> 3 -> 1; 4 waits for 1, but is in no ring. */
	add(&f, &(struct wait){ waiting, "0x12", 1, 2, NULL, SECOND, 1000 });
	add(&f, &(struct wait){ waiting, "0x13", 2, 3, NULL, SECOND, 1001 });
	add(&f, &(struct wait){ waiting, "0x11", 3, 1, NULL, SECOND, 1002 });
	add(&f, &(struct wait){ waiting, "0x11", 4, 1, NULL, SECOND, 1003 });
	l = locks_of(&f);
	EQ(l->ring_count, 1);
	for (u32 i = 0; i < l->edge_count; i++)
		EQ(l->edges[i].ring, l->edges[i].tid == 4 ? 0 : 1);
	EQ(l->edges[l->edges[0].next].tid, 2);
	OK(str_is(l->edges[l->edges[0].next].thread, "thread-2"));
	done(&f, l);
}

TEST(threads_that_waited_for_each_other_at_other_times_are_none)
{
	struct fixture f = fixture_new("off_cpu");
	struct locks *l;

	add(&f, &(struct wait){ waiting, "0x12", 1, 2, NULL, SECOND, 1000 });
	add(&f, &(struct wait){ waiting, "0x11", 2, 1, NULL, SECOND, 1000 + 3 * SECOND });
	/* Too short to be sure. */
	add(&f, &(struct wait){ waiting, "0x14", 3, 4, NULL, SECOND / 4, 1000 });
	add(&f, &(struct wait){ waiting, "0x13", 4, 3, NULL, SECOND / 4, 1000 });
	/* They got it. */
	add(&f, &(struct wait){ waiting, "0x16", 5, 6, "6", SECOND, 1000 });
	add(&f, &(struct wait){ waiting, "0x15", 6, 5, "5", SECOND, 1000 });
	/* Nobody waits for himself. */
	add(&f, &(struct wait){ waiting, "0x17", 7, 7, NULL, SECOND, 1000 });
	l = locks_of(&f);
	EQ(l->row_count, 7);
	EQ(l->ring_count, 0);
	done(&f, l);
}

TEST(a_profile_without_waits_has_no_locks)
{
	struct fixture f = fixture_new("samples");
	struct locks *l;

	add(&f, &(struct wait){ waiting, "0x12", 1, 2, NULL, SECOND, 1000 });
	l = locks_of(&f);
	EQ(l->row_count, 0);
	EQ(l->type.len, 0);
	done(&f, l);
}

TEST(times_of_hostile_profiles_do_not_overflow)
{
	struct fixture f = fixture_new("off_cpu");
	struct locks *l;

	for (s64 tid = 1; tid < 4; tid++)
		add(&f, &(struct wait){ waiting, "0x12", tid, 2, NULL, INT64_MAX - tid, UINT64_MAX });
	add(&f, &(struct wait){ "pthread_cond_wait", "0x13", 1, 2, NULL, INT64_MAX, 0 });
	add(&f, &(struct wait){ "pthread_cond_wait", "0x13", 2, 2, NULL, INT64_MAX - 1, 0 });
	l = locks_of(&f);
	EQ(l->rows[0].waited, INT64_MAX);
	EQ(l->event_waited, INT64_MAX);
	done(&f, l);
}
