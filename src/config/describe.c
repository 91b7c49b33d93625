// SPDX-License-Identifier: Apache-2.0
#include "config/describe.h"

#include <stdio.h>
#include <string.h>

#define TABLES_MAX 32

/* A table that several sections share is put into words once. */
struct table {
	const struct config_field *fields;
	char path[DESCRIBE_TEXT_MAX];
};

struct walk {
	describe_fn *each;
	void *arg;
	struct table tables[TABLES_MAX];
	u32 table_count;
};

static bool has_range(const struct config_field *f)
{
	return f->min != 0 || f->max != 0;
}

static void add_range(const struct config_field *f, char text[DESCRIBE_TEXT_MAX])
{
	char low[DURATION_TEXT_MAX], high[DURATION_TEXT_MAX];
	bool has_max = f->max < CONFIG_MAX_NONE;
	size_t len = strlen(text);

	if (!has_range(f))
		return;
	if (f->type == CONFIG_DURATION) {
		config_print_duration((s64)f->min, low);
		config_print_duration(has_max ? (s64)f->max : 0, high);
	} else {
		snprintf(low, sizeof(low), "%.15g", f->min);
		snprintf(high, sizeof(high), "%.15g", f->max);
	}
	if (has_max)
		snprintf(text + len, DESCRIBE_TEXT_MAX - len, ", %s to %s", low, high);
	else
		snprintf(text + len, DESCRIBE_TEXT_MAX - len, ", at least %s", low);
}

static void type_text(const struct config_field *f, char text[DESCRIBE_TEXT_MAX])
{
	static const char *const names[] = {
		[CONFIG_BOOL] = "true or false",	[CONFIG_INTEGER] = "whole number",
		[CONFIG_REAL] = "number",		[CONFIG_DURATION] = "duration",
		[CONFIG_TEXT] = "string",		[CONFIG_SECRET] = "string, secret",
		[CONFIG_CHOICE] = "",			[CONFIG_TEXTS] = "list of strings",
		[CONFIG_PAIRS] = "map of strings",	[CONFIG_SECTION] = "map",
		[CONFIG_SECTIONS] = "list of maps",	[CONFIG_NODE] = "any value",
		[CONFIG_REFUSED] = "not supported",	[CONFIG_NEEDLESS] = "no effect",
	};

	snprintf(text, DESCRIBE_TEXT_MAX, "%s", f->type == CONFIG_TEXTS && f->commas ? "strings with commas" :
		 names[f->type]);
	for (int i = 0; f->type == CONFIG_CHOICE && f->choices[i]; i++) {
		size_t len = strlen(text);

		snprintf(text + len, DESCRIBE_TEXT_MAX - len, "%s%s", i ? ", " : "",
			 *f->choices[i] ? f->choices[i] : "\"\"");
	}
	add_range(f, text);
}

static void join(const char *const *at, u32 count, char text[DESCRIBE_TEXT_MAX])
{
	snprintf(text, DESCRIBE_TEXT_MAX, "[");
	for (u32 i = 0; i < count; i++) {
		size_t len = strlen(text);

		snprintf(text + len, DESCRIBE_TEXT_MAX - len, "%s%s", i ? ", " : "", *at[i] ? at[i] : "\"\"");
	}
	strncat(text, "]", DESCRIBE_TEXT_MAX - strlen(text) - 1);
}

static bool has_text(const struct config_field *f, const void *value)
{
	const char *const *text = value;

	return (f->type == CONFIG_TEXT || f->type == CONFIG_SECRET) && text && *text && **text;
}

static void standard_text(const struct config_field *f, const char *defaults, char text[DESCRIBE_TEXT_MAX])
{
	const void *value = defaults ? defaults + f->offset : NULL;
	char duration[DURATION_TEXT_MAX];

	text[0] = '\0';
	if (f->required && !has_text(f, value)) {
		snprintf(text, DESCRIBE_TEXT_MAX, "required");
		return;
	}
	if (!value)
		return;
	switch (f->type) {
	case CONFIG_BOOL:
		snprintf(text, DESCRIBE_TEXT_MAX, "%s", *(const bool *)value ? "true" : "false");
		break;
	case CONFIG_INTEGER:
		snprintf(text, DESCRIBE_TEXT_MAX, "%lld", (long long)*(const s64 *)value);
		break;
	case CONFIG_REAL:
		snprintf(text, DESCRIBE_TEXT_MAX, "%.15g", *(const double *)value);
		break;
	case CONFIG_DURATION:
		snprintf(text, DESCRIBE_TEXT_MAX, "%s", config_print_duration(*(const s64 *)value, duration));
		break;
	case CONFIG_TEXT:
		snprintf(text, DESCRIBE_TEXT_MAX, "%s", *(const char *const *)value ? *(const char *const *)value : "");
		break;
	case CONFIG_CHOICE:
		snprintf(text, DESCRIBE_TEXT_MAX, "%s", f->choices[*(const int *)value]);
		break;
	case CONFIG_TEXTS:
		join(((const struct config_texts *)value)->at, ((const struct config_texts *)value)->count, text);
		break;
	default:
		break;
	}
}

/* Where the section's options are told already, or NULL; then it is remembered. */
static const char *told_before(struct walk *walk, const struct config_field *f, const char *path)
{
	struct table *table;

	for (u32 i = 0; i < walk->table_count; i++) {
		if (walk->tables[i].fields == f->fields)
			return walk->tables[i].path;
	}
	if (walk->table_count == TABLES_MAX)
		return NULL;
	table = &walk->tables[walk->table_count++];
	table->fields = f->fields;
	snprintf(table->path, sizeof(table->path), "%s", path);
	return NULL;
}

static void describe(struct walk *walk, const struct config_field *fields, const char *defaults,
		     const char *prefix)
{
	for (const struct config_field *f = fields; f->name; f++) {
		char path[DESCRIBE_TEXT_MAX], below[DESCRIBE_TEXT_MAX], type[DESCRIBE_TEXT_MAX];
		char standard[DESCRIBE_TEXT_MAX];
		const char *before = NULL;

		snprintf(path, sizeof(path), "%.200s%.50s", prefix, f->name);
		type_text(f, type);
		standard_text(f, defaults, standard);
		if (f->fields)
			before = told_before(walk, f, path);
		if (before)
			snprintf(type, sizeof(type), "%s, as %.200s",
				 f->type == CONFIG_SECTION ? "map" : "list of maps", before);
		walk->each(walk->arg, &(struct field_description){ path, type, standard, f });
		snprintf(below, sizeof(below), "%.250s%s", path, f->type == CONFIG_SECTIONS ? "[]::" : "::");
		if (before)
			continue;
		if (f->type == CONFIG_SECTION)
			describe(walk, f->fields, defaults ? defaults + f->offset : NULL, below);
		else if (f->type == CONFIG_SECTIONS)
			describe(walk, f->fields, f->element_defaults, below);
	}
}

void config_describe(const struct config_field *fields, const void *defaults, describe_fn *each, void *arg)
{
	struct walk walk = { .each = each, .arg = arg };

	describe(&walk, fields, defaults, "");
}
