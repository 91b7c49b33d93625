// SPDX-License-Identifier: Apache-2.0
#include "config/fields.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"

#define PATH_MAX_BYTES 512
#define SHOWN_MAX 60
#define LIST_MAX 300

/* Where in the tree we are; written out only when there is something to say. */
struct path {
	const struct path *up;
	const char *name;
};

struct decode {
	struct arena *arena;
	struct config_errors *errors;
	int err;			/* -ENOMEM sticks */
};

/* One key of the map that is being decoded. */
struct item {
	const struct config_field *field;
	const struct config_node *node;
	struct config_place place;	/* of the key */
	struct path path;
};

static const char *path_text(const struct path *path, char text[PATH_MAX_BYTES])
{
	size_t len;

	if (!path->up) {
		snprintf(text, PATH_MAX_BYTES, "%s", path->name);
		return text;
	}
	path_text(path->up, text);
	len = strlen(text);
	snprintf(text + len, PATH_MAX_BYTES - len, "%s%s", len ? "::" : "", path->name);
	return text;
}

#define refuse(d, at, path, ...)								\
	({ char path_[PATH_MAX_BYTES]; config_error((d)->errors, at, path_text(path, path_), __VA_ARGS__); })
#define warn(d, at, path, ...)									\
	({ char path_[PATH_MAX_BYTES]; config_warning((d)->errors, at, path_text(path, path_), __VA_ARGS__); })

static void *take(struct decode *d, size_t bytes)
{
	void *at = arena_zalloc(d->arena, bytes ? bytes : 1);

	if (!at)
		d->err = arena_err(d->arena);
	return at;
}

static bool is_scalar(const struct config_node *node)
{
	return node->kind != NODE_LIST && node->kind != NODE_MAP;
}

/* ---- What was found, in words -------------------------------------------------- */

static const char *found(const struct config_field *field, const struct config_node *node, char text[SHOWN_MAX + 32])
{
	const char *quote = node->kind == NODE_STRING ? "\"" : "";

	if (!is_scalar(node) || node->kind == NODE_NULL)
		snprintf(text, SHOWN_MAX + 32, "%s", node_kind_name(node->kind));
	else if (field->type == CONFIG_SECRET || field->secret)
		snprintf(text, SHOWN_MAX + 32, "%s", node_kind_name(node->kind));
	else
		snprintf(text, SHOWN_MAX + 32, "%s%.*s%s%s", quote, SHOWN_MAX, node->text, quote,
			 strlen(node->text) > SHOWN_MAX ? "..." : "");
	return text;
}

static void refuse_value(struct decode *d, const struct item *item, const struct config_node *node, const char *wanted)
{
	char text[SHOWN_MAX + 32];

	refuse(d, node->place, &item->path, "%s is not %s", found(item->field, node, text), wanted);
}

static bool has_range(const struct config_field *field)
{
	return field->min != 0 || field->max != 0;
}

static void refuse_range(struct decode *d, const struct item *item, bool is_small, const char *low, const char *high)
{
	char text[SHOWN_MAX + 32];
	const char *value = found(item->field, item->node, text);

	if (item->field->max < CONFIG_MAX_NONE)
		refuse(d, item->node->place, &item->path, "%s is out of range: from %s to %s", value, low, high);
	else if (!is_small)
		refuse(d, item->node->place, &item->path, "%s is too large", value);
	else
		refuse(d, item->node->place, &item->path, "%s is too small: at least %s", value, low);
}

/* ---- Scalars ---------------------------------------------------------------------- */

static void decode_bool(struct decode *d, const struct item *item, bool *value)
{
	if (item->node->kind == NODE_BOOL)
		*value = item->node->boolean;
	else if (item->node->kind == NODE_NULL)
		*value = false;
	else
		refuse_value(d, item, item->node, "true or false");
}

/* A number without a fraction is a whole number however it is written: 1e3. */
static bool whole_number(const struct config_node *node, s64 *ret_value)
{
	if (node->kind == NODE_INT)
		*ret_value = node->integer;
	else if (node->kind == NODE_NULL)
		*ret_value = 0;
	else if (node->kind == NODE_DOUBLE && node->real == trunc(node->real) && fabs(node->real) < 0x1p63)
		*ret_value = (s64)node->real;
	else
		return false;
	return true;
}

