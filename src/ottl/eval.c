// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "ottl/expr.h"
#include "profile/any.h"

/* ---- Math ------------------------------------------------------------------------------------ */

/* Whole numbers wrap, as in Go. */
static int math_ints(struct ottl_run *run, s64 a, s64 b, enum math_op op, s64 *ret_value)
{
	switch (op) {
	case MATH_ADD:
		*ret_value = (s64)((u64)a + (u64)b);
		return 0;
	case MATH_SUBTRACT:
		*ret_value = (s64)((u64)a - (u64)b);
		return 0;
	case MATH_MULTIPLY:
		*ret_value = (s64)((u64)a * (u64)b);
		return 0;
	case MATH_DIVIDE:
		if (!b)
			return run_fail(run, -EDOM, "division by zero");
		*ret_value = b == -1 ? (s64)-(u64)a : a / b;
		return 0;
	}
	return -EINVAL;
}

static int math_doubles(struct ottl_run *run, double a, double b, enum math_op op, struct value *ret_value)
{
	if (op == MATH_DIVIDE && b == 0)
		return run_fail(run, -EDOM, "division by zero");
	*ret_value = value_double(op == MATH_ADD ? a + b :
				  op == MATH_SUBTRACT ? a - b :
				  op == MATH_MULTIPLY ? a * b : a / b);
	return 0;
}

static double real_of(const struct value *value)
{
	return value->any.kind == ANY_INT ? (double)value->any.integer : value->any.real;
}

static int math_times(struct ottl_run *run, const struct value *a, const struct value *b, enum math_op op,
		      struct value *ret_value)
{
	bool fits = op == MATH_ADD ? !(a->role == VALUE_TIME && b->role == VALUE_TIME) :
		    op == MATH_SUBTRACT && !(a->role == VALUE_DURATION && b->role == VALUE_TIME);
	bool is_time = (a->role == VALUE_TIME) != (b->role == VALUE_TIME);

	if (!fits || a->role == VALUE_PLAIN || b->role == VALUE_PLAIN)
		return run_fail(run, -EINVAL, "%s and %s cannot be combined so", value_type_name(a),
				value_type_name(b));
	*ret_value = (struct value){ .any.kind = ANY_INT, .role = is_time ? VALUE_TIME : VALUE_DURATION };
	return math_ints(run, a->any.integer, b->any.integer, op, &ret_value->any.integer);
}

static int eval_math(const struct expr *expr, struct ottl_run *run, struct value *ret_value)
{
	const u32 numbers = TYPE_INT | TYPE_DOUBLE;
	struct value a, b;
	int r = expr_eval(expr->pair.left, run, &a);

	if (r < 0)
		return r;
	r = expr_eval(expr->pair.right, run, &b);
	if (r < 0)
		return r;
	if ((value_type(&a) | value_type(&b)) & (TYPE_TIME | TYPE_DURATION))
		return math_times(run, &a, &b, expr->pair.op, ret_value);
	if (!(value_type(&a) & numbers) || !(value_type(&b) & numbers))
		return run_fail(run, -EINVAL, "%s and %s are no two numbers", value_type_name(&a), value_type_name(&b));
	if (a.any.kind == ANY_DOUBLE || b.any.kind == ANY_DOUBLE)
		return math_doubles(run, real_of(&a), real_of(&b), expr->pair.op, ret_value);
	*ret_value = value_int(0);
	return math_ints(run, a.any.integer, b.any.integer, expr->pair.op, &ret_value->any.integer);
}

static int eval_negate(const struct expr *expr, struct ottl_run *run, struct value *ret_value)
{
	int r = expr_eval(expr->pair.left, run, ret_value);

	if (r < 0)
		return r;
	if (value_type(ret_value) == TYPE_INT)
		ret_value->any.integer = (s64)-(u64)ret_value->any.integer;
	else if (value_type(ret_value) == TYPE_DOUBLE)
		ret_value->any.real = -ret_value->any.real;
	else
		return run_fail(run, -EINVAL, "%s cannot be negative", value_type_name(ret_value));
	return 0;
}

/* ---- Lists, maps, keys ------------------------------------------------------------------------ */

/* Times become whole numbers in lists and maps, for OTLP has no times. */
static int eval_member(const struct expr *expr, struct ottl_run *run, struct any *ret_any)
{
	struct value value;
	int r = expr_eval(expr, run, &value);

	if (r < 0)
		return r;
	if (value.role == VALUE_SAMPLES)
		return run_fail(run, -EINVAL, "samples cannot be a member of a list or a map");
	*ret_any = value.any;
	return 0;
}

