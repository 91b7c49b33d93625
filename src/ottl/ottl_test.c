// SPDX-License-Identifier: Apache-2.0
#include "ottl/ottl.h"

#include <errno.h>

#include "base/buf.h"
#include "profile/any.h"
#include "profile/attrs.h"
#include "test.h"

static struct any text_of(const char *s)
{
	return (struct any){ .kind = ANY_STRING, .string = { s, (u32)strlen(s) } };
}

/* One resource, scope, set and sample, with something of everything. */
static void make(struct ottl_target *t)
{
	static const struct any tags[] = { { ANY_STRING, 0, .string = { "a", 1 } },
					   { ANY_STRING, 0, .string = { "b", 1 } } };
	static const struct keyvalue inner[] = { { { "x", 1 }, { ANY_INT, 0, .integer = 7 } } };
	struct keyvalue attributes[] = {
		{ STR("host"), text_of("web-1") }, { STR("n"), { ANY_INT, 0, .integer = 5 } },
		{ STR("tags"), { ANY_ARRAY, 2, .array = tags } }, { STR("map"), { ANY_MAP, 1, .map = inner } },
		{ STR("d"), { ANY_DOUBLE, 0, .real = 2.5 } },
	};
	static const s64 values[] = { 3 };
	u32 attribute;

	t->profile = profile_new();
	t->resource = profile_add_resource(t->profile, attributes, 5);
	t->scope = profile_add_scope(t->profile, t->resource);
	t->scope->name = STR("wick");
	t->set = profile_add_set(t->profile, t->scope);
	t->set->sample_type.type = profile_add_cstring(t->profile, "samples");
	t->set->period = 50;
	t->set->time_unix_ns = 1700000000000000000;
	t->set->duration_ns = 5000000000;
	attribute = profile_add_attribute_string(t->profile, "kind", "cpu");
	t->set->attributes = profile_copy_indices(t->profile, &attribute, 1);
	t->sample = profile_add_sample(t->profile, t->set);
	attribute = profile_add_attribute_string(t->profile, "thread.name", "gc-1");
	t->sample->attributes = profile_copy_indices(t->profile, &attribute, 1);
	t->sample->values = profile_copy(t->profile, values, sizeof(values));
	t->sample->value_count = 1;
}

static void shown(struct attrs attrs, struct buf *out)
{
	buf_addf(out, "{");
	for (u32 i = 0; i < attrs_count(&attrs); i++) {
		struct keyvalue kv = attrs_get(&attrs, i);

		buf_addf(out, "%s%.*s:", i ? " " : "", (int)kv.key.len, kv.key.at);
		any_put_json(out, &kv.value);
	}
	buf_addf(out, "}");
}

static int holds_on(const struct ottl_target *target, const char *condition)
{
	_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_INFER);
	_cleanup_(ottl_run_done) struct ottl_run run;
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, 4096);
	ottl_run_init(&run);
	r = ottl_add_condition(program, condition, &why);
	if (r < 0)
		FAIL("%s: %s", condition, why.data);
	ottl_run_at(&run, target);
	return ottl_holds(program, 0, &run);
}

static int holds(const char *condition)
{
	struct ottl_target target;
	int r;

	make(&target);
	r = holds_on(&target, condition);
	profile_free(target.profile);
	return r;
}

