// SPDX-License-Identifier: Apache-2.0
/* Late names through a whole store: old rows are called by what comes later. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "profile/any.h"
#include "analysis/calltree.h"
#include "store/sqlite.h"
#include "store/scratch_test.h"
#include "test.h"

#define NOW_NS (1800000000 * SECOND_NS)
#define ID "0123456789abcdef0123456789abcdef01234567"
#define PATH "/opt/prog"

struct leaf {
	u64 address;
	const char *name;	/* NULL: none */
};

static u32 add_location(struct profile *p, const struct leaf *frame)
{
	u32 id = profile_add_attribute_string(p, "process.executable.build_id.gnu", ID);
	u32 type = profile_add_attribute_string(p, "profile.frame.type", "native");
	struct profile_mapping mapping = { .filename = profile_add_cstring(p, PATH), .attributes = { &id, 1 } };
	struct profile_function function = { 0 };
	struct profile_line line = { 0 };

	if (frame->name) {
		function.name = profile_add_cstring(p, frame->name);
		line.function = profile_add_function(p, &function);
	}
	return profile_add_location(p, &(struct profile_location){
		.mapping = profile_add_mapping(p, &mapping), .address = frame->address, .lines = &line,
		.line_count = frame->name != NULL, .attributes = { &type, 1 } });
}

/* One sample of each of these stacks: a root, and a leaf. */
static void add_leaves(struct store *store, const struct leaf *leaves, u32 count)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));
	u64 now = NOW_NS;

	for (u32 i = 0; i < count; i++) {
		u32 locations[2] = { add_location(p, &leaves[i]), add_location(p, &(struct leaf){ 0x100, "root" }) };
		struct profile_sample *sample = profile_add_sample(p, set);

		sample->stack = profile_add_stack(p, locations, 2);
		sample->times_unix_ns = profile_copy(p, &now, sizeof(now));
		sample->time_count = 1;
	}
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, NOW_NS), 0);
}

static struct calltree *flame_of(struct store *store)
{
	struct store_selection all = { .from_ns = NOW_NS - SECOND_NS, .to_ns = NOW_NS + SECOND_NS };
	struct calltree *flame = NULL;

	EQ(store_flame(store, &all, STORE_LABEL_COUNT, &flame), 0);
	return flame;
}

/* What the only node of that name has; -1 if there is not exactly one. */
static s64 value_of(const struct calltree *flame, const char *name)
{
	s64 value = -1;
	u32 found = 0;

	for (u32 i = 0; i < flame->nodes.count; i++) {
		const struct calltree_node *n = &calltree_nodes(flame)[i];

		if (!str_equal(calltree_frames(flame)[n->frame].name, (struct str){ name, (u32)strlen(name) }))
			continue;
		value = n->total;
		found++;
	}
	return found == 1 ? value : -1;
}

static const struct leaf nameless[] = { { 0x1010, NULL }, { 0x1020, NULL }, { 0x2000, NULL }, { 0x1020, "sent" } };
static const struct store_name found[] = {
	{ 0x1010, 0x1000, "foo", "foo.c", NAME_UPLOADED },
	{ 0x1020, 0x1000, "foo", "foo.h", NAME_UPLOADED },
	{ 0x2000, 0x1ff0, "", "", NAME_UPLOADED },
};

static void expect_names(struct store *store, s64 foo)
{
	_cleanup_(calltree_freep) struct calltree *flame = flame_of(store);

	EQ(value_of(flame, "foo"), foo);
	EQ(value_of(flame, "prog+0x1ff0"), 1);
	EQ(value_of(flame, "sent"), 1);
	EQ(value_of(flame, "root"), foo + 2);
	EQ(flame->nodes.count, 5);
}

