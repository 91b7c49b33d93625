// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("wick " WICK_VERSION);
		return 0;
	}
	fprintf(stderr, "usage: wick COMMAND\n");
	return 1;
}
