// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan.h"

#include <errno.h>

#include "pipeline/fakes_test.h"
#include "test.h"

/* What a configuration gives: "ok", or all errors a line each; then warnings after "warn: ". */
static char *judge(const char *yaml)
{
	struct config_errors errors;
	struct config *config = fakes_config(yaml, &errors);
	struct plan *plan = NULL;
	static char text[1 << 16];
	size_t len = 0;
	int r;

	OK(config);
	r = plan_make(&fakes, config, &errors, &plan);
	EQ(r, errors.error_count ? -EINVAL : 0);
	OK((plan != NULL) == (r == 0));
	text[0] = '\0';
	for (u32 i = 0; i < errors.error_count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? "\n" : "", errors.errors[i]);
	for (u32 i = 0; i < errors.warning_count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%swarn: %s", len ? "\n" : "",
					errors.warnings[i]);
	plan_free(plan);
	config_free(config);
	config_errors_done(&errors);
	return text;
}

#define ENDS "receivers: {fake: }\nexporters: {fake: }\n"

TEST(plan_takes_what_is_right)
{
	STREQ(judge(ENDS "service: {pipelines: {profiles: {receivers: [fake], exporters: [fake]}}}"), "");
	STREQ(judge("receivers: {fake: , fake/2: {result: -1}}\nprocessors: {fake/a: , fake/b: }\nexporters: {fake: }\n"
		    "connectors: {fake/c: }\nextensions: {fake: , storage/x: }\n"
		    "service:\n  extensions: [storage/x, fake]\n  telemetry: {logs: {level: debug}}\n  pipelines:\n"
		    "    profiles/in: {receivers: [fake, fake/2], processors: [fake/b, fake/a], exporters: [fake/c]}\n"
		    "    profiles/out: {receivers: [fake/c], processors: [fake/a], exporters: [fake]}\n"), "");
}

TEST(plan_says_what_is_missing)
{
	STREQ(judge(""), "empty configuration file");
	STREQ(judge("receivers: {fake: }\nservice: {pipelines: {profiles: {receivers: [fake], exporters: [fake]}}}"),
	      "no exporter configuration specified in config\n"
	      "yaml::2:65: service::pipelines::profiles: references exporter \"fake\" which is not configured");
	STREQ(judge("exporters: {fake: }\nservice: {pipelines: {profiles: {receivers: [fake], exporters: [fake]}}}"),
	      "no receiver configuration specified in config\n"
	      "yaml::2:46: service::pipelines::profiles: references receiver \"fake\" which is not configured");
	STREQ(judge(ENDS "service: {extensions: []}"),
	      "yaml::3:10: service::pipelines: service must have at least one pipeline\n"
	      "warn: yaml::1:13: receivers::fake: no pipeline names it, so it does not run\n"
	      "warn: yaml::2:13: exporters::fake: no pipeline names it, so it does not run");
	STREQ(judge(ENDS "service: {pipelines: {profiles: {receivers: [], exporters: [fake]}, profiles/2: "
		    "{receivers: [fake]}}}"),
	      "yaml::3:23: service::pipelines::profiles: must have at least one receiver\n"
	      "yaml::3:69: service::pipelines::profiles/2: must have at least one exporter");
	STREQ(judge(ENDS "service: {extensions: [fake/a], pipelines: {profiles: {receivers: [fake], processors: "
		    "[fake/b], exporters: [fake/c, fake]}}}"),
	      "yaml::3:24: service::extensions: references extension \"fake/a\" which is not configured\n"
	      "yaml::3:88: service::pipelines::profiles: references processor \"fake/b\" which is not configured\n"
	      "yaml::3:109: service::pipelines::profiles: references exporter \"fake/c\" which is not configured; "
	      "did you "
	      "mean \"fake\"?");
}

