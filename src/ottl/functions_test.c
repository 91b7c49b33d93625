// SPDX-License-Identifier: Apache-2.0
/* Each converter, editor and path by itself: what it gives, where its limits are, and what it says when it cannot. */
#include <errno.h>

#include "base/buf.h"
#include "ottl/ottl.h"
#include "profile/profile.h"
#include "test.h"

/* An empty resource, scope, set and sample. */
static void make(struct ottl_target *t)
{
	t->profile = profile_new();
	t->resource = profile_add_resource(t->profile, NULL, 0);
	t->scope = profile_add_scope(t->profile, t->resource);
	t->set = profile_add_set(t->profile, t->scope);
	t->sample = profile_add_sample(t->profile, t->set);
}

/*
 * Runs lines: those that begin in lower case and are no condition are statements, "? ..." must hold. What the last one
 * returned; why it failed is in `why`.
 */
static int run_lines(const char *lines, char why[256])
{
	_cleanup_(ottl_run_done) struct ottl_run run;
	char *copy = strdup(lines), *rest = copy, *line;
	struct ottl_target target;
	int r = 1;

	make(&target);
	ottl_run_init(&run);
	ottl_run_at(&run, &target);
	why[0] = 0;
	while (r > 0 && (line = strsep(&rest, ";"))) {
		_cleanup_(ottl_program_freep) struct ottl_program *program = ottl_program_new(OTTL_SAMPLE);
		_cleanup_(buf_done) struct buf said;

		line += strspn(line, " ");
		buf_init(&said, 4096);
		r = *line == '?' ? ottl_add_condition(program, line + 1, &said) :
				   ottl_add_statement(program, line, &said);
		if (r < 0) {
			snprintf(why, 256, "%s", said.data);
			break;
		}
		r = *line == '?' ? ottl_holds(program, 0, &run) : ottl_execute(program, 0, &run);
		if (r < 0)
			snprintf(why, 256, "%s", run.why);
		if (r == 0 && *line == '?')
			snprintf(why, 256, "does not hold: %.200s", line);
		if (r == 0 && *line != '?')
			r = 1;		/* its own condition did not hold */
	}
	EQ(profile_check(target.profile), 0);
	profile_free(target.profile);
	free(copy);
	return r;
}

static void expect_all(const char *const *cases)
{
	char why[256];

	for (; *cases; cases++)
		if (run_lines(*cases, why) != 1)
			FAIL("%s: %s", *cases, why);
}

struct failure {
	const char *lines;
	int want;
	const char *why;
};

static void expect_failures(const struct failure *f)
{
	char why[256];

	for (; f->lines; f++) {
		int r = run_lines(f->lines, why);

		if (r != f->want || strcmp(why, f->why))
			FAIL("%s: %d, %s", f->lines, r, why);
	}
}

#define A "resource.attributes"