TEST(ottl_conditions_hold)
{
	static const char *const conditions[] = {
		"true", "not false", "1 == 1", "1 == 1.0", "-1 < 0", "1 - 1 == 0", "1-1 == 0", "2 + 3 * 4 == 14",
		"(2 + 3) * 4 == 20", "7 / 2 == 3", "7.0 / 2 == 3.5", "1 + 0.5 == 1.5", "- (1 + 2) == -3", ".5 == 0.5",
		"1.5e3 == 1500.0", "\"a\" < \"b\"", "\"a\" != nil", "nil == nil", "nil <= nil", "not (nil < nil)",
		"\"1\" != 1", "not (\"1\" < 2)", "true > false", "0x0102 == 0x0102", "0x01 < 0x02", "[1, 2] == [1, 2]",
		"[1] != [2]", "{\"a\": 1, \"b\": 2} == {\"b\": 2, \"a\": 1}", "not ([1] < [2])",
		"true or false and false", "(true or false) and true", "not true or true",
		"\"\\x41\\u00e4\\n\" == \"A\u00e4\\n\"",
		"resource.attributes[\"host\"] == \"web-1\"", "resource.attributes[\"none\"] == nil",
		"resource.attributes[\"map\"][\"x\"] == 7", "resource.attributes[\"tags\"][1] == \"b\"",
		"resource.attributes[\"n\"] * 2 + 1 == 11",
		"resource.attributes[Concat([\"ho\", \"st\"], \"\")] == \"web-1\"",
		"instrumentation_scope.name == \"wick\"", "scope.name == \"wick\"", "profile.period == 50",
		"profile.sample_type.type == \"samples\"", "profile.duration == 5000000000", "Len(profile.sample) == 1",
		"profile.attributes[\"kind\"] == \"cpu\"", "sample.attributes[\"thread.name\"] == \"gc-1\"",
		"profilesample.values[0] == 3", "sample.link_index == 0",
		"profile.time_unix_nano == 1700000000000000000",
		"profile.time == Unix(1700000000)", "profile.time - Unix(1699999999) == Duration(\"1s\")",
		"Now() > profile.time", "profile.time + Duration(\"1m\") > profile.time",
		"String(profile.time) == \"2023-11-14T22:13:20Z\"", "UnixMilli(profile.time) == 1700000000000",
		"profile.profile_id.string == \"00000000000000000000000000000000\"",
		"profile.profile_id == ProfileID(\"00000000000000000000000000000000\")",
		"IsMatch(sample.attributes[\"thread.name\"], \"^gc-\\\\d$\")", "not IsMatch(nil, \".*\")",
		"IsMatch(12, \"^1\")",
		"IsMatch([1, 2], \"^\\\\[1,2\\\\]$\")",
		"Concat([\"a\", 1, nil, true, 1.5, 0x0f], \"-\") == \"a-1-<nil>-true-1.5-0f\"",
		"Split(\"a,b,\", \",\") == [\"a\", \"b\", \"\"]",
		"Split(\"ab\", \"\") == [\"a\", \"b\"]", "Split(\"\", \",\") == [\"\"]",
		"Split(\"a,b\", \",\")[1] == \"b\"",
		"Split(\",\", \",\") == [\"\", \"\"]", "Split(\"ab\", \"abc\") == [\"ab\"]",
		"Substring(\"hello\", 1, 3) == \"ell\"", "Substring(\"a\u00e4b\", 0, 2, true) == \"a\"",
		"Substring(\"a\", 1, 0) == \"\"",
		"Int(\"12\") == 12", "Int(2.9) == 2", "Int(\"x\") == nil", "Int(true) == 1", "Int([]) == nil",
		"Int(\" 1\") == nil",
		"Double(\"2.5\") == 2.5", "Double(1) == 1.0", "Bool(\"T\") == true", "Bool(\"x\") == nil",
		"Bool(0.0) == false",
		"String([1, \"a\"]) == \"[1,\\\"a\\\"]\"", "String(nil) == nil", "String(0xff) == \"ff\"",
		"String(1.5) == \"1.5\"",
		"Len(\"abc\") == 3", "Len([1]) == 1", "Len(resource.attributes) == 5", "IsString(\"\")",
		"not IsString(1)",
		"IsInt(1)", "IsDouble(1.0)", "IsBool(false)", "IsMap({})", "IsList([])", "IsEmpty(nil)",
		"IsEmpty(\"\")",
		"not IsEmpty(\"a\")", "HasPrefix(\"abc\", \"ab\")", "not HasPrefix(\"a\", \"ab\")",
		"HasSuffix(\"abc\", \"bc\")",
		"ToLowerCase(\"ABC\") == \"abc\"", "ToUpperCase(\"abc\") == \"ABC\"", "Trim(\"  a \") == \"a\"",
		"TrimPrefix(\"abc\", \"ab\") == \"c\"", "TrimSuffix(\"abc\", \"bc\") == \"a\"",
		"ParseJSON(\"{\\\"a\\\": [1, null, true]}\")[\"a\"][0] == 1.0", "ParseJSON(\"[]\") == []",
		"ExtractPatterns(\"GIT_SHA=ab1 x\", \"GIT_SHA=(?P<git.sha>\\\\w+)\")[\"git.sha\"] == \"ab1\"",
		"SHA256(\"name\") == \"82a3537ff0dbce7eec35d69edc3a189ee6f17d82f353a553f9aa96cb0be3ce89\"",
		"SHA1(\"\") == \"da39a3ee5e6b4b0d3255bfef95601890afd80709\"",
		"MD5(\"\") == \"d41d8cd98f00b204e9800998ecf8427e\"",
		"Coalesce([nil, resource.attributes[\"x\"], \"z\"]) == \"z\"", "Coalesce([nil]) == nil",
		"Keys({\"a\": 1}) == [\"a\"]", "Values({\"a\": 1}) == [1]", "Index([1, 2], 2) == 1",
		"Index(\"abc\", \"c\") == 2",
		"ContainsValue(resource.attributes[\"tags\"], \"b\")", "Index([1], 3) == -1",
	};

	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
		if (holds(conditions[i]) != 1)
			FAIL("%s is %d", conditions[i], holds(conditions[i]));
}

