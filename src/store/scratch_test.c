// SPDX-License-Identifier: Apache-2.0
#include "store/scratch_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "store/store.h"
#include "test.h"

static char directory[64];

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", directory);
}

const char *scratch_directory(void)
{
	if (directory[0])
		return directory;
	snprintf(directory, sizeof(directory), "/tmp/wick-scratch-XXXXXX");
	OK(mkdtemp(directory));
	OK(atexit(remove_directory) == 0);
	return directory;
}

struct store *scratch_store(void)
{
	struct store *store = NULL;
	struct buf why, notice;

	buf_init(&why, 512);
	buf_init(&notice, 512);
	EQ(store_open(&(struct store_options){ .directory = scratch_directory(), .host = "here" }, &store, &why,
		      &notice),
	   0);
	EQ(notice.len, 0);
	buf_done(&why);
	buf_done(&notice);
	return store;
}
