// SPDX-License-Identifier: Apache-2.0
#include "cmd/options.h"

#include <errno.h>

#include "test.h"

struct values {
	s64 frequency;
	double duration;
	bool inlines, quiet, verbose;
	const char *output;
	int by;
	struct option_numbers pids;
	struct option_texts sets;
};

#define AT(field) offsetof(struct values, field)
static const char *const by_choices[] = { "function", "process", NULL };
static const struct option_entry entries[] = {
	{ "frequency", 'F', OPTION_INTEGER, AT(frequency), "HZ", "20", 1, 10000, NULL, "samples a second" },
	{ "duration", 'd', OPTION_REAL, AT(duration), "SECONDS", NULL, 0.001, 1e6, NULL, "how long" },
	{ "inline", 0, OPTION_SWITCH, AT(inlines), NULL, "on", 0, 0, NULL, "name inlined functions" },
	{ "quiet", 'q', OPTION_SWITCH, AT(quiet), NULL, NULL, 0, 0, NULL, "say nothing" },
	{ "verbose", 'v', OPTION_SWITCH, AT(verbose), NULL, NULL, 0, 0, NULL, "say more" },
	{ "output", 'o', OPTION_TEXT, AT(output), "FILE", "wick.pb.gz", 0, 0, NULL, "where to" },
	{ "by", 0, OPTION_CHOICE, AT(by), "WHAT", "function", 0, 0, by_choices, "group by" },
	{ "pid", 'p', OPTION_NUMBERS, AT(pids), "PID,...", NULL, 1, 4194304, NULL, "only these" },
	{ "set", 0, OPTION_TEXTS, AT(sets), "KEY=VALUE", NULL, 0, 0, NULL, "change" },
	{ 0 },
};

static const struct options options = { .entries = entries };
static const struct options command_options = { .entries = entries, .stop_at_operand = true };

static struct values values;
static char error[OPTIONS_ERROR_MAX];
static int operands;
static char *words[128];

/* Parses a line cut at blanks. */
static int parse(const struct options *o, const char *line)
{
	static char copy[1024];
	char *rest = copy, *word;
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")))
		words[argc++] = word;
	values = (struct values){ 0 };
	error[0] = '\0';
	operands = -1;
	return options_parse(o, *line ? argc : 0, words, &values, &operands, error);
}

TEST(options_start_with_their_defaults)
{
	EQ(parse(&options, ""), OPTIONS_OK);
	EQ(values.frequency, 20);
	OK(values.inlines && !values.quiet);
	STREQ(values.output, "wick.pb.gz");
	EQ(operands, 0);
}

TEST(options_take_every_spelling)
{
	static const char *const lines[] = { "-F99 -d 2.5", "-F 99 -d2.5", "--frequency=99 --duration 2.5",
					     "--frequency 99 --duration=2.5" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		EQ(parse(&options, lines[i]), OPTIONS_OK);
		EQ(values.frequency, 99);
		OK(values.duration == 2.5);
	}
	EQ(parse(&options, "-qvF7"), OPTIONS_OK);
	OK(values.quiet && values.verbose && values.frequency == 7);
	EQ(parse(&options, "--no-inline --by=process"), OPTIONS_OK);
	OK(!values.inlines && values.by == 1);
}

TEST(options_keep_operands_in_order)
{
	EQ(parse(&options, "a -q b -- -F c"), OPTIONS_OK);
	EQ(operands, 4);
	STREQ(words[0], "a");
	STREQ(words[1], "b");
	STREQ(words[2], "-F");
	STREQ(words[3], "c");
	EQ(parse(&options, "-"), OPTIONS_OK);
	EQ(operands, 1);
}

TEST(options_leave_a_command_its_own)
{
	EQ(parse(&command_options, "-q ls -F --help"), OPTIONS_OK);
	EQ(operands, 3);
	STREQ(words[1], "-F");
	EQ(values.frequency, 20);
	EQ(parse(&command_options, "-- ls -- -l"), OPTIONS_OK);
	EQ(operands, 3);
	STREQ(words[1], "--");
}

