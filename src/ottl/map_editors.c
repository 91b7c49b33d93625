// SPDX-License-Identifier: Apache-2.0
/* Editors of maps: ottl_map_editors at the end is the list. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ottl/expr.h"
#include "ottl/replace.h"
#include "profile/any.h"

/* Keys are looked for one by one: larger maps are left alone, so that no sender chooses how long it takes. */
#define MAP_ENTRIES_MAX 4096

/* ---- A map while it is edited -------------------------------------------------------------------- */

struct edit {
	struct ottl_run *run;
	const struct path *path;
	struct keyvalue *at;
	u32 count, cap;
	bool changed;
};

/* A copy of the target's entries, with room for as many more. */
static int edit_begin(struct edit *edit, struct ottl_run *run, const struct call *call, u32 room)
{
	struct value target;
	struct any map = { .kind = ANY_MAP };
	int r = path_get(argument_path(call, 0), run, &target);

	if (r < 0)
		return r;
	if (value_type(&target) == TYPE_MAP)
		map = target.any;
	else if (value_type(&target) != TYPE_NIL)
		return run_fail(run, -EINVAL, "target of %s() is %s, not a map", call->ops->name,
				value_type_name(&target));
	if (map.count > MAP_ENTRIES_MAX || room > MAP_ENTRIES_MAX)
		return run_fail(run, -E2BIG, "%s(): there are more than %d keys", call->ops->name, MAP_ENTRIES_MAX);
	*edit = (struct edit){ .run = run, .path = argument_path(call, 0), .count = map.count,
			       .cap = map.count + room };
	edit->at = run_alloc(run, edit->cap * sizeof(*edit->at));
	if (!edit->at)
		return run_err(run);
	if (map.count)
		memcpy(edit->at, map.map, map.count * sizeof(*edit->at));
	return 0;
}

static int edit_end(struct edit *edit)
{
	if (!edit->changed)
		return 0;
	return path_set(edit->path, edit->run, &(struct value){ .any = { ANY_MAP, edit->count, .map = edit->at } });
}

static u32 edit_find(const struct edit *edit, struct str key)
{
	u32 i = 0;

	while (i < edit->count && !str_equal(edit->at[i].key, key))
		i++;
	return i;
}

/* ---- Removing keys --------------------------------------------------------------------------------- */

static int run_delete_key(struct ottl_run *run, const struct call *call, const struct value *in,
			  struct value *ret_value)
{
	struct edit edit;
	u32 i;
	int r = edit_begin(&edit, run, call, 0);

	if (r < 0)
		return r;
	i = edit_find(&edit, in[1].any.string);
	if (i == edit.count)
		return 0;
	memmove(&edit.at[i], &edit.at[i + 1], (edit.count - i - 1) * sizeof(*edit.at));
	edit.count--;
	edit.changed = true;
	return edit_end(&edit);
}

static bool is_listed(const struct any *list, struct str key)
{
	for (u32 i = 0; i < list->count; i++)
		if (list->array[i].kind == ANY_STRING && str_equal(list->array[i].string, key))
			return true;
	return false;
}

/* Keeps keys that are listed, or that the pattern matches; with a detail those that it does not. */
static int run_keep_some(struct ottl_run *run, const struct call *call, const struct value *in,
			 struct value *ret_value)
{
	struct edit edit;
	u32 kept = 0;
	int r = edit_begin(&edit, run, call, 0);

	for (u32 i = 0; r >= 0 && i < edit.count; i++) {
		struct str key = edit.at[i].key;

		r = call->pattern ? pattern_match(call->pattern, &run->pattern, key.at, key.len, 0, NULL) :
				    is_listed(&in[1].any, key);
		if (r < 0)
			return run_fail(run, r, "%s() gave up: the pattern takes too many steps", call->ops->name);
		if ((r == 0) == call->ops->detail)
			edit.at[kept++] = edit.at[i];
	}
	if (r < 0)
		return r;
	edit.changed = kept < edit.count;
	edit.count = kept;
	return edit_end(&edit);
}

/* Those with priority, then the first ones. */
static int run_limit(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	const struct any *limit = &in[1].any, *priority = &in[2].any;
	struct edit edit;
	u32 kept = 0, taken = 0;
	int r = edit_begin(&edit, run, call, 0);

	if (r < 0 || edit.count <= limit->integer)
		return r;
	for (u32 i = 0; i < edit.count; i++)
		taken += is_listed(priority, edit.at[i].key);
	for (u32 i = 0; i < edit.count; i++) {
		bool first = is_listed(priority, edit.at[i].key);

		if (!first && taken >= limit->integer)
			continue;
		taken += !first;
		edit.at[kept++] = edit.at[i];
	}
	edit.count = kept;
	edit.changed = true;
	return edit_end(&edit);
}

