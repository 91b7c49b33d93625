// SPDX-License-Identifier: Apache-2.0
#include "base/pattern.h"

#include <errno.h>

#include "base/buf.h"
#include "test.h"

static struct pattern *compile(const char *text)
{
	struct pattern *pattern = NULL;
	struct buf why;

	buf_init(&why, 4096);
	if (pattern_new(text, strlen(text), &pattern, &why) < 0)
		FAIL("%s: %s", text, why.data ? why.data : "?");
	buf_done(&why);
	return pattern;
}

static int matches(const char *text, const char *subject, size_t len)
{
	_cleanup_(pattern_freep) struct pattern *pattern = compile(text);
	_cleanup_(pattern_scratch_done) struct pattern_scratch scratch = { 0 };

	return pattern_match(pattern, &scratch, subject, len, 0, NULL);
}

TEST(pattern_matches_anywhere)
{
	static const struct {
		const char *pattern, *text;
		int want;
	} cases[] = {
		{ "foo", "a foo b", 1 }, { "^foo", "a foo", 0 }, { ".*ring", "string", 1 }, { "(?i)FOO", "foo", 1 },
		{ "a$", "a", 1 }, { "a$", "a\n", 0 }, { "^$", "", 1 }, { "^.$", "\xc3\xa4", 1 },
		  { "\\d", "\xd9\xa1", 0 },
		{ "[[:alpha:]]+", "abc", 1 }, { "(?s)a.b", "a\nb", 1 }, { "a.b", "a\nb", 0 }, { "", "x", 1 },
		{ "[](]", "(", 1 }, { "[^](]", "](", 0 }, { "\\pL", "\xc3\xa4", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (matches(cases[i].pattern, cases[i].text, strlen(cases[i].text)) != cases[i].want)
			FAIL("%s on %s is not %d", cases[i].pattern, cases[i].text, cases[i].want);
}

TEST(pattern_takes_bytes_that_are_no_utf8)
{
	EQ(matches("b", "a\xff" "b", 3), 1);
	EQ(matches("^a.b$", "a\xff" "b", 3), 0);
}

TEST(pattern_gives_up_on_what_takes_too_long)
{
	EQ(matches("^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 40), -E2BIG);
}

TEST(pattern_says_what_is_wrong)
{
	struct pattern *pattern = NULL;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	EQ(pattern_new("a(b", 3, &pattern, &why), -EINVAL);
	STREQ(why.data, "the regular expression is wrong at character 4: missing closing parenthesis");
}

TEST(pattern_knows_groups_by_names_with_dots)
{
	_cleanup_(pattern_freep) struct pattern *pattern =
		compile("(x)(?:y)[(]\\((?P<git.sha>\\w+)(?<b>z)(?=q)");
	_cleanup_(pattern_scratch_done) struct pattern_scratch scratch = { 0 };
	struct pattern_span spans[4];

	EQ(pattern_groups(pattern), 4);
	STREQ(pattern_group_name(pattern, 1), "");
	STREQ(pattern_group_name(pattern, 2), "git.sha");
	STREQ(pattern_group_name(pattern, 3), "b");
	EQ(pattern_match(pattern, &scratch, "xy((abzq", 8, 0, spans), 1);
	EQ(spans[2].from, 4);
	EQ(spans[2].to, 6);
}

TEST(pattern_replaces_as_go_does)
{
	static const struct {
		const char *pattern, *text, *replacement, *want;
	} cases[] = {
		{ "a", "banana", "o", "bonono" },
		{ "^kube_([0-9A-Za-z]+_)", "kube_pod_x", "k8s.$1.", "k8s.pod_.x" },
		{ "(?P<first>\\w+) (\\w+)", "a b", "${2}-$first", "b-a" },
		{ "(a)(b)?", "a", "[$2]", "[]" },
		{ "a", "a", "$$1$", "$1$" },
		{ "a", "a", "$nothing.", "." },
		{ "a*", "baac", "x", "xbxcx" },
		{ "", "\xc3\xa4" "b", "-", "-\xc3\xa4-b-" },
		{ "z", "abc", "x", "abc" },
		{ "a", "a", "$1a", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(pattern_freep) struct pattern *pattern = compile(cases[i].pattern);
		_cleanup_(pattern_scratch_done) struct pattern_scratch scratch = { 0 };
		_cleanup_(buf_done) struct buf out;

		buf_init(&out, 4096);
		OK(pattern_replace(pattern, &scratch, cases[i].text, strlen(cases[i].text), cases[i].replacement,
				   strlen(cases[i].replacement), NULL, &out) >= 0);
		buf_addf(&out, "%s", "");
		STREQ(out.data, cases[i].want);
	}
}

TEST(pattern_replaces_within_bounds)
{
	_cleanup_(pattern_freep) struct pattern *pattern = compile("a");
	_cleanup_(pattern_scratch_done) struct pattern_scratch scratch = { 0 };
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, 8);
	EQ(pattern_replace(pattern, &scratch, "aaaa", 4, "bbbb", 4, NULL, &out), -E2BIG);
}