static void decode_integer(struct decode *d, const struct item *item, s64 *value)
{
	const struct config_field *field = item->field;
	char low[32], high[32];
	s64 n;

	if (!whole_number(item->node, &n)) {
		refuse_value(d, item, item->node, "a whole number");
		return;
	}
	/* long double holds every s64, double does not. */
	if (has_range(field) && ((long double)n < field->min || (long double)n > field->max)) {
		snprintf(low, sizeof(low), "%.0f", field->min);
		snprintf(high, sizeof(high), "%.0f", field->max);
		refuse_range(d, item, n < field->min, low, high);
		return;
	}
	*value = n;
}

static void decode_real(struct decode *d, const struct item *item, double *value)
{
	const struct config_field *field = item->field;
	const struct config_node *node = item->node;
	double n = node->kind == NODE_DOUBLE ? node->real : node->kind == NODE_INT ? (double)node->integer : 0;
	char low[32], high[32];

	if ((node->kind != NODE_DOUBLE && node->kind != NODE_INT && node->kind != NODE_NULL) || !isfinite(n)) {
		refuse_value(d, item, node, "a number");
		return;
	}
	if (has_range(field) && (n < field->min || n > field->max)) {
		snprintf(low, sizeof(low), "%.15g", field->min);
		snprintf(high, sizeof(high), "%.15g", field->max);
		refuse_range(d, item, n < field->min, low, high);
		return;
	}
	*value = n;
}

static const char *range_duration(double ns, char text[DURATION_TEXT_MAX])
{
	return config_print_duration(ns >= 0x1p63 ? INT64_MAX : ns < -0x1p63 ? INT64_MIN : (s64)ns, text);
}

static void decode_duration(struct decode *d, const struct item *item, s64 *value)
{
	const struct config_field *field = item->field;
	char low[DURATION_TEXT_MAX], high[DURATION_TEXT_MAX];
	s64 ns;

	if (item->node->kind == NODE_STRING) {
		if (config_parse_duration(item->node->text, &ns) < 0) {
			refuse_value(d, item, item->node, "a duration, as 1m30s or 200ms");
			return;
		}
	} else if (!whole_number(item->node, &ns)) {
		refuse_value(d, item, item->node, "a duration, as 1m30s or 200ms");
		return;
	}
	if (has_range(field) && ((long double)ns < field->min || (long double)ns > field->max)) {
		refuse_range(d, item, ns < field->min, range_duration(field->min, low),
			     range_duration(field->max, high));
		return;
	}
	*value = ns;
}

static void decode_text(struct decode *d, const struct item *item, const char **value)
{
	/* What a variable held is taken as it was, even if it reads as a list or a map. */
	if (item->node->text)
		*value = item->node->text;
	else
		refuse_value(d, item, item->node, "a string");
}

static void decode_choice(struct decode *d, const struct item *item, int *value)
{
	const char *word = is_scalar(item->node) && item->node->kind != NODE_NULL ? item->node->text : "";
	char list[LIST_MAX] = "", text[SHOWN_MAX + 32];
	struct nearest n;

	nearest_init(&n, word);
	for (int i = 0; item->field->choices[i]; i++) {
		const char *choice = item->field->choices[i];
		size_t used = strlen(list);

		/* In any letter case, as levels are read there: INFO, Normal. */
		if (is_scalar(item->node) && !strcasecmp(choice, word)) {
			*value = i;
			return;
		}
		nearest_try(&n, choice);
		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", *choice ? choice : "\"\"");
	}
	if (n.best && *n.best && is_scalar(item->node))
		refuse(d, item->node->place, &item->path, "%s is not one of %s; did you mean %s?",
		       found(item->field, item->node, text), list, n.best);
	else
		refuse(d, item->node->place, &item->path, "%s is not one of %s", found(item->field, item->node, text),
		       list);
}

/* ---- Lists and maps ----------------------------------------------------------------- */

