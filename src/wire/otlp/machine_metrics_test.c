// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/machine_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

#define T "1700000000000000000"
#define TIME_NS 1700000000000000000ull
#define HOST "\"resource\":{\"attributes\":[{\"key\":\"host.name\",\"value\":{\"stringValue\":\"h\"}}]},"
#define OPEN(resource) "{\"resourceMetrics\":[{" resource "\"scopeMetrics\":[{\"metrics\":["
#define CLOSE "]}]}]}"
#define REQUEST(resource, metrics) OPEN(resource) metrics CLOSE
#define SUM(name, points) "{\"name\":\"" name "\",\"sum\":{\"isMonotonic\":true,\"aggregationTemporality\":2," \
	"\"dataPoints\":[" points "]}}"
#define GAUGE(name, points) "{\"gauge\":{\"dataPoints\":[" points "]},\"name\":\"" name "\"}"
#define POINT(value, attributes) "{\"timeUnixNano\":\"" T "\"," value ",\"attributes\":[" attributes "]}"
#define TEXT(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define STATE(state) TEXT("state", state)

static struct machine_metrics decode(const char *json)
{
	struct machine_metrics metrics = { 0 };
	struct buf made;

	buf_init(&made, 1 << 20);
	EQ(machine_metrics_from_json(json, strlen(json), &made), 0);
	EQ(machine_metrics_decode(made.data, made.len, &metrics), 0);
	buf_done(&made);
	return metrics;
}

TEST(machine_metrics_add_up_what_each_cpu_did)
{
	struct machine_metrics m = decode(REQUEST(HOST, SUM("system.cpu.time",
		POINT("\"asDouble\":1.5", STATE("user") "," TEXT("cpu", "cpu0")) ","
		POINT("\"asDouble\":2", STATE("user") "," TEXT("cpu", "cpu1")) ","
		POINT("\"asDouble\":3", TEXT("cpu.mode", "iowait")) ","
		POINT("\"asInt\":\"7\"", STATE("idle")) "," POINT("\"asInt\":\"7\"", STATE("idle")))));

	EQ(m.count, 1);
	STREQ(m.samples[0].host, "h");
	EQ(m.samples[0].has_cpu, true);
	EQ(m.samples[0].at.monotonic_ns, TIME_NS);
	EQ(m.samples[0].at.cpu_ns[HOST_CPU_USER], 3500000000);
	EQ(m.samples[0].at.cpu_ns[HOST_CPU_IOWAIT], 3000000000);
	EQ(m.samples[0].at.cpu_count, 2);
	EQ(m.taken, 5);
	EQ(m.ignored + m.wrong + m.left_out, 0);
	machine_metrics_done(&m);
}

TEST(machine_metrics_have_memory_load_and_processes)
{
	struct machine_metrics m = decode(REQUEST(HOST,
		GAUGE("system.memory.limit", POINT("\"asInt\":1000", "")) ","
		GAUGE("system.linux.memory.available", POINT("\"asDouble\":400.0", "")) ","
		GAUGE("system.cpu.logical.count", POINT("\"asInt\":4", "")) ","
		GAUGE("system.cpu.load_average.1m", POINT("\"asDouble\":1.25", "")) ","
		GAUGE("system.processes.count", POINT("\"asInt\":3", TEXT("status", "running")) ","
		      POINT("\"asInt\":40", TEXT("status", "sleeping"))) ","
		GAUGE("process.memory.usage", POINT("\"asInt\":10", TEXT("process.pid", "7") ","
						    TEXT("process.executable.name", "a")) ","
		      POINT("\"asInt\":30", "{\"key\":\"process.pid\",\"value\":{\"intValue\":\"8\"}}"))));

	EQ(m.count, 1);
	EQ(m.samples[0].has_cpu, false);
	EQ(m.samples[0].at.memory_total_bytes, 1000);
	EQ(m.samples[0].at.memory_available_bytes, 400);
	EQ(m.samples[0].at.cpu_count, 4);
	OK(m.samples[0].at.load[0] == 1.25);
	EQ(m.samples[0].at.process_count, 43);
	EQ(m.samples[0].at.by_rss_count, 2);
	EQ(m.samples[0].at.by_rss[0].pid, 8);
	EQ(m.samples[0].at.by_rss[1].rss_bytes, 10);
	STREQ(m.samples[0].at.by_rss[1].name, "a");
	machine_metrics_done(&m);
}

