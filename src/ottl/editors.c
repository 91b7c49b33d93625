// SPDX-License-Identifier: Apache-2.0
/* Editors of one value: ottl_editors at the end is the list. */
#include <errno.h>
#include <string.h>

#include "ottl/expr.h"
#include "ottl/replace.h"

/* nil changes nothing. Times become whole numbers in attributes, for OTLP has no times. */
static int run_set(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	return value_type(&in[1]) == TYPE_NIL ? 0 : path_set(argument_path(call, 0), run, &in[1]);
}

static const char *check_set(const struct call *call)
{
	const struct path *path = &call->arguments[0]->path;
	u32 takes = path->keys.count || path->ops->attrs ? TYPE_ANY : path->ops->takes | TYPE_NIL;

	if (path->ops->attrs && !path->keys.count)
		takes = TYPE_MAP | TYPE_NIL;
	return call->arguments[1]->types & takes ? NULL : "the target cannot hold a value of this type";
}

/* ---- Lists ------------------------------------------------------------------------------------- */

/* The target, if it is no list, or its members; then value and the members of values. */
static int run_append(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value)
{
	const struct path *path = argument_path(call, 0);
	struct any lists[3] = { { 0 }, { ANY_ARRAY, call->arguments[1] != NULL, .array = &in[1].any }, in[2].any };
	struct any *array;
	struct value target;
	u32 count = 0;
	int r = path_get(path, run, &target);

	if (r < 0)
		return r;
	if (value_type(&target) & (TYPE_MAP | TYPE_BYTES))
		return run_fail(run, -EINVAL, "append() to %s", value_type_name(&target));
	lists[0] = target.any;
	if (value_type(&target) != TYPE_LIST)
		lists[0] = (struct any){ ANY_ARRAY, value_type(&target) != TYPE_NIL, .array = &target.any };
	array = run_alloc(run, ((size_t)lists[0].count + lists[1].count + lists[2].count) * sizeof(*array));
	if (!array)
		return run_err(run);
	for (u32 i = 0; i < 3; i++) {
		if (lists[i].count)
			memcpy(array + count, lists[i].array, lists[i].count * sizeof(*array));
		count += lists[i].count;
	}
	return path_set(path, run, &(struct value){ .any = { ANY_ARRAY, count, .array = array } });
}

static const char *check_append(const struct call *call)
{
	return call->arguments[1] || call->arguments[2] ? NULL : "there is nothing to append: give value, or values";
}

static int run_delete_index(struct ottl_run *run, const struct call *call, const struct value *in,
			    struct value *ret_value)
{
	const struct path *path = argument_path(call, 0);
	struct value target;
	struct any *array;
	s64 from = in[1].any.integer, to = call->arguments[2] ? in[2].any.integer : (s64)((u64)from + 1);
	int r = path_get(path, run, &target);

	if (r < 0)
		return r;
	if (value_type(&target) != TYPE_LIST)
		return run_fail(run, -EINVAL, "target of delete_index() is %s, not a list", value_type_name(&target));
	if (from < 0 || to < from || to > target.any.count)
		return run_fail(run, -ERANGE, "delete_index(): %lld to %lld is outside of the list of %u",
				(long long)from, (long long)to, target.any.count);
	array = run_alloc(run, target.any.count * sizeof(*array));
	if (!array)
		return run_err(run);
	if (from)
		memcpy(array, target.any.array, (size_t)from * sizeof(*array));
	if (to < target.any.count)
		memcpy(array + from, target.any.array + to, (size_t)(target.any.count - to) * sizeof(*array));
	target.any.array = array;
	target.any.count -= (u32)(to - from);
	return path_set(path, run, &target);
}

/* ---- Texts -------------------------------------------------------------------------------------- */

static int replace_in_target(struct ottl_run *run, const struct call *call, const struct value *in,
			     int (*change)(const struct replace *, struct ottl_run *, struct str, struct str *))
{
	const struct replace replace = { call, in[2].any.string, argument_literal(call, 4) };
	const struct path *path = argument_path(call, 0);
	struct value target;
	struct str text;
	int r = path_get(path, run, &target);

	if (r < 0 || value_type(&target) != TYPE_STRING)
		return r;
	r = change(&replace, run, target.any.string, &text);
	return r <= 0 ? r : path_set(path, run, &(struct value){ .any = value_string(text).any });
}

static int run_replace_pattern(struct ottl_run *run, const struct call *call, const struct value *in,
			       struct value *ret_value)
{
	return replace_in_target(run, call, in, replace_pattern_in);
}

static int run_replace_match(struct ottl_run *run, const struct call *call, const struct value *in,
			     struct value *ret_value)
{
	return replace_in_target(run, call, in, replace_whole);
}

static const char *check_replace(const struct call *call)
{
	return replace_check_format(argument_literal(call, 4));
}

/* ---- The list ------------------------------------------------------------------------------------ */

#define TARGET(types) { "target", types, PARAMETER_TARGET, false }
#define REPLACEMENT									\
	{ "replacement", TYPE_STRING, PARAMETER_VALUE, false }, { "function", 0, PARAMETER_FUNCTION, true }, \
	{ "replacement_format", TYPE_STRING, PARAMETER_LITERAL, true }

const struct function_ops ottl_editors[] = {
	{ "append", 0, { TARGET(TYPE_ANY), { "value", TYPE_ANY, PARAMETER_VALUE, true },
	  { "values", TYPE_LIST, PARAMETER_VALUE, true } }, run_append, check_append,
	  .help = "adds to a list; what was no list becomes one" },
	{ "delete_index", 0, { TARGET(TYPE_LIST), { "start_index", TYPE_INT, PARAMETER_VALUE, false },
	  { "end_index", TYPE_INT, PARAMETER_VALUE, true } }, run_delete_index, .help = "removes members of a list" },
	{ "replace_match", 0, { TARGET(TYPE_STRING), { "pattern", TYPE_STRING, PARAMETER_GLOB, false }, REPLACEMENT },
	  run_replace_match, check_replace, .help = "replaces a text that matches a pattern with * and ?" },
	{ "replace_pattern", 0, { TARGET(TYPE_STRING), { "regex_pattern", TYPE_STRING, PARAMETER_PATTERN, false },
	  REPLACEMENT }, run_replace_pattern, check_replace, .help = "replaces what a regular expression matches" },
	{ "set", 0, { TARGET(TYPE_VALUE), { "value", TYPE_VALUE, PARAMETER_VALUE, false } }, run_set, check_set,
	  .help = "sets it; nil changes nothing" },
	{ 0 },
};