static const char *check_limit(const struct call *call)
{
	const struct any *limit = argument_literal(call, 1);

	if (limit->integer < 0)
		return "the limit is negative";
	return limit->integer < argument_literal(call, 2)->count ? "there are more priority keys than the limit" : NULL;
}

/* ---- Adding and changing ------------------------------------------------------------------------------ */

static int run_merge_maps(struct ottl_run *run, const struct call *call, const struct value *in,
			  struct value *ret_value)
{
	struct str strategy = in[2].any.string;
	bool inserts = !str_equal(strategy, STR("update")), updates = !str_equal(strategy, STR("insert"));
	const struct any *source = &in[1].any;
	struct edit edit;
	int r = edit_begin(&edit, run, call, source->count);

	for (u32 i = 0; r >= 0 && i < source->count; i++) {
		u32 at = edit_find(&edit, source->map[i].key);

		if (at < edit.count ? !updates : !inserts)
			continue;
		edit.count += at == edit.count;
		edit.at[at] = source->map[i];
		edit.changed = true;
	}
	return r < 0 ? r : edit_end(&edit);
}

static const char *check_merge_maps(const struct call *call)
{
	struct str strategy = argument_literal(call, 2)->string;

	if (str_equal(strategy, STR("insert")) || str_equal(strategy, STR("update")) ||
	    str_equal(strategy, STR("upsert")))
		return NULL;
	return "the strategy is insert, update or upsert";
}

static int replace_values(struct ottl_run *run, const struct call *call, const struct replace *replace,
			  int (*change)(const struct replace *, struct ottl_run *, struct str, struct str *))
{
	struct edit edit;
	int r = edit_begin(&edit, run, call, 0);

	for (u32 i = 0; r >= 0 && i < edit.count; i++) {
		struct any *value = &edit.at[i].value;

		if (value->kind != ANY_STRING)
			continue;
		r = change(replace, run, value->string, &value->string);
		edit.changed = edit.changed || r > 0;
	}
	return r < 0 ? r : edit_end(&edit);
}

static int run_replace_all_matches(struct ottl_run *run, const struct call *call, const struct value *in,
				   struct value *ret_value)
{
	const struct replace replace = { call, in[2].any.string, argument_literal(call, 4) };

	return replace_values(run, call, &replace, replace_whole);
}

static const char *check_replace_all_matches(const struct call *call)
{
	return replace_check_format(argument_literal(call, 4));
}

/* A key that becomes one that is there already takes its place. */
static int replace_keys(struct ottl_run *run, const struct call *call, const struct replace *replace)
{
	struct edit edit, from;
	int r = edit_begin(&from, run, call, 0);

	if (r >= 0)
		r = edit_begin(&edit, run, call, 0);
	if (r < 0)
		return r;
	edit.count = 0;
	for (u32 i = 0; i < from.count; i++) {
		struct str key = from.at[i].key;
		u32 at;

		r = replace_pattern_in(replace, run, key, &key);
		if (r < 0)
			return r;
		edit.changed = edit.changed || r > 0;
		at = edit_find(&edit, key);
		edit.count += at == edit.count;
		edit.at[at] = (struct keyvalue){ key, from.at[i].value };
	}
	return edit_end(&edit);
}

static int run_replace_all_patterns(struct ottl_run *run, const struct call *call, const struct value *in,
				    struct value *ret_value)
{
	const struct replace replace = { call, in[3].any.string, argument_literal(call, 5) };

	return str_equal(in[1].any.string, STR("key")) ?
		       replace_keys(run, call, &replace) :
		       replace_values(run, call, &replace, replace_pattern_in);
}

static const char *check_replace_all_patterns(const struct call *call)
{
	struct str mode = argument_literal(call, 1)->string;

	if (!str_equal(mode, STR("key")) && !str_equal(mode, STR("value")))
		return "the mode is key or value";
	return replace_check_format(argument_literal(call, 5));
}

/* ---- Shortening, flattening, making texts --------------------------------------------------------------- */

static struct str cut(struct str text, u32 limit, bool utf8_safe)
{
	if (text.len <= limit)
		return text;
	while (utf8_safe && limit && ((unsigned char)text.at[limit] & 0xc0) == 0x80)
		limit--;
	return (struct str){ text.at, limit };
}

