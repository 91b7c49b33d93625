// SPDX-License-Identifier: Apache-2.0
#include "ottl/lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "ottl/value.h"

void lexer_init(struct lexer *lexer, struct arena *arena, const char *text, u32 len)
{
	*lexer = (struct lexer){ arena, text, len, 0 };
}

static char peek(const struct lexer *lexer, u32 ahead)
{
	return lexer->at + ahead < lexer->len ? lexer->text[lexer->at + ahead] : 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct token bad(struct token token, const char *problem)
{
	token.kind = TOKEN_BAD;
	token.problem = problem;
	return token;
}

/* ---- Strings --------------------------------------------------------------------- */

/* So many digits; false if they are not there. */
static bool read_digits(const char **at, const char *end, u32 digits, u32 base, u32 *ret_value)
{
	u32 value = 0;

	for (u32 i = 0; i < digits; i++) {
		int digit = *at < end ? hex_digit(**at) : -1;

		if (digit < 0 || (u32)digit >= base)
			return false;
		value = value * base + (u32)digit;
		++*at;
	}
	*ret_value = value;
	return true;
}

/* What follows a backslash, as Go reads it. NULL: no such escape. */
static char *unescape(const char **at, const char *end, char *out)
{
	static const char letters[] = "abfnrtv\\\"", meaning[] = "\a\b\f\n\r\t\v\\\"";
	const char *letter = memchr(letters, **at, sizeof(letters) - 1);
	char c = **at;
	u32 value;

	if (letter) {
		++*at;
		*out++ = meaning[letter - letters];
		return out;
	}
	if (c >= '0' && c <= '7') {
		if (!read_digits(at, end, 3, 8, &value) || value > 255)
			return NULL;
		*out++ = (char)value;
		return out;
	}
	++*at;
	if (c == 'x') {
		if (!read_digits(at, end, 2, 16, &value))
			return NULL;
		*out++ = (char)value;
		return out;
	}
	if ((c != 'u' && c != 'U') || !read_digits(at, end, c == 'u' ? 4 : 8, 16, &value))
		return NULL;
	if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return NULL;
	return out + utf8_put(out, value);
}

static struct token lex_string(struct lexer *lexer, struct token token)
{
	const char *at = lexer->text + lexer->at + 1, *end = lexer->text + lexer->len, *from = at;
	char *copy, *out;

	while (at < end && *at != '"')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	if (at >= end)
		return bad(token, "the string has no closing quotation mark");
	end = at;
	lexer->at = (u32)(end + 1 - lexer->text);
	token.kind = TOKEN_STRING;
	token.text = (struct str){ from, (u32)(end - from) };
	if (!memchr(from, '\\', token.text.len))
		return token;
	copy = out = arena_alloc(lexer->arena, token.text.len);
	if (!copy)
		return bad(token, "out of memory");
	for (at = from; at < end;) {
		if (*at != '\\') {
			*out++ = *at++;
			continue;
		}
		at++;
		out = unescape(&at, end, out);
		if (!out)
			return bad(token, "a backslash in a string begins an escape; write two of them for one");
	}
	token.text = (struct str){ copy, (u32)(out - copy) };
	return token;
}

/* ---- Numbers and bytes ------------------------------------------------------------- */

static struct token lex_bytes(struct lexer *lexer, struct token token)
{
	u32 digits = 0;
	char *bytes;

	lexer->at += 2;
	while (hex_digit(peek(lexer, digits)) >= 0)
		digits++;
	if (digits % 2 || !digits)
		return bad(token, "bytes have two digits each");
	bytes = arena_alloc(lexer->arena, digits / 2);
	if (!bytes)
		return bad(token, "out of memory");
	(void)hex_decode((struct str){ lexer->text + lexer->at, digits }, bytes);	/* they were counted above */
	lexer->at += digits;
	token.kind = TOKEN_BYTES;
	token.text = (struct str){ bytes, digits / 2 };
	return token;
}

static struct token lex_number(struct lexer *lexer, struct token token)
{
	char digits[64];
	u32 len = 0;
	bool is_double = false;

	while (is_digit(peek(lexer, len)))
		len++;
	if (peek(lexer, len) == '.' && is_digit(peek(lexer, len + 1))) {
		is_double = true;
		for (len++; is_digit(peek(lexer, len));)
			len++;
		if ((peek(lexer, len) | 0x20) == 'e') {
			u32 sign = peek(lexer, len + 1) == '-' || peek(lexer, len + 1) == '+';

			if (is_digit(peek(lexer, len + 1 + sign)))
				for (len += 1 + sign; is_digit(peek(lexer, len));)
					len++;
		}
	}
	if (len >= sizeof(digits))
		return bad(token, "the number is too long");
	memcpy(digits, lexer->text + lexer->at, len);
	digits[len] = 0;
	lexer->at += len;
	errno = 0;
	token.kind = is_double ? TOKEN_DOUBLE : TOKEN_INT;
	if (is_double)
		token.real = strtod(digits, NULL);
	else
		token.integer = strtoll(digits, NULL, 10);
	return errno ? bad(token, "the number is too large") : token;
}

/* ---- Words and marks --------------------------------------------------------------- */

static struct token lex_word(struct lexer *lexer, struct token token)
{
	u32 len = 1;

	while (is_word(peek(lexer, len)))
		len++;
	token.text = (struct str){ lexer->text + lexer->at, len };
	token.kind = islower((unsigned char)token.text.at[0]) ? TOKEN_NAME : TOKEN_UPPER;
	lexer->at += len;
	return token;
}

static struct token lex_mark(struct lexer *lexer, struct token token)
{
	static const struct {
		const char *text;
		enum compare_op op;
	} compares[] = {
		{ "==", COMPARE_EQ }, { "!=", COMPARE_NE }, { ">=", COMPARE_GE },
		{ "<=", COMPARE_LE }, { ">", COMPARE_GT }, { "<", COMPARE_LT },
	};

	for (u32 i = 0; i < sizeof(compares) / sizeof(*compares); i++) {
		u32 len = (u32)strlen(compares[i].text);

		if (lexer->len - lexer->at < len || memcmp(lexer->text + lexer->at, compares[i].text, len))
			continue;
		lexer->at += len;
		token.kind = TOKEN_COMPARE;
		token.compare = compares[i].op;
		return token;
	}
	token.mark = peek(lexer, 0);
	if (!token.mark || !strchr("()[]{},.:=+-*/", token.mark))
		return bad(token, "no expression has such a character");
	token.kind = TOKEN_MARK;
	lexer->at++;
	return token;
}

static struct token lex(struct lexer *lexer, struct token token)
{
	char c = peek(lexer, 0);

	if (lexer->at >= lexer->len)
		return token;
	if (c == '"')
		return lex_string(lexer, token);
	if (c == '0' && peek(lexer, 1) == 'x')
		return lex_bytes(lexer, token);
	if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1))))
		return lex_number(lexer, token);
	if (isalpha((unsigned char)c))
		return lex_word(lexer, token);
	return lex_mark(lexer, token);
}

struct token lexer_next(struct lexer *lexer)
{
	struct token token = { .kind = TOKEN_END };

	while (lexer->at < lexer->len && strchr(" \t\r\n", lexer->text[lexer->at]) && lexer->text[lexer->at])
		lexer->at++;
	token.from = lexer->at;
	token = lex(lexer, token);
	token.len = lexer->at - token.from;
	return token;
}