TEST(ottl_converters_of_texts)
{
	expect_all((const char *const[]){
		"? String(\"a\") == \"a\"", "? String(true) == \"true\"", "? String(false) == \"false\"",
		"? String(-12) == \"-12\"", "? String(1.0) == \"1\"", "? String(0x00ff) == \"00ff\"",
		"? String({\"a\": [1, nil]}) == \"{\\\"a\\\":[1,null]}\"", "? String([]) == \"[]\"",
		"? String(Duration(\"1s\")) == \"1000000000\"", "? String(Unix(0)) == \"1970-01-01T00:00:00Z\"",
		"? String(Unix(1, 500000000)) == \"1970-01-01T00:00:01.5Z\"",
		"? String(Unix(-1, 1)) == \"1969-12-31T23:59:59.000000001Z\"",
		"? String(1.0 / 3.0) == \"0.333333333333333\" or String(1.0 / 3.0) == \"0.33333333333333331\"",
		"? Concat([], \"-\") == \"\"", "? Concat([\"a\"], \"-\") == \"a\"",
		"? Concat([\"a\", [1], {\"k\": 1}, \"b\"], \"-\") == \"a---b\"",
		"? Concat([nil, nil], \"\") == \"<nil><nil>\"",
		"? HasPrefix(\"abc\", \"ab\")", "? not HasPrefix(\"abc\", \"bc\")", "? HasPrefix(\"abc\", \"\")",
		"? HasPrefix(\"\", \"\")", "? not HasPrefix(\"ab\", \"abc\")", "? HasSuffix(\"abc\", \"bc\")",
		"? not HasSuffix(\"abc\", \"ab\")", "? HasSuffix(\"abc\", \"abc\")", "? not HasSuffix(\"c\", \"bc\")",
		"? Substring(\"abc\", 0, 3) == \"abc\"", "? Substring(\"abc\", 3, 0) == \"\"",
		"? Substring(\"a\u00e4b\", 1, 2) == \"\u00e4\"", "? Len(Substring(\"a\u00e4b\", 0, 2)) == 2",
		"? Substring(\"a\u00e4b\", 2, 2, true) == \"b\"", "? Substring(\"a\u00e4b\", 1, 2, true) == \"\u00e4\"",
		"? Len(Substring(\"a\u00e4b\", 0, 2, false)) == 2",
		"? Split(\"\", \"\") == []", "? Split(\"\u00e4b\", \"\") == [\"\u00e4\", \"b\"]",
		"? Split(\"a--b\", \"--\") == [\"a\", \"b\"]", "? Split(\"--\", \"--\") == [\"\", \"\"]",
		"? Split(\"abc\", \"x\") == [\"abc\"]", "? Split(\"a-\", \"-\") == [\"a\", \"\"]",
		"? ExtractPatterns(\"k=v\", \"(?P<a>\\\\w)=(?P<b>\\\\w)(?P<c>x)?\") == "
		"{\"a\": \"k\", \"b\": \"v\", \"c\": \"\"}",
		"? ExtractPatterns(\"zz\", \"(?P<a>k)\") == {}",
		"? ExtractPatterns(\"kx\", \"(k)(?P<a>x)\") == {\"a\": \"x\"}",
		"? ToLowerCase(\"AbZ\u00c4[@`{\") == \"abz\u00c4[@`{\"",
		"? ToUpperCase(\"aBz\u00e4\") == \"ABZ\u00e4\"",
		"? Trim(\"  a b  \") == \"a b\"", "? Trim(\"xyaxy\", \"yx\") == \"a\"", "? Trim(\"xx\", \"x\") == \"\"",
		"? Trim(\" a \", \"\") == \" a \"", "? Trim(\"\") == \"\"",
		"? TrimPrefix(\"abab\", \"ab\") == \"ab\"", "? TrimPrefix(\"ab\", \"b\") == \"ab\"",
		"? TrimSuffix(\"abab\", \"ab\") == \"ab\"", "? TrimSuffix(\"ab\", \"a\") == \"ab\"",
		"? TrimSuffix(\"ab\", \"ab\") == \"\"", "? TrimPrefix(\"ab\", \"ab\") == \"\"",
		"? MD5(\"\") == \"d41d8cd98f00b204e9800998ecf8427e\"",
		"? MD5(\"a\") == \"0cc175b9c0f1b6a831c399e269772661\"",
		"? SHA1(\"a\") == \"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8\"",
		"? SHA256(\"a\") == \"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\"",
		"? Len(SHA512(\"a\")) == 128", "? Substring(SHA512(\"a\"), 0, 8) == \"1f40fc92\"",
		"? IsMatch(\"abc\", \"b\")", "? not IsMatch(\"abc\", \"^b\")", "? IsMatch(true, \"tru\")",
		"? not IsMatch(" A "[\"none\"], \"\")", NULL });
	expect_failures((const struct failure[]){
		{ "? Substring(\"abc\", -1, 1) == \"\"", -ERANGE,
		  "Substring() asks for 1 bytes from -1 of a text of 3" },
		{ "? Substring(\"abc\", 0, -1) == \"\"", -ERANGE,
		  "Substring() asks for -1 bytes from 0 of a text of 3" },
		{ "? Substring(\"abc\", 4, 0) == \"\"", -ERANGE, "Substring() asks for 0 bytes from 4 of a text of 3" },
		{ "? Substring(\"abc\", 1, 3) == \"\"", -ERANGE, "Substring() asks for 3 bytes from 1 of a text of 3" },
		{ "? Substring(" A "[\"x\"], 1, 3) == \"\"", -EINVAL, "target of Substring() is nil" },
		{ "? Substring(\"a\", " A "[\"x\"], 3) == \"\"", -EINVAL, "start of Substring() is nil" },
		{ "? Concat(" A "[\"x\"], \"\") == \"\"", -EINVAL, "vals of Concat() is nil, not a list" },
		{ "set(" A "[\"x\"], 1); ? Concat([], " A "[\"x\"]) == \"\"", -EINVAL,
		  "delimiter of Concat() is an int" },
		{ "set(" A "[\"x\"], 1); ? ToLowerCase(" A "[\"x\"]) == \"\"", -EINVAL,
		  "target of ToLowerCase() is an int" },
		{ "set(" A "[\"x\"], [1]); ? MD5(" A "[\"x\"]) == \"\"", -EINVAL, "value of MD5() is a list" },
		{ "set(" A "[\"x\"], {}); ? Split(" A "[\"x\"], \"\") == []", -EINVAL, "target of Split() is a map" },
		{ "set(" A "[\"x\"], true); ? TrimPrefix(\"a\", " A "[\"x\"]) == \"\"", -EINVAL,
		  "prefix of TrimPrefix() is a bool" },
		{ "? ExtractPatterns(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\", \"^(?P<x>(a+)+)$\") == nil", -E2BIG,
		  "ExtractPatterns() gave up: the pattern takes too many steps on this text" },
		{ "? IsMatch(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\", \"^(a+)+$\")", -E2BIG,
		  "IsMatch() gave up: the pattern takes too many steps on this text" },
		{ 0 } });
}

