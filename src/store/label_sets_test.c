// SPDX-License-Identifier: Apache-2.0
#include "store/label_sets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "store/label_quota.h"
#include "store/label_rules.h"
#include "test.h"
#include "wire/pb.h"

static u32 add(struct label_sets *sets, const char *tenant, const char *route)
{
	const struct label labels[] = { { STR("tenant"), str_of(tenant) }, { STR("http.route"), str_of(route) } };
	u32 number = 0;

	EQ(label_sets_add(sets, labels, 2, &number), 0);
	return number;
}

static bool has(const struct label_sets *sets, u32 set, const char *name, const char *value)
{
	return str_is(label_sets_value(sets, set, str_of(name)), value);
}

TEST(label_sets_are_one_in_any_order_of_labels)
{
	const struct label other_way[] = { { STR("http.route"), STR("/a") }, { STR("tenant"), STR("acme") } };
	struct label_sets sets;
	u32 acme, again = 0;

	label_sets_init(&sets);
	EQ(label_sets_count(&sets), 1);
	EQ(label_sets_find(&sets, other_way, 2, &again), -ENOENT);
	acme = add(&sets, "acme", "/a");
	EQ(acme, 1);
	EQ(add(&sets, "beta", "/a"), 2);
	EQ(label_sets_add(&sets, other_way, 2, &again), 0);
	EQ(again, acme);
	EQ(label_sets_find(&sets, other_way, 2, &again), 0);
	EQ(again, acme);
	EQ(label_sets_add(&sets, NULL, 0, &again), 0);
	EQ(again, 0);
	EQ(label_sets_count(&sets), 3);
	OK(has(&sets, 1, "tenant", "acme"));
	OK(has(&sets, 2, "tenant", "beta"));
	OK(has(&sets, 2, "nothing", ""));
	OK(has(&sets, 0, "tenant", ""));
	label_sets_done(&sets);
}

TEST(label_sets_find_labels_of_goroutines_by_what_people_call_them)
{
	const struct label of_go = { STR("process.context.label.tenant"), STR("acme") };
	struct label_sets sets;
	u32 number;

	label_sets_init(&sets);
	EQ(label_sets_add(&sets, &of_go, 1, &number), 0);
	OK(has(&sets, number, "tenant", "acme"));
	OK(has(&sets, number, "process.context.label.tenant", "acme"));
	OK(str_is(label_name(of_go.key), "tenant"));
	OK(str_is(label_name(STR("tenant")), "tenant"));
	label_sets_done(&sets);
}

TEST(label_sets_come_back_renumbered)
{
	const u32 used[] = { 3, 1 };
	struct label_sets sets, back;
	struct buf plain;
	struct pb r;

	label_sets_init(&sets);
	label_sets_init(&back);
	buf_init(&plain, 4096);
	(void)add(&sets, "acme", "/a");
	(void)add(&sets, "nobody", "/unused");
	(void)add(&sets, "beta", "/b");
	EQ(label_sets_pack(&sets, used, 2, &plain), 0);
	r = pb_from(plain.data, plain.len);
	EQ(label_sets_unpack(&back, &r), 0);
	EQ(pb_left(&r), 0);
	EQ(label_sets_count(&back), 3);
	OK(has(&back, 1, "tenant", "beta"));
	OK(has(&back, 2, "http.route", "/a"));
	OK(!memmem(plain.data, plain.len, "nobody", 6));
	for (size_t cut = 0; cut < plain.len; cut++) {
		r = pb_from(plain.data, cut);
		EQ(label_sets_unpack(&back, &r), -EBADMSG);
	}
	label_sets_done(&sets);
	label_sets_done(&back);
	buf_done(&plain);
}

/* Numbers past the texts, a text and a set twice, more labels than a set may have, a text that is too long. */
TEST(label_sets_that_are_hostile_are_refused)
{
	static const struct {
		const char *bytes;
		size_t count;
	} cases[] = {
		{ "\1\1k\1\1\0\1", 7 },	{ "\2\1k\1k\1\1\0\1", 9 },	{ "\2\1k\1v\2\1\0\1\1\0\1", 12 },
		{ "\2\1k\1v\1\21\0\1", 9 }, { "\2\1k\1v\1\0", 7 }, { "\xff\xff\xff\xff\x0f", 5 }, { "\1\x7fk", 3 },
	};
	struct label_sets sets;

	label_sets_init(&sets);
	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pb r = pb_from(cases[i].bytes, cases[i].count);

		EQ(label_sets_unpack(&sets, &r), -EBADMSG);
	}
	label_sets_done(&sets);
}