TEST(ottl_conditions_fail_while_they_run)
{
	static const struct {
		const char *condition;
		int want;
	} cases[] = {
		{ "1 / 0 == 1", -EDOM }, { "resource.attributes[\"host\"] + 1 == 1", -EINVAL },
		{ "resource.attributes[\"tags\"][9] == 1", -ERANGE }, { "resource.attributes[\"host\"][0] == 1",
		  -EINVAL },
		{ "Substring(\"abc\", 2, 5) == \"\"", -ERANGE }, { "ParseJSON(\"{\") == nil", -EBADMSG },
		{ "HasPrefix(resource.attributes[\"n\"], \"a\")", -EINVAL },
		  { "Len(resource.attributes[\"n\"]) == 1", -EINVAL },
		{ "IsMatch(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\", \"^(a+)+$\")", -E2BIG },
		  { "Coalesce([1]) == 1 and 1/0 > 0", -EDOM },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (holds(cases[i].condition) != cases[i].want)
			FAIL("%s is %d", cases[i].condition, holds(cases[i].condition));
}

TEST(ottl_says_what_is_wrong_and_where)
{
	static const struct {
		bool statement;
		const char *text, *want;
	} cases[] = {
		{ true, "sett(resource.attributes[\"a\"], 1)",
		  "column 1: there is no function sett(); did you mean set()?" },
		{ true, "Concat([], \"\")",
		  "column 1: a statement begins with an editor such as set(), whose name begins with a "
		  "lower case letter" },
		{ true, "set(resource.atributes[\"a\"], 1)",
		  "column 5: resource has no atributes; did you mean attributes?" },
		{ true, "set(attributes[\"a\"], 1)", "column 5: attributes of what? Write profile.attributes, or so" },
		{ true, "set(span.name, 1)",
		  "column 5: a path begins with resource, scope, profile or sample, not with span.name" },
		{ true, "set(1, 1)", "column 5: target of set() must be a path that can be changed" },
		{ true, "set(profile.sample, 1)", "column 5: target of set() must be a path that can be changed" },
		{ true, "set(profile.period, \"a\")", "column 1: set(): the target cannot hold a value of this type" },
		{ true, "set(profile.period)", "column 1: set() lacks its argument value" },
		{ true, "set(profile.period, 1, 2)", "column 24: set() takes 2 arguments, not more" },
		{ true, "set(profile.period, 1) where", "column 29: there should be a value here, not the end" },
		{ true, "set(profile.period, 1) if true", "column 24: it should end here, but there is if" },
		{ true, "limit(resource.attributes, 1, [\"a\", \"b\"])",
		  "column 1: limit(): there are more priority keys than the limit" },
		{ true, "delete_key(resource.attributes, 1)",
		  "column 33: key of delete_key() is a string, not an int" },
		{ true, "replace_pattern(resource.attributes[\"a\"], \"(\", \"b\")",
		  "column 43: the regular expression is wrong at character 2: missing closing parenthesis" },
		{ true, "replace_pattern(resource.attributes[\"a\"], \"a\", \"b\", Len)",
		  "column 53: Len() does not make a string of a "
		  "string" },
		{ true, "replace_pattern(resource.attributes[\"a\"], \"a\", \"b\", SHA256, \"%d\")",
		  "column 1: replace_pattern(): the format needs one %s, and has no other percent sign" },
		{ true, "merge_maps(resource.attributes, {}, \"replace\")",
		  "column 1: merge_maps(): the strategy is insert, update or upsert" },
		{ false, "resource.attributes[\"a\"]",
		  "column 1: this is no condition: compare it with something, for example == "
		  "true" },
		{ false, "IsMatch(\"a\")", "column 1: IsMatch() lacks its argument pattern" },
		{ false, "set(resource.attributes[\"a\"], 1) == 1",
		  "column 1: set() cannot stand here: only converters give a value, "
		  "and their names begin with an upper case letter" },
		{ false, "\"a\" + 1 == 2", "column 5: + takes numbers, times and durations" },
		{ false, "profile.period[\"a\"] == 1", "column 1: period has no keys" },
		{ false, "\"abc == 1", "column 1: the string has no closing quotation mark" },
		{ false, "\"\\d\" == 1",
		  "column 1: a backslash in a string begins an escape; write two of them for one" },
		{ false, "1 == 1 &", "column 8: no expression has such a character" },
		{ false, "profile.period ==\n  nill",
		  "line 2, column 3: a path begins with resource, scope, profile or sample, not "
		  "with nill" },
		{ false, "IsMach(\"a\", \"b\")", "column 1: there is no function IsMach(); did you mean IsMatch()?" },
		{ false, "SPAN_KIND == 1", "column 1: there is no function SPAN_KIND()" },
		{ false, "99999999999999999999 == 1", "column 1: the number is too large" },
		{ false, "ExtractPatterns(\"a\", \"b\") == nil",
		  "column 1: ExtractPatterns(): the pattern has no named group; write one as (?P<name>...)" },
		{ false, "", "column 1: there should be a value here, not the end" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_INFER);
		_cleanup_(buf_done) struct buf why;
		int r;

		buf_init(&why, 4096);
		r = cases[i].statement ? ottl_add_statement(program, cases[i].text, &why) :
					 ottl_add_condition(program, cases[i].text, &why);
		if (r != -EINVAL)
			FAIL("%s is %d", cases[i].text, r);
		STREQ(why.data, cases[i].want);
	}
}

/* Runs statements, separated by semicolons, in the context of the sample; shows the attributes of `of`. */
static const char *after(const char *statements, const char *of)
{
	static char result[4096];
	_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_INFER);
	_cleanup_(ottl_run_done) struct ottl_run run;
	_cleanup_(buf_done) struct buf out;
	struct ottl_target target;
	char *copy = strdup(statements), *rest = copy, *one;

	buf_init(&out, 4096);
	make(&target);
	ottl_run_init(&run);
	ottl_run_at(&run, &target);
	while ((one = strsep(&rest, ";")))
		if (ottl_add_statement(program, one, &out) < 0)
			FAIL("%s: %s", one, out.data);
	for (u32 i = 0; i < ottl_program_count(program); i++)
		if (ottl_execute(program, i, &run) < 0)
			FAIL("%s: %s", statements, run.why);
	shown(of[0] == 'r' ? attrs_of_resource(target.profile, target.resource) :
	      of[0] == 'p' ? attrs_of_set(target.profile, target.set) : attrs_of_sample(target.profile, target.sample),
	      &out);
	EQ(profile_check(target.profile), 0);
	snprintf(result, sizeof(result), "%s", out.data);
	profile_free(target.profile);
	free(copy);
	return result;
}