static int eval_list(const struct expr *expr, struct ottl_run *run, struct value *ret_value)
{
	struct any *array = run_alloc(run, expr->list.count * sizeof(*array));

	if (!array)
		return run_err(run);
	for (u32 i = 0; i < expr->list.count; i++) {
		int r = eval_member(expr->list.at[i], run, &array[i]);

		if (r < 0)
			return r;
	}
	*ret_value = (struct value){ .any = { ANY_ARRAY, expr->list.count, .array = array } };
	return 0;
}

static int eval_map(const struct expr *expr, struct ottl_run *run, struct value *ret_value)
{
	u32 count = expr->map.values.count;
	struct keyvalue *map = run_alloc(run, count * sizeof(*map));

	if (!map)
		return run_err(run);
	for (u32 i = 0; i < count; i++) {
		int r = eval_member(expr->map.values.at[i], run, &map[i].value);

		if (r < 0)
			return r;
		map[i].key = expr->map.keys[i];
	}
	*ret_value = (struct value){ .any = { ANY_MAP, count, .map = map } };
	return 0;
}

static const struct any *map_find(const struct any *map, struct str key)
{
	for (u32 i = 0; i < map->count; i++)
		if (str_equal(map->map[i].key, key))
			return &map->map[i].value;
	return NULL;
}

/* One step into a value: NULL with 0 if the key is not there. */
static int step_into(struct ottl_run *run, const struct any *in, const struct value *key, const struct any **ret_any)
{
	if (in->kind == ANY_MAP && value_type(key) == TYPE_STRING) {
		*ret_any = map_find(in, key->any.string);
		return 0;
	}
	if (in->kind == ANY_ARRAY && value_type(key) == TYPE_INT) {
		if (key->any.integer < 0 || key->any.integer >= in->count)
			return run_fail(run, -ERANGE, "index %lld is outside of the list of %u",
					(long long)key->any.integer, in->count);
		*ret_any = &in->array[key->any.integer];
		return 0;
	}
	return run_fail(run, -EINVAL, "%s has no key that is %s", value_type_name(&(struct value){ .any = *in }),
			value_type_name(key));
}

static int walk(struct ottl_run *run, const struct any *in, const struct expr_list *keys, u32 from,
		struct value *ret_value)
{
	for (u32 i = from; i < keys->count; i++) {
		struct value key;
		int r = expr_eval(keys->at[i], run, &key);

		if (r >= 0)
			r = step_into(run, in, &key, &in);
		if (r < 0)
			return r;
		if (!in) {
			*ret_value = (struct value){ 0 };
			return 0;
		}
	}
	*ret_value = (struct value){ .any = *in };
	return 0;
}

static int eval_index(const struct expr *expr, struct ottl_run *run, struct value *ret_value)
{
	struct value of;
	int r = expr_eval(expr->index.of, run, &of);

	return r < 0 ? r : walk(run, &of.any, &expr->index.keys, 0, ret_value);
}

/* ---- Paths: reading ----------------------------------------------------------------------------- */

static int key_string(struct ottl_run *run, const struct expr *expr, struct str *ret_key)
{
	struct value key;
	int r = expr_eval(expr, run, &key);

	if (r < 0)
		return r;
	if (value_type(&key) != TYPE_STRING)
		return run_fail(run, -EINVAL, "a key of attributes is a string, not %s", value_type_name(&key));
	*ret_key = key.any.string;
	return 0;
}

static int attrs_as_map(struct ottl_run *run, const struct attrs *attrs, struct value *ret_value)
{
	u32 count = attrs_count(attrs);
	struct keyvalue *map;

	*ret_value = (struct value){ .any = { .kind = ANY_MAP, .count = count } };
	if (!attrs->indices) {
		ret_value->any.map = *attrs->at;
		return 0;
	}
	map = run_alloc(run, count * sizeof(*map));
	if (!map)
		return run_err(run);
	for (u32 i = 0; i < count; i++)
		map[i] = attrs_get(attrs, i);
	ret_value->any.map = map;
	return 0;
}

static int attrs_value_at(struct ottl_run *run, const struct path *path, struct value *ret_value)
{
	struct attrs attrs = path->ops->attrs(run);
	const struct any *found;
	struct str key;
	int r;

	if (!path->keys.count)
		return attrs_as_map(run, &attrs, ret_value);
	r = key_string(run, path->keys.at[0], &key);
	if (r < 0)
		return r;
	found = attrs_find(&attrs, key);
	if (!found) {
		*ret_value = (struct value){ 0 };
		return 0;
	}
	return walk(run, found, &path->keys, 1, ret_value);
}

int path_get(const struct path *path, struct ottl_run *run, struct value *ret_value)
{
	struct value value;
	int r;

	if (path->ops->attrs)
		return attrs_value_at(run, path, ret_value);
	if (!path->keys.count)
		return path->ops->get(run, ret_value);
	r = path->ops->get(run, &value);
	return r < 0 ? r : walk(run, &value.any, &path->keys, 0, ret_value);
}

