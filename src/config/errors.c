// SPDX-License-Identifier: Apache-2.0
#include "config/errors.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES_MAX 2048
#define MESSAGES_BYTES_MAX (2 * CONFIG_ERRORS_MAX * (MESSAGE_BYTES_MAX + 8))

void config_errors_init(struct config_errors *errors)
{
	*errors = (struct config_errors){ 0 };
	arena_init(&errors->arena, MESSAGES_BYTES_MAX);
}

void config_errors_done(struct config_errors *errors)
{
	arena_done(&errors->arena);
	*errors = (struct config_errors){ 0 };
}

/* Keys and values come from files: what they hold must not draw on a terminal. */
static void escape_controls(char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
	}
}

/* Cut at MESSAGE_BYTES_MAX; NULL if there is no memory even for that. */
static const char *message(struct arena *arena, struct config_place place, const char *path, const char *format,
			   va_list ap)
{
	char text[MESSAGE_BYTES_MAX] = "";
	size_t len = 0;

	if (place.file && *place.file && place.line)
		len = snprintf(text, sizeof(text), "%s:%u:%u: ", place.file, place.line, place.column);
	else if (place.file && *place.file)
		len = snprintf(text, sizeof(text), "%s: ", place.file);
	if (path && *path && len < sizeof(text))
		len += snprintf(text + len, sizeof(text) - len, "%s: ", path);
	if (len < sizeof(text))
		vsnprintf(text + len, sizeof(text) - len, format, ap);
	escape_controls(text);
	return arena_strndup(arena, text, strlen(text));
}

void config_error(struct config_errors *errors, struct config_place place, const char *path, const char *format, ...)
{
	u32 i = errors->error_count++;
	va_list ap;

	if (i >= CONFIG_ERRORS_MAX)
		return;
	va_start(ap, format);
	errors->errors[i] = message(&errors->arena, place, path, format, ap);
	va_end(ap);
	if (!errors->errors[i])
		errors->errors[i] = "out of memory";
}

void config_warning(struct config_errors *errors, struct config_place place, const char *path, const char *format, ...)
{
	u32 i = errors->warning_count++;
	va_list ap;

	if (i >= CONFIG_ERRORS_MAX)
		return;
	va_start(ap, format);
	errors->warnings[i] = message(&errors->arena, place, path, format, ap);
	va_end(ap);
	if (!errors->warnings[i])
		errors->warnings[i] = "out of memory";
}