TEST(ottl_converters_of_numbers_and_types)
{
	expect_all((const char *const[]){
		"? Int(\"-7\") == -7", "? Int(\"\") == nil", "? Int(\"1x\") == nil",
		"? Int(\"99999999999999999999\") == nil",
		"? Int(1.0e30) == nil", "? Int(-2.9) == -2", "? Int(false) == 0", "? Int(Duration(\"2ns\")) == 2",
		"? Int(nil) == nil", "? Int({}) == nil", "? Int(9) == 9", "? Int(\"\\t1\") == nil",
		"? Double(\"1e3\") == 1000.0", "? Double(\"x\") == nil", "? Double(true) == 1.0",
		"? Double(2.5) == 2.5",
		"? Double(nil) == nil", "? Double(\"\") == nil", "? IsDouble(Double(3))",
		"? Bool(\"f\") == false", "? Bool(\"1\") == true", "? Bool(\"TRUE\") == true",
		"? Bool(\"False\") == false",
		"? Bool(\"yes\") == nil", "? Bool(2) == true", "? Bool(0) == false", "? Bool(0.5) == true",
		"? Bool(true) == true", "? Bool(nil) == nil", "? Bool([]) == nil",
		"? Bool(\"True\")==true and Bool(\"0\")==false",
		"? not IsString(nil) and not IsInt(1.0) and not IsDouble(1) and not IsBool(0) and not IsMap([])",
		"? not IsList({}) and IsList([1]) and IsMap({\"a\": 1}) and IsBool(true) and IsInt(0) and "
		"IsString(\"a\")",
		"? IsEmpty(0) and IsEmpty(0.0) and IsEmpty(false) and IsEmpty([]) and IsEmpty({})",
		"? not IsEmpty(1) and not IsEmpty(0.1) and not IsEmpty(true) and not IsEmpty([0]) and not "
		"IsEmpty({\"a\": 0})",
		"? not IsEmpty(\"a\") and not IsEmpty(0x00)",
		"? Len({\"a\": 1, \"b\": 2}) == 2 and Len(0x0102) == 2 and Len([]) == 0 and Len(\"\u00e4\") == 2",
		"? Coalesce([nil, 2, 3]) == 2", "? Coalesce([nil]) == nil", "? Coalesce([]) == nil",
		"set(" A "[\"x\"], 1); ? Coalesce(" A "[\"x\"]) == nil",
		"? Keys({\"a\": 1, \"b\": 2}) == [\"a\", \"b\"]", "? Values({\"a\": 1, \"b\": nil}) == [1, nil]",
		"? Keys(" A ") == []", "? Keys(" A "[\"none\"]) == []",
		"? Index([1, 2, 2], 2) == 1", "? Index([1], 3) == -1", "? Index(\"abc\", \"c\") == 2",
		"? Index(\"abc\", \"x\") == -1",
		"? Index(\"abc\", \"\") == 0", "? Index([1.0], 1) == 0",
		"? ContainsValue([1, \"a\"], \"a\")", "? not ContainsValue([1], 2)",
		"? not ContainsValue([], nil)", NULL });
	expect_failures((const struct failure[]){
		{ "? Len(" A "[\"x\"]) == 1", -EINVAL, "Len() of nil" },
		{ "set(" A "[\"x\"], 1.5); ? Len(" A "[\"x\"]) == 1", -EINVAL, "Len() of a double" },
		{ "? Index(1, 2) == 1", -EINVAL, "Index() of an int in an int" },
		{ "? Index(\"a\", 2) == 1", -EINVAL, "Index() of an int in a string" },
		{ "? ContainsValue(\"a\", \"a\")", -EINVAL, "target of ContainsValue() is a string, not a list" },
		{ "set(" A "[\"x\"], 1); ? Keys(" A "[\"x\"]) == []", -EINVAL,
		  "target of Keys() is an int, not a map" },
		{ 0 } });
}

