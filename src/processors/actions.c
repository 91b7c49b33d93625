// SPDX-License-Identifier: Apache-2.0
#include "processors/actions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "ottl/value.h"
#include "profile/any.h"

#define ACTIONS_BYTES_MAX ((size_t)16 << 20)
#define TEXT_MAX ((size_t)16 << 20)

enum action_kind { ACTION_INSERT, ACTION_UPDATE, ACTION_UPSERT, ACTION_DELETE, ACTION_HASH, ACTION_EXTRACT,
		   ACTION_CONVERT, ACTION_KINDS };
static const char *const kind_names[ACTION_KINDS] = { "insert", "update", "upsert", "delete", "hash", "extract",
						      "convert" };

enum action_source { SOURCE_NONE, SOURCE_VALUE, SOURCE_ATTRIBUTE };

struct action {
	enum action_kind kind;
	enum action_source source;
	bool has_default;
	struct str key, from;
	struct any value, other;	/* other: the default */
	struct pattern *pattern;	/* or NULL */
	enum any_kind converted;
};

struct actions {
	struct arena arena;
	u32 count;
	struct action at[];
};

const struct action_options action_defaults = { .key = "", .action = "", .from_attribute = "", .pattern = "",
						.converted_type = "" };

const struct config_field action_fields[] = {
	{ "key", CONFIG_TEXT, FIELD(struct action_options, key), .help = "the attribute" },
	{ "action", CONFIG_TEXT, FIELD(struct action_options, action), .required = true,
	  .help = "insert, update, upsert, delete, hash, extract or convert" },
	{ "value", CONFIG_NODE, FIELD(struct action_options, value), .help = "what insert, update and upsert write" },
	{ "from_attribute", CONFIG_TEXT, FIELD(struct action_options, from_attribute),
	  .help = "the attribute whose value insert, update and upsert write" },
	{ "from_context", CONFIG_REFUSED,
	  .help = "wick does not keep who sent a request; set the attribute where it is received, or remove it" },
	{ "default_value", CONFIG_NODE, FIELD(struct action_options, default_value),
	  .help = "what is written if from_attribute is not there" },
	{ "pattern", CONFIG_TEXT, FIELD(struct action_options, pattern),
	  .help = "a regular expression: of keys for delete and hash, with named groups for extract" },
	{ "converted_type", CONFIG_TEXT, FIELD(struct action_options, converted_type),
	  .help = "what convert makes of it: string, int or double" },
	{ 0 },
};

/* ---- Values of configurations ------------------------------------------------------------ */

static int any_of_members(struct arena *arena, const struct config_node *node, u32 depth, struct any *ret_any);

static int any_of(struct arena *arena, const struct config_node *node, u32 depth, struct any *ret_any)
{
	struct any any = { 0 };

	if (depth > ANY_DEPTH_MAX - 2)
		return -E2BIG;
	switch (node->kind) {
	case NODE_NULL:
		break;
	case NODE_BOOL:
		any = (struct any){ ANY_BOOL, 0, .boolean = node->boolean };
		break;
	case NODE_INT:
		any = (struct any){ ANY_INT, 0, .integer = node->integer };
		break;
	case NODE_DOUBLE:
		any = (struct any){ ANY_DOUBLE, 0, .real = node->real };
		break;
	case NODE_STRING:
		any = (struct any){ ANY_STRING, 0, .string = { node->text, (u32)strlen(node->text) } };
		break;
	case NODE_LIST:
	case NODE_MAP:
		return any_of_members(arena, node, depth, ret_any);
	}
	*ret_any = any;
	return 0;
}

static int any_of_members(struct arena *arena, const struct config_node *node, u32 depth, struct any *ret_any)
{
	bool is_map = node->kind == NODE_MAP;
	struct keyvalue *map = is_map ? arena_zalloc(arena, (node->count + 1) * sizeof(*map)) : NULL;
	struct any *array = is_map ? NULL : arena_zalloc(arena, (node->count + 1) * sizeof(*array));
	int r = 0;

	if (!map && !array)
		return -ENOMEM;
	for (u32 i = 0; r == 0 && i < node->count; i++) {
		if (is_map)
			map[i].key = (struct str){ node->map[i].key, (u32)strlen(node->map[i].key) };
		r = any_of(arena, is_map ? node->map[i].value : node->list[i], depth + 1,
			   is_map ? &map[i].value : &array[i]);
	}
	*ret_any = is_map ? (struct any){ ANY_MAP, node->count, .map = map } :
			    (struct any){ ANY_ARRAY, node->count, .array = array };
	return r;
}