/* ---- Paths: writing ------------------------------------------------------------------------------ */

static int put_in_map(struct ottl_run *run, const struct any *in, const struct expr_list *keys, u32 at,
		      const struct any *value, struct any *ret_any);

/* A copy of the list with one member replaced, or changed inside. */
static int put_in_list(struct ottl_run *run, const struct any *in, const struct expr_list *keys, u32 at, s64 index,
		       const struct any *value, struct any *ret_any)
{
	struct any *array;
	int r;

	if (index < 0 || index >= in->count)
		return run_fail(run, -ERANGE, "index %lld is outside of the list of %u", (long long)index, in->count);
	array = run_alloc(run, in->count * sizeof(*array));
	if (!array)
		return run_err(run);
	memcpy(array, in->array, in->count * sizeof(*array));
	r = put_in_map(run, &in->array[index], keys, at + 1, value, &array[index]);
	if (r < 0)
		return r;
	*ret_any = (struct any){ ANY_ARRAY, in->count, .array = array };
	return 0;
}

/* A copy of a value with what the keys lead to replaced; maps are made on the way where there is nothing. */
static int put_in_map(struct ottl_run *run, const struct any *in, const struct expr_list *keys, u32 at,
		      const struct any *value, struct any *ret_any)
{
	const struct any nothing = { 0 };
	struct value key;
	struct keyvalue *map;
	u32 i = 0, old;
	int r;

	if (at == keys->count) {
		*ret_any = *value;
		return 0;
	}
	r = expr_eval(keys->at[at], run, &key);
	if (r < 0)
		return r;
	if (in->kind == ANY_ARRAY && value_type(&key) == TYPE_INT)
		return put_in_list(run, in, keys, at, key.any.integer, value, ret_any);
	if ((in->kind != ANY_MAP && in->kind != ANY_NONE) || value_type(&key) != TYPE_STRING)
		return run_fail(run, -EINVAL, "%s has no key that is %s",
				value_type_name(&(struct value){ .any = *in }),
				value_type_name(&key));
	old = in->kind == ANY_MAP ? in->count : 0;
	map = run_alloc(run, (old + 1) * sizeof(*map));
	if (!map)
		return run_err(run);
	if (old)
		memcpy(map, in->map, old * sizeof(*map));
	while (i < old && !str_equal(map[i].key, key.any.string))
		i++;
	map[i].key = key.any.string;
	r = put_in_map(run, i < old ? &in->map[i].value : &nothing, keys, at + 1, value, &map[i].value);
	if (r < 0)
		return r;
	*ret_any = (struct any){ ANY_MAP, i < old ? old : old + 1, .map = map };
	return 0;
}

static int attrs_put(struct ottl_run *run, const struct path *path, const struct any *value)
{
	struct attrs attrs = path->ops->attrs(run);
	const struct any nothing = { 0 }, *old;
	struct any changed;
	struct str key;
	int r;

	if (!path->keys.count) {
		attrs_replace(&attrs, value->map, value->kind == ANY_MAP ? value->count : 0);
		return profile_err(run->at.profile);
	}
	r = key_string(run, path->keys.at[0], &key);
	if (r < 0)
		return r;
	old = attrs_find(&attrs, key);
	r = put_in_map(run, old ? old : &nothing, &path->keys, 1, value, &changed);
	if (r < 0)
		return r;
	attrs_set(&attrs, key, &changed);
	return profile_err(run->at.profile);
}

static int check_written(const struct path *path, struct ottl_run *run, const struct value *value)
{
	u32 takes = path->keys.count ? TYPE_ANY : path->ops->takes;

	if (!(value_type(value) & takes))
		return run_fail(run, -EINVAL, "%s cannot be set to %s", path->ops->name, value_type_name(value));
	if (any_is_deeper(&value->any, ANY_DEPTH_MAX - 1 - path->keys.count))
		return run_fail(run, -E2BIG, "the value is nested too deeply");
	if (!run->profile_bytes_max)
		run->profile_bytes_max = profile_bytes(run->at.profile) + OTTL_GROWTH_BYTES;
	if (profile_bytes(run->at.profile) > run->profile_bytes_max)
		return run_fail(run, -E2BIG, "statements have added more than %zu bytes to the profile",
				(size_t)OTTL_GROWTH_BYTES);
	return 0;
}

int path_set(const struct path *path, struct ottl_run *run, const struct value *value)
{
	struct value old, changed = *value;
	int r = check_written(path, run, value);

	if (r < 0)
		return r;
	if (path->ops->attrs)
		return attrs_put(run, path, &value->any);
	if (path->keys.count) {
		r = path->ops->get(run, &old);
		if (r >= 0)
			r = put_in_map(run, &old.any, &path->keys, 0, &value->any, &changed.any);
		if (r < 0)
			return r;
	}
	return path->ops->set(run, &changed);
}

