// SPDX-License-Identifier: Apache-2.0
/* The processors that change or drop, each from its YAML. */
#include <errno.h>

#include "base/log.h"
#include "test.h"
#include "pipeline/try_test.h"

extern const struct component_ops processor_resource, processor_attributes, processor_filter, processor_transform,
	processor_probabilistic_sampler, processor_customprofilesprocessor;

#define PLAIN "host=a|cpu 50 : 1 thread=t1, 2 thread=t2; host=b|cpu 50 : 1 thread=t1, 2 thread=t2"

static const char *result_of(const struct component_ops *ops, const char *yaml)
{
	struct try try;
	static char text[4096];

	if (try_new(&try, ops, yaml) < 0)
		FAIL("%s: %s", yaml, try.why);
	EQ(try_send(&try, try_profile()), 0);
	snprintf(text, sizeof(text), "%s", try_shown(try_result()));
	try_free(&try);
	return text;
}

static const char *error_of(const struct component_ops *ops, const char *yaml)
{
	struct try try;
	static char text[1024];

	if (try_new(&try, ops, yaml) != -EINVAL)
		FAIL("%s is accepted", yaml);
	snprintf(text, sizeof(text), "%s", try.why);
	try_free(&try);
	return text;
}

struct example {
	const char *yaml, *want;
};

static void check_results(const struct component_ops *ops, const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = result_of(ops, examples[i].yaml);

		if (strcmp(got, examples[i].want))
			FAIL("%s\n gives %s\n not   %s", examples[i].yaml, got, examples[i].want);
	}
}

static void check_errors(const struct component_ops *ops, const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *got = error_of(ops, examples[i].yaml);

		if (!strstr(got, examples[i].want))
			FAIL("%s\n says %s\n not  %s", examples[i].yaml, got, examples[i].want);
	}
}
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#define REST ": 1 thread=t1, 2 thread=t2"
#define BOTH(a, b) a "|cpu 50 " REST "; " b "|cpu 50 " REST

TEST(resource_applies_actions)
{
	static const struct example examples[] = {
		{ "{attributes: [{key: x, value: 1, action: insert}, {key: host, value: z, action: insert}]}",
		  BOTH("host=a x=1", "host=b x=1") },
		{ "{attributes: [{key: x, value: 1, action: update}, {key: host, value: [1, {a: b}], action: UPDATE}]}",
		  BOTH("host=[1,{\"a\":\"b\"}]", "host=[1,{\"a\":\"b\"}]") },
		{ "{attributes: [{key: x, value: true, action: upsert}, {key: host, value: 1.5, action: upsert}]}",
		  BOTH("host=1.5 x=true", "host=1.5 x=true") },
		{ "{attributes: [{key: y, from_attribute: host, action: insert}, {key: z, from_attribute: none, "
		  "action: insert}, "
		  "{key: d, from_attribute: none, default_value: q, action: insert}]}",
		  BOTH("host=a y=a d=q", "host=b y=b d=q") },
		{ "{attributes: [{key: host, action: delete}]}", BOTH("", "") },
		{ "{attributes: [{key: x1, value: 1, action: insert}, {key: y1, value: 1, action: insert}, "
		  "{pattern: '^[xh]', action: delete}]}", BOTH("y1=1", "y1=1") },
		{ "{attributes: [{key: host, value: name, action: update}, {key: host, action: hash}]}",
		  BOTH("host=82a3537ff0dbce7eec35d69edc3a189ee6f17d82f353a553f9aa96cb0be3ce89",
		       "host=82a3537ff0dbce7eec35d69edc3a189ee6f17d82f353a553f9aa96cb0be3ce89") },
		{ "{attributes: [{key: host, pattern: '(?P<first.part>.)(?P<rest>.*)', action: extract}]}",
		  BOTH("host=a first.part=a rest=", "host=b first.part=b rest=") },
		{ "{attributes: [{key: n, value: '12', action: insert}, {key: n, converted_type: int, action: "
		  "convert}, "
		  "{key: host, converted_type: int, action: convert}, {key: m, value: 3.7, action: insert}, "
		  "{key: m, converted_type: int, action: convert}, {key: s, value: true, action: insert}, "
		  "{key: s, converted_type: string, action: convert}]}",
		  BOTH("host=a n=12 m=3 s=true", "host=b n=12 m=3 s=true") },
	};

	check_results(&processor_resource, examples, COUNT(examples));
}

