// SPDX-License-Identifier: Apache-2.0
/* Editors of one value: ottl_editors at the end is the list. */
#include <errno.h>
#include <string.h>

#include "ottl/expr.h"
#include "ottl/replace.h"

/* nil changes nothing. Times become whole numbers in attributes, for OTLP has no times. */
static int run_set(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	const struct path *path = argument_path(call, 0);
	struct value value;
	int r = argument(run, call, 1, &value);

	if (r < 0 || value_type(&value) == TYPE_NIL)
		return r;
	return path_set(path, run, &value);
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

/* What append() adds: its value, then its values. */
static int added_members(struct ottl_run *run, const struct call *call, struct any *ret_list)
{
	struct value value = { 0 }, values = { .any.kind = ANY_ARRAY };
	struct any *array;
	u32 one = call->arguments[1] != NULL;
	int r = one ? argument(run, call, 1, &value) : 0;

	if (r >= 0 && call->arguments[2])
		r = argument(run, call, 2, &values);
	if (r < 0)
		return r;
	if (value_type(&values) != TYPE_LIST || value.role == VALUE_SAMPLES)
		return run_fail(run, -EINVAL, "values of append() is %s, not a list", value_type_name(&values));
	array = run_alloc(run, (one + values.any.count) * sizeof(*array));
	if (!array)
		return run_err(run);
	if (one)
		array[0] = value.any;
	if (values.any.count)
		memcpy(array + one, values.any.array, values.any.count * sizeof(*array));
	*ret_list = (struct any){ ANY_ARRAY, one + values.any.count, .array = array };
	return 0;
}

static int run_append(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	const struct path *path = argument_path(call, 0);
	struct any added = { 0 }, *array;
	struct value target;
	u32 old;
	int r = path_get(path, run, &target);

	if (r >= 0)
		r = added_members(run, call, &added);
	if (r < 0)
		return r;
	if (value_type(&target) & (TYPE_MAP | TYPE_BYTES))
		return run_fail(run, -EINVAL, "append() to %s", value_type_name(&target));
	old = value_type(&target) == TYPE_LIST ? target.any.count : value_type(&target) != TYPE_NIL;
	array = run_alloc(run, (size_t)(old + added.count) * sizeof(*array));
	if (!array)
		return run_err(run);
	if (old)
		memcpy(array, value_type(&target) == TYPE_LIST ? target.any.array : &target.any, old * sizeof(*array));
	memcpy(array + old, added.array, added.count * sizeof(*array));
	return path_set(path, run, &(struct value){ .any = { ANY_ARRAY, old + added.count, .array = array } });
}

static const char *check_append(const struct call *call)
{
	return call->arguments[1] || call->arguments[2] ? NULL : "there is nothing to append: give value, or values";
}

static int run_delete_index(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	const struct path *path = argument_path(call, 0);
	struct value target;
	struct any *array;
	s64 from, to;
	int r = path_get(path, run, &target);

	if (r >= 0)
		r = argument_int(run, call, 1, &from);
	if (r < 0)
		return r;
	to = from + 1;
	if (call->arguments[2])
		r = argument_int(run, call, 2, &to);
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

static int replace_in_target(struct ottl_run *run, const struct call *call,
			     int (*change)(const struct replace *, struct ottl_run *, struct str, struct str *))
{
	const struct path *path = argument_path(call, 0);
	struct replace replace;
	struct value target;
	struct str text;
	int r = path_get(path, run, &target);

	if (r >= 0)
		r = replace_init(&replace, run, call, 2, 4);
	if (r < 0 || value_type(&target) != TYPE_STRING)
		return r;
	r = change(&replace, run, target.any.string, &text);
	return r <= 0 ? r : path_set(path, run, &(struct value){ .any = value_string(text).any });
}

static int run_replace_pattern(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return replace_in_target(run, call, replace_pattern_in);
}

static int run_replace_match(struct ottl_run *run, const struct call *call, struct value *ret_value)
{
	return replace_in_target(run, call, replace_whole);
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
	  "adds to a list; what was no list becomes one" },
	{ "delete_index", 0, { TARGET(TYPE_LIST), { "start_index", TYPE_INT, PARAMETER_VALUE, false },
	  { "end_index", TYPE_INT, PARAMETER_VALUE, true } }, run_delete_index, NULL, "removes members of a list" },
	{ "replace_match", 0, { TARGET(TYPE_STRING), { "pattern", TYPE_STRING, PARAMETER_GLOB, false }, REPLACEMENT },
	  run_replace_match, check_replace, "replaces a text that matches a pattern with * and ?" },
	{ "replace_pattern", 0, { TARGET(TYPE_STRING), { "regex_pattern", TYPE_STRING, PARAMETER_PATTERN, false },
	  REPLACEMENT }, run_replace_pattern, check_replace, "replaces what a regular expression matches" },
	{ "set", 0, { TARGET(TYPE_VALUE), { "value", TYPE_VALUE, PARAMETER_VALUE, false } }, run_set, check_set,
	  "sets it; nil changes nothing" },
	{ 0 },
};
