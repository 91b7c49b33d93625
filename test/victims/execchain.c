// SPDX-License-Identifier: Apache-2.0
/* v-ping SECONDS ROUNDS: the chain, then exec of the other program with a round less: one pid, two programs in turn. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "victim.h"

static char **arguments;

static void exec_next(void)
{
	char other[4096], rounds[32], *self = strdup(arguments[0]);

	fflush(stdout);
	snprintf(other, sizeof(other), "%s/%s", dirname(self), OTHER);
	snprintf(rounds, sizeof(rounds), "%ld", strtol(arguments[2], NULL, 10) - 1);
	execl(other, other, arguments[1], rounds, NULL);
}

void victim_setup(int argc, char **argv)
{
	arguments = argv;
	if (argc > 2 && strtol(argv[2], NULL, 10) > 1)
		atexit(exec_next);
}