/* ---- Shares ------------------------------------------------------------------------------------ */

static u32 add_of(struct label_quota *quota, u32 owner, struct label_sets *sets, u32 value)
{
	char text[16];
	struct label label = { STR("request"), { text, (u32)snprintf(text, sizeof(text), "%u", value) } };
	u32 set;

	EQ(label_quota_add(quota, owner, &label, 1, sets, &set), 0);
	return set;
}

TEST(label_quota_past_a_share_gives_other_and_keeps_what_was_there)
{
	struct label_quota quota;
	struct label_sets sets;
	u32 first, other;

	label_sets_init(&sets);
	label_quota_init(&quota, 10);
	first = add_of(&quota, 1, &sets, 0);
	for (u32 i = 0; i < 1000; i++)
		other = add_of(&quota, 1, &sets, i);
	EQ(quota.past_limit, 990);
	OK(has(&sets, other, "request", LABEL_OTHER));
	EQ(add_of(&quota, 1, &sets, 0), first);
	/* Another's share is its own, also of sets that are there already. */
	EQ(add_of(&quota, 2, &sets, 0), first);
	OK(has(&sets, add_of(&quota, 2, &sets, 5000), "request", "5000"));
	EQ(quota.past_limit, 990);
	EQ(label_sets_count(&sets), 1 + 10 + 1 + 1);
	label_quota_done(&quota);
	label_sets_done(&sets);
}

TEST(label_quota_bounds_ever_new_keys)
{
	struct label_quota quota;
	struct label_sets sets;
	u32 set = 0;

	label_sets_init(&sets);
	label_quota_init(&quota, 10);
	for (u32 i = 0; i < 1000; i++) {
		char key[16];
		struct label label = { { key, (u32)snprintf(key, sizeof(key), "k%u", i) }, STR("x") };

		EQ(label_quota_add(&quota, 1, &label, 1, &sets, &set), 0);
	}
	EQ(set, 0);
	EQ(quota.past_limit, 990);
	OK(label_sets_count(&sets) < 40);
	label_quota_done(&quota);
	label_sets_done(&sets);
}

/* ---- Rules --------------------------------------------------------------------------------------- */

TEST(label_rules_keep_texts_that_are_no_ids)
{
	static const struct {
		const char *key;
		bool is_text, is_kept;
	} cases[] = {
		{ "tenant", true, true },
		{ "process.context.label.tenant", true, true },
		{ "http.route", true, true },
		{ "trace endpoint", true, true },
		{ "bytes", false, false },
		{ "process.context.label.trace_id", true, false },
		{ "trace id", true, false },
		{ "local root span id", true, false },
		{ "spanId", true, false },
		{ "TraceID", true, false },
		{ "x-request-id", true, false },
		{ "thread.name", true, false },
		{ "wait.reason", true, false },
		{ "wick.stack.end", true, false },
		{ "lock.address", true, false },
		{ "", true, false },
	};
	const struct label_rules rules = { 0 };

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EQ(label_rules_keep(&rules, str_of(cases[i].key), cases[i].is_text), cases[i].is_kept);
}

TEST(label_rules_name_what_is_kept_and_dropped)
{
	const char *keep[] = { "http.*", "lock.address" }, *drop[] = { "http.user_agent" };
	const struct label_rules only = { .keep = { 2, keep }, .drop = { 1, drop } }, less = { .drop = { 1, drop } };
	struct label_rules copy;

	EQ(label_rules_copy(&only, &copy), 0);
	OK(label_rules_keep(&copy, STR("http.route"), true));
	OK(label_rules_keep(&copy, STR("http.response.status_code"), false));
	OK(label_rules_keep(&copy, STR("lock.address"), true));
	OK(!label_rules_keep(&copy, STR("http.user_agent"), true));
	OK(!label_rules_keep(&copy, STR("tenant"), true));
	/* That has its own place, whatever is said. */
	OK(!label_rules_keep(&copy, STR("thread.name"), true));
	OK(label_rules_keep(&less, STR("tenant"), true));
	OK(!label_rules_keep(&less, STR("http.user_agent"), true));
	label_rules_done(&copy);
}