#define R "resource.attributes"

TEST(ottl_editors_change_attributes)
{
	static const struct {
		const char *statements, *of, *want;
	} cases[] = {
		{ "set(" R "[\"n\"], 6); keep_keys(" R ", [\"n\"])", "r", "{n:6}" },
		{ "set(" R ", {\"a\": 1})", "r", "{a:1}" },
		{ "set(" R ", {}); set(" R "[\"a\"][\"b\"], \"c\")", "r", "{a:{\"b\":\"c\"}}" },
		{ "keep_keys(" R ", [\"tags\"]); set(" R "[\"tags\"][0], 9)", "r", "{tags:[9,\"b\"]}" },
		{ "keep_keys(" R ", [\"n\"]); set(" R "[\"n\"], nil); set(" R "[\"z\"], " R "[\"x\"])", "r", "{n:5}" },
		{ "keep_keys(" R ", [\"n\"]); set(" R "[\"n\"], 7) where " R "[\"n\"] == 6", "r", "{n:5}" },
		{ "set(sample.attributes[\"x\"], profile.period)", "s", "{thread.name:\"gc-1\" x:50}" },
		{ "set(sample.attributes[\"thread.name\"], \"t\")", "s", "{thread.name:\"t\"}" },
		{ "set(profile.attributes[\"svc\"], " R "[\"host\"])", "p", "{kind:\"cpu\" svc:\"web-1\"}" },
		{ "delete_key(sample.attributes, \"thread.name\")", "s", "{}" },
		{ "delete_key(" R ", \"none\"); delete_matching_keys(" R ", \"^(host|tags|map)$\")", "r",
		  "{n:5 d:2.5}" },
		{ "keep_matching_keys(" R ", \"^.$\")", "r", "{n:5 d:2.5}" },
		{ "limit(" R ", 2, [\"d\"])", "r", "{host:\"web-1\" d:2.5}" },
		{ "keep_keys(" R ", [\"n\", \"host\"]); merge_maps(" R ", {\"n\": 1, \"z\": 2}, \"insert\")", "r",
		  "{host:\"web-1\" n:5 z:2}" },
		{ "keep_keys(" R ", [\"n\"]); merge_maps(" R ", {\"n\": 1, \"z\": 2}, \"update\")", "r", "{n:1}" },
		{ "keep_keys(" R ", [\"n\"]); merge_maps(" R ", {\"n\": 1, \"z\": 2}, \"upsert\")", "r", "{n:1 z:2}" },
		{ "merge_maps(sample.attributes, profile.attributes, \"upsert\")", "s",
		  "{thread.name:\"gc-1\" kind:\"cpu\"}" },
		{ "keep_keys(" R ", [\"host\"]); replace_match(" R "[\"host\"], \"web-*\", \"w\")", "r",
		  "{host:\"w\"}" },
		{ "keep_keys(" R ", [\"host\"]); replace_match(" R "[\"host\"], \"eb-*\", \"w\")", "r",
		  "{host:\"web-1\"}" },
		{ "keep_keys(" R ", [\"host\"]); replace_match(" R "[\"host\"], \"{a,we?}-[0-9]\", \"w\")", "r",
		  "{host:\"w\"}" },
		{ "keep_keys(" R ", [\"host\"]); replace_pattern(" R "[\"host\"], \"(e)b\", \"$1$1\")", "r",
		  "{host:\"wee-1\"}" },
		{ "keep_keys(" R ", [\"host\"]); replace_pattern(" R "[\"host\"], \"e\", \"E\", function=ToLowerCase, "
		  "replacement_format=\"<%s>\")", "r", "{host:\"w<e>b-1\"}" },
		{ "keep_keys(" R ", [\"host\"]); replace_match(" R "[\"host\"], \"*\", \"x\", MD5, \"md5:%s\")", "r",
		  "{host:\"md5:9dd4e461268c8034f5c8564e155c67a6\"}" },
		{ "keep_keys(" R ", [\"host\", \"n\"]); replace_all_matches(" R ", \"web*\", \"w\")", "r",
		  "{host:\"w\" n:5}" },
		{ "keep_keys(" R ", [\"host\", \"n\"]); replace_all_patterns(" R ", \"value\", \"[a-z]+\", \"x\")", "r",
		  "{host:\"x-1\" n:5}" },
		{ "keep_keys(" R ", [\"host\", \"n\"]); replace_all_patterns(" R ", \"key\", \"^\", \"p.\")", "r",
		  "{p.host:\"web-1\" p.n:5}" },
		{ "keep_keys(" R ", [\"host\", \"n\"]); replace_all_patterns(" R ", \"key\", \".*\", \"p\")", "r",
		  "{p:5}" },
		{ "keep_keys(" R ", [\"host\", \"n\"]); truncate_all(" R ", 2)", "r", "{host:\"we\" n:5}" },
		{ "keep_keys(" R ", [\"host\"]); truncate_all(" R ", 4, true, \"..\")", "r", "{host:\"we..\"}" },
		{ "set(" R ", {\"a\": \"x\u00e4\"}); truncate_all(" R ", 2)", "r", "{a:\"x\"}" },
		{ "delete_key(" R ", \"d\"); flatten(" R ")", "r",
		  "{host:\"web-1\" n:5 tags.0:\"a\" tags.1:\"b\" map.x:7}" },
		{ "keep_keys(" R ", [\"map\"]); flatten(" R ", \"p\")", "r", "{p.map.x:7}" },
		{ "set(" R ", {\"0\": {\"1\": {\"2\": {\"3\": 4}}}}); flatten(" R ", depth=2)", "r",
		  "{0.1.2:{\"3\":4}}" },
		{ "set(" R ", {\"a\": {\"b\": 1}, \"a.b\": 2, \"o\": [1, 2]}); flatten(" R ", resolveConflicts=true)",
		  "r",
		  "{a.b:1 a.b.0:2 o:1 o.0:2}" },
		{ "keep_keys(" R ", [\"tags\"]); append(" R "[\"tags\"], \"c\")", "r", "{tags:[\"a\",\"b\",\"c\"]}" },
		{ "keep_keys(" R ", [\"n\"]); append(" R "[\"n\"], values=[1, \"x\"])", "r", "{n:[5,1,\"x\"]}" },
		{ "keep_keys(" R ", []); append(" R "[\"new\"], 1)", "r", "{new:[1]}" },
		{ "keep_keys(" R ", [\"tags\"]); delete_index(" R "[\"tags\"], 0)", "r", "{tags:[\"b\"]}" },
		{ "keep_keys(" R ", [\"tags\"]); delete_index(" R "[\"tags\"], 0, 2)", "r", "{tags:[]}" },
		{ "stringify_all(" R ")", "r",
		  "{host:\"web-1\" n:\"5\" tags:\"[\\\"a\\\",\\\"b\\\"]\" map:\"{\\\"x\\\":7}\" d:\"2.5\"}" },
		{ "set(cache[\"a\"], 1); set(cache[\"b\"][\"c\"], 2); set(" R ", profile.cache)", "r",
		  "{a:1 b:{\"c\":2}}" },
		{ "keep_keys(" R ", []); set(sample.values, [1]); set(" R "[\"v\"], sample.values)", "r", "{v:[1]}" },
		{ "keep_keys(" R ", []); set(profile.profile_id, ProfileID(\"0102030405060708090a0b0c0d0e0f10\")); "
		  "set(" R "[\"id\"], profile.profile_id.string)", "r", "{id:\"0102030405060708090a0b0c0d0e0f10\"}" },
		{ "keep_keys(" R ", []); set(profile.sample_type.unit, \"ns\"); set(scope.version, \"2\"); "
		  "set(" R "[\"x\"], Concat([profile.sample_type.unit, scope.version], \"\"))", "r", "{x:\"ns2\"}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *got = after(cases[i].statements, cases[i].of);

		if (strcmp(got, cases[i].want))
			FAIL("%s gives %s, not %s", cases[i].statements, got, cases[i].want);
	}
}

TEST(ottl_infers_the_innermost_context)
{
	static const struct {
		const char *condition;
		enum ottl_context want;
	} cases[] = {
		{ "resource.attributes[\"a\"] == 1", OTTL_RESOURCE },
		{ "scope.name == \"a\" and resource.attributes[\"a\"] == 1", OTTL_SCOPE },
		{ "profile.period == 1", OTTL_PROFILE },
		{ "profile.period == 1 or sample.link_index == 0", OTTL_SAMPLE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_INFER);
		_cleanup_(buf_done) struct buf why;

		buf_init(&why, 4096);
		EQ(ottl_add_condition(program, cases[i].condition, &why), 0);
		EQ(ottl_program_context(program), cases[i].want);
	}
}

TEST(ottl_knows_whose_attributes_in_a_given_context)
{
	_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_PROFILE);
	_cleanup_(ottl_run_done) struct ottl_run run;
	_cleanup_(buf_done) struct buf why;
	struct ottl_target target;

	buf_init(&why, 4096);
	make(&target);
	ottl_run_init(&run);
	ottl_run_at(&run, &target);
	EQ(ottl_add_condition(program, "attributes[\"kind\"] == \"cpu\" and resource.attributes[\"n\"] == 5", &why), 0);
	EQ(ottl_holds(program, 0, &run), 1);
	EQ(ottl_add_condition(program, "sample.link_index == 0", &why), -EINVAL);
	STREQ(why.data, "column 1: in the context profile there is no sample");
	profile_free(target.profile);
}

