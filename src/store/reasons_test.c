// SPDX-License-Identifier: Apache-2.0
/* What threads waited for, as a label: kept, asked for, given away, and not there in stores that are older than it. */
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
#include "store/dict.h"
#include "store/scratch_test.h"
#include "store/store.h"
#include "test.h"

#define NOW_NS (1800000000 * SECOND_NS)

static const struct reason {
	const char *text;
	s64 value;
} reasons[] = { { "futex", 500 }, { "boredom", 7 }, { "run_queue", 60 }, { "", 3 }, { "other", 10 } };
#define COUNT (sizeof(reasons) / sizeof(*reasons))

static void add_reasons(struct store *store, const struct reason *at, u32 count)
{
	struct keyvalue host = { STR("host.name"), { .kind = ANY_STRING, .string = STR("alpha") } };
	struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, &host, 1)));

	set->sample_type =
		(struct profile_type){ profile_add_cstring(p, "wall"), profile_add_cstring(p, "nanoseconds") };
	for (u32 i = 0; i < count; i++) {
		struct profile_line line = { .function = profile_add_function(p, &(struct profile_function){
						     .name = profile_add_cstring(p, "main") }) };
		u32 location = profile_add_location(p, &(struct profile_location){ .lines = &line, .line_count = 1 });
		u32 attribute = *at[i].text ? profile_add_attribute_string(p, "wait.reason", at[i].text) : 0;
		struct profile_sample *sample = profile_add_sample(p, set);
		u64 time_ns = NOW_NS - SECOND_NS;

		sample->stack = profile_add_stack(p, &location, 1);
		sample->attributes = profile_copy_indices(p, &attribute, attribute != 0);
		sample->times_unix_ns = profile_copy(p, &time_ns, sizeof(time_ns));
		sample->values = profile_copy(p, &at[i].value, sizeof(s64));
		sample->time_count = sample->value_count = 1;
	}
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, NOW_NS), 0);
	profile_free(p);
}

static void add_waits(struct store *store)
{
	add_reasons(store, reasons, COUNT);
}

static void check_values(struct store *store)
{
	static const struct reason wanted[] = { { "futex", 500 }, { "run_queue", 60 }, { "other", 17 }, { "", 3 } };
	struct store_selection all = { .from_ns = NOW_NS - 60 * SECOND_NS, .to_ns = NOW_NS };
	struct store_values values;
	struct calltree *flame;

	EQ(store_values(store, &all, STORE_WAIT, 10, &values), 0);
	EQ(values.count, 4);
	for (u32 i = 0; i < values.count; i++) {
		STREQ(values.at[i].text, wanted[i].text);
		EQ(values.at[i].total, wanted[i].value);
	}
	store_values_done(&values);
	all.filters[all.filter_count++] = (struct store_filter){ STORE_WAIT, STORE_NOT_EQUAL, "futex" };
	EQ(store_flame(store, &all, STORE_WAIT, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, 80);
	calltree_free(flame);
	all.filters[0] = (struct store_filter){ STORE_WAIT, STORE_EQUAL, "" };
	EQ(store_flame(store, &all, STORE_LABEL_COUNT, &flame), 0);
	EQ(calltree_nodes(flame)[0].total, 3);
	calltree_free(flame);
}

TEST(store_keeps_what_threads_waited_for)
{
	struct store *store = scratch_store();

	add_waits(store);
	check_values(store);
	store_close(store);
	store = scratch_store();
	check_values(store);
	store_close(store);
}

TEST(store_knows_reasons_where_only_sums_are_left)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection hour = { .from_ns = NOW_NS - 3600 * SECOND_NS, .to_ns = NOW_NS };
	struct store_values values;

	add_waits(store);
	while (store_maintain(store, NOW_NS + 2 * 3600 * SECOND_NS) > 0)
		;
	EQ(store_values(store, &hour, STORE_WAIT, 10, &values), 0);
	EQ(values.count, 4);
	EQ(values.at[0].total, 500);
	store_values_done(&values);
}

