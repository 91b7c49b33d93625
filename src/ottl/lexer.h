/* SPDX-License-Identifier: Apache-2.0 */
/* Text to tokens. A lexer borrows its text; strings with escapes are unquoted into an arena. */
#ifndef OTTL_LEXER_H
#define OTTL_LEXER_H

#include "base/types.h"
#include "profile/profile.h"

struct arena;

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,		/* lower case first: a path, an editor, a keyword */
	TOKEN_UPPER,		/* a converter, an enum */
	TOKEN_STRING,
	TOKEN_BYTES,
	TOKEN_INT,
	TOKEN_DOUBLE,
	TOKEN_COMPARE,
	TOKEN_MARK,		/* one of ( ) [ ] { } , . : = + - * / */
	TOKEN_BAD,		/* problem says why */
};

struct token {
	enum token_kind kind;
	u32 from, len;		/* in the text */
	char mark;		/* MARK */
	struct str text;	/* NAME, UPPER; STRING and BYTES as they are meant */
	s64 integer;
	double real;
	int compare;		/* enum compare_op */
	const char *problem;
};

struct lexer {
	struct arena *arena;
	const char *text;
	u32 len, at;
};

void lexer_init(struct lexer *lexer, struct arena *arena, const char *text, u32 len);
struct token lexer_next(struct lexer *lexer);

#endif