static int run_truncate_all(struct ottl_run *run, const struct call *call, const struct value *in,
			    struct value *ret_value)
{
	s64 limit = in[1].any.integer;
	const struct any *safe = argument_literal(call, 2), *mark = argument_literal(call, 3);
	u32 mark_len = mark ? mark->string.len : 0;
	struct edit edit;
	int r = edit_begin(&edit, run, call, 0);

	for (u32 i = 0; r >= 0 && i < edit.count; i++) {
		struct any *value = &edit.at[i].value;
		struct str kept;
		char *text;

		if (value->kind != ANY_STRING || value->string.len <= limit)
			continue;
		kept = cut(value->string, (u32)limit - mark_len, !safe || safe->boolean);
		text = run_alloc(run, kept.len + mark_len);
		if (!text)
			return run_err(run);
		memcpy(text, kept.at, kept.len);
		if (mark_len)
			memcpy(text + kept.len, mark->string.at, mark_len);
		value->string = (struct str){ text, kept.len + mark_len };
		edit.changed = true;
	}
	return r < 0 ? r : edit_end(&edit);
}

static const char *check_truncate_all(const struct call *call)
{
	const struct any *limit = argument_literal(call, 1), *mark = argument_literal(call, 3);

	if (limit->integer < 0)
		return "the limit is negative";
	return mark && mark->string.len > limit->integer ? "the mark is longer than the limit" : NULL;
}

static int run_stringify_all(struct ottl_run *run, const struct call *call, const struct value *in,
			     struct value *ret_value)
{
	struct edit edit;
	int r = edit_begin(&edit, run, call, 0);

	for (u32 i = 0; r >= 0 && i < edit.count; i++) {
		struct value value = { .any = edit.at[i].value };
		_cleanup_(buf_done) struct buf text = { 0 };
		struct str string;

		if (value_type(&value) == TYPE_STRING)
			continue;
		run_text_init(&text);
		value_text(&value, &text);
		r = run_keep(run, &text, &string);
		if (r < 0)
			return r;
		edit.at[i].value = value_string(string).any;
		edit.changed = true;
	}
	return r < 0 ? r : edit_end(&edit);
}

struct flatten {
	struct edit edit;
	u32 *next;		/* for each entry, the number of the next one that has its key too */
	s64 depth;
	bool resolve_conflicts;
};

static int flatten_join(struct flatten *f, struct str prefix, struct str key, struct str *ret_key);

/* "key", then "key.0", "key.1", ... if conflicts are resolved; else the last one counts. */
static int flatten_put(struct flatten *f, struct str key, const struct any *value)
{
	struct edit *edit = &f->edit;
	u32 at = edit_find(edit, key);

	if (f->resolve_conflicts && at < edit->count) {
		char number[16];
		struct str name = { number, (u32)snprintf(number, sizeof(number), "%u", f->next[at]++) };
		int r = flatten_join(f, key, name, &key);

		if (r < 0)
			return r;
		at = edit_find(edit, key);
	}
	if (at == edit->cap)
		return run_fail(edit->run, -E2BIG, "flatten(): there would be more than %d keys", MAP_ENTRIES_MAX);
	edit->at[at] = (struct keyvalue){ key, *value };
	if (at == edit->count)
		f->next[edit->count++] = 0;
	return 0;
}

static int flatten_join(struct flatten *f, struct str prefix, struct str key, struct str *ret_key)
{
	u32 before = prefix.len ? prefix.len + 1 : 0;
	char *text = run_alloc(f->edit.run, before + key.len);

	if (!text)
		return run_err(f->edit.run);
	if (before) {
		memcpy(text, prefix.at, prefix.len);
		text[prefix.len] = '.';
	}
	if (key.len)
		memcpy(text + before, key.at, key.len);
	*ret_key = (struct str){ text, before + key.len };
	return 0;
}

/* Members of lists have their number as key, unless conflicts are resolved, which number them themselves. */
static int flatten_value(struct flatten *f, struct str key, const struct any *value, s64 depth)
{
	bool is_map = value->kind == ANY_MAP;
	int r = 0;

	if ((!is_map && value->kind != ANY_ARRAY) || depth >= f->depth)
		return flatten_put(f, key, value);
	for (u32 i = 0; r >= 0 && i < value->count; i++) {
		const struct any *member = is_map ? &value->map[i].value : &value->array[i];
		bool is_leaf = member->kind != ANY_MAP && member->kind != ANY_ARRAY;
		char number[16];
		struct str name = is_map ? value->map[i].key :
				  (struct str){ number, (u32)snprintf(number, sizeof(number), "%u", i) };
		struct str joined = key;

		if (is_map || !is_leaf || !f->resolve_conflicts)
			r = flatten_join(f, key, name, &joined);
		if (r >= 0)
			r = flatten_value(f, joined, member, depth + 1);
	}
	return r;
}

