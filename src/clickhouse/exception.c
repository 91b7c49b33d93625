// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/exception.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/clean_text.h"

#define LINE_BYTES_MAX 4096

/* Codes of src/Common/ErrorCodes.cpp, which do not change. */
enum {
	NO_SUCH_COLUMN_IN_TABLE = 16, CANNOT_READ_ALL_DATA = 33, BAD_ARGUMENTS = 36, UNKNOWN_IDENTIFIER = 47,
	UNKNOWN_TYPE = 50, TYPE_MISMATCH = 53, UNKNOWN_TABLE = 60, SYNTAX_ERROR = 62, UNKNOWN_FORMAT = 73,
	UNKNOWN_DATABASE = 81, UNKNOWN_SETTING = 115, INCORRECT_DATA = 117, READONLY = 164, UNKNOWN_USER = 192,
	WRONG_PASSWORD = 193, ACCESS_DENIED = 497, AUTHENTICATION_FAILED = 516,
};

/* "DB::Exception: ", "DB::NetException: ". */
static char *skip_class(char *text)
{
	char *c = text;

	if (strncmp(c, "DB::", 4))
		return text;
	for (c += 4; isalnum((unsigned char)*c) || *c == ':' || *c == '_'; c++) {
		if (c[0] == ':' && c[1] == ' ')
			return c + 2;
	}
	return text;
}

static void trim(char *text)
{
	size_t bytes = strlen(text);

	while (bytes && (text[bytes - 1] == ' ' || text[bytes - 1] == '.'))
		text[--bytes] = '\0';
}

/* Takes "(UNKNOWN_TABLE)" off the end. */
static void take_name(char *text, struct clickhouse_exception *exception)
{
	size_t bytes = strlen(text);
	char *open = strrchr(text, '(');

	if (!open || !bytes || text[bytes - 1] != ')' || bytes - (size_t)(open - text) - 2 >= sizeof(exception->name))
		return;
	for (const char *c = open + 1; c < text + bytes - 1; c++) {
		if (!isupper((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_')
			return;
	}
	text[bytes - 1] = '\0';
	(void)snprintf(exception->name, sizeof(exception->name), "%s", open + 1);
	*open = '\0';
	trim(text);
}

static char *take_code(char *line, u32 *ret_code)
{
	char *c = line + 6;
	u32 code = 0;

	if (strncmp(line, "Code: ", 6) || !isdigit((unsigned char)*c))
		return line;
	for (; isdigit((unsigned char)*c) && code < 1000000; c++)
		code = code * 10 + (u32)(*c - '0');
	if (c[0] != '.' || c[1] != ' ')
		return line;
	*ret_code = code;
	return c + 2;
}

void clickhouse_exception_parse(const char *at, size_t bytes, struct clickhouse_exception *ret_exception)
{
	char line[LINE_BYTES_MAX], *text, *version;
	const char *end;

	*ret_exception = (struct clickhouse_exception){ 0 };
	if (bytes > sizeof(line) - 1)
		bytes = sizeof(line) - 1;
	end = bytes ? memchr(at, '\n', bytes) : NULL;
	if (end)
		bytes = (size_t)(end - at);
	(void)snprintf(line, sizeof(line), "%.*s", (int)bytes, bytes ? at : "");
	clean_text(line);
	text = skip_class(take_code(line, &ret_exception->code));
	version = strstr(text, " (version ");
	if (version)
		*version = '\0';
	trim(text);
	if (ret_exception->code)
		take_name(text, ret_exception);
	(void)snprintf(ret_exception->text, sizeof(ret_exception->text), "%s", text);
	clean_text(ret_exception->text);	/* a character may have been cut */
}

bool clickhouse_exception_is_missing(const struct clickhouse_exception *exception)
{
	return exception->code == UNKNOWN_TABLE || exception->code == UNKNOWN_DATABASE;
}

/* Old servers answer with status 500 to nearly everything, so that the code says more. */
bool clickhouse_exception_is_permanent(const struct clickhouse_exception *exception, int status)
{
	switch (exception->code) {
	case NO_SUCH_COLUMN_IN_TABLE:
	case CANNOT_READ_ALL_DATA:
	case BAD_ARGUMENTS:
	case UNKNOWN_IDENTIFIER:
	case UNKNOWN_TYPE:
	case TYPE_MISMATCH:
	case SYNTAX_ERROR:
	case UNKNOWN_FORMAT:
	case UNKNOWN_SETTING:
	case INCORRECT_DATA:
	case READONLY:
	case UNKNOWN_USER:
	case WRONG_PASSWORD:
	case ACCESS_DENIED:
	case AUTHENTICATION_FAILED:
		return true;
	default:
		return status >= 300 && status < 500 && status != 408 && status != 429 &&
		       !clickhouse_exception_is_missing(exception);
	}
}
