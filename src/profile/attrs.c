// SPDX-License-Identifier: Apache-2.0
#include "profile/attrs.h"

#include <stdint.h>

#include "profile/any.h"

struct attrs attrs_of_resource(struct profile *profile, struct profile_resource *resource)
{
	return (struct attrs){ profile, &resource->attributes, &resource->attribute_count, NULL };
}

struct attrs attrs_of_scope(struct profile *profile, struct profile_scope *scope)
{
	return (struct attrs){ profile, &scope->attributes, &scope->attribute_count, NULL };
}

struct attrs attrs_of_set(struct profile *profile, struct profile_set *set)
{
	return (struct attrs){ profile, NULL, NULL, &set->attributes };
}

struct attrs attrs_of_sample(struct profile *profile, struct profile_sample *sample)
{
	return (struct attrs){ profile, NULL, NULL, &sample->attributes };
}

/* ---- Reading ------------------------------------------------------------------ */

u32 attrs_count(const struct attrs *attrs)
{
	return attrs->indices ? attrs->indices->count : *attrs->count;
}

static const struct profile_attribute *attrs_row(const struct attrs *attrs, u32 i)
{
	return &attrs->profile->attributes.at[attrs->indices->at[i]];
}

static struct str attrs_key(const struct attrs *attrs, u32 i)
{
	return attrs->indices ? attrs->profile->strings.at[attrs_row(attrs, i)->key] : (*attrs->at)[i].key;
}

static const struct any *attrs_value(const struct attrs *attrs, u32 i)
{
	return attrs->indices ? &attrs_row(attrs, i)->value : &(*attrs->at)[i].value;
}

struct keyvalue attrs_get(const struct attrs *attrs, u32 i)
{
	return (struct keyvalue){ attrs_key(attrs, i), *attrs_value(attrs, i) };
}

static u32 attrs_index(const struct attrs *attrs, struct str key)
{
	u32 count = attrs_count(attrs);

	for (u32 i = 0; i < count; i++)
		if (str_equal(attrs_key(attrs, i), key))
			return i;
	return count;
}

const struct any *attrs_find(const struct attrs *attrs, struct str key)
{
	u32 i = attrs_index(attrs, key);

	return i < attrs_count(attrs) ? attrs_value(attrs, i) : NULL;
}

/* ---- Changing: a new list takes the place of the old one ------------------------ */

static u32 attrs_add_row(const struct attrs *attrs, struct str key, const struct any *value)
{
	struct profile_attribute row = { .value = *value };

	row.key = profile_add_string(attrs->profile, key.at, key.len);
	return profile_add_attribute(attrs->profile, &row);
}

static void attrs_set_index(struct attrs *attrs, u32 at, struct str key, const struct any *value)
{
	u32 old_count = attrs->indices->count, count = at < old_count ? old_count : old_count + 1;
	u32 row = attrs_add_row(attrs, key, value);
	u32 *list = profile_alloc(attrs->profile, count * sizeof(*list));

	if (!list || !row)
		return;
	for (u32 i = 0; i < old_count; i++)
		list[i] = attrs->indices->at[i];
	list[at] = row;
	*attrs->indices = (struct indices){ list, count };
}

static void attrs_set_keyvalue(struct attrs *attrs, u32 at, struct str key, const struct any *value)
{
	u32 old_count = *attrs->count, count = at < old_count ? old_count : old_count + 1;
	struct any copy = profile_copy_any(attrs->profile, value);
	struct str name = at < old_count ? (*attrs->at)[at].key : profile_copy_str(attrs->profile, key.at, key.len);
	struct keyvalue *list = profile_alloc(attrs->profile, count * sizeof(*list));

	if (!list || profile_err(attrs->profile))
		return;
	for (u32 i = 0; i < old_count; i++)
		list[i] = (*attrs->at)[i];
	list[at] = (struct keyvalue){ name, copy };
	*attrs->at = list;
	*attrs->count = count;
}

struct same_key {
	struct str key;
	bool seen;
};

/* All but the first. */
static bool is_repeated(void *arg, struct str key, const struct any *value)
{
	struct same_key *same = arg;
	bool repeated = same->seen && str_equal(key, same->key);

	same->seen = same->seen || str_equal(key, same->key);
	return repeated;
}

