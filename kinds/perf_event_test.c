// SPDX-License-Identifier: Apache-2.0
#include "kinds/perf_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "test.h"

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	OK(file);
	fputs(text, file);
	fclose(file);
}

static void count_names(void *arg, const char *name)
{
	++*(u32 *)arg;
}

TEST(perf_events_of_units_are_put_together_by_their_formats)
{
	char devices[] = "/tmp/wick-units-XXXXXX", path[128];
	struct kind_event event;
	struct buf why;
	u32 count = 0;

	buf_init(&why, 4096);
	OK(mkdtemp(devices));
	for (u32 i = 0; i < 3; i++) {
		static const char *const folders[] = { "unit", "unit/events", "unit/format" };

		snprintf(path, sizeof(path), "%s/%s", devices, folders[i]);
		EQ(mkdir(path, 0700), 0);
	}
	put(devices, "unit/type", "4\n");
	put(devices, "unit/events/loads", "event=0x1cd,umask=0x1,edge\n");
	put(devices, "unit/events/loads.unit", "B\n");
	put(devices, "unit/events/strange", "ldlat=3\n");
	put(devices, "unit/format/event", "config:0-7,32-35\n");
	put(devices, "unit/format/umask", "config:8-15\n");
	put(devices, "unit/format/edge", "config:18\n");
	put(devices, "unit/format/ldlat", "config1:0-15\n");
	EQ(perf_event_find(STR("unit/loads/"), devices, &event, &why), 0);
	EQ(event.type, 4);
	EQ(event.config, 0x1cdull >> 8 << 32 | 1u << 18 | 1u << 8 | 0xcd);
	EQ(perf_event_find(STR("unit/strange/"), devices, &event, &why), -EINVAL);
	OK(why.len);
	EQ(perf_event_find(STR("unit/stores/"), devices, &event, &why), -ENOENT);
	EQ(perf_event_find(STR("other/loads/"), devices, &event, &why), -ENOENT);
	EQ(perf_event_find(STR("../loads/"), devices, &event, &why), -ENOENT);
	EQ(perf_event_list(devices, count_names, &count), count);
	OK(count > 20);
	snprintf(path, sizeof(path), "rm -r %s", devices);
	EQ(system(path), 0);
	buf_done(&why);
}

TEST(perf_events_have_the_names_of_perf_list)
{
	struct kind_event event;
	struct buf why;

	buf_init(&why, 4096);
	EQ(perf_event_find(STR("context-switches"), "/none", &event, &why), 0);
	EQ(event.type, PERF_TYPE_SOFTWARE);
	EQ(perf_event_find(STR("L1-dcache-load-misses"), "/none", &event, &why), 0);
	EQ(event.config, 0x10000);
	EQ(perf_event_find(STR("r1a8"), "/none", &event, &why), 0);
	EQ(event.type, PERF_TYPE_RAW);
	EQ(event.config, 0x1a8);
	EQ(perf_event_find(STR("real"), "/none", &event, &why), -ENOENT);
	EQ(perf_event_find(STR("r"), "/none", &event, &why), -ENOENT);
	EQ(perf_event_find(STR(""), "/none", &event, &why), -ENOENT);
	buf_done(&why);
}