TEST(ottl_parses_json)
{
	expect_all((const char *const[]){
		"? ParseJSON(\"{}\") == {}", "? ParseJSON(\" [ ] \") == []", "? ParseJSON(\"null\") == nil",
		"? ParseJSON(\"true\") == true", "? ParseJSON(\"false\") == false", "? ParseJSON(\"-1.5e1\") == -15.0",
		"? IsDouble(ParseJSON(\"1\"))", "? ParseJSON(\"\\\"a\\\\u00e4\\\\n\\\"\") == \"a\u00e4\\n\"",
		"? ParseJSON(\"[1, [2, {\\\"a\\\": null}], \\\"x\\\"]\") == [1.0, [2.0, {\"a\": nil}], \"x\"]",
		"? ParseJSON(\"{\\\"a\\\": {\\\"b\\\": [1]}, \\\"c\\\": 2}\") == {\"a\": {\"b\": [1.0]}, \"c\": 2.0}",
		"? ParseJSON(\"{\\\"a\\\": 1, \\\"b\\\": 2, \\\"a\\\": 3}\") == {\"a\": 3.0, \"b\": 2.0}",
		"? Keys(ParseJSON(\"{\\\"b\\\": 1, \\\"a\\\": 2, \\\"b\\\": 3, \\\"aa\\\": 4}\")) == [\"b\", "
		"\"a\", \"aa\"]",
		"? Values(ParseJSON(\"{\\\"b\\\": 1, \\\"a\\\": 2, \\\"b\\\": 3, \\\"b\\\": 4}\")) == [4.0, 2.0]",
		"? ParseJSON(\"{\\\"a\\\": [1]}\")[\"a\"][0] == 1",
		"? Len(ParseJSON(\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]\")) == 1", NULL });
	expect_failures((const struct failure[]){
		{ "? ParseJSON(\"\") == nil", -EBADMSG, "ParseJSON(): this is no JSON, at character 0" },
		{ "? ParseJSON(\"[1,]\") == nil", -EBADMSG, "ParseJSON(): this is no JSON, at character 3" },
		{ "? ParseJSON(\"1 2\") == nil", -EBADMSG, "ParseJSON(): this is no JSON, at character 2" },
		{ "? ParseJSON(\"1e999\") == nil", -EBADMSG, "ParseJSON(): this is no JSON, at character 5" },
		{ "? ParseJSON(\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\") == nil", -E2BIG,
		  "ParseJSON(): the text is nested too deeply" },
		{ "? ParseJSON(" A "[\"x\"]) == nil", -EINVAL, "target of ParseJSON() is nil" },
		{ 0 } });
}

TEST(ottl_converters_of_times)
{
	expect_all((const char *const[]){
		"? UnixNano(Unix(1, 2)) == 1000000002", "? UnixMicro(Unix(1, 2000)) == 1000002",
		"? UnixMilli(Unix(1, 2000000)) == 1002", "? UnixSeconds(Unix(7)) == 7", "? Unix(1) < Unix(2)",
		"? UnixNano(Unix(0, 999999999)) == 999999999",
		"? Duration(\"1m30s\") == Duration(\"90s\")", "? Duration(\"1h\") > Duration(\"59m59.9s\")",
		"? Duration(\"1500us\") == Duration(\"1.5ms\")", "? Duration(\"-1s\") < Duration(\"0s\")",
		"? Duration(\"10ns\") == Duration(\"0.01us\")", "? Unix(2) - Unix(1) == Duration(\"1s\")",
		"? Unix(2) - Duration(\"1s\") == Unix(1)", "? Duration(\"1s\") + Duration(\"1s\") == Duration(\"2s\")",
		"? Duration(\"1s\") + Unix(1) == Unix(2)", "? Now() > Unix(1700000000)",
		"? ProfileID(0x000102030405060708090a0b0c0d0e0f) == "
		"ProfileID(\"000102030405060708090a0b0c0d0e0f\")", NULL });
	expect_failures((const struct failure[]){
		{ "? Unix(1, -1) == Unix(1)", -ERANGE, "Unix() is out of range" },
		{ "? Unix(1, 1000000000) == Unix(1)", -ERANGE, "Unix() is out of range" },
		{ "? Unix(9223372036854775807) == Unix(1)", -ERANGE, "Unix() is out of range" },
		{ "? Unix(-9223372036854775807) == Unix(1)", -ERANGE, "Unix() is out of range" },
		{ "? Duration(\"\") == Duration(\"1s\")", -EINVAL, "Duration(): not a duration, such as \"1m30s\"" },
		{ "? Duration(\"1\") == Duration(\"1s\")", -EINVAL, "Duration(): not a duration, such as \"1m30s\"" },
		{ "? Duration(\"s\") == Duration(\"1s\")", -EINVAL, "Duration(): not a duration, such as \"1m30s\"" },
		{ "? Duration(\"1x\") == Duration(\"1s\")", -EINVAL, "Duration(): not a duration, such as \"1m30s\"" },
		{ "? Duration(\"9999999999h\") == Duration(\"1s\")", -ERANGE, "Duration() is out of range" },
		{ "? Unix(1) + Unix(1) == Unix(1)", -EINVAL, "a time and a time cannot be combined so" },
		{ "? Duration(\"1s\") - Unix(1) == Unix(1)", -EINVAL, "a duration and a time cannot be combined so" },
		{ "? Duration(\"1s\") + 1 == Duration(\"1s\")", -EINVAL,
		  "a duration and an int cannot be combined so" },
		{ "? UnixNano(Unix(2) - Unix(1)) == 1", -EINVAL, "UnixNano() of a duration" },
		{ "? ProfileID(\"00\") == 0x00", -EINVAL, "ProfileID() takes 16 bytes, or 32 hexadecimal digits" },
		{ "? ProfileID(0x00) == 0x00", -EINVAL, "ProfileID() takes 16 bytes, or 32 hexadecimal digits" },
		{ "? ProfileID(\"0001020304050607080g0a0b0c0d0e0f\") == 0x00", -EINVAL,
		  "ProfileID() takes 16 bytes, or 32 hexadecimal digits" },
		{ 0 } });
}

