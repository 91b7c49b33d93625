// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "exe/reader_protocol.h"

int main(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], READER_ARGV0))
		return reader_server_main(READER_SOCKET_FD);
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("wick " WICK_VERSION);
		return 0;
	}
	fprintf(stderr, "usage: wick COMMAND\n");
	return 1;
}