static int run_flatten(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	const struct any *prefix = argument_literal(call, 1), *depth = argument_literal(call, 2);
	const struct any *resolve = argument_literal(call, 3);
	struct flatten f = { .depth = depth ? depth->integer : ANY_DEPTH_MAX,
			     .resolve_conflicts = resolve && resolve->boolean };
	struct edit from;
	int r = edit_begin(&from, run, call, 0);

	if (r >= 0)
		r = edit_begin(&f.edit, run, call, MAP_ENTRIES_MAX);
	if (r < 0)
		return r;
	f.next = run_alloc(run, f.edit.cap * sizeof(*f.next));
	if (!f.next)
		return run_err(run);
	f.edit.count = 0;
	f.edit.changed = true;
	for (u32 i = 0; r >= 0 && i < from.count; i++) {
		struct str key;

		r = flatten_join(&f, prefix ? prefix->string : (struct str){ 0 }, from.at[i].key, &key);
		if (r >= 0)
			r = flatten_value(&f, key, &from.at[i].value, 0);
	}
	return r < 0 ? r : edit_end(&f.edit);
}

static const char *check_flatten(const struct call *call)
{
	const struct any *depth = argument_literal(call, 2);

	return depth && depth->integer < 1 ? "the depth is at least 1" : NULL;
}

/* ---- The list -------------------------------------------------------------------------------------------- */

#define TARGET { "target", TYPE_MAP, PARAMETER_TARGET, false }
#define LITERAL(name, types) { name, types, PARAMETER_LITERAL, false }
#define OPTION(name, types) { name, types, PARAMETER_LITERAL, true }
#define PATTERN(name) { name, TYPE_STRING, PARAMETER_PATTERN, false }
#define REPLACEMENT										\
	{ "replacement", TYPE_STRING, PARAMETER_VALUE, false }, { "function", 0, PARAMETER_FUNCTION, true },	\
	OPTION("replacement_format", TYPE_STRING)

const struct function_ops ottl_map_editors[] = {
	{ "delete_key", 0, { TARGET, { "key", TYPE_STRING, PARAMETER_VALUE, false } }, run_delete_key,
	  .help = "removes a key" },
	{ "delete_matching_keys", 0, { TARGET, PATTERN("pattern") }, run_keep_some,
	  .help = "removes keys that a regular expression matches", .detail = true },
	{ "flatten", 0, { TARGET, OPTION("prefix", TYPE_STRING), OPTION("depth", TYPE_INT),
	  OPTION("resolve_conflicts", TYPE_BOOL) }, run_flatten, check_flatten,
	  .help = "moves what is nested to the top" },
	{ "keep_keys", 0, { TARGET, LITERAL("keys", TYPE_LIST) }, run_keep_some, .help = "removes all keys but these" },
	{ "keep_matching_keys", 0, { TARGET, PATTERN("pattern") }, run_keep_some,
	  .help = "removes keys that a regular expression does not match" },
	{ "limit", 0, { TARGET, LITERAL("limit", TYPE_INT), LITERAL("priority_keys", TYPE_LIST) }, run_limit,
	  check_limit, .help = "keeps so many keys" },
	{ "merge_maps", 0, { TARGET, { "source", TYPE_MAP, PARAMETER_VALUE, false }, LITERAL("strategy", TYPE_STRING) },
	  run_merge_maps, check_merge_maps, .help = "takes over the entries of another map" },
	{ "replace_all_matches", 0, { TARGET, { "pattern", TYPE_STRING, PARAMETER_GLOB, false }, REPLACEMENT },
	  run_replace_all_matches, check_replace_all_matches, .help = "replace_match() on all values" },
	{ "replace_all_patterns", 0, { TARGET, LITERAL("mode", TYPE_STRING), PATTERN("regex_pattern"), REPLACEMENT },
	  run_replace_all_patterns, check_replace_all_patterns,
	  .help = "replace_pattern() on all keys, or on all values" },
	{ "stringify_all", 0, { TARGET }, run_stringify_all, .help = "makes all values strings" },
	{ "truncate_all", 0, { TARGET, LITERAL("limit", TYPE_INT), OPTION("utf8_safe", TYPE_BOOL),
	  OPTION("truncation_marker", TYPE_STRING) }, run_truncate_all, check_truncate_all,
	  .help = "cuts strings that are longer" },
	{ 0 },
};
