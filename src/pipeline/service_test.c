// SPDX-License-Identifier: Apache-2.0
#include "pipeline/service.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "pipeline/batch.h"
#include "pipeline/fakes_test.h"
#include "profile/dump_test.h"
#include "profile/profile.h"
#include "test.h"

struct running {
	struct metrics *metrics;
	struct config *config;
	struct service *service;
	struct buf why;
	int result;
};

static struct running start(const char *yaml)
{
	struct running run = { .metrics = metrics_new() };
	struct service_host host = { .registry = &fakes, .metrics = run.metrics };
	struct config_errors errors;

	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = -1 });
	run.config = fakes_config(yaml, &errors);
	OK(run.config);
	buf_init(&run.why, 1 << 16);
	run.result = service_start(&host, run.config, &run.service, &run.why);
	return run;
}

static void end(struct running *run)
{
	service_free(run->service);
	config_free(run->config);
	metrics_free(run->metrics);
	buf_done(&run->why);
}

static struct batch *batch(void)
{
	return batch_from_profile(profile_random(1, 0));
}

#define CHAIN "receivers: {fake/r: }\nprocessors: {fake/p: , fake/q: }\nexporters: {fake/e: , fake/f: }\n" \
	      "connectors: {fake/c: }\nextensions: {fake/x: , fake/y: }\n" \
	      "service:\n  extensions: [fake/x, fake/y]\n  pipelines:\n" \
	      "    profiles/in: {receivers: [fake/r], processors: [fake/p, fake/q], exporters: [fake/c, fake/e]}\n" \
	      "    profiles/out: {receivers: [fake/c], processors: [fake/p], exporters: [fake/f]}\n"

TEST(service_starts_what_is_sent_to_first_and_stops_it_last)
{
	struct running run = start(CHAIN);

	EQ(run.result, 0);
	STREQ(fakes_log(),
	      "create fake/x, create fake/y, create fake/e, create fake/f, create fake/p, create fake/c, create "
	      "fake/q, "
	      "create fake/p, create fake/r, "
	      "start fake/x, start fake/y, start fake/e, start fake/f, start fake/p, start fake/c, start fake/q, "
	      "start fake/p, start fake/r");
	service_stop(run.service, UINT64_MAX);
	STREQ(fakes_log(), "stop fake/r, stop fake/p, stop fake/q, stop fake/c, stop fake/p, stop fake/f, stop fake/e, "
			   "stop fake/y, stop fake/x");
	service_stop(run.service, UINT64_MAX);
	STREQ(fakes_log(), "");
	end(&run);
	STREQ(fakes_log(), "free fake/r, free fake/p, free fake/q, free fake/c, free fake/p, free fake/f, free fake/e, "
			   "free fake/y, free fake/x");
}

TEST(service_leads_batches_through_pipelines)
{
	struct running run = start(CHAIN);
	struct buf text;
	u64 samples;
	char want[128];
	struct batch *sent = batch();

	samples = batch_samples(sent);
	fakes_log();
	EQ(fakes_send("fake/r", sent), 0);
	STREQ(fakes_log(), "fake/p, fake/q, fake/c, fake/p, fake/f, fake/e");
	buf_init(&text, 1 << 20);
	metrics_render(run.metrics, &text);
	(void)snprintf(want, sizeof(want),
		       "otelcol_processor_incoming_items{processor=\"fake/p\",otel_signal=\"profiles\"} "
		       "%llu\n", (unsigned long long)samples * 2);
	OK(strstr(text.data, want));
	(void)snprintf(want, sizeof(want),
		       "otelcol_processor_outgoing_items{processor=\"fake/q\",otel_signal=\"profiles\"} "
		       "%llu\n", (unsigned long long)samples);
	OK(strstr(text.data, want));
	buf_done(&text);
	service_stop(run.service, UINT64_MAX);
	end(&run);
}

TEST(service_shares_receivers_and_exporters_between_pipelines)
{
	struct running run = start("receivers: {fake/r: , fake/s: }\nprocessors: {fake/p: }\nexporters: {fake/e: , "
				   "fake/f: {result: -11}}\nservice:\n  pipelines:\n"
				   "    profiles: {receivers: [fake/r, fake/s], exporters: [fake/f, fake/e]}\n"
				   "    profiles/2: {receivers: [fake/r], processors: [fake/p], exporters: "
				   "[fake/e]}\n");

	EQ(run.result, 0);
	fakes_log();
	EQ(fakes_send("fake/r", batch()), -EAGAIN);
	STREQ(fakes_log(), "fake/f, fake/e, fake/p, fake/e");
	EQ(fakes_send("fake/s", batch()), -EAGAIN);
	STREQ(fakes_log(), "fake/f, fake/e");
	service_stop(run.service, UINT64_MAX);
	end(&run);
}