int any_of_node(struct arena *arena, const struct config_node *node, struct any *ret_any)
{
	return any_of(arena, node, 0, ret_any);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static bool is_given(const struct config_node *node)
{
	return node && node->kind != NODE_NULL;
}

/* What an action of a kind may not have; NULL if all is right. */
static const char *unwanted(const struct action_options *o, enum action_kind kind)
{
	bool writes = kind <= ACTION_UPSERT;

	if (!writes && is_given(o->value))
		return "value";
	if (!writes && *o->from_attribute)
		return "from_attribute";
	if (!writes && is_given(o->default_value))
		return "default_value";
	if (*o->pattern && (writes || kind == ACTION_CONVERT))
		return "pattern";
	return *o->converted_type && kind != ACTION_CONVERT ? "converted_type" : NULL;
}

static const char *problem_of(const struct action_options *o, enum action_kind kind)
{
	if (!*o->key && !((kind == ACTION_DELETE || kind == ACTION_HASH) && *o->pattern))
		return kind == ACTION_DELETE || kind == ACTION_HASH ? "needs key or pattern" : "needs key";
	if (kind <= ACTION_UPSERT && is_given(o->value) && *o->from_attribute)
		return "takes value or from_attribute, not both";
	if (kind <= ACTION_UPSERT && !is_given(o->value) && !*o->from_attribute && !is_given(o->default_value))
		return "needs value, from_attribute or default_value";
	if (kind == ACTION_EXTRACT && !*o->pattern)
		return "needs pattern";
	return kind == ACTION_CONVERT && !*o->converted_type ? "needs converted_type: string, int or double" : NULL;
}

static int take_pattern(struct action *action, const char *text, struct buf *why)
{
	int r = *text ? pattern_new(text, strlen(text), &action->pattern, why) : 0;

	if (r < 0 || action->kind != ACTION_EXTRACT)
		return r;
	for (u32 i = 1; i < pattern_groups(action->pattern); i++)
		if (!*pattern_group_name(action->pattern, i)) {
			buf_addf(why, "pattern has a group without a name; write (?P<name>...), or (?:...)");
			return -EINVAL;
		}
	if (pattern_groups(action->pattern) < 2) {
		buf_addf(why, "pattern has no named group; write one as (?P<name>...)");
		return -EINVAL;
	}
	return 0;
}

static int take_converted(struct action *action, const char *type, struct buf *why)
{
	if (action->kind != ACTION_CONVERT)
		return 0;
	if (!strcmp(type, "string"))
		action->converted = ANY_STRING;
	else if (!strcmp(type, "int"))
		action->converted = ANY_INT;
	else if (!strcmp(type, "double"))
		action->converted = ANY_DOUBLE;
	else {
		buf_addf(why, "converted_type is string, int or double, not %s", type);
		return -EINVAL;
	}
	return 0;
}

static int take_values(struct arena *arena, const struct action_options *o, struct action *action)
{
	int r = 0;

	action->key = (struct str){ o->key, (u32)strlen(o->key) };
	action->from = (struct str){ o->from_attribute, (u32)strlen(o->from_attribute) };
	action->source = is_given(o->value) ? SOURCE_VALUE : *o->from_attribute ? SOURCE_ATTRIBUTE : SOURCE_NONE;
	if (is_given(o->value))
		r = any_of_node(arena, o->value, &action->value);
	action->has_default = is_given(o->default_value);
	if (r == 0 && action->has_default)
		r = any_of_node(arena, o->default_value, &action->other);
	return r;
}

static int action_init(struct arena *arena, const struct action_options *o, struct action *action, struct buf *why)
{
	const char *problem;
	int r;

	while (action->kind < ACTION_KINDS && strcasecmp(kind_names[action->kind], o->action))
		action->kind++;
	if (action->kind == ACTION_KINDS) {
		buf_addf(why,
			 "there is no action %s; there are insert, update, upsert, delete, hash, extract and convert",
			 o->action);
		return -EINVAL;
	}
	problem = unwanted(o, action->kind);
	if (problem) {
		buf_addf(why, "%s does not take %s", kind_names[action->kind], problem);
		return -EINVAL;
	}
	problem = problem_of(o, action->kind);
	if (problem) {
		buf_addf(why, "%s %s", kind_names[action->kind], problem);
		return -EINVAL;
	}
	r = take_values(arena, o, action);
	if (r == 0)
		r = take_pattern(action, o->pattern, why);
	return r < 0 ? r : take_converted(action, o->converted_type, why);
}

int actions_new(const struct config_sections *options, struct actions **ret_actions, struct buf *why)
{
	_cleanup_(actions_freep) struct actions *actions =
		calloc(1, sizeof(*actions) + options->count * sizeof(struct action));
	const struct action_options *o = options->at;

	if (!actions)
		return -ENOMEM;
	arena_init(&actions->arena, ACTIONS_BYTES_MAX);
	actions->count = options->count;
	for (u32 i = 0; i < options->count; i++) {
		_cleanup_(buf_done) struct buf problem;
		int r;

		buf_init(&problem, 1024);
		r = action_init(&actions->arena, &o[i], &actions->at[i], &problem);
		if (r < 0 && problem.len)
			buf_addf(why, "action %u%s%s: %s", i + 1, *o[i].key ? ", of " : "", o[i].key, problem.data);
		if (r < 0)
			return r;
	}
	*ret_actions = TAKE(actions);
	return 0;
}

void actions_free(struct actions *actions)
{
	if (!actions)
		return;
	for (u32 i = 0; i < actions->count; i++)
		pattern_free(actions->at[i].pattern);
	arena_done(&actions->arena);
	free(actions);
}

void actions_check(const struct config_sections *options, struct config_place place, const char *path,
		   struct config_errors *errors)
{
	_cleanup_(actions_freep) struct actions *actions = NULL;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	if (actions_new(options, &actions, &why) < 0)
		config_error(errors, place, path, "%s", why.len ? why.data : "out of memory");
}

/* ---- Applying ----------------------------------------------------------------------------------- */

/* The value that is written, or NULL. */
static const struct any *written_value(const struct action *action, const struct attrs *attrs)
{
	const struct any *found = action->source == SOURCE_ATTRIBUTE ? attrs_find(attrs, action->from) : NULL;

	if (action->source == SOURCE_VALUE)
		return &action->value;
	return found ? found : action->has_default ? &action->other : NULL;
}

static void apply_write(const struct action *action, struct attrs *attrs)
{
	const struct any *value = written_value(action, attrs);
	bool exists = value && attrs_find(attrs, action->key);

	if (value && (exists ? action->kind != ACTION_INSERT : action->kind != ACTION_UPDATE))
		attrs_set(attrs, action->key, value);
}

struct picking {
	const struct action *action;
	struct pattern_scratch *scratch;
};

static bool is_picked(void *arg, struct str key, const struct any *value)
{
	const struct picking *picking = arg;
	const struct action *action = picking->action;

	if (action->key.len && str_equal(key, action->key))
		return true;
	return action->pattern && pattern_match(action->pattern, picking->scratch, key.at, key.len, 0, NULL) > 0;
}

/* As the reference: numbers by their eight bytes, the least significant first; what is no scalar becomes "". */
static void set_hash(struct attrs *attrs, struct str key, const struct any *value)
{
	u8 digest[SHA256_BYTES];
	char text[2 * SHA256_BYTES];
	struct any hashed = { ANY_STRING, 0, .string = { text, sizeof(text) } };
	struct sha256 sha;

	sha256_init(&sha);
	switch (value->kind) {
	case ANY_STRING:
		sha256_add(&sha, value->string.at, value->string.len);
		break;
	case ANY_BOOL:
		sha256_add(&sha, &(u8){ value->boolean }, 1);
		break;
	case ANY_INT:
	case ANY_DOUBLE:
		sha256_add(&sha, value->kind == ANY_INT ? (const void *)&value->integer : &value->real, 8);
		break;
	default:
		hashed.string.len = 0;
		break;
	}
	sha256_end(&sha, digest);
	hex_write(digest, sizeof(digest), text);
	attrs_set(attrs, key, &hashed);
}

static void apply_hash(struct picking *picking, struct attrs *attrs)
{
	for (u32 i = 0; i < attrs_count(attrs); i++) {
		struct keyvalue kv = attrs_get(attrs, i);

		if (is_picked(picking, kv.key, &kv.value))
			set_hash(attrs, kv.key, &kv.value);
	}
}

static void apply_extract(const struct action *action, struct attrs *attrs, struct pattern_scratch *scratch)
{
	const struct any *value = attrs_find(attrs, action->key);
	struct pattern_span spans[PATTERN_GROUPS_MAX];
	struct str text;

	if (!value || value->kind != ANY_STRING)
		return;
	text = value->string;
	if (pattern_match(action->pattern, scratch, text.at, text.len, 0, spans) <= 0)
		return;
	for (u32 i = 1; i < pattern_groups(action->pattern); i++) {
		const char *name = pattern_group_name(action->pattern, i);
		bool is_set = spans[i].from != PATTERN_UNSET;
		struct any part = { ANY_STRING, 0, .string = { is_set ? text.at + spans[i].from : "",
							       is_set ? (u32)(spans[i].to - spans[i].from) : 0 } };

		attrs_set(attrs, (struct str){ name, (u32)strlen(name) }, &part);
	}
}

/* The number that a string is, all of it. */
static bool number_of(struct str text, enum any_kind kind, struct any *ret_number)
{
	char copy[64], *end;

	if (!text.len || text.len >= sizeof(copy) || strchr(" \t\n\v\f\r", text.at[0]))
		return false;
	memcpy(copy, text.at, text.len);
	copy[text.len] = 0;
	errno = 0;
	if (kind == ANY_INT)
		*ret_number = (struct any){ ANY_INT, 0, .integer = strtoll(copy, &end, 10) };
	else
		*ret_number = (struct any){ ANY_DOUBLE, 0, .real = strtod(copy, &end) };
	return end == copy + text.len && (!errno || kind == ANY_DOUBLE);
}

static bool convert_number(const struct any *value, enum any_kind kind, struct any *ret_number)
{
	double real;

	if (value->kind == ANY_STRING)
		return number_of(value->string, kind, ret_number);
	if (value->kind != ANY_INT && value->kind != ANY_DOUBLE && value->kind != ANY_BOOL)
		return false;
	real = value->kind == ANY_DOUBLE ? value->real : value->kind == ANY_BOOL ? value->boolean :
		(double)value->integer;
	*ret_number = (struct any){ ANY_DOUBLE, 0, .real = real };
	if (kind == ANY_INT && !(real >= -0x1p63 && real < 0x1p63))
		return false;
	if (kind == ANY_INT)
		*ret_number = (struct any){ ANY_INT, 0, .integer = (s64)real };
	return true;
}

static void apply_convert(const struct action *action, struct attrs *attrs)
{
	const struct any *value = attrs_find(attrs, action->key);
	_cleanup_(buf_done) struct buf text;
	struct any converted;

	buf_init(&text, TEXT_MAX);
	if (!value || value->kind == action->converted)
		return;
	if (action->converted != ANY_STRING) {
		if (convert_number(value, action->converted, &converted))
			attrs_set(attrs, action->key, &converted);
		return;
	}
	value_text(&(struct value){ .any = *value }, &text);
	converted = (struct any){ ANY_STRING, 0, .string = { text.data, (u32)text.len } };
	if (!buf_err(&text))
		attrs_set(attrs, action->key, &converted);
}

void actions_apply(const struct actions *actions, struct attrs *attrs, struct pattern_scratch *scratch)
{
	for (u32 i = 0; i < actions->count; i++) {
		const struct action *action = &actions->at[i];
		struct picking picking = { action, scratch };

		switch (action->kind) {
		case ACTION_INSERT:
		case ACTION_UPDATE:
		case ACTION_UPSERT:
			apply_write(action, attrs);
			break;
		case ACTION_DELETE:
			attrs_remove_if(attrs, is_picked, &picking);
			break;
		case ACTION_HASH:
			apply_hash(&picking, attrs);
			break;
		case ACTION_EXTRACT:
			apply_extract(action, attrs, scratch);
			break;
		case ACTION_CONVERT:
			apply_convert(action, attrs);
			break;
		case ACTION_KINDS:
			break;
		}
	}
}