TEST(resource_says_what_is_wrong)
{
	static const struct example examples[] = {
		{ "{}", "attributes is missing: there is nothing to do" },
		{ "{attributes: [{key: x, action: put}]}", "action 1, of x: there is no action put" },
		{ "{attributes: [{key: x, action: insert}]}", "insert needs value, from_attribute or default_value" },
		{ "{attributes: [{action: delete}]}", "action 1: delete needs key or pattern" },
		{ "{attributes: [{key: x, action: delete, value: 1}]}", "delete does not take value" },
		{ "{attributes: [{key: x, value: 1, from_attribute: y, action: insert}]}", "not both" },
		{ "{attributes: [{key: x, action: extract, pattern: '(a)'}]}", "has a group without a name" },
		{ "{attributes: [{key: x, action: extract, pattern: '('}]}",
		  "the regular expression is wrong at character 2" },
		{ "{attributes: [{key: x, action: convert, converted_type: bytes}]}",
		  "converted_type is string, int or double" },
		{ "{attributes: [{key: x, action: insert, from_context: a}]}",
		  "wick does not keep who sent a request" },
	};

	check_errors(&processor_resource, examples, COUNT(examples));
}

TEST(attributes_change_profiles_and_samples)
{
	static const struct example examples[] = {
		{ "{actions: [{key: x, value: 1, action: insert}]}",
		  "host=a|cpu 50 x=1: 1 thread=t1 x=1, 2 thread=t2 x=1; host=b|cpu 50 x=1: 1 thread=t1 x=1, 2 "
		  "thread=t2 x=1" },
		{ "{actions: [{key: x, value: 1, action: insert}], include: {match_type: strict, attributes: [{key: "
		  "thread, value: "
		  "t1}]}}",
		  "host=a|cpu 50 : 1 thread=t1 x=1, 2 thread=t2; host=b|cpu 50 : 1 thread=t1 x=1, 2 thread=t2" },
		{ "{actions: [{key: thread, action: delete}], exclude: {match_type: regexp, attributes: [{key: "
		  "thread, value: "
		  "'2$'}]}}", "host=a|cpu 50 : 1 , 2 thread=t2; host=b|cpu 50 : 1 , 2 thread=t2" },
		{ "{actions: [{key: thread, action: delete}], include: {match_type: strict, resources: [{key: host, "
		  "value: b}]}}",
		  "host=a|cpu 50 : 1 thread=t1, 2 thread=t2; host=b|cpu 50 : 1 , 2 " },
		{ "{actions: [{key: thread, action: delete}], exclude: {match_type: strict, libraries: [{name: "
		  "wick}]}}", PLAIN },
		{ "{actions: [{key: thread, action: delete}], include: {match_type: strict, services: [x]}}", PLAIN },
	};

	check_results(&processor_attributes, examples, COUNT(examples));
}

TEST(attributes_say_what_is_wrong)
{
	static const struct example examples[] = {
		{ "{}", "actions is missing" },
		{ "{actions: [{key: a, action: delete}], include: {services: [a]}}", "include: match_type is missing" },
		{ "{actions: [{key: a, action: delete}], include: {match_type: strict}}", "at least one of services" },
		{ "{actions: [{key: a, action: delete}], exclude: {match_type: regexp, services: ['(']}}",
		  "exclude: the regular" },
		{ "{actions: [{key: a, action: delete}], exclude: {match_type: strict, span_names: [a]}}",
		  "profiles have none" },
	};

	check_errors(&processor_attributes, examples, COUNT(examples));
}