TEST(machine_metrics_without_a_limit_take_the_sum_of_states)
{
	struct machine_metrics m = decode(REQUEST(HOST, GAUGE("system.memory.usage",
		POINT("\"asInt\":500", STATE("used")) "," POINT("\"asInt\":300", STATE("free")) ","
		POINT("\"asInt\":150", TEXT("system.memory.state", "cached")) ","
		POINT("\"asInt\":50", STATE("buffered")) "," POINT("\"asInt\":50", STATE("odd")))));

	EQ(m.samples[0].at.memory_total_bytes, 1000);
	EQ(m.samples[0].at.memory_available_bytes, 500);
	EQ(m.wrong, 1);
	machine_metrics_done(&m);
}

TEST(machine_metrics_of_processes_are_parts_unless_wick_tells)
{
	static const char metrics[] = "\"metrics\":[" GAUGE("system.cpu.logical.count", POINT("\"asInt\":4", "")) ","
		GAUGE("process.cpu.utilization",
		      POINT("\"asDouble\":0.25", TEXT("process.pid", "7") "," STATE("user")) ","
		      POINT("\"asDouble\":0.25", TEXT("process.pid", "7") "," STATE("system")) ","
		      POINT("\"asDouble\":0.25", TEXT("process.pid", "7") "," STATE("wait"))) "]}]}]}";
	char json[2048];
	struct machine_metrics m;

	snprintf(json, sizeof(json), "{\"resourceMetrics\":[{" HOST "\"scopeMetrics\":[{%s", metrics);
	m = decode(json);
	EQ(m.samples[0].at.by_cpu_count, 1);
	OK(m.samples[0].at.by_cpu[0].cpus == 2);
	machine_metrics_done(&m);
	snprintf(json, sizeof(json), "{\"resourceMetrics\":[{" HOST
		 "\"scopeMetrics\":[{\"scope\":{\"name\":\"wick\"},%s", metrics);
	m = decode(json);
	OK(m.samples[0].at.by_cpu[0].cpus == 0.5);
	machine_metrics_done(&m);
}

TEST(machine_metrics_keep_the_processes_with_most)
{
	struct machine_metrics m;
	struct buf json;

	buf_init(&json, 1 << 16);
	buf_addf(&json, OPEN(HOST) "{\"name\":\"process.memory.usage\",\"gauge\":{\"dataPoints\":[");
	for (int i = 1; i <= 30; i++)
		buf_addf(&json, "%s{\"timeUnixNano\":\"" T "\",\"asInt\":%d,\"attributes\":[{\"key\":\"process.pid\","
				"\"value\":{\"intValue\":%d}}]}", i > 1 ? "," : "", i * 7 % 31, i);
	buf_addf(&json, "]}}]}]}]}");
	m = decode(json.data);
	EQ(m.samples[0].at.by_rss_count, HOST_TOP);
	for (u32 i = 0; i < HOST_TOP; i++)
		EQ(m.samples[0].at.by_rss[i].rss_bytes, 30 - i);
	EQ(m.taken, 30);
	machine_metrics_done(&m);
	buf_done(&json);
}

TEST(machine_metrics_are_apart_by_host_and_time)
{
	struct machine_metrics m = decode("{\"resourceMetrics\":[{" HOST "\"scopeMetrics\":[{\"metrics\":["
		SUM("system.cpu.time",
		    "{\"timeUnixNano\":\"1700000010000000000\",\"asInt\":2,\"attributes\":[" STATE("user") "]},"
		    POINT("\"asInt\":1", STATE("user"))) ","
		GAUGE("system.cpu.load_average.1m", "{\"timeUnixNano\":\"1700000010020000000\",\"asInt\":5}")
		"]}]},{\"resource\":{\"attributes\":[" TEXT("host.name", "g") "]},\"scopeMetrics\":[{\"metrics\":["
		SUM("system.cpu.time", POINT("\"asInt\":9", STATE("user"))) "]}]}]}");

	EQ(m.count, 3);
	EQ(m.samples[2].at.cpu_ns[HOST_CPU_USER], 2000000000);
	OK(m.samples[2].at.load[0] == 5);
	EQ(m.samples[0].at.cpu_ns[HOST_CPU_USER] + m.samples[1].at.cpu_ns[HOST_CPU_USER], 10000000000);
	machine_metrics_done(&m);
}

TEST(machine_metrics_tell_the_same_once)
{
	/* Another metric of the same name and time is of another round. */
	struct machine_metrics m = decode(REQUEST(HOST, SUM("system.cpu.time", POINT("\"asInt\":4", STATE("user"))) ","
						  SUM("system.cpu.time", POINT("\"asInt\":4", STATE("user")))));

	EQ(m.count, 2);
	EQ(m.samples[0].at.cpu_ns[HOST_CPU_USER], 4000000000);
	machine_metrics_done(&m);
}