static char *trimmed_copy(struct decode *d, const char *text, size_t len)
{
	char *copy;

	for (; len && isspace((unsigned char)*text); len--)
		text++;
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	copy = arena_strndup(d->arena, text, len);
	if (!copy)
		d->err = arena_err(d->arena);
	return copy;
}

static void split_commas(struct decode *d, const char *text, struct config_texts *value)
{
	const char **at;
	u32 count = *text ? 1 : 0, n = 0;

	for (const char *c = text; *c; c++)
		count += *c == ',';
	at = take(d, count * sizeof(*at));
	if (!at)
		return;
	for (const char *c = text; n < count; c += strcspn(c, ",") + 1) {
		at[n] = trimmed_copy(d, c, strcspn(c, ","));
		if (!at[n++])
			return;
	}
	*value = (struct config_texts){ count, at };
}

static void decode_texts(struct decode *d, const struct item *item, struct config_texts *value)
{
	const struct config_node *node = item->node;
	const char **at;

	if (node->kind == NODE_NULL)
		return;
	if (node->kind != NODE_LIST) {
		if (is_scalar(node))
			split_commas(d, node->text, value);
		else
			refuse_value(d, item, node, "a list of strings");
		return;
	}
	at = take(d, node->count * sizeof(*at));
	if (!at)
		return;
	for (u32 i = 0; i < node->count; i++) {
		const struct config_node *element = node->list[i];

		if (!is_scalar(element) || (element->kind == NODE_NULL && !element->expanded)) {
			refuse_value(d, item, element, "a string");
			return;
		}
		at[i] = element->kind == NODE_NULL ? "" : element->text;
	}
	*value = (struct config_texts){ node->count, at };
}

/* {name: KEY, value: VALUE} */
static bool named_value(const struct config_node *node, struct config_pair *ret_pair)
{
	const struct config_node *name = config_get(node, "name"), *value = config_get(node, "value");

	if (!name || !value || node->count != 2 || name->kind == NODE_NULL || !is_scalar(name) || !is_scalar(value))
		return false;
	*ret_pair = (struct config_pair){ name->text, value->kind == NODE_NULL ? "" : value->text };
	return true;
}

static void decode_pairs(struct decode *d, const struct item *item, struct config_pairs *value)
{
	const struct config_node *node = item->node;
	struct config_pair *at;

	if (node->kind == NODE_NULL)
		return;
	if (node->kind != NODE_MAP && node->kind != NODE_LIST) {
		refuse_value(d, item, node, "a map of strings");
		return;
	}
	at = take(d, node->count * sizeof(*at));
	if (!at)
		return;
	for (u32 i = 0; i < node->count; i++) {
		const struct config_node *v = node->kind == NODE_MAP ? node->map[i].value : node->list[i];

		if (node->kind == NODE_LIST) {
			if (!named_value(v, &at[i])) {
				refuse_value(d, item, v, "a map with name and value");
				return;
			}
			continue;
		}
		if (!is_scalar(v)) {
			struct item entry = { item->field, v, v->place, { &item->path, node->map[i].key } };

			refuse_value(d, &entry, v, "a string");
			return;
		}
		at[i] = (struct config_pair){ node->map[i].key, v->kind == NODE_NULL ? "" : v->text };
	}
	*value = (struct config_pairs){ node->count, at };
}

static void decode_map(struct decode *d, const struct config_node *node, const struct config_field *fields,
		       const struct path *path, void *options);

static void decode_sections(struct decode *d, const struct item *item, struct config_sections *value)
{
	const struct config_field *field = item->field;
	char *at;

	if (item->node->kind == NODE_NULL)
		return;
	if (item->node->kind != NODE_LIST) {
		refuse_value(d, item, item->node, "a list of maps");
		return;
	}
	at = take(d, (size_t)item->node->count * field->element_bytes);
	if (!at)
		return;
	for (u32 i = 0; i < item->node->count; i++) {
		void *element = at + (size_t)i * field->element_bytes;
		char number[16];

		snprintf(number, sizeof(number), "%u", i);
		if (field->element_defaults)
			memcpy(element, field->element_defaults, field->element_bytes);
		decode_map(d, item->node->list[i], field->fields, &(struct path){ &item->path, number }, element);
	}
	*value = (struct config_sections){ item->node->count, at };
}