TEST(filter_drops_what_a_condition_holds_for)
{
	static const struct example examples[] = {
		{ "{}", PLAIN },
		{ "{profile_conditions: ['resource.attributes[\"host\"] == \"c\"']}", PLAIN },
		{ "{profile_conditions: ['resource.attributes[\"host\"] == \"a\"']}", "host=b|cpu 50 " REST },
		{ "{profile_conditions: ['sample.attributes[\"thread\"] == \"t1\" and resource.attributes[\"host\"] "
		  "== \"b\"']}",
		  "host=a|cpu 50 " REST "; host=b|cpu 50 : 2 thread=t2" },
		{ "{profile_conditions: ['sample.values[0] == 1', 'resource.attributes[\"host\"] == \"b\"']}",
		  "host=a|cpu 50 : 2 thread=t2" },
		{ "{profile_conditions: ['profile.sample_type.type == \"cpu\"']}", "nothing" },
		{ "{profile_conditions: ['scope.name == \"wick\"']}", "nothing" },
		{ "{profile_conditions: ['sample.values[0] > 0']}", "nothing" },
		{ "{profile_conditions: [{context: sample, conditions: ['attributes[\"thread\"] == \"t2\"']}]}",
		  "host=a|cpu 50 : 1 thread=t1; host=b|cpu 50 : 1 thread=t1" },
		{ "{profiles: {resource: ['attributes[\"host\"] == \"a\"'], profile: ['period == 1']}}",
		  "host=b|cpu 50 " REST },
		{ "{error_mode: silent, profile_conditions: ['1/0 == 1', 'sample.values[0] == 1']}",
		  "host=a|cpu 50 : 2 thread=t2; host=b|cpu 50 : 2 thread=t2" },
	};

	check_results(&processor_filter, examples, COUNT(examples));
}

TEST(filter_counts_what_it_drops)
{
	struct try try;

	EQ(try_new(&try, &processor_filter, "{profile_conditions: ['sample.values[0] == 1']}"), 0);
	EQ(try_send(&try, try_profile()), 0);
	EQ(try_send(&try, try_profile()), 0);
	EQ(try_counter(&try, "otelcol_processor_filter_profiles_filtered"), 4);
	EQ(try_count(), 2);
	try_free(&try);
}

TEST(filter_gives_a_batch_up_if_told_so)
{
	struct try try;

	log_setup(&(struct log_options){ .level = LOG_LEVELS, .fd = 2 });
	EQ(try_new(&try, &processor_filter, "{error_mode: propagate, profile_conditions: ['1/0 == 1']}"), 0);
	EQ(try_send(&try, try_profile()), -EBADMSG);
	EQ(try_counter(&try, "wick_processor_filter_failures"), 1);
	EQ(try_count(), 0);
	try_free(&try);
}

TEST(filter_says_what_is_wrong)
{
	static const struct example examples[] = {
		{ "{profile_conditions: ['profile.perid == 1']}",
		  "column 1: profile has no perid; did you mean period?" },
		{ "{profile_conditions: [1 == 1], profiles: {profile: ['period == 1']}}", "cannot both be given" },
		{ "{profile_conditions: 'period == 1'}", "profile_conditions is a list of conditions" },
		{ "{profile_conditions: [{context: span, conditions: ['true']}]}",
		  "context is resource, scope, profile or sample" },
		{ "{traces: {span: []}}", "wick has profiles only; remove it" },
		{ "{error_mode: fail}", "ignore" },
	};

	check_errors(&processor_filter, examples, COUNT(examples));
}

