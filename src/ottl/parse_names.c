// SPDX-License-Identifier: Apache-2.0
/* Paths and calls: names that must be in a table, and what they may be given. */
#include "ottl/parser.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"
#include "profile/any.h"

#define KEYS_MAX 16
#define NAME_MAX_BYTES 128

/* ---- Keys --------------------------------------------------------------------------------- */

bool parse_keys(struct parser *p, struct expr_list *ret_keys)
{
	struct expr *keys[KEYS_MAX];
	u32 count = 0;

	while (!p->failed && parser_take_mark(p, '[')) {
		struct expr *key = p->failed ? NULL : parse_value(p);

		if (!key || !parser_expect_mark(p, ']'))
			return false;
		if (!(key->types & (TYPE_STRING | TYPE_INT)))
			return parser_fail(p, key->column, "a key is a string, or a number for a list");
		if (count == KEYS_MAX)
			return parser_fail(p, key->column, "there may be %d keys", KEYS_MAX);
		keys[count++] = key;
	}
	ret_keys->count = count;
	ret_keys->at = count ? arena_copy(&p->program->arena, keys, count * sizeof(*keys)) : NULL;
	return !p->failed && (!count || ret_keys->at);
}

/* ---- Paths -------------------------------------------------------------------------------- */

/* "sample_type.type": what is written, without keys. */
struct written {
	char name[NAME_MAX_BYTES];
	u32 len, column;
	bool has_context;
	enum ottl_context context;
};

static bool written_add(struct parser *p, struct written *written)
{
	struct str part = p->token.text;

	if (p->token.kind != TOKEN_NAME) {
		parser_fail(p, p->token.from, "a path goes on with a name in lower case letters");
		return false;
	}
	if (written->len + part.len + 2 > sizeof(written->name)) {
		parser_fail(p, p->token.from, "the path is too long");
		return false;
	}
	if (written->len)
		written->name[written->len++] = '.';
	memcpy(written->name + written->len, part.at, part.len);
	written->len += part.len;
	written->name[written->len] = 0;
	parser_advance(p);
	return !p->failed;
}

static bool parse_written(struct parser *p, struct written *written)
{
	*written = (struct written){ .column = p->token.from };
	if (!written_add(p, written))
		return false;
	if (parser_at_mark(p, '.') && !ottl_context_parse(written->name, &written->context)) {
		written->has_context = true;
		written->len = 0;
		parser_advance(p);
		if (!written_add(p, written))
			return false;
	}
	while (!p->failed && parser_take_mark(p, '.'))
		if (!written_add(p, written))
			return false;
	return !p->failed;
}

static const struct path_ops *path_find(enum ottl_context context, const char *name)
{
	for (const struct path_ops *ops = ottl_paths; ops->name; ops++)
		if ((ops->context == context || ops->context == OTTL_INFER) && !strcmp(ops->name, name))
			return ops;
	return NULL;
}

/* Of whom a name without a context could be. */
static void *path_lacks_context(struct parser *p, const struct written *written)
{
	struct nearest nearest;
	enum ottl_context context;

	for (int c = OTTL_PROFILE; c >= 0; c--)
		if (path_find(c, written->name))
			return parser_fail(p, written->column, "%s of what? Write %s.%s, or so", written->name,
					   ottl_context_name(c), written->name);
	if (!ottl_context_parse(written->name, &context))
		return parser_fail(p, written->column,
				   "%s alone is no value; go on with one of its fields, such as %s.%s",
				   written->name, written->name, context == OTTL_SCOPE ? "name" : "attributes");
	nearest_init(&nearest, written->name);
	for (int c = 0; c < OTTL_INFER; c++)
		nearest_try(&nearest, ottl_context_name(c));
	nearest_try(&nearest, "profilesample");
	nearest_try(&nearest, "instrumentation_scope");
	return parser_fail(p, written->column,
			   "a path begins with resource, scope, profile or sample, not with %s%s%s%s",
			   written->name, nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
			   nearest.best ? "?" : "");
}