/* As good as not there, even for an option that is refused. {} is not: it may turn something on. */
static bool says_nothing(const struct config_node *node)
{
	return (node->kind == NODE_LIST && !node->count) || (node->text && !*node->text);
}

static void decode_item(struct decode *d, const struct item *item, void *options)
{
	const struct config_field *field = item->field;
	void *value = (char *)options + field->offset;

	if (field->present)
		*(bool *)((char *)options + field->present - 1) = true;
	/* What nobody wrote leaves the default; a variable that is not set is empty, or zero. */
	if (item->node->kind == NODE_NULL && !item->node->expanded && field->type != CONFIG_SECTION &&
	    field->type != CONFIG_NODE)
		return;
	switch (field->type) {
	case CONFIG_BOOL:
		return decode_bool(d, item, value);
	case CONFIG_INTEGER:
		return decode_integer(d, item, value);
	case CONFIG_REAL:
		return decode_real(d, item, value);
	case CONFIG_DURATION:
		return decode_duration(d, item, value);
	case CONFIG_TEXT:
	case CONFIG_SECRET:
		return decode_text(d, item, value);
	case CONFIG_CHOICE:
		return decode_choice(d, item, value);
	case CONFIG_TEXTS:
		return decode_texts(d, item, value);
	case CONFIG_PAIRS:
		return decode_pairs(d, item, value);
	case CONFIG_SECTION:
		return decode_map(d, item->node, field->fields, &item->path, value);
	case CONFIG_SECTIONS:
		return decode_sections(d, item, value);
	case CONFIG_NODE:
		*(const struct config_node **)value = item->node;
		return;
	case CONFIG_REFUSED:
		if (!says_nothing(item->node))
			refuse(d, item->place, &item->path, "%s", field->help);
		return;
	case CONFIG_NEEDLESS:
		warn(d, item->place, &item->path, "%s", field->help);
		return;
	}
}

/* ---- Names ----------------------------------------------------------------------------- */