/* ---- Calls ----------------------------------------------------------------------------------------- */

/* Other types are checked by the function, or cannot be wrong. */
static int check_type(struct ottl_run *run, const struct call *call, u32 i, struct value *value)
{
	const struct parameter *parameter = &call->ops->parameters[i];
	u32 types = parameter->types;

	if (types == TYPE_MAP && value_type(value) == TYPE_NIL)
		value->any.kind = ANY_MAP;
	if (value_type(value) & types || !(types == TYPE_STRING || types == TYPE_INT || types == TYPE_LIST ||
					   types == TYPE_MAP))
		return 0;
	return run_fail(run, -EINVAL, "%s of %s() is %s%s", parameter->name, call->ops->name, value_type_name(value),
			types == TYPE_LIST ? ", not a list" : types == TYPE_MAP ? ", not a map" : "");
}

static int eval_call(const struct call *call, struct ottl_run *run, struct value *ret_value)
{
	struct value in[FUNCTION_PARAMETERS_MAX] = { 0 };
	int r = 0;

	for (u32 i = 0; r >= 0 && i < FUNCTION_PARAMETERS_MAX; i++) {
		if (!call->arguments[i] || call->ops->parameters[i].kind == PARAMETER_TARGET)
			continue;
		r = expr_eval(call->arguments[i], run, &in[i]);
		if (r >= 0)
			r = check_type(run, call, i, &in[i]);
	}
	*ret_value = (struct value){ 0 };
	return r < 0 ? r : call->ops->run(run, call, in, ret_value);
}

const struct path *argument_path(const struct call *call, u32 i)
{
	return &call->arguments[i]->path;
}

const struct any *argument_literal(const struct call *call, u32 i)
{
	return call->arguments[i] ? &call->arguments[i]->constant.any : NULL;
}

int function_apply(struct ottl_run *run, const struct function_ops *ops, struct str in, struct str *ret_out)
{
	const struct value given[FUNCTION_PARAMETERS_MAX] = { value_string(in) };
	struct value out = { 0 };
	int r = ops->run(run, &(struct call){ .ops = ops }, given, &out);

	if (r < 0)
		return r;
	if (value_type(&out) != TYPE_STRING)
		return run_fail(run, -EINVAL, "%s() gave %s, not a string", ops->name, value_type_name(&out));
	*ret_out = out.any.string;
	return 0;
}

/* ---- Expressions ------------------------------------------------------------------------------------- */

static int eval_compare(const struct expr *expr, struct ottl_run *run)
{
	struct value a, b;
	int r = expr_eval(expr->pair.left, run, &a);

	if (r >= 0)
		r = expr_eval(expr->pair.right, run, &b);
	return r < 0 ? r : value_compare(&a, &b, expr->pair.op);
}

int expr_holds(const struct expr *expr, struct ottl_run *run)
{
	struct value value;
	int r;

	switch (expr->kind) {
	case EXPR_COMPARE:
		return eval_compare(expr, run);
	case EXPR_AND:
		r = expr_holds(expr->pair.left, run);
		return r <= 0 ? r : expr_holds(expr->pair.right, run);
	case EXPR_OR:
		r = expr_holds(expr->pair.left, run);
		return r ? r : expr_holds(expr->pair.right, run);
	case EXPR_NOT:
		r = expr_holds(expr->pair.left, run);
		return r < 0 ? r : !r;
	default:
		break;
	}
	r = expr_eval(expr, run, &value);
	if (r < 0)
		return r;
	if (value_type(&value) != TYPE_BOOL)
		return run_fail(run, -EINVAL, "a condition gave %s, not a bool", value_type_name(&value));
	return value.any.boolean;
}

int expr_eval(const struct expr *expr, struct ottl_run *run, struct value *ret_value)
{
	int r;

	switch (expr->kind) {
	case EXPR_CONSTANT:
		*ret_value = expr->constant;
		return 0;
	case EXPR_PATH:
		return path_get(&expr->path, run, ret_value);
	case EXPR_CALL:
		return eval_call(&expr->call, run, ret_value);
	case EXPR_INDEX:
		return eval_index(expr, run, ret_value);
	case EXPR_LIST:
		return eval_list(expr, run, ret_value);
	case EXPR_MAP:
		return eval_map(expr, run, ret_value);
	case EXPR_NEGATE:
		return eval_negate(expr, run, ret_value);
	case EXPR_MATH:
		return eval_math(expr, run, ret_value);
	case EXPR_COMPARE:
	case EXPR_AND:
	case EXPR_OR:
	case EXPR_NOT:
		r = expr_holds(expr, run);
		if (r >= 0)
			*ret_value = value_bool(r);
		return r < 0 ? r : 0;
	}
	return -EINVAL;
}
