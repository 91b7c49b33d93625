// SPDX-License-Identifier: Apache-2.0
#include "ottl/parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/str.h"
#include "profile/any.h"

#define LIST_MAX 4096	/* of literal lists and maps */

/* ---- Errors, memory, tokens ---------------------------------------------------------- */

void *parser_fail(struct parser *p, u32 from, const char *format, ...)
{
	u32 line = 1, column = 1;
	char text[512];
	va_list args;

	if (p->failed)
		return NULL;
	p->failed = true;
	for (u32 i = 0; i < from && i < p->lexer.len; i++) {
		column++;
		if (p->lexer.text[i] == '\n') {
			line++;
			column = 1;
		}
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (memchr(p->lexer.text, '\n', p->lexer.len))
		buf_addf(p->why, "line %u, column %u: %s", line, column, text);
	else
		buf_addf(p->why, "column %u: %s", column, text);
	return NULL;
}

void *parser_alloc(struct parser *p, size_t bytes)
{
	void *at = arena_zalloc(&p->program->arena, bytes ? bytes : 1);

	return at ? at : parser_fail(p, p->token.from, "there is no memory for more");
}

struct expr *parser_node(struct parser *p, enum expr_kind kind, u32 column)
{
	struct expr *expr = parser_alloc(p, sizeof(*expr));

	if (!expr)
		return NULL;
	expr->kind = kind;
	expr->column = column;
	return expr;
}

void parser_advance(struct parser *p)
{
	p->token = lexer_next(&p->lexer);
	if (p->token.kind == TOKEN_BAD)
		parser_fail(p, p->token.from, "%s", p->token.problem);
}

bool parser_at_mark(const struct parser *p, char mark)
{
	return p->token.kind == TOKEN_MARK && p->token.mark == mark;
}

bool parser_take_mark(struct parser *p, char mark)
{
	if (!parser_at_mark(p, mark))
		return false;
	parser_advance(p);
	return true;
}

/* What stands at the next token, for messages. */
static void token_shown(const struct parser *p, char out[64])
{
	if (p->token.kind == TOKEN_END)
		snprintf(out, 64, "the end");
	else
		snprintf(out, 64, "%.*s%s", p->token.len < 40 ? (int)p->token.len : 40, p->lexer.text + p->token.from,
			 p->token.len < 40 ? "" : "...");
}

bool parser_expect_mark(struct parser *p, char mark)
{
	char shown[64];

	if (parser_take_mark(p, mark))
		return !p->failed;
	token_shown(p, shown);
	parser_fail(p, p->token.from, "there should be a %c here, not %s", mark, shown);
	return false;
}

static bool at_word(const struct parser *p, const char *word)
{
	return p->token.kind == TOKEN_NAME && str_is(p->token.text, word);
}

/* One level deeper; false once it is too deep. */
static bool parser_enter(struct parser *p)
{
	if (++p->depth > OTTL_DEPTH_MAX)
		parser_fail(p, p->token.from, "it is nested deeper than %d levels", OTTL_DEPTH_MAX);
	return !p->failed;
}

static bool parser_count(struct parser *p)
{
	if (++p->operators > OTTL_OPERATORS_MAX)
		parser_fail(p, p->token.from, "there are more than %d operators; split the statement",
			    OTTL_OPERATORS_MAX);
	return !p->failed;
}

/* ---- Literals -------------------------------------------------------------------------- */

static struct expr *constant(struct parser *p, u32 column, struct value value)
{
	struct expr *expr = parser_node(p, EXPR_CONSTANT, column);

	if (!expr)
		return NULL;
	expr->constant = value;
	expr->types = value_type(&value);
	return expr;
}

static struct expr *parse_literal(struct parser *p, struct value value)
{
	struct expr *expr = constant(p, p->token.from, value);

	parser_advance(p);
	return p->failed ? NULL : expr;
}

struct items {
	struct expr *at[LIST_MAX];
	struct str keys[LIST_MAX];
	u32 count;
	bool all_constant;
};

static bool items_add(struct parser *p, struct items *items, struct str key, struct expr *expr)
{
	if (!expr)
		return false;
	if (items->count == LIST_MAX) {
		parser_fail(p, expr->column, "lists and maps may have %d members", LIST_MAX);
		return false;
	}
	if (!(expr->types & TYPE_ANY)) {
		parser_fail(p, expr->column, "this cannot be a member of a list or a map");
		return false;
	}
	items->keys[items->count] = key;
	items->at[items->count++] = expr;
	items->all_constant = items->all_constant && expr->kind == EXPR_CONSTANT;
	return true;
}

/* All of it is known already. */
static struct expr *constant_of(struct parser *p, const struct items *items, bool is_map, u32 column)
{
	struct any *array = parser_alloc(p, items->count * sizeof(*array));
	struct keyvalue *map = parser_alloc(p, items->count * sizeof(*map));

	if (!array || !map)
		return NULL;
	for (u32 i = 0; i < items->count; i++) {
		array[i] = items->at[i]->constant.any;
		map[i] = (struct keyvalue){ items->keys[i], array[i] };
	}
	if (is_map)
		return constant(p, column, (struct value){ .any = { ANY_MAP, items->count, .map = map } });
	return constant(p, column, (struct value){ .any = { ANY_ARRAY, items->count, .array = array } });
}

static struct expr *expr_of(struct parser *p, const struct items *items, bool is_map, u32 column)
{
	struct expr *expr = parser_node(p, is_map ? EXPR_MAP : EXPR_LIST, column);
	struct expr_list list = { items->count, arena_copy(&p->program->arena, items->at,
							   items->count * sizeof(*items->at)) };

	if (!expr || !list.at)
		return parser_fail(p, column, "there is no memory for more");
	expr->types = is_map ? TYPE_MAP : TYPE_LIST;
	if (!is_map) {
		expr->list = list;
		return expr;
	}
	expr->map.values = list;
	expr->map.keys = arena_copy(&p->program->arena, items->keys, items->count * sizeof(*items->keys));
	return expr->map.keys ? expr : parser_fail(p, column, "there is no memory for more");
}

static bool key_is_new(struct parser *p, const struct items *items, struct str key)
{
	for (u32 i = 0; i < items->count; i++)
		if (str_equal(items->keys[i], key)) {
			parser_fail(p, p->token.from, "the key \"%.*s\" is there twice", (int)key.len, key.at);
			return false;
		}
	return true;
}

static bool parse_map_key(struct parser *p, const struct items *items, struct str *ret_key)
{
	struct str key = p->token.text;

	if (p->token.kind != TOKEN_STRING)
		return parser_fail(p, p->token.from, "keys of maps are strings: {\"key\": value}");
	if (!key_is_new(p, items, key))
		return false;
	parser_advance(p);
	*ret_key = key;
	return parser_expect_mark(p, ':');
}

/* [1, 2], or {"a": 1, "b": 2}, whose commas may be left out. */
static struct expr *parse_members(struct parser *p)
{
	_cleanup_(freep) struct items *items = calloc(1, sizeof(*items));
	bool is_map = parser_at_mark(p, '{');
	u32 column = p->token.from;
	char end = is_map ? '}' : ']';

	if (!items)
		return parser_fail(p, column, "there is no memory for more");
	items->all_constant = true;
	parser_advance(p);
	while (!p->failed && !parser_at_mark(p, end)) {
		struct str key = { 0 };

		if (items->count && !parser_take_mark(p, ',') && !is_map && !parser_expect_mark(p, ','))
			return NULL;
		if ((is_map && !parse_map_key(p, items, &key)) || !items_add(p, items, key, parse_value(p)))
			return NULL;
	}
	parser_take_mark(p, end);
	if (p->failed)
		return NULL;
	return items->all_constant ? constant_of(p, items, is_map, column) : expr_of(p, items, is_map, column);
}

/* ---- Expressions, from the inside outwards ---------------------------------------------- */

static struct expr *parse_or(struct parser *p);

static struct expr *parse_parenthesized(struct parser *p)
{
	struct expr *expr;

	parser_advance(p);
	expr = parse_or(p);
	return expr && parser_expect_mark(p, ')') ? expr : NULL;
}

static struct expr *parse_word(struct parser *p)
{
	struct lexer after = p->lexer;
	struct token next;

	if (at_word(p, "true") || at_word(p, "false"))
		return parse_literal(p, value_bool(at_word(p, "true")));
	if (at_word(p, "nil"))
		return parse_literal(p, (struct value){ 0 });
	next = lexer_next(&after);
	if (next.kind == TOKEN_MARK && next.mark == '(')
		return parser_fail(p, p->token.from,
				   "%.*s() cannot stand here: only converters give a value, and their names "
				   "begin with an upper case letter", (int)p->token.text.len, p->token.text.at);
	return parse_path(p);
}

static struct expr *parse_converter(struct parser *p)
{
	struct expr *call = parse_call(p, false), *index;

	if (!call || !parser_at_mark(p, '['))
		return call;
	if (!(call->types & (TYPE_MAP | TYPE_LIST)))
		return parser_fail(p, p->token.from, "%s() gives nothing that has keys", call->call.ops->name);
	index = parser_node(p, EXPR_INDEX, p->token.from);
	if (!index || !parse_keys(p, &index->index.keys))
		return NULL;
	index->index.of = call;
	index->types = TYPE_ANY;
	return index;
}

static struct expr *parse_primary(struct parser *p)
{
	struct token *t = &p->token;
	char shown[64];

	switch (t->kind) {
	case TOKEN_STRING:
		return parse_literal(p, value_string(t->text));
	case TOKEN_BYTES:
		return parse_literal(p, (struct value){ .any = { .kind = ANY_BYTES, .string = t->text } });
	case TOKEN_INT:
		return parse_literal(p, value_int(t->integer));
	case TOKEN_DOUBLE:
		return parse_literal(p, value_double(t->real));
	case TOKEN_NAME:
		return parse_word(p);
	case TOKEN_UPPER:
		return parse_converter(p);
	default:
		break;
	}
	if (parser_at_mark(p, '('))
		return parse_parenthesized(p);
	if (parser_at_mark(p, '[') || parser_at_mark(p, '{'))
		return parse_members(p);
	token_shown(p, shown);
	return parser_fail(p, t->from, "there should be a value here, not %s", shown);
}

static struct expr *parse_unary(struct parser *p)
{
	bool negative = parser_at_mark(p, '-'), positive = parser_at_mark(p, '+');
	u32 column = p->token.from;
	struct expr *of, *expr;

	if (!parser_enter(p))
		return NULL;
	if (negative || positive)
		parser_advance(p);
	of = negative || positive ? parse_unary(p) : parse_primary(p);
	p->depth--;
	if (!of || !negative)
		return of;
	if (of->kind == EXPR_CONSTANT && of->types == TYPE_INT)
		return constant(p, column, value_int((s64)-(u64)of->constant.any.integer));
	if (of->kind == EXPR_CONSTANT && of->types == TYPE_DOUBLE)
		return constant(p, column, value_double(-of->constant.any.real));
	if (!(of->types & (TYPE_INT | TYPE_DOUBLE)))
		return parser_fail(p, column, "only numbers can be negative");
	expr = parser_node(p, EXPR_NEGATE, column);
	if (!expr)
		return NULL;
	expr->pair.left = of;
	expr->types = TYPE_INT | TYPE_DOUBLE;
	return expr;
}

static struct expr *pair(struct parser *p, enum expr_kind kind, u32 column, struct expr *left, int op,
			 struct expr *right)
{
	struct expr *expr = left && right && parser_count(p) ? parser_node(p, kind, column) : NULL;

	if (!expr)
		return NULL;
	expr->pair.left = left;
	expr->pair.right = right;
	expr->pair.op = op;
	expr->types = TYPE_BOOL;
	return expr;
}

/* Numbers give numbers; a time and a duration give either. */
static struct expr *math(struct parser *p, u32 column, struct expr *left, enum math_op op, struct expr *right)
{
	const u32 numbers = TYPE_INT | TYPE_DOUBLE, times = TYPE_TIME | TYPE_DURATION;
	const u32 allowed = op == MATH_ADD || op == MATH_SUBTRACT ? numbers | times : numbers;
	struct expr *expr = pair(p, EXPR_MATH, column, left, op, right);

	if (!expr)
		return NULL;
	if (!(left->types & allowed) || !(right->types & allowed))
		return parser_fail(p, column, "%c takes %s", "+-*/"[op],
				   allowed & times ? "numbers, times and durations" : "numbers");
	expr->types = (left->types & right->types & numbers ? numbers : 0) |
		      (left->types & numbers && right->types & numbers ? numbers : 0) |
		      ((left->types | right->types) & times ? times : 0);
	return expr;
}

static struct expr *parse_product(struct parser *p)
{
	struct expr *left = parse_unary(p);

	while (left && (parser_at_mark(p, '*') || parser_at_mark(p, '/'))) {
		enum math_op op = parser_at_mark(p, '*') ? MATH_MULTIPLY : MATH_DIVIDE;
		u32 column = p->token.from;

		parser_advance(p);
		left = math(p, column, left, op, parse_unary(p));
	}
	return left;
}

struct expr *parse_value(struct parser *p)
{
	struct expr *left = parse_product(p);

	while (left && (parser_at_mark(p, '+') || parser_at_mark(p, '-'))) {
		enum math_op op = parser_at_mark(p, '+') ? MATH_ADD : MATH_SUBTRACT;
		u32 column = p->token.from;

		parser_advance(p);
		left = math(p, column, left, op, parse_product(p));
	}
	return p->failed ? NULL : left;
}

static struct expr *parse_comparison(struct parser *p)
{
	struct expr *left = parse_value(p);
	u32 column = p->token.from;
	int op = p->token.compare;

	if (!left || p->token.kind != TOKEN_COMPARE)
		return left;
	parser_advance(p);
	return pair(p, EXPR_COMPARE, column, left, op, parse_value(p));
}

/* A path alone is no condition, as in the reference: what does "attributes["x"]" mean where x is "false"? */
static bool is_condition(struct parser *p, const struct expr *expr)
{
	if (!expr)
		return false;
	if ((expr->kind >= EXPR_COMPARE || expr->kind == EXPR_CALL || expr->kind == EXPR_CONSTANT) &&
	    expr->types & TYPE_BOOL)
		return true;
	parser_fail(p, expr->column, "this is no condition: compare it with something, for example == true");
	return false;
}

static struct expr *parse_not(struct parser *p)
{
	u32 column = p->token.from;
	struct expr *expr, *of;

	if (!at_word(p, "not"))
		return parse_comparison(p);
	if (!parser_enter(p))
		return NULL;
	parser_advance(p);
	of = parse_not(p);
	p->depth--;
	if (!is_condition(p, of))
		return NULL;
	expr = parser_node(p, EXPR_NOT, column);
	if (!expr)
		return NULL;
	expr->pair.left = of;
	expr->types = TYPE_BOOL;
	return expr;
}

static struct expr *parse_chain(struct parser *p, const char *word, enum expr_kind kind,
				struct expr *(*parse)(struct parser *p))
{
	struct expr *left = parse(p);

	while (left && at_word(p, word)) {
		u32 column = p->token.from;
		struct expr *right;

		parser_advance(p);
		right = parse(p);
		if (!is_condition(p, left) || !is_condition(p, right))
			return NULL;
		left = pair(p, kind, column, left, 0, right);
	}
	return left;
}

static struct expr *parse_and(struct parser *p)
{
	return parse_chain(p, "and", EXPR_AND, parse_not);
}

static struct expr *parse_or(struct parser *p)
{
	struct expr *expr;

	if (!parser_enter(p))
		return NULL;
	expr = parse_chain(p, "or", EXPR_OR, parse_and);
	p->depth--;
	return expr;
}

/* ---- All of the text ---------------------------------------------------------------------- */

void parser_init(struct parser *p, struct ottl_program *program, const char *text, u32 len, struct buf *why)
{
	*p = (struct parser){ .program = program, .why = why };
	lexer_init(&p->lexer, &program->arena, text, len);
	parser_advance(p);
}

static int parser_end(struct parser *p)
{
	char shown[64];

	if (!p->failed && p->token.kind != TOKEN_END) {
		token_shown(p, shown);
		parser_fail(p, p->token.from, "it should end here, but there is %s", shown);
	}
	if (arena_err(&p->program->arena) == -ENOMEM)
		return -ENOMEM;
	return p->failed ? -EINVAL : 0;
}

int parse_condition(struct parser *p, struct ottl_line *ret_line)
{
	struct expr *expr = p->failed ? NULL : parse_or(p);

	if (expr && is_condition(p, expr))
		ret_line->where = expr;
	return parser_end(p);
}

int parse_statement(struct parser *p, struct ottl_line *ret_line)
{
	if (p->failed)
		return parser_end(p);
	if (p->token.kind == TOKEN_UPPER)
		parser_fail(p, p->token.from,
			    "a statement begins with an editor such as set(), whose name begins with a lower "
			    "case letter");
	else if (p->token.kind != TOKEN_NAME)
		parser_fail(p, p->token.from, "a statement begins with an editor such as set()");
	else
		ret_line->call = parse_call(p, true);
	if (!p->failed && parser_at_mark(p, '['))
		parser_fail(p, p->token.from, "an editor gives nothing that has keys");
	if (!p->failed && at_word(p, "where")) {
		parser_advance(p);
		return parse_condition(p, ret_line);
	}
	return parser_end(p);
}