TEST(plan_says_which_types_and_options_there_are)
{
	STREQ(judge("receivers: {fkae/a: , xyzzy: , fake/a: {reslt: 1}, fake/b: {result: 1}}\nexporters: {oldfake: }\n"
		    "service: {pipelines: {profiles: {receivers: [fkae/a, xyzzy, fake/a, fake/b], exporters: "
		    "[oldfake]}}}"),
	      "yaml::1:13: receivers::fkae/a: there is no receiver of type fkae; did you mean fake?\n"
	      "yaml::1:23: receivers::xyzzy: there is no receiver of type xyzzy; wick components lists those there "
	      "are\n"
	      "yaml::1:41: receivers::fake/a: unknown key reslt; did you mean result?\n"
	      "yaml::1:52: receivers::fake/b: results are not positive\n"
	      "warn: yaml::2:13: exporters::oldfake: the type oldfake is now called fake");
	STREQ(judge("receivers: {fake: }\nexprters: {fake: }\nservice: {pipelnes: }"),
	      "yaml::2:1: unknown key exprters; did you mean exporters?\n"
	      "yaml::3:11: service: unknown key pipelnes; did you mean pipelines?\n"
	      "no exporter configuration specified in config\n"
	      "yaml::3:10: service::pipelines: service must have at least one pipeline\n"
	      "warn: yaml::1:13: receivers::fake: no pipeline names it, so it does not run");
	STREQ(judge("receivers: [fake]\nexporters: {fake: }\nservice: {pipelines: 5}"),
	      "yaml::1:12: receivers: this must be a map from ids to options, not a list\n"
	      "yaml::3:22: service::pipelines: this must be a map of at most 256 pipelines, not a whole number\n"
	      "warn: yaml::2:13: exporters::fake: no pipeline names it, so it does not run");
}

TEST(plan_checks_ids)
{
	STREQ(judge("receivers: {fake/: , 1fake: , \"fake/ a\": , fake/a: }\nexporters: {fake: }\n"
		    "service: {pipelines: {profiles: {receivers: [fake/a], exporters: [fake, [], \"a b\"]}}}"),
	      "yaml::1:13: receivers: \"fake/\" is no id: the part after / must not be empty\n"
	      "yaml::1:22: receivers: \"1fake\" is no id: a type is a letter and up to 62 letters, digits and "
	      "underscores\n"
	      "yaml::1:44: receivers::fake/a: this is the same id as in line 1\n"
	      "yaml::3:73: service::pipelines::profiles: ids are strings, not a list\n"
	      "yaml::3:77: service::pipelines::profiles: \"a b\" is no id: a type is a letter and up to 62 letters, "
	      "digits "
	      "and underscores");
}

TEST(plan_knows_one_signal)
{
	STREQ(judge(ENDS "service: {pipelines: {traces/x: {receivers: [fake], exporters: [fake]}, profile: , "
		    "profiles: {receivers: [fake, fake], exporters: [fake], processor: []}}}"),
	      "yaml::3:23: service::pipelines::traces/x: wick carries profiles only; remove this pipeline, or run an "
	      "OTel "
	      "Collector for traces\n"
	      "yaml::3:73: service::pipelines::profile: unknown signal profile; did you mean profiles?\n"
	      "yaml::3:139: service::pipelines::profiles: unknown key processor; did you mean processors?\n"
	      "warn: yaml::1:13: receivers::fake: no pipeline names it, so it does not run\n"
	      "warn: yaml::2:13: exporters::fake: no pipeline names it, so it does not run");
}

TEST(plan_refuses_doubles)
{
	STREQ(judge("receivers: {fake: }\nprocessors: {fake: }\nexporters: {fake/x: }\nconnectors: {fake: }\n"
		    "service: {pipelines: {profiles: {receivers: [fake, fake], processors: [fake, fake], exporters: "
		    "[fake/x]}}}"),
	      "yaml::4:14: connectors::fake: ambiguous ID: found both \"fake\" receiver and \"fake\" connector; "
	      "rename the "
	      "connector (e.g. to \"fake/connector\")\n"
	      "yaml::5:78: service::pipelines::profiles: references processor \"fake\" multiple times\n"
	      "warn: yaml::5:52: service::pipelines::profiles: \"fake\" is named twice, which is the same as once\n"
	      "warn: yaml::4:14: connectors::fake: no pipeline names it, so it does not run");
}

