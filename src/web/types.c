// SPDX-License-Identifier: Apache-2.0
#include "web/types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "kinds/choice.h"

void types_done(struct types *types)
{
	for (u32 i = 0; i < types->count; i++) {
		free(types->at[i].name);
		free(types->at[i].unit);
	}
	types->count = 0;
}

static bool is_of_type(enum store_label label)
{
	return label == STORE_TYPE || label == STORE_UNIT || label == STORE_PERIOD || label == STORE_WAIT;
}

/* The selection as if it asked for one type, or NULL: for any. */
static struct store_selection with_type(const struct store_selection *selection, const char *type)
{
	struct store_selection other = { .from_ns = selection->from_ns, .to_ns = selection->to_ns,
					 .keys = selection->keys };

	for (u32 i = 0; i < selection->filter_count; i++)
		if (!is_of_type(selection->filters[i].label))
			other.filters[other.filter_count++] = selection->filters[i];
	if (type && other.filter_count < STORE_FILTERS_MAX)
		other.filters[other.filter_count++] = (struct store_filter){ STORE_TYPE, STORE_EQUAL, type };
	return other;
}

/* The value of a label that most of a type has; "" if it has none. */
static int main_value(struct store *store, const struct store_selection *selection, const char *type,
		      enum store_label label, char **ret_text)
{
	struct store_selection one = with_type(selection, type);
	struct store_values values;
	int r = store_values(store, &one, label, 1, &values);

	if (r < 0)
		return r;
	*ret_text = strdup(values.count ? values.at[0].text : "");
	store_values_done(&values);
	return *ret_text ? 0 : -ENOMEM;
}

static u32 rank_of(const char *name)
{
	const struct kind *kind = kind_of(str_of(name), STR(""));

	return kind ? kind_number(kind) : KIND_MAX;
}

static int find_type(struct store *store, const struct store_selection *selection, const char *name, struct type *type)
{
	_cleanup_(freep) char *period = NULL;
	int r;

	*type = (struct type){ .name = strdup(name), .rank = rank_of(name) };
	r = type->name ? main_value(store, selection, name, STORE_UNIT, &type->unit) : -ENOMEM;
	if (r < 0)
		return r;
	type->sum = unit_scale(str_of(type->unit)).unit;
	if (type->sum != UNIT_COUNT)
		return 0;
	/* A period is kept where it is a time. */
	r = main_value(store, selection, name, STORE_PERIOD, &period);
	if (r == 0 && *period && strcmp(period, "0"))
		type->sum = UNIT_NANOSECONDS;
	return r;
}

int types_find(struct store *store, const struct store_selection *selection, struct types *ret_types)
{
	struct store_selection any = with_type(selection, NULL);
	struct types types = { 0 };
	struct store_values values;
	int r = store_values(store, &any, STORE_TYPE, TYPES_MAX, &values);

	if (r < 0)
		return r;
	while (types.count < values.count && r == 0) {
		r = find_type(store, selection, values.at[types.count].text, &types.at[types.count]);
		types.count++;
	}
	store_values_done(&values);
	if (r < 0) {
		types_done(&types);
		return r;
	}
	/* Few, and those of a rank stay in their order. */
	for (u32 i = 1; i < types.count; i++)
		for (u32 k = i; k && types.at[k - 1].rank > types.at[k].rank; k--) {
			struct type swapped = types.at[k];

			types.at[k] = types.at[k - 1];
			types.at[k - 1] = swapped;
		}
	*ret_types = types;
	return 0;
}

const char *types_chosen(const struct store_selection *selection)
{
	for (u32 i = 0; i < selection->filter_count; i++)
		if (selection->filters[i].label == STORE_TYPE && selection->filters[i].match == STORE_EQUAL)
			return selection->filters[i].value;
	return NULL;
}

static bool asks_for_type(const struct store_selection *selection)
{
	bool asks = selection->filter_count == STORE_FILTERS_MAX;

	for (u32 i = 0; i < selection->filter_count; i++)
		asks |= selection->filters[i].label == STORE_TYPE;
	return asks;
}

int types_choose(struct store *store, struct store_selection *selection, char name[TYPE_BYTES])
{
	struct store_values values;
	u32 first = 0;
	int r = asks_for_type(selection) ? 0 : store_values(store, selection, STORE_TYPE, TYPES_MAX, &values);

	if (r < 0 || asks_for_type(selection))
		return r;
	for (u32 i = 1; i < values.count; i++)
		if (rank_of(values.at[i].text) < rank_of(values.at[first].text))
			first = i;
	if (values.count && strlen(values.at[first].text) < TYPE_BYTES) {
		memcpy(name, values.at[first].text, strlen(values.at[first].text) + 1);
		selection->filters[selection->filter_count++] = (struct store_filter){ STORE_TYPE, STORE_EQUAL, name };
	}
	store_values_done(&values);
	return 0;
}

/* "CPU time", and of its second type, which says the same in another way, "CPU time (cpu)". */
static void put_title(struct json_write *j, const struct type *type)
{
	const struct kind *kind = kind_of(str_of(type->name), STR(""));
	char text[128];

	json_write_key(j, "title");
	if (!kind || !kind->title)
		json_write_text(j, *type->name ? type->name : "(unnamed)");
	else if (!strcmp(type->name, kind->sample.type) || !kind->period.type ||
		 strcmp(type->name, kind->period.type))
		json_write_text(j, kind->title);
	else {
		(void)snprintf(text, sizeof(text), "%s (%s)", kind->title, kind->period.type);
		json_write_text(j, text);
	}
}

static void put_text(struct json_write *j, const char *key, const char *text)
{
	json_write_key(j, key);
	json_write_text(j, text);
}

static void put_kind(struct json_write *j, const struct type *type)
{
	const struct kind *kind = kind_of(str_of(type->name), STR(""));

	put_text(j, "kind", kind && kind->name ? kind->name : "");
}

int types_json(const struct types *types, struct buf *out)
{
	struct json_write j = { .b = out };

	json_write_open(&j, '[');
	for (u32 i = 0; i < types->count; i++) {
		json_write_open(&j, '{');
		put_text(&j, "type", types->at[i].name);
		put_text(&j, "unit", types->at[i].unit);
		put_text(&j, "sum", unit_text(types->at[i].sum));
		put_kind(&j, &types->at[i]);
		put_title(&j, &types->at[i]);
		json_write_close(&j, '}');
	}
	json_write_close(&j, ']');
	return buf_err(out);
}
