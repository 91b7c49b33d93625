// SPDX-License-Identifier: Apache-2.0
/* Labels of samples in a store: kept, asked for, rolled up, given away, bounded; not there in one that is older. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "analysis/calltree.h"
#include "analysis/narrow.h"
#include "base/buf.h"
#include "base/clock.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "store/label_quota.h"
#include "store/scratch_test.h"
#include "store/store.h"
#include "test.h"

#define NOW_NS (1800000000 * SECOND_NS)

static const struct store_keys keys = { { "tenant", "route" }, 2 };
#define TENANT STORE_KEY
#define ROUTE ((enum store_label)(STORE_KEY + 1))

static const struct given {
	const char *process, *tenant, *route;
	s64 value;
} given[] = {
	{ "web", "acme", "/a", 500 }, { "web", "acme", "/b", 70 }, { "web", "beta", "/a", 30 }, { "web", "", "", 9 },
	{ "job", "acme", "", 4 },
};
#define COUNT (sizeof(given) / sizeof(*given))

static struct profile_set *add_process(struct profile *p, const char *process)
{
	struct keyvalue attributes[] = {
		{ STR("host.name"), { .kind = ANY_STRING, .string = STR("alpha") } },
		{ STR("process.executable.name"), { .kind = ANY_STRING, .string = str_of(process) } },
	};
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, attributes, 2)));

	set->sample_type =
		(struct profile_type){ profile_add_cstring(p, "samples"), profile_add_cstring(p, "count") };
	return set;
}

static void add_sample(struct profile *p, struct profile_set *set, const u32 *attributes, u32 count, s64 value)
{
	struct profile_line line = { .function = profile_add_function(p, &(struct profile_function){
					     .name = profile_add_cstring(p, "main") }) };
	u32 location = profile_add_location(p, &(struct profile_location){ .lines = &line, .line_count = 1 });
	struct profile_sample *sample = profile_add_sample(p, set);
	u64 time_ns = NOW_NS - SECOND_NS;

	sample->stack = profile_add_stack(p, &location, 1);
	sample->attributes = profile_copy_indices(p, attributes, count);
	sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
	sample->values = profile_copy(p, &value, sizeof(value));
	sample->time_count = sample->value_count = 1;
}

static void keep(struct store *store, struct profile *p, u64 sender)
{
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, sender, NOW_NS), 0);
	profile_free(p);
}

static void add_given(struct store *store)
{
	struct profile *p = profile_new();
	struct profile_set *set = NULL;

	for (u32 i = 0; i < COUNT; i++) {
		u32 attributes[3], n = 0;

		if (!i || strcmp(given[i].process, given[i - 1].process))
			set = add_process(p, given[i].process);
		attributes[n++] = profile_add_attribute_int(p, "thread.id", 7);
		if (*given[i].tenant)
			attributes[n++] = profile_add_attribute_string(p, "tenant", given[i].tenant);
		if (*given[i].route)
			attributes[n++] =
				profile_add_attribute_string(p, "process.context.label.route", given[i].route);
		add_sample(p, set, attributes, n, given[i].value);
	}
	keep(store, p, 0);
}

static void check_values(struct store *store, const struct store_selection *selection, enum store_label label,
			 const char *expected)
{
	struct store_values values;
	struct buf text;

	buf_init(&text, 4096);
	EQ(store_values(store, selection, label, 100, &values), 0);
	for (u32 i = 0; i < values.count; i++)
		buf_addf(&text, "%s=%lld ", values.at[i].text, values.at[i].total);
	STREQ(text.data ? text.data : "", expected);
	store_values_done(&values);
	buf_done(&text);
}

static s64 total_of(struct store *store, const struct store_selection *selection)
{
	struct calltree *flame = NULL;
	s64 total;

	EQ(store_flame(store, selection, STORE_LABEL_COUNT, &flame), 0);
	total = calltree_nodes(flame)[0].total;
	calltree_free(flame);
	return total;
}

static struct store_selection selection_of(u64 from_ns)
{
	return (struct store_selection){ .from_ns = from_ns, .to_ns = NOW_NS, .keys = &keys };
}

static void check_given(struct store *store, struct store_selection all)
{
	check_values(store, &all, TENANT, "acme=574 beta=30 =9 ");
	check_values(store, &all, ROUTE, "/a=530 /b=70 =13 ");
	check_values(store, &all, STORE_KEYS, "tenant=604 route=600 ");
	EQ(total_of(store, &all), 613);
	all.filters[all.filter_count++] = (struct store_filter){ TENANT, STORE_EQUAL, "acme" };
	check_values(store, &all, STORE_PROCESS, "web=570 job=4 ");
	check_values(store, &all, ROUTE, "/a=500 /b=70 =4 ");
	EQ(total_of(store, &all), 574);
	all.filters[all.filter_count++] = (struct store_filter){ ROUTE, STORE_CONTAINS, "/" };
	EQ(total_of(store, &all), 570);
	all.filters[0] = (struct store_filter){ TENANT, STORE_NOT_EQUAL, "acme" };
	EQ(total_of(store, &all), 30);
	all.filters[1] = (struct store_filter){ STORE_PROCESS, STORE_EQUAL, "job" };
	EQ(total_of(store, &all), 0);
}

TEST(store_keeps_labels_of_samples)
{
	struct store *store = scratch_store();

	add_given(store);
	check_given(store, selection_of(NOW_NS - 60 * SECOND_NS));
	store_close(store);
	store = scratch_store();
	check_given(store, selection_of(NOW_NS - 60 * SECOND_NS));
	store_close(store);
}

TEST(store_knows_labels_where_only_sums_are_left)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection hour = selection_of(NOW_NS - 3600 * SECOND_NS);

	add_given(store);
	while (store_maintain(store, NOW_NS + 2 * 3600 * SECOND_NS) > 0)
		;
	check_given(store, hour);
	/* What comes now is late: it gets roll-ups of its own. */
	add_given(store);
	check_values(store, &hour, TENANT, "acme=1148 beta=60 =18 ");
}

