// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "pipeline/component.h"
#include "pipeline/try_test.h"
#include "profile/profile.h"
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

/* A sample of each type, with so many times. */
static struct profile *make(u32 types, u32 times)
{
	struct profile *p = profile_new();
	struct profile_scope *scope = profile_add_scope(p, profile_add_resource(p, NULL, 0));
	u64 *at = calloc(times, sizeof(*at));
	char name[16];

	for (u32 i = 0; i < types; i++) {
		struct profile_set *set = profile_add_set(p, scope);
		struct profile_sample *sample = profile_add_sample(p, set);

		snprintf(name, sizeof(name), "type%u", i);
		set->sample_type.type = profile_add_cstring(p, name);
		sample->times_unix_ns = profile_copy(p, at, times * sizeof(*at));
		sample->time_count = times;
	}
	free(at);
	return p;
}

TEST(perfdata_does_not_wait_for_what_no_file_can_hold)
{
	const struct metric_label label = { "exporter", "p" };
	const struct metric *lost;
	struct try try;

	begin(&try);
	EQ(try_send(&try, make(65, 1)), 0);
	EQ(try_send(&try, make(1, 40000)), 0);	/* as large as a file may be: the one before ends */
	instance_stop(&try.instance, monotonic_ns() + 60 * SECOND_NS);
	lost = metrics_get(try.metrics, METRIC_COUNTER, "wick_exporter_perfdata_lost_samples",
			   "Samples of files that could not be written before wick ended, or at all", &label, 1);
	EQ(metric_value(lost), 65);
	try_free(&try);
	EQ(remove_files(), 1);
}

/* One whose start failed is freed, but not stopped. */
TEST(perfdata_that_cannot_start_leaves_no_thread)
{
	struct try try;
	int r = -1;

	begin(&try);
	instance_stop(&try.instance, 0);
	instance_done(&try.instance);
	instance_init(&try.instance, COMPONENT_EXPORTER, "p", "", try.ops, try.options);
	for (long n = 0; r < 0; n++) {
		struct instance one;
		struct buf why;

		buf_init(&why, 1024);
		instance_init(&one, COMPONENT_EXPORTER, "p", "", try.ops, try.options);
		EQ(instance_make(&one, try.service, try.metrics, &why), 0);
		test_alloc_fail(n);
		r = instance_start(&one, &why);
		test_alloc_reset();
		instance_stop(&one, 0);
		instance_done(&one);
		buf_done(&why);
	}
	try_free(&try);
	EQ(remove_files(), 0);
}
