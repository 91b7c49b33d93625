// SPDX-License-Identifier: Apache-2.0
#include "store/notes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "store/scratch_test.h"
#include "store/store.h"
#include "test.h"

#define NOW_NS (1800000000 * SECOND_NS)

static struct store_note note_at(u64 time_ns, const char *title, const char *host)
{
	return (struct store_note){ .time_ns = time_ns, .kind = "deploy", .title = title, .text = "", .host = host,
				    .service = "" };
}

static s64 add(struct store *store, u64 time_ns, const char *title, const char *host)
{
	struct store_note note = note_at(time_ns, title, host);
	s64 id = 0;

	EQ(store_add_note(store, &note, NOW_NS, &id), 0);
	return id;
}

static int join(void *arg, const struct store_note *note)
{
	buf_addf(arg, "%s ", note->title);
	return 0;
}

static void expect(struct store *store, const struct store_selection *selection, const char *titles)
{
	struct buf text;

	buf_init(&text, 4096);
	EQ(store_each_note(store, selection, join, &text), 0);
	buf_add(&text, "", 1);
	STREQ(text.data, titles);
	buf_done(&text);
}

TEST(notes_are_found_by_time_host_and_id)
{
	struct store *store = scratch_store();
	struct store_selection selection = { .from_ns = NOW_NS - 10, .to_ns = NOW_NS };
	struct store_note longer = note_at(NOW_NS - 100, "long", "");
	u64 before = store_generation(store);
	s64 id = add(store, NOW_NS - 5, "all", ""), long_id;

	OK(store_generation(store) > before);
	add(store, NOW_NS - 4, "a", "a");
	add(store, NOW_NS - 3, "b", "b");
	add(store, NOW_NS - 11, "early", "");
	add(store, NOW_NS, "late", "");
	longer.end_ns = NOW_NS - 8;
	EQ(store_add_note(store, &longer, NOW_NS, &long_id), 0);
	expect(store, &selection, "b a all long ");
	selection.filters[selection.filter_count++] = (struct store_filter){ STORE_HOST, STORE_EQUAL, "a" };
	selection.filters[selection.filter_count++] = (struct store_filter){ STORE_PROCESS, STORE_EQUAL, "x" };
	expect(store, &selection, "a all long ");
	EQ(store_drop_note(store, id), 1);
	EQ(store_drop_note(store, id), 0);
	expect(store, &selection, "a long ");
	store_close(store);
}

TEST(notes_stay_when_a_store_is_opened_again_and_go_when_they_are_too_many_or_too_old)
{
	struct store *store = scratch_store();
	struct store_selection selection = { .from_ns = 1, .to_ns = 2 * NOW_NS };
	u32 count = 0;

	add(store, NOW_NS - 8 * 86400 * SECOND_NS, "old", "");
	add(store, NOW_NS, "kept", "");
	store_close(store);
	store = scratch_store();
	expect(store, &selection, "kept ");
	for (u32 i = 0; i < NOTES_MAX; i++)
		add(store, NOW_NS - i, "x", "");
	{
		struct buf text;

		buf_init(&text, 1 << 20);
		EQ(store_each_note(store, &selection, join, &text), 0);
		count = (u32)text.len / 2;
		OK(!memchr(text.data, 'k', text.len));
		buf_done(&text);
	}
	EQ(count, NOTES_MAX);
	store_close(store);
}

TEST(notes_say_what_is_wrong_with_them)
{
	static char long_text[NOTE_TEXT_MAX + 2];
	struct store_note good = note_at(NOW_NS, "x", ""), bad;

	memset(long_text, 'a', sizeof(long_text) - 1);
	OK(!note_problem(&good, NOW_NS));
	bad = good, bad.title = "";
	OK(strstr(note_problem(&bad, NOW_NS), "title is missing"));
	bad = good, bad.title = "\xff";
	OK(strstr(note_problem(&bad, NOW_NS), "UTF-8"));
	bad = good, bad.host = long_text;
	OK(strstr(note_problem(&bad, NOW_NS), "255 bytes"));
	bad = good, bad.text = long_text;
	OK(strstr(note_problem(&bad, NOW_NS), "4000 bytes"));
	bad = good, bad.kind = "Two words";
	OK(strstr(note_problem(&bad, NOW_NS), "one word"));
	bad = good, bad.time_ns = NOW_NS + 7200 * SECOND_NS;
	OK(strstr(note_problem(&bad, NOW_NS), "future"));
	bad = good, bad.end_ns = NOW_NS - 1;
	OK(strstr(note_problem(&bad, NOW_NS), "end is before"));
}

/* A store of one file, which keeps none. */
TEST(notes_are_not_for_stores_in_memory)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct store_note note = note_at(NOW_NS, "x", "");
	struct store_selection selection = { .from_ns = 1, .to_ns = NOW_NS };
	struct store_span span;
	struct store *store;
	u64 before = budget_total();
	s64 id;

	EQ(store_of_profile(profile, "here", NOW_NS, 1 << 22, &store, &span), 0);
	EQ(store_add_note(store, &note, NOW_NS, &id), -EOPNOTSUPP);
	EQ(store_drop_note(store, 1), -EOPNOTSUPP);
	expect(store, &selection, "");
	store_close(store);
	EQ(budget_total(), before);
}