TEST(options_collect_numbers)
{
	EQ(parse(&options, "-p 1,22 --pid=333"), OPTIONS_OK);
	EQ(values.pids.count, 3);
	EQ(values.pids.at[2], 333);
}

TEST(options_collect_texts)
{
	char line[(OPTION_TEXTS_MAX + 1) * 8 + 1] = "";

	EQ(parse(&options, "--set a=b --set=c,d=e"), OPTIONS_OK);
	EQ(values.sets.count, 2);
	STREQ(values.sets.at[0], "a=b");
	STREQ(values.sets.at[1], "c,d=e");
	for (int i = 0; i <= OPTION_TEXTS_MAX; i++)
		memcpy(line + 8 * i, "--set=x ", 8);
	line[sizeof(line) - 2] = '\0';
	EQ(parse(&options, line), -EINVAL);
	STREQ(error, "--set: given more than 64 times");
}

TEST(options_refuse_with_a_sentence)
{
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ "-F 0", "--frequency 0: not a whole number from 1 to 10000" },
		{ "-F 10001", "--frequency 10001: not a whole number from 1 to 10000" },
		{ "-F 9x", "--frequency 9x: not a whole number from 1 to 10000" },
		{ "-F 99999999999999999999", "--frequency 99999999999999999999: not a whole number from 1 to 10000" },
		{ "-d nan", "--duration nan: not a number from 0.001 to 1000000" },
		{ "-F", "--frequency needs HZ" },
		{ "--frequncy 3", "there is no option --frequncy; did you mean --frequency?" },
		{ "--zzzzz", "there is no option --zzzzz" },
		{ "--no-output", "there is no option --no-output; did you mean --output?" },
		{ "--quiet=maybe", "--quiet=maybe: not true or false" },
		{ "-qx", "there is no option -x" },
		{ "--by=proces", "--by proces: did you mean process? (one of function, process)" },
		{ "--by=zz", "--by zz: not one of function, process" },
		{ "-p 1,,2", "--pid 1,,2: not a list of numbers from 1 to 4194304" },
		{ "-p -1", "--pid -1: not a list of numbers from 1 to 4194304" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EQ(parse(&options, rows[i].line), -EINVAL);
		STREQ(error, rows[i].want);
	}
}

TEST(options_bound_lists_and_long_words)
{
	char line[3 + 2 * (OPTION_NUMBERS_MAX + 1)] = "-p ";

	for (int i = 0; i <= OPTION_NUMBERS_MAX; i++)
		memcpy(line + 3 + 2 * i, "1,", 2);
	line[sizeof(line) - 1] = '\0';
	EQ(parse(&options, line), -EINVAL);
	STREQ(error, "--pid: more than 256 numbers");
	line[sizeof(line) - 3] = '\0';
	EQ(parse(&options, line), OPTIONS_OK);
	EQ(values.pids.count, OPTION_NUMBERS_MAX);
	memset(line, 'x', sizeof(line) - 1);
	memcpy(line, "--", 2);
	EQ(parse(&options, line), -EINVAL);
	OK(strlen(error) < OPTIONS_ERROR_MAX);
}

TEST(options_help_is_asked_for_anywhere)
{
	EQ(parse(&options, "a --help"), OPTIONS_HELP);
	EQ(parse(&options, "-qh"), OPTIONS_HELP);
}

TEST(options_print_ranges_defaults_and_choices)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	options_print(&options, out);
	fclose(out);
	OK(strstr(text, "  -F, --frequency HZ        samples a second, 1 to 10000 (default 20)\n"));
	OK(strstr(text, "      --[no-]inline         name inlined functions (default on)\n"));
	OK(strstr(text, "      --by WHAT             group by: function, process (default function)\n"));
	OK(strstr(text, "  -h, --help                print this and exit\n"));
	free(text);
}
