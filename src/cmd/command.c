// SPDX-License-Identifier: Apache-2.0
#include "cmd/command.h"

#include <stdarg.h>
#include <unistd.h>

#include "base/log.h"

char **command_arguments;

int command_fail(const struct command *command, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%swick %s: ", log_priority(LOG_LEVEL_ERROR, STDERR_FILENO), command->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}
