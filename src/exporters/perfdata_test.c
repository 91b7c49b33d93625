// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "pipeline/component.h"
#include "processors/try_test.h"
#include "test.h"

extern const struct component_ops exporter_perfdata;

static char folder[64];

static void begin(struct try *try)
{
	char yaml[256];

	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = -1 });
	snprintf(folder, sizeof(folder), "/tmp/wick-perfdata-XXXXXX");
	OK(mkdtemp(folder));
	snprintf(yaml, sizeof(yaml), "{path: %s, interval: 1h, max_megabytes: 1}", folder);
	EQ(try_new(try, &exporter_perfdata, yaml), 0);
}

/* How many there were; they are gone. */
static u32 remove_files(void)
{
	DIR *directory = opendir(folder);
	const struct dirent *entry;
	u32 count = 0;

	OK(directory);
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		EQ(unlinkat(dirfd(directory), entry->d_name, 0), 0);
	}
	closedir(directory);
	EQ(rmdir(folder), 0);
	return count;
}

/* One whose start failed is freed, but not stopped. */
TEST(perfdata_that_cannot_start_leaves_no_thread)
{
	struct try try;
	int r = -1;

	begin(&try);
	try.ops->stop(try.self, 0);
	try.ops->free(TAKE(try.self));
	for (long n = 0; r < 0; n++) {
		struct buf why;
		void *self;

		buf_init(&why, 1024);
		EQ(try.ops->create(&try.setup, try.options, &self, &why), 0);
		test_alloc_fail(n);
		r = try.ops->start(self, &why);
		test_alloc_reset();
		if (r == 0)
			try.ops->stop(self, 0);
		try.ops->free(self);
		buf_done(&why);
	}
	try_free(&try);
	EQ(remove_files(), 0);
}
