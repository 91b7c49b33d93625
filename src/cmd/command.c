// SPDX-License-Identifier: Apache-2.0
#include "cmd/command.h"

#include <stdarg.h>

char **command_arguments;

int command_fail(const struct command *command, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "wick %s: ", command->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}
