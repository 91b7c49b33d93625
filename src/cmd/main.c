// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/name_service.h"
#include "base/nearest.h"
#include "cmd/command.h"
#include "exe/reader_protocol.h"
#include "lang/lang.h"

#define COMMAND(name) &command_##name,
static const struct command *const commands[] = {
#include "cmd/list.h"
	NULL,
};
#undef COMMAND

static void usage(FILE *out)
{
	fputs("wick finds where the time goes on this machine: in every process, in every language, with nothing to\n"
	      "install or restart in what is watched.\n\n"
	      "Usage: wick                   profile this machine, show it at http://localhost:11000\n"
	      "       wick --config=FILE     run the pipelines of a configuration\n"
	      "       wick COMMAND [OPTIONS] [OPERANDS]\n\nCommands:\n",
	      out);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "  %-14s%s\n", (*c)->name, (*c)->help);
	fputs("  help          say more about a command\n\n"
	      "wick COMMAND --help lists its options and shows examples; wick --version prints the version.\n",
	      out);
}

static void command_usage(const struct command *c, FILE *out)
{
	fprintf(out, "wick %s: %s\n\nUsage: wick %s [OPTIONS]%s%s\n", c->name, c->help, c->name,
		*c->operands ? " " : "", c->operands);
	if (c->about)
		fprintf(out, "\n%s", c->about);
	fputs("\nOptions:\n", out);
	options_print(&c->options, out);
	if (c->examples)
		fprintf(out, "\nExamples:\n%s", c->examples);
}

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++) {
		if (!strcmp((*c)->name, name) || ((*c)->older_name && !strcmp((*c)->older_name, name)))
			return *c;
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	struct nearest n;

	nearest_init(&n, name);
	for (const struct command *const *c = commands; *c; c++)
		nearest_try(&n, (*c)->name);
	if (n.best)
		fprintf(stderr, "wick: there is no command %s; did you mean wick %s?\n", name, n.best);
	else
		fprintf(stderr, "wick: there is no command %s; wick --help lists them\n", name);
	return 1;
}

static int run_command(const struct command *c, int argc, char **argv)
{
	_cleanup_(freep) void *values = calloc(1, c->values_bytes ? c->values_bytes : 1);
	char error[OPTIONS_ERROR_MAX];
	int count, r;

	if (!values)
		return command_fail(c, "out of memory");
	r = options_parse(&c->options, argc, argv, values, &count, error);
	if (r == OPTIONS_HELP) {
		command_usage(c, stdout);
		return 0;
	}
	if (r < 0)
		return command_fail(c, "%s", error);
	if (count < c->operands_min || (c->operands_max >= 0 && count > c->operands_max))
		return command_fail(c, "%s operands; usage: wick %s [OPTIONS]%s%s",
				    count < c->operands_min ? "missing" : "too many", c->name, *c->operands ? " " : "",
				    c->operands);
	argv[count] = NULL;
	return c->run(values, count, argv);
}

static int help_command(int argc, char **argv)
{
	const struct command *c = argc > 0 ? find_command(argv[0]) : NULL;

	if (argc > 0 && !c)
		return unknown_command(argv[0]);
	if (c)
		command_usage(c, stdout);
	else
		usage(stdout);
	return 0;
}

static int dispatch(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2)
		return run_command(&command_run, 0, argv + 1);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-version") || !strcmp(argv[1], "-V")) {
		puts("wick " WICK_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help_command(argc - 2, argv + 2);
	/* As the Collector is called: options alone mean to run what they say. */
	if (argv[1][0] == '-')
		return run_command(&command_run, argc - 1, argv + 1);
	c = find_command(argv[1]);
	return c ? run_command(c, argc - 2, argv + 2) : unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	/* The second process that parses foreign files is this binary under another name. */
	if (argc == 1 && !strcmp(argv[0], READER_ARGV0))
		return reader_server_main(READER_SOCKET_FD, lang_files);
	name_service_init();
	log_set_journal(getenv("JOURNAL_STREAM"));
	if (getenv(READER_UNFILTERED))
		reader_allow_unfiltered();
	command_arguments = calloc((size_t)argc + 1, sizeof(*argv));	/* parsing moves them */
	if (!command_arguments) {
		fprintf(stderr, "wick: out of memory\n");
		return 1;
	}
	memcpy(command_arguments, argv, (size_t)argc * sizeof(*argv));
	status = dispatch(argc, argv);
	free(command_arguments);
	/* A full disk or a closed pipe must not look like success. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) {
		fprintf(stderr, "wick: cannot write the output: %s\n", strerror(errno));
		return 1;
	}
	return status;
}