void attrs_set(struct attrs *attrs, struct str key, const struct any *value_in)
{
	struct any copy = *value_in, *value = &copy;	/* it may be in a table that moves when it grows */
	u32 at = attrs_index(attrs, key);

	if (at < attrs_count(attrs)) {
		if (any_equal(attrs_value(attrs, at), value))
			return;
		attrs_remove_if(attrs, is_repeated, &(struct same_key){ key, false });
	}
	if (attrs->indices)
		attrs_set_index(attrs, at, key, value);
	else
		attrs_set_keyvalue(attrs, at, key, value);
}

static u32 attrs_remove_indices(struct attrs *attrs, bool (*pick)(void *, struct str, const struct any *), void *arg)
{
	u32 count = attrs->indices->count, kept = 0, first = 0;
	u32 *list;

	while (first < count && !pick(arg, attrs_key(attrs, first), attrs_value(attrs, first)))
		first++;
	if (first == count)
		return 0;
	list = profile_alloc(attrs->profile, count * sizeof(*list));
	if (!list)
		return 0;
	for (u32 i = 0; i < count; i++)
		if (i < first || (i > first && !pick(arg, attrs_key(attrs, i), attrs_value(attrs, i))))
			list[kept++] = attrs->indices->at[i];
	*attrs->indices = (struct indices){ list, kept };
	return count - kept;
}

static u32 attrs_remove_keyvalues(struct attrs *attrs, bool (*pick)(void *, struct str, const struct any *), void *arg)
{
	u32 count = *attrs->count, kept = 0, first = 0;
	struct keyvalue *list;

	while (first < count && !pick(arg, attrs_key(attrs, first), attrs_value(attrs, first)))
		first++;
	if (first == count)
		return 0;
	list = profile_alloc(attrs->profile, count * sizeof(*list));
	if (!list)
		return 0;
	for (u32 i = 0; i < count; i++)
		if (i < first || (i > first && !pick(arg, attrs_key(attrs, i), attrs_value(attrs, i))))
			list[kept++] = (*attrs->at)[i];
	*attrs->at = list;
	*attrs->count = kept;
	return count - kept;
}

u32 attrs_remove_if(struct attrs *attrs, bool (*pick)(void *arg, struct str key, const struct any *value), void *arg)
{
	return attrs->indices ? attrs_remove_indices(attrs, pick, arg) : attrs_remove_keyvalues(attrs, pick, arg);
}

static bool is_key(void *arg, struct str key, const struct any *value)
{
	return str_equal(key, *(struct str *)arg);
}

bool attrs_remove(struct attrs *attrs, struct str key)
{
	return attrs_remove_if(attrs, is_key, &key) > 0;
}

/* Longer lists lose their units: looking for each key in them would take too long. */
#define ATTRS_SEARCH_MAX 1024

static void attrs_replace_indices(struct attrs *attrs, const struct keyvalue *map, u32 count)
{
	u32 *list = profile_alloc(attrs->profile, count * sizeof(*list));

	if (!list)
		return;
	for (u32 i = 0; i < count; i++) {
		u32 old = attrs->indices->count <= ATTRS_SEARCH_MAX ? attrs_index(attrs, map[i].key) : UINT32_MAX;
		bool is_same = old < attrs->indices->count && any_equal(attrs_value(attrs, old), &map[i].value);

		list[i] = is_same ? attrs->indices->at[old] : attrs_add_row(attrs, map[i].key, &map[i].value);
	}
	if (!profile_err(attrs->profile))
		*attrs->indices = (struct indices){ list, count };
}

void attrs_replace(struct attrs *attrs, const struct keyvalue *map, u32 count)
{
	const struct keyvalue *copy;

	if (attrs->indices) {
		if (count)
			attrs_replace_indices(attrs, map, count);
		else
			*attrs->indices = (struct indices){ 0 };
		return;
	}
	copy = profile_copy_keyvalues(attrs->profile, map, count);
	if (profile_err(attrs->profile))
		return;
	*attrs->at = copy;
	*attrs->count = count;
}
