// SPDX-License-Identifier: Apache-2.0
#include "config/scalar.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_LEN_MAX 400	/* longer than any double is a string */

struct word {
	const char *text;
	enum node_kind kind;
	double value;
};

static const struct word words[] = {
	{ "", NODE_NULL, 0 },		{ "~", NODE_NULL, 0 },
	{ "null", NODE_NULL, 0 },	{ "Null", NODE_NULL, 0 },	{ "NULL", NODE_NULL, 0 },
	{ "true", NODE_BOOL, 1 },	{ "True", NODE_BOOL, 1 },	{ "TRUE", NODE_BOOL, 1 },
	{ "false", NODE_BOOL, 0 },	{ "False", NODE_BOOL, 0 },	{ "FALSE", NODE_BOOL, 0 },
	{ ".nan", NODE_DOUBLE, NAN },	{ ".NaN", NODE_DOUBLE, NAN },	{ ".NAN", NODE_DOUBLE, NAN },
	{ ".inf", NODE_DOUBLE, INFINITY }, { ".Inf", NODE_DOUBLE, INFINITY }, { ".INF", NODE_DOUBLE, INFINITY },
	{ "+.inf", NODE_DOUBLE, INFINITY }, { "+.Inf", NODE_DOUBLE, INFINITY }, { "+.INF", NODE_DOUBLE, INFINITY },
	{ "-.inf", NODE_DOUBLE, -INFINITY }, { "-.Inf", NODE_DOUBLE, -INFINITY }, { "-.INF", NODE_DOUBLE, -INFINITY },
};

static bool resolve_word(const char *text, struct config_node *node)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].text, text))
			continue;
		node->kind = words[i].kind;
		if (node->kind == NODE_BOOL)
			node->boolean = words[i].value != 0;
		else if (node->kind == NODE_DOUBLE)
			node->real = words[i].value;
		return true;
	}
	return false;
}

static int digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isalpha((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : 99;
}

/* A base by its prefix; a leading 0 alone means 8. */
static const char *number_base(const char *digits, unsigned *ret_base)
{
	static const struct {
		const char *letters;
		unsigned base;
	} prefixes[] = { { "xX", 16 }, { "oO", 8 }, { "bB", 2 } };

	*ret_base = 10;
	if (digits[0] != '0' || !digits[1])
		return digits;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (strchr(prefixes[i].letters, digits[1])) {
			*ret_base = prefixes[i].base;
			return digits + 2;
		}
	}
	*ret_base = 8;
	return digits + 1;
}

/* Numbers of 64 bits without a sign do not fit an s64: they become doubles, which no option takes as whole numbers. */
static bool resolve_integer(const char *text, struct config_node *node)
{
	bool negative = *text == '-', sign = *text == '-' || *text == '+';
	unsigned base;
	const char *digits = number_base(text + sign, &base);
	u64 value = 0;

	if (!*digits)
		return false;
	for (; *digits; digits++) {
		int digit = digit_value(*digits);

		if (digit >= (int)base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (unsigned)digit, &value))
			return false;
	}
	if (value > (u64)INT64_MAX + negative) {
		if (sign)
			return false;
		node->kind = NODE_DOUBLE;
		node->real = (double)value;
		return true;
	}
	node->kind = NODE_INT;
	node->integer = negative ? (s64)(0 - value) : (s64)value;
	return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_like_real(const char *text)
{
	size_t whole, fraction = 0;

	text += *text == '-' || *text == '+';
	whole = strspn(text, "0123456789");
	text += whole;
	if (*text == '.') {
		fraction = strspn(text + 1, "0123456789");
		text += 1 + fraction;
	}
	if (!whole && !fraction)
		return false;
	if (*text == 'e' || *text == 'E') {
		size_t digits;

		text++;
		text += *text == '-' || *text == '+';
		digits = strspn(text, "0123456789");
		if (!digits)
			return false;
		text += digits;
	}
	return !*text;
}

static bool resolve_real(const char *text, struct config_node *node)
{
	double value;

	if (!looks_like_real(text))
		return false;
	value = strtod(text, NULL);
	if (!isfinite(value))
		return false;
	node->kind = NODE_DOUBLE;
	node->real = value;
	return true;
}

void scalar_resolve(const char *text, struct config_node *node)
{
	char plain[NUMBER_LEN_MAX + 1];
	size_t len = 0;

	node->text = text;
	if (resolve_word(text, node))
		return;
	node->kind = NODE_STRING;
	if (!isdigit((unsigned char)*text) && !strchr("+-.", *text))
		return;
	/* Underscores may stand in numbers, but for those that begin with a point. */
	for (const char *c = text; *c; c++) {
		if (*c == '_' && *text != '.')
			continue;
		if (len == NUMBER_LEN_MAX)
			return;
		plain[len++] = *c;
	}
	plain[len] = '\0';
	if (*plain == '.' || !resolve_integer(plain, node))
		(void)resolve_real(plain, node);	/* else it stays a string */
}