TEST(store_gives_away_reasons_with_samples_of_one_set)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_selection all = { .from_ns = NOW_NS - 60 * SECOND_NS, .to_ns = NOW_NS };
	struct profile *p = NULL;
	const struct profile_set *set;
	s64 waited = 0;
	struct buf why;

	buf_init(&why, 256);
	add_waits(store);
	EQ(store_profile(store, &all, &(struct narrow){ 0 }, &p, &why), 0);
	EQ(p->resources.count, 1);
	EQ(p->resources.at[0].scopes[0].set_count, 1);
	set = &p->resources.at[0].scopes[0].sets[0];
	EQ(set->sample_count, 4);
	for (u32 i = 0; i < set->sample_count; i++) {
		const struct any *reason = profile_attribute_find(p, set->samples[i].attributes, "wait.reason");

		waited += reason ? profile_sample_value(&set->samples[i]) : 0;
		OK(!reason || any_text(reason).len);
	}
	EQ(waited, 577);
	profile_free(p);
	buf_done(&why);
}

TEST(store_of_before_there_were_reasons_gets_some)
{
	struct store_selection all = { .from_ns = NOW_NS - 60 * SECOND_NS, .to_ns = NOW_NS };
	struct store *store = scratch_store();
	struct store_values values;
	sqlite3 *file;
	char path[128];

	add_reasons(store, &reasons[3], 1);
	store_close(store);
	snprintf(path, sizeof(path), "%s/wick.db", scratch_directory());
	EQ(sqlite3_open_v2(path, &file, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	EQ(sqlite3_exec(file, "PRAGMA user_version = 5", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(file);
	store = scratch_store();
	add_reasons(store, reasons, 1);
	EQ(store_values(store, &all, STORE_WAIT, 10, &values), 0);
	EQ(values.count, 2);
	EQ(values.at[0].total, 500);
	EQ(values.at[1].total, 3);
	STREQ(values.at[1].text, "");
	store_values_done(&values);
	store_close(store);
}

/* ---- The dictionary on disk -------------------------------------------------------------------- */

static struct dict *dict_with(const char *wait)
{
	struct dict *dict = dict_new();
	struct dict_series series = { 0 };

	series.label[STORE_HOST] = dict_add_string(dict, "alpha", 5);
	(void)dict_add_series(dict, &series);
	series.label[STORE_WAIT] = *wait ? dict_add_string(dict, wait, strlen(wait)) : 0;
	series.label[STORE_TYPE] = dict_add_string(dict, "wall", 4);
	(void)dict_add_series(dict, &series);
	return dict;
}

/* How long the reason of the last series is, or what is wrong. */
static int unpack(const struct buf *chunk, size_t bytes)
{
	struct dict *dict = dict_new();
	int r = dict_unpack(dict, chunk->data, bytes);

	if (r == 0)
		r = (int)dict_string(dict, dict_series(dict, dict->series.count - 1)->label[STORE_WAIT]).len;
	dict_free(dict);
	return r;
}

TEST(dict_chunks_have_reasons_behind_them_only_where_there_are_any)
{
	struct dict *without = dict_with(""), *with = dict_with("futex");
	struct buf plain, waiting;

	buf_init(&plain, 4096);
	buf_init(&waiting, 4096);
	EQ(dict_pack(without, &plain), 0);
	EQ(dict_pack(with, &waiting), 0);
	/* A string of five letters and its length, and a number for each of the two series. */
	EQ(waiting.len, plain.len + 6 + 2);
	EQ(unpack(&plain, plain.len), 0);
	EQ(unpack(&waiting, waiting.len), 5);
	/* As it was written before: nothing behind the labels. In between nothing will do. */
	EQ(unpack(&waiting, waiting.len - 2), 0);
	EQ(unpack(&waiting, waiting.len - 1), -EBADMSG);
	EQ(unpack(&waiting, waiting.len - 3), -EBADMSG);
	waiting.data[waiting.len - 1] = 99;
	EQ(unpack(&waiting, waiting.len), -EBADMSG);
	dict_free(without);
	dict_free(with);
	buf_done(&plain);
	buf_done(&waiting);
}
