/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subcommand of wick. To add one: write cmd/<name>.c with a struct command
 * named command_<name>, add COMMAND(<name>) to cmd/list.h.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdio.h>

#include "cmd/options.h"

struct command {
	const char *name;
	const char *older_name;		/* also found by it; or NULL */
	const char *help;		/* one line, no full stop */
	const char *operands;		/* as in the usage line, "" if it takes none */
	int operands_min, operands_max;	/* max -1: any number */
	const char *about;		/* what --help says before the options; lines end in \n */
	const char *examples;		/* likewise, after them */
	struct options options;
	size_t values_bytes;		/* of the struct the options are written to */

	/* operands has count entries and a NULL. Returns the exit status. */
	int (*run)(const void *values, int count, char **operands);
};

#define COMMAND(name) extern const struct command command_##name;
#include "cmd/list.h"
#undef COMMAND

/* As main() got them, ended by NULL: for who runs this program again. */
extern char **command_arguments;

/* Prints "wick CMD: ..." and returns 1, the exit status of whatever went wrong. */
int command_fail(const struct command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