static void *path_unknown(struct parser *p, enum ottl_context context, const char *name, u32 column)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (const struct path_ops *ops = ottl_paths; ops->name; ops++)
		if (ops->context == context)
			nearest_try(&nearest, ops->name);
	if (nearest.best)
		return parser_fail(p, column, "%s has no %s; did you mean %s?", ottl_context_name(context), name,
				   nearest.best);
	return parser_fail(p, column, "%s has no %s", ottl_context_name(context), name);
}

static const struct path_ops *path_resolve(struct parser *p, const struct written *written)
{
	enum ottl_context context = written->has_context ? written->context : p->program->given;
	const struct path_ops *ops;

	if (context == OTTL_INFER) {
		if (!strcmp(written->name, "cache"))
			return path_find(OTTL_RESOURCE, "cache");
		return path_lacks_context(p, written);
	}
	if (p->program->given != OTTL_INFER && context > p->program->given)
		return parser_fail(p, written->column, "in the context %s there is no %s",
				   ottl_context_name(p->program->given), ottl_context_name(context));
	ops = path_find(context, written->name);
	if (!ops)
		return path_unknown(p, context, written->name, written->column);
	if (p->program->given == OTTL_INFER && context > p->program->innermost)
		p->program->innermost = context;
	return ops;
}

struct expr *parse_path(struct parser *p)
{
	struct written written;
	struct expr *expr;

	if (!parse_written(p, &written))
		return NULL;
	expr = parser_node(p, EXPR_PATH, written.column);
	if (!expr)
		return NULL;
	expr->path.ops = path_resolve(p, &written);
	if (!expr->path.ops || !parse_keys(p, &expr->path.keys))
		return NULL;
	expr->types = expr->path.keys.count ? TYPE_ANY : expr->path.ops->types;
	if (expr->path.keys.count && !(expr->path.ops->types & (TYPE_MAP | TYPE_LIST)))
		return parser_fail(p, written.column, "%s has no keys", written.name);
	if (parser_at_mark(p, '.'))
		return parser_fail(p, p->token.from, "a field of an attribute is written as one more key: [\"...\"]");
	return expr;
}

/* ---- Calls -------------------------------------------------------------------------------- */

static const struct function_ops *function_find(const struct function_ops *table, struct str name)
{
	for (; table->name; table++)
		if (strlen(table->name) == name.len && !memcmp(table->name, name.at, name.len))
			return table;
	return NULL;
}

static const struct function_ops *const *function_tables(bool editor)
{
	static const struct function_ops *const editors[] = { ottl_editors, ottl_map_editors, NULL };
	static const struct function_ops *const converters[] = { ottl_converters, ottl_more_converters, NULL };

	return editor ? editors : converters;
}

static const struct function_ops *parse_function_name(struct parser *p, bool editor)
{
	struct str name = p->token.text;
	struct nearest nearest;
	char word[64];

	for (const struct function_ops *const *t = function_tables(editor); *t; t++)
		if (function_find(*t, name))
			return function_find(*t, name);
	snprintf(word, sizeof(word), "%.*s", name.len < 63 ? (int)name.len : 63, name.at);
	nearest_init(&nearest, word);
	for (const struct function_ops *const *t = function_tables(editor); *t; t++)
		for (const struct function_ops *ops = *t; ops->name; ops++)
			nearest_try(&nearest, ops->name);
	if (nearest.best)
		return parser_fail(p, p->token.from, "there is no function %s(); did you mean %s()?", word,
				   nearest.best);
	return parser_fail(p, p->token.from, "there is no function %s()", word);
}

/* resolve_conflicts may be written resolveConflicts. */
static bool is_parameter(const char *name, struct str written)
{
	u32 i = 0;

	for (; *name; name++) {
		if (*name == '_' && i < written.len && written.at[i] != '_')
			continue;
		if (i == written.len || tolower((unsigned char)written.at[i]) != *name)
			return false;
		i++;
	}
	return i == written.len;
}