TEST(store_groups_by_labels_of_samples)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection all = selection_of(NOW_NS - 60 * SECOND_NS);
	struct calltree *flame = NULL;
	struct store_chart chart;
	u32 node;

	add_given(store);
	EQ(store_flame(store, &all, TENANT, &flame), 0);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(calltree_find(flame, "acme\x1fmain", &node), 0);
	EQ(calltree_nodes(flame)[node].total, 574);
	EQ(calltree_find(flame, "(none)\x1fmain", &node), 0);
	EQ(calltree_nodes(flame)[node].total, 9);
	calltree_free(flame);
	EQ(store_chart(store, &all, TENANT, 10, 2, &chart), 0);
	EQ(chart.line_count, 2);
	STREQ(chart.lines[0].name, "acme");
	STREQ(chart.lines[1].name, "(other)");
	store_chart_done(&chart);
}

TEST(store_gives_away_labels_with_samples)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection all = selection_of(NOW_NS - 60 * SECOND_NS);
	struct profile *p = NULL;
	s64 acme = 0, routed = 0;
	struct buf why;

	buf_init(&why, 256);
	add_given(store);
	EQ(store_profile(store, &all, &(struct narrow){ 0 }, &p, &why), 0);
	EQ(p->resources.count, 2);
	for (u32 i = 0; i < p->resources.count; i++) {
		const struct profile_set *set = &p->resources.at[i].scopes[0].sets[0];

		for (u32 s = 0; s < set->sample_count; s++) {
			struct indices a = set->samples[s].attributes;
			s64 value = profile_sample_value(&set->samples[s]);

			acme += str_is(any_text(profile_attribute_find(p, a, "tenant")), "acme") ? value : 0;
			routed += profile_attribute_find(p, a, "process.context.label.route") ? value : 0;
		}
	}
	EQ(acme, 574);
	EQ(routed, 600);
	profile_free(p);
	buf_done(&why);
}

