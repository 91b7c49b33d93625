// SPDX-License-Identifier: Apache-2.0
#include "store/keep_labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "store/label_rules.h"

#define NUMBER_BYTES 32		/* as a text */

enum { UNKNOWN, IS_LABEL, IS_TOO_LONG, IS_NONE };

int keep_labels_init(struct keep_labels *labels, const struct profile *profile, const struct label_rules *rules,
		     struct label_sets *sets)
{
	*labels = (struct keep_labels){ .profile = profile, .rules = rules, .sets = sets };
	label_quota_init(&labels->quota, 0);
	labels->kinds = array_calloc((size_t)profile->attributes.count + 1, sizeof(*labels->kinds));
	return labels->kinds ? 0 : -ENOMEM;
}

void keep_labels_done(struct keep_labels *labels)
{
	label_quota_done(&labels->quota);
	free(labels->kinds);
}

void keep_labels_begin(struct keep_labels *labels)
{
	u32 part = LABEL_SETS_MAX / (labels->expected ? labels->expected : 1);

	labels->quota.share = labels->rules->max_sets < part ? labels->rules->max_sets : part;
	labels->process++;
	labels->key_count = 0;
}

/* A number with a unit is a measurement of the sample. */
static u8 kind_of(const struct keep_labels *labels, const struct profile_attribute *attribute)
{
	struct str key = labels->profile->strings.at[attribute->key];
	const struct any *value = &attribute->value;
	bool is_text = (value->kind == ANY_STRING && value->string.len) || value->kind == ANY_BOOL;

	if (!is_text && (attribute->unit || (value->kind != ANY_INT && value->kind != ANY_DOUBLE)))
		return IS_NONE;
	if (label_name(key).len > LABEL_KEY_BYTES_MAX)
		return is_text ? IS_TOO_LONG : IS_NONE;
	return label_rules_keep(labels->rules, key, is_text) ? IS_LABEL : IS_NONE;
}

static u8 cached_kind(struct keep_labels *labels, u32 attribute)
{
	u8 *kind = &labels->kinds[attribute];

	if (*kind == UNKNOWN)
		*kind = kind_of(labels, &labels->profile->attributes.at[attribute]);
	return *kind;
}

static bool has_labels(struct keep_labels *labels, const struct profile_set *set)
{
	for (u32 i = 0; i < set->sample_count; i++)
		for (u32 n = 0; n < set->samples[i].attributes.count; n++)
			if (cached_kind(labels, set->samples[i].attributes.at[n]) == IS_LABEL)
				return true;
	return false;
}

void keep_labels_expect(struct keep_labels *labels, const struct profile_resource *process)
{
	bool has = false;

	for (u32 s = 0; s < process->scope_count; s++)
		for (u32 i = 0; i < process->scopes[s].set_count && !has; i++)
			has = has_labels(labels, &process->scopes[s].sets[i]);
	labels->expected += has;
}

static bool has_key(struct keep_labels *labels, u32 key)
{
	u32 i = 0;

	while (i < labels->key_count && labels->keys[i] != key)
		i++;
	if (i == KEEP_KEYS_MAX)
		return false;
	labels->keys[i] = key;
	labels->key_count += i == labels->key_count;
	return true;
}

static struct str text_of(const struct any *value, char scratch[NUMBER_BYTES])
{
	if (value->kind == ANY_BOOL)
		return value->boolean ? STR("true") : STR("false");
	if (value->kind == ANY_INT)
		return (struct str){ scratch, (u32)snprintf(scratch, NUMBER_BYTES, "%lld", value->integer) };
	if (value->kind == ANY_DOUBLE)
		return (struct str){ scratch, (u32)snprintf(scratch, NUMBER_BYTES, "%g", value->real) };
	return value->string.len > LABEL_VALUE_BYTES_MAX ? STR(LABEL_OTHER) : value->string;
}

static bool is_there(const struct label *at, u32 count, struct str key)
{
	for (u32 i = 0; i < count; i++)
		if (str_equal(at[i].key, key))
			return true;
	return false;
}

int keep_labels_of(struct keep_labels *labels, struct indices attributes, u32 *ret_set)
{
	struct label at[LABELS_MAX];
	char scratch[LABELS_MAX][NUMBER_BYTES];
	u64 past_limit = labels->quota.past_limit;
	bool all = true;
	u32 count = 0;
	int r = 0;

	*ret_set = 0;
	for (u32 i = 0; i < attributes.count; i++) {
		const struct profile_attribute *a = &labels->profile->attributes.at[attributes.at[i]];
		struct str key = labels->profile->strings.at[a->key];
		u8 kind = cached_kind(labels, attributes.at[i]);

		if (kind == IS_NONE || is_there(at, count, key))
			continue;
		if (kind == IS_TOO_LONG || count == LABELS_MAX || !has_key(labels, a->key)) {
			all = false;
			continue;
		}
		at[count] = (struct label){ key, text_of(&a->value, scratch[count]) };
		all &= a->value.kind != ANY_STRING || a->value.string.len <= LABEL_VALUE_BYTES_MAX;
		count++;
	}
	if (count)
		r = label_quota_add(&labels->quota, labels->process, at, count, labels->sets, ret_set);
	labels->lost += !all || labels->quota.past_limit > past_limit;
	return r;
}