/* "name =": the number of the parameter, or that of the next one if it is not named. -1: wrong. */
static int parse_parameter_name(struct parser *p, const struct function_ops *ops, u32 next, bool *named)
{
	struct lexer after = p->lexer;
	struct token then = lexer_next(&after);

	if (p->token.kind == TOKEN_NAME && then.kind == TOKEN_MARK && then.mark == '=') {
		for (u32 i = 0; i < FUNCTION_PARAMETERS_MAX && ops->parameters[i].name; i++) {
			if (!is_parameter(ops->parameters[i].name, p->token.text))
				continue;
			*named = true;
			parser_advance(p);
			parser_advance(p);
			return p->failed ? -1 : (int)i;
		}
		parser_fail(p, p->token.from, "%s() has no parameter %.*s", ops->name, (int)p->token.text.len,
			    p->token.text.at);
		return -1;
	}
	if (*named)
		parser_fail(p, p->token.from, "arguments with a name come after those without");
	else if (next >= FUNCTION_PARAMETERS_MAX || !ops->parameters[next].name)
		parser_fail(p, p->token.from, "%s() takes %u arguments, not more", ops->name, next);
	return p->failed ? -1 : (int)next;
}

static bool take_pattern(struct parser *p, struct call *call, const struct expr *expr, struct str text)
{
	struct ottl_program *program = p->program;
	_cleanup_(buf_done) struct buf why = { 0 };

	buf_init(&why, 1024);
	if (array_reserve(&program->patterns, &program->pattern_cap, program->pattern_count + 1,
			  sizeof(*program->patterns)) < 0)
		return parser_fail(p, expr->column, "there is no memory for more");
	if (pattern_new(text.at, text.len, &program->patterns[program->pattern_count], &why) < 0)
		return parser_fail(p, expr->column, "%s", why.len ? why.data : "there is no memory for more");
	call->pattern = program->patterns[program->pattern_count++];
	return true;
}

/* One piece of a glob as a regular expression: how many bytes of it were taken. */
static u32 glob_piece(struct str glob, u32 at, u32 *braces, struct buf *out)
{
	static const char special[] = "\\^$.|?*+()[]{}";
	const char *end;
	u32 escaped;
	char c = glob.at[at];

	if (c == '*' || c == '?') {
		buf_addf(out, c == '*' ? "(?s:.*)" : "(?s:.)");
		return 1;
	}
	if (c == '[' && at + 2 < glob.len) {
		end = memchr(glob.at + at + 2, ']', glob.len - at - 2);
		if (end) {
			bool negative = glob.at[at + 1] == '!' || glob.at[at + 1] == '^';
			u32 from = at + 1 + negative, to = (u32)(end - glob.at);

			buf_addf(out, "[%s%.*s]", negative ? "^" : "", (int)(to - from), glob.at + from);
			return to + 1 - at;
		}
	}
	if (c == '{' || (*braces && (c == ',' || c == '}'))) {
		*braces += (c == '{') - (c == '}');
		buf_addf(out, "%s", c == '{' ? "(?:" : c == ',' ? "|" : ")");
		return 1;
	}
	escaped = c == '\\' && at + 1 < glob.len;
	c = glob.at[at + escaped];
	buf_addf(out, "%s", c && strchr(special, c) ? "\\" : "");
	buf_add(out, &c, 1);
	return 1 + escaped;
}

static bool take_glob(struct parser *p, struct call *call, const struct expr *expr)
{
	_cleanup_(buf_done) struct buf pattern = { 0 };
	struct str glob = expr->constant.any.string;
	u32 braces = 0;

	buf_init(&pattern, PATTERN_BYTES_MAX);
	buf_addf(&pattern, "\\A(?:");
	for (u32 at = 0; at < glob.len;)
		at += glob_piece(glob, at, &braces, &pattern);
	buf_addf(&pattern, ")\\z");
	if (buf_err(&pattern) < 0)
		return parser_fail(p, expr->column, "the pattern is too long");
	return take_pattern(p, call, expr, (struct str){ pattern.data, (u32)pattern.len });
}