TEST(ottl_editors_at_their_limits)
{
	expect_all((const char *const[]){
		"set(" A "[\"x\"], [1, 2, 3]); delete_index(" A "[\"x\"], 1); ? " A "[\"x\"] == [1, 3]",
		"set(" A "[\"x\"], [1, 2, 3]); delete_index(" A "[\"x\"], 1, 3); ? " A "[\"x\"] == [1]",
		"set(" A "[\"x\"], [1, 2, 3]); delete_index(" A "[\"x\"], 2, 2); ? " A "[\"x\"] == [1, 2, 3]",
		"append(" A "[\"x\"], 1, [2, 3]); ? " A "[\"x\"] == [1, 2, 3]",
		"set(" A "[\"x\"], \"a\"); append(" A "[\"x\"], values=[2]); ? " A "[\"x\"] == [\"a\", 2]",
		"set(" A "[\"x\"], nil); ? " A " == {}", "set(" A "[\"x\"], 1) where false; ? " A " == {}",
		"set(" A ", {\"a\": 1, \"b\": 2}); delete_key(" A ", \"a\"); ? " A " == {\"b\": 2}",
		"set(" A ", {\"a\": 1, \"b\": 2}); delete_key(" A ", \"b\"); ? " A " == {\"a\": 1}",
		"set(" A "[\"m\"], {\"a\": 1}); delete_key(" A "[\"m\"], \"a\"); ? " A "[\"m\"] == {}",
		"set(" A ", {\"a\": 1, \"b\": 2, \"c\": 3}); limit(" A ", 2, [\"c\"]); ? " A " == {\"a\": 1, \"c\": 3}",
		"set(" A ", {\"a\": 1, \"b\": 2}); limit(" A ", 2, []); ? Len(" A ") == 2",
		"set(" A ", {\"a\": 1, \"b\": 2}); limit(" A ", 0, []); ? " A " == {}",
		"set(" A ", {\"a\": 1}); keep_keys(" A ", [\"a\", \"z\"]); ? " A " == {\"a\": 1}",
		"set(" A ", {\"ab\": 1, \"b\": 2}); keep_matching_keys(" A ", \"^a\"); ? " A " == {\"ab\": 1}",
		"set(" A ", {\"ab\": 1, \"b\": 2}); delete_matching_keys(" A ", \"^a\"); ? " A " == {\"b\": 2}",
		"set(" A ", {\"a\": \"xyz\", \"b\": 1}); truncate_all(" A ", 3); ? " A "[\"a\"] == \"xyz\"",
		"set(" A ", {\"a\": \"xyz\"}); truncate_all(" A ", 0); ? " A "[\"a\"] == \"\"",
		"set(" A ", {\"a\": \"\u00e4\"}); truncate_all(" A ", 1, false); ? Len(" A "[\"a\"]) == 1",
		"set(" A ", {\"a\": \"\u00e4\"}); truncate_all(" A ", 1); ? Len(" A "[\"a\"]) == 0",
		"set(" A ", {\"a\": \"a\", \"b\": 1}); stringify_all(" A "); ? " A " == {\"a\": \"a\", \"b\": \"1\"}",
		"set(" A ", {\"a\": \"k-k\"}); replace_pattern(" A "[\"a\"], \"k\", \"v\"); ? " A "[\"a\"] == \"v-v\"",
		"set(" A ", {\"a\": 1}); replace_pattern(" A "[\"a\"], \"k\", \"v\"); ? " A "[\"a\"] == 1",
		"set(" A ", {\"a\": \"x.y\"}); replace_match(" A "[\"a\"], \"x.?\", \"z\"); ? " A "[\"a\"] == \"z\"",
		"set(" A ", {\"a\": \"xzy\"}); replace_match(" A "[\"a\"], \"x.?\", \"z\"); ? " A "[\"a\"] == \"xzy\"",
		"set(" A ", {\"a\": \"b\"}); replace_match(" A "[\"a\"], \"[!a]\", \"z\"); ? " A "[\"a\"] == \"z\"",
		"set(" A ", {\"a\": \"*\"}); replace_match(" A "[\"a\"], \"\\\\*\", \"z\"); ? " A "[\"a\"] == \"z\"",
		"set(" A ", {\"a\": \"q\"}); replace_match(" A "[\"a\"], \"\\\\*\", \"z\"); ? " A "[\"a\"] == \"q\"",
		"set(" A ", {\"a\": \"b\"}); replace_match(" A "[\"a\"], \"[ab]\", \"z\"); ? " A "[\"a\"] == \"z\"",
		"set(" A ", {\"a\": \"b\"}); replace_match(" A "[\"a\"], \"[^ab]\", \"z\"); ? " A "[\"a\"] == \"b\"",
		"set(" A ", {\"a\": {}, \"b\": []}); flatten(" A "); ? " A " == {}", NULL });
	expect_failures((const struct failure[]){
		{ "set(" A "[\"x\"], [1]); delete_index(" A "[\"x\"], 1)", -ERANGE,
		  "delete_index(): 1 to 2 is outside of the list of 1" },
		{ "set(" A "[\"x\"], [1]); delete_index(" A "[\"x\"], -1)", -ERANGE,
		  "delete_index(): -1 to 0 is outside of the list of 1" },
		{ "set(" A "[\"x\"], [1, 2]); delete_index(" A "[\"x\"], 1, 0)", -ERANGE,
		  "delete_index(): 1 to 0 is outside of the list of 2" },
		{ "delete_index(" A "[\"x\"], 0)", -EINVAL, "target of delete_index() is nil, not a list" },
		{ "set(" A "[\"x\"], {}); append(" A "[\"x\"], 1)", -EINVAL, "append() to a map" },
		{ "append(" A "[\"x\"], values=" A "[\"y\"])", -EINVAL, "values of append() is nil, not a list" },
		{ "append(" A "[\"x\"])", -EINVAL,
		  "column 1: append(): there is nothing to append: give value, or values" },
		{ "set(" A "[\"x\"], 1); delete_key(" A "[\"x\"], \"a\")", -EINVAL,
		  "target of delete_key() is an int, not a map" },
		{ "delete_key(" A ", " A "[\"x\"])", -EINVAL, "key of delete_key() is nil" },
		{ "set(" A "[\"x\"], 1); merge_maps(" A ", " A "[\"x\"], \"insert\")", -EINVAL,
		  "source of merge_maps() is an int, not a map" },
		{ "limit(" A ", -1, [])", -EINVAL, "column 1: limit(): the limit is negative" },
		{ "truncate_all(" A ", -1)", -EINVAL, "column 1: truncate_all(): the limit is negative" },
		{ "truncate_all(" A ", 1, true, \"..\")", -EINVAL,
		  "column 1: truncate_all(): the mark is longer than the limit" },
		{ "flatten(" A ", depth=0)", -EINVAL, "column 1: flatten(): the depth is at least 1" },
		{ "replace_all_patterns(" A ", \"x\", \"a\", \"b\")", -EINVAL,
		  "column 1: replace_all_patterns(): the mode is key or value" },
		{ "replace_match(" A "[\"a\"], \"a\", \"b\", MD5, \"%s%s\")", -EINVAL,
		  "column 1: replace_match(): the format needs one %s, and has no other percent sign" },
		{ "replace_match(" A "[\"a\"], \"a\", \"b\", 1)", -EINVAL,
		  "column 51: function of replace_match() is the name of a converter, such as SHA256" },
		{ "set(" A "[\"a\"], 1, value=2)", -EINVAL, "column 40: value of set() is given twice" },
		{ "set(target=" A "[\"a\"], 1)", -EINVAL, "column 38: arguments with a name come after those without" },
		{ "set(tarket=" A "[\"a\"], 1)", -EINVAL, "column 5: set() has no parameter tarket" },
		{ "keep_keys(" A ", " A "[\"x\"])", -EINVAL,
		  "column 32: keys of keep_keys() must be written out, as a literal" },
		{ 0 } });
}