/* Each round puts the value into itself: its depth has a limit, and nothing breaks there. */
TEST(ottl_stops_values_that_grow_into_themselves)
{
	_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_INFER);
	_cleanup_(ottl_run_done) struct ottl_run run;
	_cleanup_(buf_done) struct buf why;
	struct ottl_target target;
	int r = 0;

	buf_init(&why, 4096);
	make(&target);
	ottl_run_init(&run);
	ottl_run_at(&run, &target);
	EQ(ottl_add_statement(program, "set(" R "[\"a\"], [" R "[\"a\"], " R "[\"a\"]])", &why), 0);
	for (int i = 0; i < 40 && r >= 0; i++)
		r = ottl_execute(program, 0, &run);
	EQ(r, -E2BIG);
	profile_free(target.profile);
}

TEST(ottl_refuses_what_is_nested_too_deeply)
{
	_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_INFER);
	_cleanup_(buf_done) struct buf why;
	char text[2000];

	buf_init(&why, 4096);
	memset(text, '(', 1000);
	snprintf(text + 1000, 100, "1 == 1");
	EQ(ottl_add_condition(program, text, &why), -EINVAL);
	STREQ(why.data, "column 17: it is nested deeper than 32 levels");
}

TEST(ottl_survives_lack_of_memory)
{
	static const char statement[] = "replace_pattern(" R "[\"host\"], \"w(e)\", Concat([\"$1\", \"x\"], \"\")) "
					"where IsMatch(" R "[\"host\"], \"^web\") and [1, " R "[\"n\"]] == [1, 5]";

	for (long left = 0; left < 60; left++) {
		struct ottl_program *program;
		struct ottl_run run;
		struct ottl_target target;
		struct buf why;

		make(&target);
		buf_init(&why, 4096);
		ottl_run_init(&run);
		ottl_run_at(&run, &target);
		test_alloc_fail(left);
		program = ottl_program_new(OTTL_INFER);
		if (program && ottl_add_statement(program, statement, &why) == 0)
			(void)ottl_execute(program, 0, &run);
		ottl_program_free(program);
		ottl_run_done(&run);
		test_alloc_reset();
		EQ(profile_check(target.profile), 0);
		profile_free(target.profile);
		buf_done(&why);
	}
}