TEST(plan_wants_connectors_on_both_sides)
{
	STREQ(judge(ENDS "connectors: {fake/c: , fake/d: }\n"
		    "service: {pipelines: {profiles/a: {receivers: [fake], exporters: [fake/c]}, profiles/b: "
		    "{receivers: "
		    "[fake/d], exporters: [fake]}}}"),
	      "yaml::4:23: service::pipelines: connector \"fake/c\" used as exporter in [profiles/a] pipeline but "
	      "not used "
	      "in any supported receiver pipeline\n"
	      "yaml::4:77: service::pipelines: connector \"fake/d\" used as receiver in [profiles/b] pipeline but "
	      "not used "
	      "in any supported exporter pipeline");
}

TEST(plan_refuses_circles)
{
	STREQ(judge(ENDS "connectors: {fake/c: , fake/d: }\nservice:\n  pipelines:\n"
		    "    profiles/in: {receivers: [fake], exporters: [fake/c]}\n"
		    "    profiles/a: {receivers: [fake/c, fake/d], exporters: [fake/d, fake]}\n"),
	      "yaml::7:5: service::pipelines: cycle detected: profiles/a -> profiles/a");
	STREQ(judge(ENDS "connectors: {fake/c: , fake/d: }\nservice:\n  pipelines:\n"
		    "    profiles/in: {receivers: [fake, fake/d], exporters: [fake/c]}\n"
		    "    profiles/a: {receivers: [fake/c], exporters: [fake/d, fake]}\n"),
	      "yaml::6:5: service::pipelines: cycle detected: profiles/in -> profiles/a -> profiles/in");
}

TEST(plan_checks_telemetry)
{
	STREQ(judge(ENDS "service:\n  pipelines: {profiles: {receivers: [fake], exporters: [fake]}}\n  telemetry:\n"
		    "    logs: {level: loud, output_paths: [a, b], processors: [x]}\n"
		    "    traces: {processors: []}\n"
		    "    metrics: {readers: [{periodic: {}}, {pull: {exporter: {prometheus: {port: 70000}}}}]}\n"),
	      "yaml::6:19: service::telemetry::logs::level: \"loud\" is not one of debug, info, warn, error, dpanic, "
	      "panic, "
	      "fatal\n"
	      "yaml::6:47: service::telemetry::logs::processors: wick's own logs go to output_paths only; remove it\n"
	      "yaml::8:36: service::telemetry::metrics::readers::0::periodic: missing key exporter: otlp\n"
	      "yaml::8:79: service::telemetry::metrics::readers::1::pull::exporter::prometheus::port: 70000 is out of "
	      "range: from 0 to 65535\n"
	      "yaml::7:14: service::telemetry: wick makes no traces of itself; remove traces::processors\n"
	      "yaml::4:3: service::telemetry: logs::output_paths has 2 entries; wick writes to exactly one");
}

TEST(plan_survives_without_memory)
{
	struct config_errors errors;
	struct config *config = fakes_config(ENDS "connectors: {fake/c: }\nservice:\n  pipelines:\n"
					     "    profiles/in: {receivers: [fake], exporters: [fake/c]}\n"
					     "    profiles/a: {receivers: [fake/c], exporters: [fake]}\n", &errors);
	long asked = 1;

	for (long i = 0; i < asked; i++) {
		struct plan *plan = NULL;
		int r;

		test_alloc_fail(i);
		r = plan_make(&fakes, config, &errors, &plan);
		asked = test_alloc_reset();
		EQ(r, asked > i ? -ENOMEM : 0);
		plan_free(plan);
	}
	config_free(config);
}