TEST(service_tells_receivers_who_reads_profiles)
{
	struct running run = start("receivers: {fake/r: , fake/s: }\nprocessors: {passer: , reader: }\n"
				   "exporters: {fake/e: }\nservice:\n  pipelines:\n"
				   "    profiles: {receivers: [fake/r, fake/s], processors: [passer, reader], "
				   "exporters: "
				   "[fake/e]}\n"
				   "    profiles/2: {receivers: [fake/s], processors: [passer], exporters: "
				   "[fake/e]}\n");
	const char *log = fakes_log();

	EQ(run.result, 0);
	OK(strstr(log, "create fake/r before a reader"));
	OK(strstr(log, "create fake/s, "));
	service_stop(run.service, UINT64_MAX);
	end(&run);
}

TEST(service_unwinds_when_something_cannot_be_made_or_started)
{
	struct running run = start("receivers: {fake/r: {fail_create: true}}\nexporters: {fake/e: }\n"
				   "service: {pipelines: {profiles: {receivers: [fake/r], exporters: [fake/e]}}}");

	EQ(run.result, -EPERM);
	STREQ(run.why.data, "receivers::fake/r: it does not want to");
	STREQ(fakes_log(), "create fake/e, free fake/e");
	OK(!run.service);
	end(&run);
	run = start("receivers: {fake/r: }\nprocessors: {fake/p: {fail_start: true}}\nexporters: {fake/e: }\n"
		    "service: {pipelines: {profiles: {receivers: [fake/r], processors: [fake/p], exporters: "
		    "[fake/e]}}}");
	EQ(run.result, -EADDRINUSE);
	STREQ(run.why.data, "processors::fake/p: Address already in use");
	STREQ(fakes_log(), "create fake/e, create fake/p, create fake/r, start fake/e, stop fake/e, free fake/r, free "
			   "fake/p, free fake/e");
	end(&run);
}

TEST(service_lets_exporters_go_on_when_it_retires)
{
	struct running run = start("receivers: {fake/r: }\nprocessors: {fake/p: }\nexporters: {fake/e: {uses: fake/x}, "
				   "alone/f: , fake/g: {uses: storage}}\nextensions: {fake/x: , fake/y: , storage: }\n"
				   "service:\n  extensions: [fake/x, fake/y, storage]\n  pipelines:\n"
				   "    profiles: {receivers: [fake/r], processors: [fake/p], exporters: [fake/e, "
				   "alone/f, "
				   "fake/g]}\n");

	EQ(run.result, 0);
	fakes_log();
	service_retire(run.service, UINT64_MAX);
	STREQ(fakes_log(), "stop fake/r, stop fake/p, stop fake/g, stop alone/f, stop storage, stop fake/y");
	service_stop(run.service, UINT64_MAX);
	STREQ(fakes_log(), "stop fake/e, stop fake/x");
	end(&run);
}

TEST(service_tells_how_its_components_are)
{
	struct running run = start(CHAIN);
	struct component_view view;
	struct pipeline_view pipeline;

	EQ(service_health(run.service), HEALTH_OK);
	EQ(service_component(run.service, 2, &view), 0);
	STREQ(view.id, "fake/e");
	STREQ(view.type, "fake");
	STREQ(view.pipeline, "");
	EQ(view.kind, COMPONENT_EXPORTER);
	EQ(view.health, HEALTH_OK);
	EQ(service_component(run.service, 4, &view), 0);
	STREQ(view.pipeline, "profiles/out");
	EQ(service_component(run.service, 9, &view), -ENOENT);
	EQ(service_pipeline(run.service, 0, &pipeline), 0);
	STREQ(pipeline.id, "profiles/in");
	EQ(pipeline.processors->count, 2);
	EQ(service_pipeline(run.service, 2, &pipeline), -ENOENT);
	OK(service_started_unix_ns(run.service) > 0);
	service_stop(run.service, UINT64_MAX);
	EQ(service_health(run.service), HEALTH_STOPPED);
	end(&run);
}

TEST(service_knows_its_extensions)
{
	struct running run = start(CHAIN);
	void *self = NULL;

	OK(service_extension(run.service, "fake/y", &self));
	OK(self);
	OK(!service_extension(run.service, "fake/e", &self));
	OK(service_metrics(run.service) == run.metrics);
	service_stop(run.service, UINT64_MAX);
	end(&run);
}

TEST(service_survives_without_memory)
{
	struct metrics *metrics = metrics_new();
	struct service_host host = { .registry = &fakes, .metrics = metrics };
	struct config_errors errors;
	struct config *config = fakes_config(CHAIN, &errors);

	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = -1 });
	for (long i = 0; i < 12; i++) {
		struct service *service = NULL;
		struct buf why;
		int r;

		buf_init(&why, 1000);
		test_alloc_fail(i);
		r = service_start(&host, config, &service, &why);
		if (test_alloc_reset() > i)
			EQ(r, -ENOMEM);
		if (r == 0)
			service_stop(service, UINT64_MAX);
		service_free(service);
		buf_done(&why);
	}
	config_free(config);
	config_errors_done(&errors);
	metrics_free(metrics);
}