static bool check_argument(struct parser *p, const struct function_ops *ops, u32 i, const struct expr *expr)
{
	const struct parameter *parameter = &ops->parameters[i];
	_cleanup_(buf_done) struct buf types = { 0 }, is = { 0 };

	buf_init(&types, 256);
	buf_init(&is, 256);
	if (parameter->kind == PARAMETER_TARGET &&
	    (expr->kind != EXPR_PATH || !expr->path.ops->takes || (expr->path.keys.count && !expr->path.ops->keys)))
		return parser_fail(p, expr->column, "%s of %s() must be a path that can be changed", parameter->name,
				   ops->name);
	if (parameter->kind != PARAMETER_TARGET && parameter->kind != PARAMETER_VALUE && expr->kind != EXPR_CONSTANT)
		return parser_fail(p, expr->column, "%s of %s() must be written out, as a literal", parameter->name,
				   ops->name);
	if (expr->types & parameter->types)
		return true;
	types_name(parameter->types, &types);
	types_name(expr->types, &is);
	return parser_fail(p, expr->column, "%s of %s() is %s, not %s", parameter->name, ops->name,
			   types.data ? types.data : "", is.data ? is.data : "");
}

static bool parse_argument(struct parser *p, struct call *call, u32 i)
{
	const struct parameter *parameter = &call->ops->parameters[i];

	if (call->arguments[i] || (parameter->kind == PARAMETER_FUNCTION && call->function))
		return parser_fail(p, p->token.from, "%s of %s() is given twice", parameter->name, call->ops->name);
	if (parameter->kind == PARAMETER_FUNCTION) {
		if (p->token.kind != TOKEN_UPPER)
			return parser_fail(p, p->token.from, "%s of %s() is the name of a converter, such as SHA256",
					   parameter->name, call->ops->name);
		call->function = parse_function_name(p, false);
		if (!call->function)
			return false;
		if (!(call->function->parameters[0].types & TYPE_STRING) || !(call->function->returns & TYPE_STRING) ||
		    (call->function->parameters[1].name && !call->function->parameters[1].optional))
			return parser_fail(p, p->token.from, "%s() does not make a string of a string",
					   call->function->name);
		parser_advance(p);
		return !p->failed;
	}
	call->arguments[i] = parse_value(p);
	if (!call->arguments[i] || !check_argument(p, call->ops, i, call->arguments[i]))
		return false;
	if (parameter->kind == PARAMETER_PATTERN)
		return take_pattern(p, call, call->arguments[i], call->arguments[i]->constant.any.string);
	return parameter->kind != PARAMETER_GLOB || take_glob(p, call, call->arguments[i]);
}

static bool call_is_complete(struct parser *p, const struct call *call, u32 column)
{
	const char *problem;

	for (u32 i = 0; i < FUNCTION_PARAMETERS_MAX && call->ops->parameters[i].name; i++)
		if (!call->arguments[i] && !call->ops->parameters[i].optional)
			return parser_fail(p, column, "%s() lacks its argument %s", call->ops->name,
					   call->ops->parameters[i].name);
	problem = call->ops->check ? call->ops->check(call) : NULL;
	return !problem || parser_fail(p, column, "%s(): %s", call->ops->name, problem);
}

struct expr *parse_call(struct parser *p, bool editor)
{
	struct expr *expr = parser_node(p, EXPR_CALL, p->token.from);
	u32 next = 0;
	bool named = false;

	if (!expr)
		return NULL;
	expr->call.ops = parse_function_name(p, editor);
	if (!expr->call.ops)
		return NULL;
	parser_advance(p);
	if (p->failed || !parser_expect_mark(p, '('))
		return NULL;
	while (!p->failed && !parser_at_mark(p, ')')) {
		int i;

		if (next && !parser_expect_mark(p, ','))
			return NULL;
		i = parse_parameter_name(p, expr->call.ops, next++, &named);
		if (i < 0 || !parse_argument(p, &expr->call, (u32)i))
			return NULL;
	}
	parser_take_mark(p, ')');
	if (p->failed || !call_is_complete(p, &expr->call, expr->column))
		return NULL;
	expr->types = expr->call.ops->returns;
	return expr;
}