TEST(naming_renames_old_rows_and_joins_them)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	_cleanup_(calltree_freep) struct calltree *before = NULL;
	u64 generation;

	add_leaves(store, nameless, 4);
	before = flame_of(store);
	EQ(value_of(before, "prog+0x1010"), 1);
	EQ(value_of(before, "root"), 4);
	EQ(store_put_names(store, ID, found, 3), 2);
	expect_names(store, 2);
	generation = store_generation(store);
	EQ(store_put_names(store, ID, found, 3), 0);
	EQ(store_generation(store), generation);
	/* What comes now, from this sender or from an agent that knows where the function starts, is the same. */
	add_leaves(store, (struct leaf[]){ { 0x1010, NULL }, { 0x1000, "prog+0x1000" } }, 2);
	expect_names(store, 4);
}

TEST(naming_outlives_the_process)
{
	struct store *store = scratch_store();

	add_leaves(store, nameless, 4);
	EQ(store_put_names(store, ID, found, 3), 2);
	store_close(store);
	store = scratch_store();
	expect_names(store, 2);
	store_close(store);
}

TEST(naming_tells_what_lacks_a_name_once_and_again_after_a_while)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	struct store_unnamed unnamed;

	EQ(store_next_unnamed(store, 1000, 500, &unnamed), 0);
	add_leaves(store, nameless, 3);
	EQ(store_next_unnamed(store, 1000, 500, &unnamed), 1);
	STREQ(unnamed.build_id, ID);
	STREQ(unnamed.path, PATH);
	EQ(unnamed.count, 3);
	store_unnamed_done(&unnamed);
	EQ(store_next_unnamed(store, 1100, 500, &unnamed), 0);
	add_leaves(store, (struct leaf[]){ { 0x3000, NULL } }, 1);
	EQ(store_next_unnamed(store, 1200, 500, &unnamed), 1);
	EQ(unnamed.count, 1);
	EQ(unnamed.addresses[0], 0x3000);
	store_unnamed_done(&unnamed);
	EQ(store_put_names(store, ID, found, 3), 2);
	EQ(store_next_unnamed(store, 1500, 500, &unnamed), 1);
	EQ(unnamed.count, 2);
	store_unnamed_done(&unnamed);
	EQ(store_unnamed_of(store, ID, &unnamed), 0);
	EQ(unnamed.count, 2);
	store_unnamed_done(&unnamed);
	OK(store_unnamed_of(store, "nothing", &unnamed) < 0);
}

TEST(naming_knows_what_agents_made_up_in_old_rows)
{
	_cleanup_(dict_freep) struct dict *dict = dict_new();
	struct dict_exe exe = { dict_add_string(dict, PATH, strlen(PATH)), dict_add_string(dict, ID, strlen(ID)) };
	struct dict_frame frame = { .exe = dict_add_exe(dict, &exe), .name = dict_add_string(dict, "prog+0x1000", 11) };
	u64 address = 0;

	OK(store_frame_place(dict, &frame, &address));
	EQ(address, 0x1000);
	frame.type = dict_add_string(dict, "kernel", 6);
	OK(!store_frame_place(dict, &frame, &address));
	frame = (struct dict_frame){ .exe = frame.exe, .name = dict_add_string(dict, "main", 4) };
	OK(!store_frame_place(dict, &frame, &address));
}

/* A store of the second layout has no late names, and blocks that cannot be read. */
TEST(naming_brings_an_older_store_up_to_date)
{
	struct store *store = scratch_store();
	sqlite3 *db = NULL;
	char path[128];

	add_leaves(store, nameless, 4);
	store_close(store);
	snprintf(path, sizeof(path), "%s/wick.db", scratch_directory());
	EQ(sqlite3_open(path, &db), SQLITE_OK);
	EQ(sqlite3_exec(db, "DROP TABLE note; DROP TABLE name; DROP TABLE exe; ALTER TABLE block DROP COLUMN details; "
			"PRAGMA user_version = 2", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	store = scratch_store();
	add_leaves(store, nameless, 4);
	EQ(store_put_names(store, ID, found, 3), 2);
	expect_names(store, 2);
	store_close(store);
}
