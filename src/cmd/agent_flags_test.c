// SPDX-License-Identifier: Apache-2.0
#include "cmd/agent_flags.h"

#include <errno.h>

#include "base/buf.h"
#include "test.h"

struct values {
	const char *other;
	struct agent_flags agent;
};

static const struct option_entry entries[] = {
	{ "other", 0, OPTION_TEXT, offsetof(struct values, other), "TEXT", NULL, 0, 0, NULL, "something" },
	{ 0 },
};

static const struct options options = {
	.entries = entries, .group = AGENT_FLAGS_GROUP(struct values, agent), .single_dash = true,
};

static void parse(struct values *v, const char *const *words)
{
	char *argv[16], error[OPTIONS_ERROR_MAX] = "";
	int argc = 0, operands;

	*v = (struct values){ 0 };
	while (words[argc]) {
		argv[argc] = (char *)words[argc];
		argc++;
	}
	if (options_parse(&options, argc, argv, v, &operands, error) != OPTIONS_OK)
		FAIL("%s", error);
	EQ(operands, 0);
}

static void writes(const char *const *words, const char *want)
{
	char error[OPTIONS_ERROR_MAX];
	struct values v;
	struct buf yaml;

	parse(&v, words);
	buf_init(&yaml, 1 << 16);
	OK(agent_flags_given(&v.agent));
	EQ(agent_flags_write(&v.agent, AGENT_FLAGS_ALONE, &yaml, error), 0);
	STREQ(yaml.data, want);
	buf_done(&yaml);
}

TEST(agent_flags_have_one_dash_or_two)
{
	struct values v;

	parse(&v, (const char *[]){ "-collection-agent=h:1", "-disable-tls", "--other", "x", "-t", "all", "-v", NULL });
	STREQ(v.agent.collection_agent, "h:1");
	EQ(v.agent.disable_tls, true);
	STREQ(v.agent.tracers, "all");
	EQ(v.agent.verbose, true);
	STREQ(v.other, "x");
	parse(&v, (const char *[]){ "-collection-agent", "h:1", "-disable-tls=false", "-t=perl",
				    "--verbose=true", NULL });
	STREQ(v.agent.collection_agent, "h:1");
	EQ(v.agent.disable_tls, false);
	STREQ(v.agent.tracers, "perl");
	EQ(v.agent.verbose, true);
}

/* Where Prometheus finds metrics if nothing is said, and what the charts of another wick's page want. */
#define PULL "        - pull:\n            exporter:\n              prometheus:\n" \
	     "                host: localhost\n                port: 8888\n"
#define PUSH "        - periodic:\n            interval: 10000\n            about: machine\n" \
	     "            if_taken: true\n            exporter:\n              otlp:\n" \
	     "                protocol: grpc\n                compression: gzip\n"

TEST(agent_flags_become_configuration)
{
	unsetenv("NODE_NAME");
	writes((const char *[]){ "-collection-agent=h:1", "-disable-tls", "-samples-per-second=50",
				 "-off-cpu-threshold=20", "-tracers=perl,php", "-pprof=localhost:6060", "-v", NULL },
	       "receivers:\n"
	       "  profiling:\n"
	       "    samples_per_second: 50\n"
	       "    tracers: \"perl,php\"\n"
	       "    off_cpu_threshold: 0.02\n"
	       "    verbose_mode: true\n"
	       "exporters:\n"
	       "  otlp_grpc/collection_agent:\n"
	       "    endpoint: \"h:1\"\n"
	       "    tls:\n"
	       "      insecure: true\n"
	       "extensions:\n"
	       "  pprof:\n"
	       "    endpoint: \"localhost:6060\"\n"
	       "service:\n"
	       "  extensions: [pprof]\n"
	       "  telemetry:\n"
	       "    logs:\n"
	       "      level: debug\n"
	       "    metrics:\n"
	       "      readers:\n"
	       PULL PUSH
	       "                endpoint: \"h:1\"\n"
	       "                insecure: true\n"
	       "  pipelines:\n"
	       "    profiles:\n"
	       "      receivers: [profiling]\n"
	       "      exporters:\n"
	       "        - otlp_grpc/collection_agent\n");
}