TEST(machine_metrics_ignore_what_is_no_machine)
{
	struct machine_metrics m = decode(REQUEST(HOST, GAUGE("http.server.active", POINT("\"asInt\":1", "")) ","
		"{\"name\":\"system.cpu.time\",\"histogram\":{\"dataPoints\":[{},{}]}},"
		/* Not since the start, or no counter. */
		"{\"name\":\"system.cpu.time\",\"sum\":{\"isMonotonic\":true,\"aggregationTemporality\":1,"
		"\"dataPoints\":[" POINT("\"asInt\":1", STATE("user")) "]}},"
		GAUGE("system.cpu.time", POINT("\"asInt\":1", STATE("user")))));

	EQ(m.count, 0);
	EQ(m.ignored, 5);
	machine_metrics_done(&m);
	m = decode(REQUEST("", SUM("system.cpu.time", POINT("\"asInt\":1", STATE("user")))));
	EQ(m.ignored, 1);
	machine_metrics_done(&m);
}

TEST(machine_metrics_leave_out_values_that_cannot_be)
{
	static const char *const values[] = {
		"\"asDouble\":\"NaN\"", "\"asDouble\":\"Infinity\"", "\"asDouble\":-1", "\"asInt\":-1",
		"\"asDouble\":1e300", "\"asDouble\":1e17", "\"flags\":1", "\"asInt\":1,\"flags\":1",
	};
	char json[1024];

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct machine_metrics m;

		snprintf(json, sizeof(json), REQUEST(HOST, SUM("system.cpu.time", POINT("%s", STATE("user")))),
			 values[i]);
		m = decode(json);
		EQ(m.wrong, 1);
		OK(!m.count || !m.samples[0].has_cpu);
		machine_metrics_done(&m);
	}
}

TEST(machine_metrics_need_a_name_that_can_be_shown)
{
	static const char *const names[] = { "", "a\\u0001", "a\\nb", "\\u007f" };
	char json[2048], name[600];

	for (size_t i = 0; i <= sizeof(names) / sizeof(*names); i++) {
		struct machine_metrics m;

		snprintf(name, sizeof(name), "%0300d", 0);
		snprintf(json, sizeof(json),
			 REQUEST("\"resource\":{\"attributes\":[" TEXT("host.name", "%s") "]},",
				 SUM("system.cpu.time", POINT("\"asInt\":1", STATE("user")))),
			 i < sizeof(names) / sizeof(*names) ? names[i] : name);
		m = decode(json);
		EQ(m.count, 0);
		EQ(m.ignored, 1);
		machine_metrics_done(&m);
	}
}

TEST(machine_metrics_of_too_many_times_are_counted)
{
	struct machine_metrics m;
	struct buf json;

	buf_init(&json, 1 << 20);
	buf_addf(&json, OPEN(HOST) "{\"name\":\"system.memory.limit\",\"gauge\":{\"dataPoints\":[");
	for (int i = 0; i < MACHINE_SAMPLES_MAX + 10; i++)
		buf_addf(&json, "%s{\"timeUnixNano\":%d000000000,\"asInt\":1}", i ? "," : "", 1700000000 + i);
	buf_addf(&json, "]}}]}]}]}");
	m = decode(json.data);
	EQ(m.count, MACHINE_SAMPLES_MAX);
	EQ(m.left_out, 10);
	machine_metrics_done(&m);
	buf_done(&json);
}

TEST(machine_metrics_that_are_no_request_are_refused)
{
	struct machine_metrics m;
	struct buf made;

	EQ(machine_metrics_decode("\x0a\x05xx", 4, &m), -EBADMSG);
	EQ(machine_metrics_decode("", 0, &m), 0);
	EQ(m.count, 0);
	buf_init(&made, 1024);
	EQ(machine_metrics_from_json("{\"resourceMetrics\":[7]}", 23, &made), -EBADMSG);
	EQ(machine_metrics_from_json("nonsense", 8, &made), -EBADMSG);
	buf_done(&made);
}

TEST(machine_metrics_without_memory)
{
	static const char json[] =
		REQUEST(HOST, SUM("system.cpu.time", POINT("\"asDouble\":1.5", STATE("us\\u0065r"))));
	struct machine_metrics m = { 0 };
	int r = -ENOMEM;

	for (long n = 0; r == -ENOMEM; n++) {
		struct buf made;

		buf_init(&made, 1 << 16);
		test_alloc_fail(n);
		r = machine_metrics_from_json(json, strlen(json), &made);
		if (r == 0)
			r = machine_metrics_decode(made.data, made.len, &m);
		(void)test_alloc_reset();
		buf_done(&made);
		OK(n < 100);
	}
	EQ(r, 0);
	EQ(m.samples[0].at.cpu_ns[HOST_CPU_USER], 1500000000);
	machine_metrics_done(&m);
}