TEST(ottl_paths_are_read_and_written)
{
	expect_all((const char *const[]){
		"set(resource.schema_url, \"u\"); ? resource.schema_url == \"u\"",
		"set(resource.dropped_attributes_count, 3); ? resource.dropped_attributes_count == 3",
		"set(scope.name, \"n\"); set(scope.version, \"v\"); set(scope.schema_url, \"s\"); "
		"? scope.name == \"n\" and scope.version == \"v\" and scope.schema_url == \"s\"",
		"set(scope.dropped_attributes_count, 4); ? instrumentation_scope.dropped_attributes_count == 4",
		"set(scope.attributes[\"a\"], 1); ? scope.attributes == {\"a\": 1}",
		"set(profile.sample_type.type, \"a\"); set(profile.sample_type.unit, \"b\"); "
		"set(profile.period_type.type, "
		"\"c\"); set(profile.period_type.unit, \"d\"); ? profile.sample_type.type == \"a\" and "
		"profile.sample_type.unit == \"b\" and profile.period_type.type == \"c\" and "
		"profile.period_type.unit == \"d\"",
		"set(profile.period, -5); ? profile.period == -5",
		"set(profile.duration, 6); ? profile.duration_unix_nano == 6",
		"set(profile.time, Unix(9)); ? profile.time_unix_nano == 9000000000 and profile.time == Unix(9)",
		"set(profile.time_unix_nano, 7); ? UnixNano(profile.time) == 7",
		"set(profile.profile_id, 0x000102030405060708090a0b0c0d0e0f); "
		"? profile.profile_id.string == \"000102030405060708090a0b0c0d0e0f\"",
		"set(profile.profile_id.string, \"ff0102030405060708090a0b0c0d0e0f\"); "
		"? profile.profile_id == 0xff0102030405060708090a0b0c0d0e0f",
		"set(profile.dropped_attributes_count, 4294967295); ? profile.dropped_attributes_count == 4294967295",
		"set(profile.original_payload_format, \"f\"); set(profile.original_payload, 0x01); "
		"? profile.original_payload_format == \"f\" and profile.original_payload == 0x01",
		"set(profile.attributes[\"a\"], 1); ? Len(profile.attribute_indices) == 1; "
		"set(sample.attribute_indices, profile.attribute_indices); ? sample.attributes[\"a\"] == 1",
		"set(sample.values, [1, 2]); set(sample.timestamps, [3, 4]); "
		"? sample.values == [1, 2] and sample.timestamps_unix_nano == [3, 4]",
		"set(sample.timestamps, [3, 4]); set(sample.values, [1]); ? sample.values[0] == 1",
		"set(sample.link_index, 0); ? sample.link_index == 0", "? Len(profile.sample) == 1",
		"set(cache[\"a\"], [1]); set(cache[\"a\"][0], 2); ? cache == {\"a\": [2]}", NULL });
	expect_failures((const struct failure[]){
		{ "set(resource.dropped_attributes_count, -1)", -ERANGE, "-1 is out of range" },
		{ "set(scope.dropped_attributes_count, 4294967296)", -ERANGE, "4294967296 is out of range" },
		{ "set(profile.duration, -1)", -ERANGE, "-1 is out of range" },
		{ "set(profile.profile_id, 0x00)", -EINVAL, "a profile id has 16 bytes, not 1" },
		{ "set(profile.profile_id.string, \"00\")", -EINVAL, "a profile id has 32 hexadecimal digits" },
		{ "set(sample.link_index, 1000)", -ERANGE, "there is no link 1000" },
		{ "set(sample.link_index, -1)", -ERANGE, "there is no link -1" },
		{ "set(sample.values, [\"a\"])", -EINVAL, "member 0 of the list is no whole number in range" },
		{ "set(sample.timestamps, [-1])", -EINVAL, "member 0 of the list is no whole number in range" },
		{ "set(sample.attribute_indices, [0, 1000])", -EINVAL,
		  "member 1 of the list is no whole number in range" },
		{ "set(sample.values, [1, 2]); set(sample.timestamps, [1, 2, 3])", -EINVAL,
		  "2 values and 3 timestamps do not go together" },
		{ "set(profile.period, " A "[\"x\"])", 1, "" },
		{ "set(" A "[\"x\"], \"a\"); set(profile.period, " A "[\"x\"])", -EINVAL,
		  "period cannot be set to a string" },
		{ "set(" A "[\"x\"][\"y\"], 1); set(" A "[\"x\"][0], 1)", -EINVAL, "a map has no key that is an int" },
		{ "set(" A "[\"x\"], [1]); set(" A "[\"x\"][1], 1)", -ERANGE, "index 1 is outside of the list of 1" },
		{ "set(" A "[\"x\"], [1]); set(" A "[\"x\"][-1], 1)", -ERANGE, "index -1 is outside of the list of 1" },
		{ "set(" A "[\"x\"], [1]); ? " A "[\"x\"][1] == 1", -ERANGE, "index 1 is outside of the list of 1" },
		{ "set(" A "[1], 1)", -EINVAL, "a key of attributes is a string, not an int" },
		{ "? " A "[1] == 1", -EINVAL, "a key of attributes is a string, not an int" },
		{ 0 } });
}