/* SamplesPerSecond, samples_per_second and samplespersecond are the same. */
static bool same_letters(const char *a, const char *b)
{
	for (;;) {
		a += strspn(a, "_");
		b += strspn(b, "_");
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

static bool has_alias(const struct config_field *field, const char *key)
{
	for (const char *const *alias = field->aliases; alias && *alias; alias++) {
		if (!strcmp(*alias, key) || (field->any_case && same_letters(*alias, key)))
			return true;
	}
	return false;
}

const struct config_field *config_find_field(const struct config_field *fields, const char *key)
{
	for (const struct config_field *f = fields; f->name; f++) {
		if (!strcmp(f->name, key))
			return f;
	}
	for (const struct config_field *f = fields; f->name; f++) {
		if (has_alias(f, key) || (f->any_case && same_letters(f->name, key)))
			return f;
	}
	return NULL;
}

/* An option that stands one or two levels too high is the commonest mistake: insecure for tls::insecure. */
static bool find_below(const struct config_field *fields, const char *key, int levels, char text[PATH_MAX_BYTES])
{
	for (const struct config_field *f = fields; levels && f->name; f++) {
		char below[PATH_MAX_BYTES];

		if (f->type != CONFIG_SECTION)
			continue;
		for (const struct config_field *g = f->fields; g->name; g++) {
			if (!strcmp(g->name, key) && g->type != CONFIG_REFUSED) {
				snprintf(text, PATH_MAX_BYTES, "%s::%s", f->name, key);
				return true;
			}
		}
		if (find_below(f->fields, key, levels - 1, below)) {
			snprintf(text, PATH_MAX_BYTES, "%.100s::%.300s", f->name, below);
			return true;
		}
	}
	return false;
}

static void refuse_unknown(struct decode *d, const struct config_entry *entry, const struct config_field *fields,
			   const struct path *path)
{
	char list[LIST_MAX] = "", below[PATH_MAX_BYTES];
	bool fits = true;
	struct nearest n;

	/* Nobody reads the advice of an error that is only counted. */
	if (d->errors->error_count >= CONFIG_ERRORS_MAX) {
		d->errors->error_count++;
		return;
	}
	nearest_init(&n, entry->key);
	for (const struct config_field *f = fields; f->name; f++) {
		size_t used = strlen(list);

		if (f->type == CONFIG_REFUSED)
			continue;
		nearest_try(&n, f->name);
		fits = fits && (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", f->name) <
				       sizeof(list) - used;
	}
	if (find_below(fields, entry->key, 2, below))
		refuse(d, entry->place, path, "unknown key %s; did you mean %s?", entry->key, below);
	else if (n.best)
		refuse(d, entry->place, path, "unknown key %s; did you mean %s?", entry->key, n.best);
	else if (fits && *list)
		refuse(d, entry->place, path, "unknown key %s; there is %s", entry->key, list);
	else
		refuse(d, entry->place, path, "unknown key %s", entry->key);
}

/* Whether an earlier key of the map means the same option. */
static const char *said_before(const struct config_node *node, u32 i, const struct config_field *fields,
			       const struct config_field *field)
{
	for (u32 j = 0; j < i; j++) {
		if (config_find_field(fields, node->map[j].key) == field)
			return node->map[j].key;
	}
	return NULL;
}

static void decode_entry(struct decode *d, const struct config_node *node, u32 i, const struct config_field *fields,
			 const struct path *path, void *options)
{
	const struct config_entry *entry = &node->map[i];
	const struct config_field *field = config_find_field(fields, entry->key);
	const char *before;

	if (!field) {
		refuse_unknown(d, entry, fields, path);
		return;
	}
	if (strcmp(field->name, entry->key)) {
		before = said_before(node, i, fields, field);
		if (!before && config_get(node, field->name))
			before = field->name;
		if (before) {
			refuse(d, entry->place, path, "%s and %s are the same option; remove one", before, entry->key);
			return;
		}
		if (field->type != CONFIG_REFUSED && field->type != CONFIG_NEEDLESS)
			warn(d, entry->place, path, "%s is an older name of %s", entry->key, field->name);
	}
	decode_item(d, &(struct item){ field, entry->value, entry->place, { path, field->name } }, options);
}

/* A string that has a default is only missing where it was made empty. */
static bool has_text(const struct config_field *field, const char *options)
{
	const char *text;

	if (field->type != CONFIG_TEXT && field->type != CONFIG_SECRET)
		return false;
	text = *(const char *const *)(options + field->offset);
	return text && *text;
}

static bool is_given(const struct config_node *node, const struct config_field *fields,
		     const struct config_field *field)
{
	for (u32 i = 0; node->kind == NODE_MAP && i < node->count; i++) {
		const struct config_node *value = node->map[i].value;

		if (config_find_field(fields, node->map[i].key) == field)
			return value->kind != NODE_NULL && (value->kind != NODE_STRING || *value->text);
	}
	return false;
}

static void decode_map(struct decode *d, const struct config_node *node, const struct config_field *fields,
		       const struct path *path, void *options)
{
	if (node->kind != NODE_MAP && node->kind != NODE_NULL) {
		refuse(d, node->place, path, "expected a map of options, found %s", node_kind_name(node->kind));
		return;
	}
	for (u32 i = 0; node->kind == NODE_MAP && i < node->count; i++)
		decode_entry(d, node, i, fields, path, options);
	for (const struct config_field *f = fields; f->name; f++) {
		if (f->required && !is_given(node, fields, f) && !has_text(f, options))
			refuse(d, node->place, path, "missing key %s: %s", f->name, f->help);
	}
}

int config_decode(struct arena *arena, const struct config_node *node, const struct config_field *fields,
		  const char *path, void *options, struct config_errors *errors)
{
	static const struct config_node nothing = { .kind = NODE_NULL };
	struct decode d = { .arena = arena, .errors = errors };
	u32 before = errors->error_count;

	decode_map(&d, node ? node : &nothing, fields, &(struct path){ .name = path }, options);
	if (d.err)
		return -ENOMEM;
	return errors->error_count == before ? 0 : -EINVAL;
}