TEST(agent_flags_write_several_outputs)
{
	setenv("NODE_NAME", "n1", 1);
	writes((const char *[]){ "--enable-profiling-otlp", "--enable-profiling-datadog",
				 "--profiling-datadog-service=s", "--enable-profiling-perfdata", 
				 "--profiling-perfdata-path=/var/p", "--profiling-interval=60", NULL },
	       "receivers:\n"
	       "  profiling:\n"
	       "    reporter_interval: 60s\n"
	       "processors:\n"
	       "  resource/node:\n"
	       "    attributes:\n"
	       "      - key: k8s.node.name\n"
	       "        value: ${env:NODE_NAME}\n"
	       "        action: upsert\n"
	       "exporters:\n"
	       "  otlp_grpc:\n"
	       "    endpoint: \"localhost:4317\"\n"
	       "  datadog:\n"
	       "    service: \"s\"\n"
	       "    interval: 60s\n"
	       "  perfdata:\n"
	       "    path: \"/var/p\"\n"
	       "    interval: 60s\n"
	       "service:\n"
	       "  telemetry:\n"
	       "    metrics:\n"
	       "      readers:\n"
	       PULL PUSH
	       "                endpoint: \"localhost:4317\"\n"
	       "  pipelines:\n"
	       "    profiles:\n"
	       "      receivers: [profiling]\n"
	       "      processors: [resource/node]\n"
	       "      exporters:\n"
	       "        - otlp_grpc\n"
	       "        - datadog\n"
	       "        - perfdata\n");
}

TEST(agent_flags_send_profiles_alone_if_told_so)
{
	unsetenv("NODE_NAME");
	writes((const char *[]){ "-collection-agent=h:1", "--no-machine-metrics", NULL },
	       "receivers:\n"
	       "  profiling:\n"
	       "exporters:\n"
	       "  otlp_grpc/collection_agent:\n"
	       "    endpoint: \"h:1\"\n"
	       "service:\n"
	       "  pipelines:\n"
	       "    profiles:\n"
	       "      receivers: [profiling]\n"
	       "      exporters:\n"
	       "        - otlp_grpc/collection_agent\n");
}

TEST(agent_flags_come_from_the_environment)
{
	struct agent_flags flags = { .samples_per_second = "19" };

	EQ(agent_flags_given(&(struct agent_flags){ 0 }), false);
	setenv("OTEL_PROFILING_AGENT_COLLECTION_AGENT", "h:1", 1);
	setenv("OTEL_PROFILING_AGENT_SAMPLES_PER_SECOND", "99", 1);
	setenv("OTEL_PROFILING_AGENT_DISABLE_TLS", "true", 1);
	setenv("OTEL_PROFILING_AGENT_VERBOSE", "false", 1);
	agent_flags_read_environment(&flags);
	STREQ(flags.collection_agent, "h:1");
	STREQ(flags.samples_per_second, "19");
	EQ(flags.disable_tls, true);
	EQ(flags.verbose, false);
}

TEST(agent_flags_need_somewhere_to_send_to)
{
	char error[OPTIONS_ERROR_MAX];
	struct buf yaml;

	buf_init(&yaml, 4096);
	EQ(agent_flags_write(&(struct agent_flags){ .verbose = true }, AGENT_FLAGS_ALONE, &yaml, error), -EINVAL);
	STREQ(error, "nowhere to send profiles to: give --collection-agent=HOST:PORT or --enable-profiling-otlp");
	buf_done(&yaml);
}

TEST(agent_flags_stand_beside_the_page)
{
	char error[OPTIONS_ERROR_MAX];
	struct buf yaml;

	buf_init(&yaml, 4096);
	EQ(agent_flags_write(&(struct agent_flags){ .samples_per_second = "97" }, AGENT_FLAGS_BESIDE_PAGE,
			     &yaml, error), 0);
	STREQ(yaml.data, "receivers:\n  profiling:\n    samples_per_second: 97\n");
	yaml.len = 0;
	EQ(agent_flags_write(&(struct agent_flags){ .collection_agent = "h:1", .disable_tls = true },
			     AGENT_FLAGS_BESIDE_PAGE, &yaml, error), 0);
	STREQ(yaml.data, "exporters:\n  otlp_grpc/collection_agent:\n    endpoint: \"h:1\"\n"
			 "    tls:\n      insecure: true\n"
			 "service:\n  pipelines:\n    profiles/sent:\n      receivers: [profiling]\n      exporters:\n"
			 "        - otlp_grpc/collection_agent\n");
	buf_done(&yaml);
}

TEST(agent_flags_leave_readers_to_files)
{
	char error[OPTIONS_ERROR_MAX];
	struct buf yaml;

	buf_init(&yaml, 4096);
	EQ(agent_flags_write(&(struct agent_flags){ .collection_agent = "h:1" }, AGENT_FLAGS_BESIDE_FILES, &yaml,
			     error), 0);
	OK(strstr(yaml.data, "endpoint: \"h:1\""));
	OK(!strstr(yaml.data, "readers"));
	buf_done(&yaml);
}
