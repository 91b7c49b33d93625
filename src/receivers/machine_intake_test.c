// SPDX-License-Identifier: Apache-2.0
#include "receivers/machine_intake.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "receivers/machine.h"
#include "store/scratch_test.h"
#include "store/shared.h"
#include "test.h"

struct fixture {
	struct metrics *metrics;
	struct host_series *series;
	struct machine_intake intake;
	struct store *store;
	struct buf why;
	u64 start_ns;
};

static void setup(struct fixture *f)
{
	struct buf notice;

	*f = (struct fixture){ .metrics = metrics_new(), .series = host_series_share(),
			       .start_ns = clock_ns(CLOCK_REALTIME) / SECOND_NS * SECOND_NS - 60 * SECOND_NS };
	buf_init(&f->why, 512);
	buf_init(&notice, 512);
	EQ(store_acquire(&(struct store_options){ scratch_directory(), .host = "here" }, &f->store, &f->why, &notice),
	   0);
	buf_done(&notice);
	machine_intake_init(&f->intake, f->series, f->metrics, "otlp", "http");
}

static void teardown(struct fixture *f)
{
	store_release(f->store);
	host_series_release(f->series);
	metrics_free(f->metrics);
	buf_done(&f->why);
}

/* As many seconds of CPU time as have passed, of two CPUs. */
static enum rpc_code send(struct fixture *f, const char *host, u32 seconds)
{
	struct buf message;

	buf_init(&message, 1 << 16);
	buf_addf(&message, "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[{\"key\":\"host.name\",\"value\":"
		 "{\"stringValue\":\"%s\"}}]},\"scopeMetrics\":[{\"metrics\":[{\"name\":\"system.cpu.time\",\"sum\":{"
		 "\"aggregationTemporality\":2,\"isMonotonic\":true,\"dataPoints\":[", host);
	for (u32 cpu = 0; cpu < 2; cpu++)
		for (u32 i = 0; i < 2; i++)
			buf_addf(&message, "%s{\"timeUnixNano\":\"%llu\",\"asInt\":%u,\"attributes\":["
				 "{\"key\":\"state\",\"value\":{\"stringValue\":\"%s\"}}]}", cpu + i ? "," : "",
				 f->start_ns + seconds * SECOND_NS, i ? seconds : 0, i ? "user" : "idle");
	buf_addf(&message, "]}},{\"name\":\"other\",\"gauge\":{\"dataPoints\":[{\"asInt\":1}]}}]}]}]}");
	return machine_intake_take(&f->intake, &message, true, 7, &f->why);
}

static u32 rows_of(struct fixture *f, const char *host, u64 *ret_busy)
{
	struct series_rows rows;
	u32 count;

	EQ(series_read(f->store, host, f->start_ns, f->start_ns + 3600 * SECOND_NS, 1000, &rows), 0);
	count = rows.count;
	*ret_busy = count ? rows.at[0].numbers[SERIES_BUSY] : 0;
	series_rows_done(&rows);
	return count;
}

TEST(machine_intake_keeps_rows_of_a_host)
{
	struct fixture f;
	u64 busy;

	EQ(machine_intake_is_open(), false);
	setup(&f);
	EQ(machine_intake_is_open(), true);
	EQ(send(&f, "there", 10), RPC_OK);
	EQ(send(&f, "there", 20), RPC_OK);
	EQ(send(&f, "there", 30), RPC_OK);
	EQ(rows_of(&f, "there", &busy), 2);
	EQ(busy, 2000);
	EQ(rows_of(&f, "here", &busy), 0);
	EQ(metric_value(f.intake.rows), 2);
	EQ(metric_value(f.intake.accepted), 12);
	EQ(metric_value(f.intake.ignored[IGNORED_OTHER]), 3);
	teardown(&f);
}

TEST(machine_intake_leaves_the_machine_that_is_sampled_here_alone)
{
	struct machine *machine;
	struct fixture f;
	u64 busy;

	setup(&f);
	machine = machine_new("/proc");
	EQ(machine_is_sampled(), true);
	EQ(send(&f, "here", 10), RPC_OK);
	EQ(send(&f, "here", 20), RPC_OK);
	EQ(rows_of(&f, "here", &busy), 0);
	EQ(metric_value(f.intake.refused[HOST_SERIES_OWN]), 2);
	machine_free(machine);
	/* Where nobody samples it, another wick on it may tell. */
	EQ(machine_is_sampled(), false);
	EQ(send(&f, "here", 30), RPC_OK);
	EQ(send(&f, "here", 40), RPC_OK);
	EQ(rows_of(&f, "here", &busy), 1);
	teardown(&f);
}

TEST(machine_intake_says_what_is_no_request)
{
	struct fixture f;
	struct buf message;

	setup(&f);
	buf_init(&message, 16);
	buf_add(&message, "\x0a\xff", 2);
	EQ(machine_intake_take(&f.intake, &message, false, 7, &f.why), RPC_INVALID_ARGUMENT);
	OK(f.why.len);
	teardown(&f);
}