TEST(ottl_math_and_comparisons)
{
	expect_all((const char *const[]){
		"? 9223372036854775807 + 1 == -9223372036854775807 - 1", "? (-9223372036854775807 - 1) / -1 < 0",
		"? -7 / 2 == -3",
		"? 7 - 2 - 1 == 4", "? 8 / 4 / 2 == 1", "? 2 * 3 + 4 * 5 == 26", "? +1 == 1", "? --1 == 1",
		"? 1.5 - 0.5 == 1",
		"? 1.5 * 2 == 3", "? 3 / 2.0 == 1.5", "? -(1.5) == -1.5",
		"? 1 < 1.5 and 2 > 1.5 and 1.5 >= 1.5 and 1.5 <= 1.5",
		"? not (1.5 < 1.5) and not (1.5 > 1.5) and 1.5 != 1.0",
		"? 1 <= 1 and 1 >= 1 and not (1 < 1) and not (1 > 1)",
		"? \"a\" <= \"a\" and \"b\" > \"a\" and \"ab\" > \"a\" and \"a\" < \"ab\" and not (\"a\" > \"a\")",
		"? nil >= nil and not (nil != nil) and not (nil > nil)",
		"? not (1 == \"1\") and not (1 > \"1\") and 1 != \"1\"",
		"? [1, 2] != [1] and {\"a\": 1} != {\"a\": 2} and {\"a\": 1} != {\"b\": 1} and {} == {}",
		"? not ([1] == [1, 2]) and not ({\"a\": 1} >= {\"a\": 1})", "? false < true and not (true < false)",
		"? \"\\060\\101\" == \"0A\" and \"\\a\\t\\\"\" != \"at\"",
		"? {\"a\": 1, \"b\": 2} == {\"b\": 2, \"a\": 1}",
		"? true or 1 / 0 == 1", "? not (false and 1 / 0 == 1)", "? not not true", "? not (true and false)",
		NULL });
	expect_failures((const struct failure[]){
		{ "? 1.0 / 0 == 1", -EDOM, "division by zero" }, { "? 1 / 0 == 1", -EDOM, "division by zero" },
		{ "? " A "[\"x\"] + 1 == 1", -EINVAL, "nil and an int are no two numbers" },
		{ "? -" A "[\"x\"] == 1", -EINVAL, "nil cannot be negative" },
		{ "set(" A "[\"x\"], \"a\"); ? -" A "[\"x\"] == 1", -EINVAL, "a string cannot be negative" },
		{ "? -\"a\" == 1", -EINVAL, "column 2: only numbers can be negative" },
		{ "? \"a\" * 2 == 1", -EINVAL, "column 6: * takes numbers" },
		{ "? [1, 2 == [1]", -EINVAL, "column 8: there should be a , here, not ==" },
		{ "? {\"a\" 1} == nil", -EINVAL, "column 7: there should be a : here, not 1" },
		{ "? {1: 1} == nil", -EINVAL, "column 3: keys of maps are strings: {\"key\": value}" },
		{ "? {\"a\": 1, \"a\": 2} == nil", -EINVAL, "column 11: the key \"a\" is there twice" },
		{ "? (1 == 1", -EINVAL, "column 9: there should be a ) here, not the end" },
		{ "? 1 and true", -EINVAL,
		  "column 2: this is no condition: compare it with something, for example == true" },
		{ "? Coalesce(\"x\") == 1", -EINVAL, "column 11: values of Coalesce() is nil or a list, not a string" },
		{ "? Int(profile.sample) == 1", -EINVAL,
		  "column 6: value of Int() is nil, a string, a bool, an int, a double, a list, a map, bytes, a "
		  "time or a duration, not samples" },
		{ "? 0x123 == nil", -EINVAL, "column 2: bytes have two digits each" },
		{ "? \"\\400\" == nil", -EINVAL,
		  "column 2: a backslash in a string begins an escape; write two of them for one" },
		{ "? \"\\ud800\" == nil", -EINVAL,
		  "column 2: a backslash in a string begins an escape; write two of them for one" },
		{ "? String(1)[\"a\"] == nil", -EINVAL, "column 11: String() gives nothing that has keys" },
		{ "? resource == nil", -EINVAL,
		  "column 2: sample has no resource" },
		{ "? profile.attributes.x == nil", -EINVAL,
		  "column 2: profile has no attributes.x; did you mean attributes?" },
		{ "? " A "[\"a\"].b == nil", -EINVAL,
		  "column 26: a field of an attribute is written as one more key: [\"...\"]" },
		{ "? " A "[true] == nil", -EINVAL, "column 22: a key is a string, or a number for a list" },
		{ 0 } });
}