TEST(transform_runs_statements)
{
	static const struct example examples[] = {
		{ "{}", PLAIN },
		{ "{profile_statements: ['set(resource.attributes[\"env\"], \"prod\")']}",
		  BOTH("host=a env=prod", "host=b env=prod") },
		{ "{profile_statements: ['set(sample.attributes[\"host\"], resource.attributes[\"host\"]) where "
		  "sample.values[0] == 2', 'delete_key(sample.attributes, \"thread\")']}",
		  "host=a|cpu 50 : 1 , 2 host=a; host=b|cpu 50 : 1 , 2 host=b" },
		{ "{profile_statements: [{context: profile, conditions: ['resource.attributes[\"host\"] == \"b\"'], "
		  "statements: ['set(attributes[\"x\"], 1)', 'set(period, period + 1)']}]}",
		  "host=a|cpu 50 " REST "; host=b|cpu 51 x=1" REST },
		{ "{profile_statements: [{statements: ['set(profile.cache[\"a\"], 7)', 'set(profile.period, "
		  "profile.cache[\"a\"])']}, "
		  "{context: resource, statements: ['set(attributes[\"c\"], cache[\"a\"])']}]}",
		  "host=a|cpu 7 " REST "; host=b|cpu 7 " REST },
		{ "{error_mode: silent, profile_statements: ['set(profile.period, 1/0)', 'set(profile.period, 2)']}",
		  "host=a|cpu 2 " REST "; host=b|cpu 2 " REST },
	};

	check_results(&processor_transform, examples, COUNT(examples));
}

TEST(transform_says_what_is_wrong)
{
	static const struct example examples[] = {
		{ "{flatten_data: true}", "it is for logs only" },
		{ "{profile_statements: ['set(profile.perid, 1)']}", "profile has no perid; did you mean period?" },
		{ "{profile_statements: ['set(profile.period, 1)', {statements: []}]}", "cannot be in one list" },
		{ "{profile_statements: [{context: profile, statement: []}]}", "a group of statements has" },
		{ "{profile_statements: [{context: resource, statements: ['set(profile.period, 1)']}]}",
		  "in the context resource there is no profile" },
	};

	check_errors(&processor_transform, examples, COUNT(examples));
}

TEST(customprofilesprocessor_puts_foo)
{
	STREQ(result_of(&processor_customprofilesprocessor, "{foo: bar}"), BOTH("host=a foo=bar", "host=b foo=bar"));
}

/* Samples with a link are decided by their trace id, the same each time; others by chance. */
static struct profile *linked(u32 count, bool link)
{
	struct profile *profile = profile_new();
	struct profile_set *set =
		profile_add_set(profile, profile_add_scope(profile, profile_add_resource(profile, NULL, 0)));

	for (u32 i = 0; i < count; i++) {
		struct profile_link row = { .trace_id = { 1, [12] = (u8)(i >> 8), [13] = (u8)i, [14] = (u8)(i * 7),
							  [15] = 9 } };
		struct profile_sample *sample = profile_add_sample(profile, set);

		sample->link = link ? profile_add_link(profile, &row) : 0;
	}
	return profile;
}

static u32 kept(const char *yaml, bool link)
{
	struct try try;
	u32 samples = 0;

	EQ(try_new(&try, &processor_probabilistic_sampler, yaml), 0);
	EQ(try_send(&try, linked(4000, link)), 0);
	if (try_result())
		samples = try_result()->resources.at[0].scopes[0].sets[0].sample_count;
	EQ(try_counter(&try, "wick_processor_sampler_dropped_samples"), 4000 - samples);
	try_free(&try);
	return samples;
}

TEST(probabilistic_sampler_keeps_its_share)
{
	u32 traces = kept("{sampling_percentage: 25}", true), chance = kept("{sampling_percentage: 25}", false);

	OK(traces > 850 && traces < 1150);
	EQ(kept("{sampling_percentage: 25}", true), traces);
	OK(kept("{sampling_percentage: 50}", true) > traces);
	OK(chance > 850 && chance < 1150);
	EQ(kept("{sampling_percentage: 100}", true), 4000);
	EQ(kept("{sampling_percentage: 0}", false), 0);
}