TEST(store_of_before_there_were_labels_gets_some)
{
	struct store_selection all = selection_of(NOW_NS - 60 * SECOND_NS);
	struct store *store = scratch_store();
	struct profile *p = profile_new();
	sqlite3 *file;
	char path[128];

	add_sample(p, add_process(p, "old"), NULL, 0, 1000);
	keep(store, p, 0);
	store_close(store);
	snprintf(path, sizeof(path), "%s/wick.db", scratch_directory());
	EQ(sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	EQ(sqlite3_exec(file, "PRAGMA user_version = 6", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(file);
	store = scratch_store();
	add_given(store);
	check_values(store, &all, TENANT, "=1009 acme=574 beta=30 ");
	store_close(store);
}

/* ---- Limits --------------------------------------------------------------------------------------- */

#define FLOOD 3000

/* Each sample has a value that nobody has had. */
static void flood(struct store *store, u64 sender, const char *process, u32 *number)
{
	struct profile *p = profile_new();
	struct profile_set *set = add_process(p, process);

	for (u32 i = 0; i < FLOOD; i++) {
		char text[32];
		u32 attribute;

		snprintf(text, sizeof(text), "customer-%08u", (*number)++);
		attribute = profile_add_attribute_string(p, "tenant", text);
		add_sample(p, set, &attribute, 1, 1);
	}
	keep(store, p, sender);
}

static struct store_stats stats_of(struct store *store)
{
	struct store_stats stats;

	EQ(store_stats(store, &stats), 0);
	return stats;
}

/* The dictionary, which is everybody's, does not grow by what they make up. */
TEST(store_keeps_some_of_ever_new_labels_and_all_of_others)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection all = selection_of(NOW_NS - 3600 * SECOND_NS);
	struct store_values tenants;
	u32 number = 0;
	u64 series;

	flood(store, 1, "flooding", &number);
	series = stats_of(store).series;
	for (u32 i = 1; i < 20; i++)
		flood(store, 1, "flooding", &number);
	EQ(stats_of(store).series, series);
	EQ(stats_of(store).labels_past_limit, 20 * (FLOOD - LABEL_QUOTA_DEFAULT));
	add_given(store);
	while (store_maintain(store, NOW_NS + 2 * 3600 * SECOND_NS) > 0)
		;
	OK(stats_of(store).labels_rolled_up >= 19 * LABEL_QUOTA_DEFAULT);
	EQ(total_of(store, &all), 20 * FLOOD + 613);
	EQ(store_values(store, &all, TENANT, 100000, &tenants), 0);
	/* Those of one share, [other], and three others. */
	EQ(tenants.count, LABEL_QUOTA_DEFAULT + 1 + 3);
	STREQ(tenants.at[0].text, LABEL_OTHER);
	EQ(tenants.at[0].total, 20 * FLOOD - LABEL_QUOTA_DEFAULT);
	store_values_done(&tenants);
	all.filters[all.filter_count++] = (struct store_filter){ STORE_PROCESS, STORE_NOT_EQUAL, "flooding" };
	check_values(store, &all, TENANT, "acme=574 beta=30 =9 ");
}

/* A sample with too many labels has the first of them; a process with too many keys those that it had first. */
TEST(store_counts_samples_that_miss_a_label)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection all = selection_of(NOW_NS - 60 * SECOND_NS);
	struct profile *p = profile_new();
	struct profile_set *set = add_process(p, "web");
	struct store_values found;
	char key[LABEL_KEY_BYTES_MAX + 2];
	u32 many[LABELS_MAX + 1];

	for (u32 sample = 0; sample < 6; sample++) {
		for (u32 i = 0; i <= LABELS_MAX; i++) {
			snprintf(key, sizeof(key), "key-%u", sample * (LABELS_MAX + 1) + i);
			many[i] = profile_add_attribute_string(p, key, "x");
		}
		add_sample(p, set, many, LABELS_MAX + 1, 1);
	}
	memset(key, 'k', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	many[0] = profile_add_attribute_string(p, key, "x");
	many[1] = profile_add_attribute_string(p, "key-0", "y");
	many[2] = profile_add_attribute_int(p, "bytes", 5);
	add_sample(p, set, many, 3, 1);
	add_sample(p, set, &many[1], 2, 1);
	keep(store, p, 0);
	EQ(stats_of(store).labels_past_limit, 7);
	EQ(store_values(store, &all, STORE_KEYS, 1000, &found), 0);
	EQ(found.count, 64);
	STREQ(found.at[0].text, "key-0");
	EQ(found.at[0].total, 3);
	store_values_done(&found);
}

TEST(store_drops_labels_that_rules_say_and_long_texts_are_other)
{
	const char *drop[] = { "route" };
	struct store_options options = { .directory = scratch_directory(), .host = "here",
					 .labels = { .drop = { 1, drop } } };
	struct store_selection all = selection_of(NOW_NS - 60 * SECOND_NS);
	struct profile *p = profile_new();
	struct store *store = NULL;
	struct buf why, notice;
	char text[LABEL_VALUE_BYTES_MAX + 2];
	u32 attribute;

	buf_init(&why, 256);
	buf_init(&notice, 256);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	EQ(store_open(&options, &store, &why, &notice), 0);
	add_given(store);
	attribute = profile_add_attribute_string(p, "tenant", text);
	add_sample(p, add_process(p, "long"), &attribute, 1, 2);
	keep(store, p, 0);
	check_values(store, &all, STORE_KEYS, "tenant=606 ");
	check_values(store, &all, TENANT, "acme=574 beta=30 =9 [other]=2 ");
	EQ(stats_of(store).labels_past_limit, 1);
	store_close(store);
	buf_done(&why);
	buf_done(&notice);
}

/* Of many that flood none keeps more than the others, and whoever has few labels keeps them, whenever he comes. */
TEST(store_rolls_up_labels_of_few_values_beside_many_floods)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection all = selection_of(NOW_NS - 3600 * SECOND_NS);
	struct store_values tenants;
	u32 number = 0;

	for (u32 i = 0; i < 80; i++) {
		char process[16];

		snprintf(process, sizeof(process), "flooding-%u", i);
		flood(store, 1, process, &number);
	}
	add_given(store);
	while (store_maintain(store, NOW_NS + 2 * 3600 * SECOND_NS) > 0)
		;
	EQ(store_values(store, &all, TENANT, 1000000, &tenants), 0);
	OK(tenants.count > LABEL_SETS_MAX / 4 && tenants.count < LABEL_SETS_MAX);
	store_values_done(&tenants);
	EQ(total_of(store, &all), 80 * FLOOD + 613);
	all.filters[all.filter_count++] = (struct store_filter){ TENANT, STORE_EQUAL, "acme" };
	EQ(total_of(store, &all), 574);
}

/* In one profile, too: each process has an equal part, and the last finds room for its own. */
TEST(store_takes_few_labels_of_a_process_beside_hundred_floods_of_its_host)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection all = selection_of(NOW_NS - 60 * SECOND_NS);
	struct profile *p = profile_new();
	struct profile_set *set;
	u32 attribute;

	for (u32 process = 0; process < 100; process++) {
		char text[32];

		snprintf(text, sizeof(text), "flooding-%u", process);
		set = add_process(p, text);
		for (u32 i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "customer-%u", process * 1000 + i);
			attribute = profile_add_attribute_string(p, "tenant", text);
			add_sample(p, set, &attribute, 1, 1);
		}
	}
	attribute = profile_add_attribute_string(p, "tenant", "acme");
	add_sample(p, add_process(p, "web"), &attribute, 1, 5);
	keep(store, p, 1);
	EQ(stats_of(store).labels_past_limit, 100 * (1000 - LABEL_SETS_MAX / 101));
	all.filters[all.filter_count++] = (struct store_filter){ TENANT, STORE_EQUAL, "acme" };
	check_values(store, &all, STORE_PROCESS, "web=5 ");
}
