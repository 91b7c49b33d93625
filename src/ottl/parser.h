/* SPDX-License-Identifier: Apache-2.0 */
/* Text to expressions, checked against the tables of paths and functions. The first error ends it. */
#ifndef OTTL_PARSER_H
#define OTTL_PARSER_H

#include "ottl/expr.h"
#include "ottl/lexer.h"

#define OTTL_OPERATORS_MAX 500

struct parser {
	struct ottl_program *program;
	struct lexer lexer;
	struct token token;	/* the next one */
	struct buf *why;
	u32 depth, operators;
	bool failed;
};

void parser_init(struct parser *parser, struct ottl_program *program, const char *text, u32 len, struct buf *why);

/* All of the text; -EINVAL with the reason, -ENOMEM. */
int parse_statement(struct parser *parser, struct ottl_line *ret_line);
int parse_condition(struct parser *parser, struct ottl_line *ret_line);

/* ---- Between parser.c and parse_names.c -------------------------------------------- */

void *parser_fail(struct parser *parser, u32 column, const char *format, ...) __attribute__((format(printf, 3, 4)));
struct expr *parser_node(struct parser *parser, enum expr_kind kind, u32 column);
void *parser_alloc(struct parser *parser, size_t bytes);
void parser_advance(struct parser *parser);
bool parser_at_mark(const struct parser *parser, char mark);
bool parser_take_mark(struct parser *parser, char mark);
bool parser_expect_mark(struct parser *parser, char mark);
struct expr *parse_value(struct parser *parser);
struct expr *parse_path(struct parser *parser);
struct expr *parse_call(struct parser *parser, bool editor);
bool parse_keys(struct parser *parser, struct expr_list *ret_keys);

#endif
