// SPDX-License-Identifier: Apache-2.0
/*
 * symbolize [--no-inline] [--debuginfod URLS CACHE] < lines of "PATH HEX", PATH being "[kernel]" or a file
 * Prints what the symbolizer says, separated by tabs: path, address, start of the function, source, module, then
 * function, name in the file, file and line of each function of the chain, innermost first.
 * The last line, on stderr, has the counters.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exe/reader.h"
#include "exe/reader_protocol.h"
#include "lang/lang.h"
#include "proc/binary.h"
#include "symbol/symbolizer.h"

#define BINARIES 4096
#define QUESTIONS 1000000

struct question {
	struct binary *binary;	/* NULL: the kernel */
	u64 ea;
};

static struct binary *binaries[BINARIES];
static struct question questions[QUESTIONS];

static struct binary *find_binary(struct reader *reader, const char *path)
{
	u32 i;

	for (i = 0; i < BINARIES && binaries[i]; i++) {
		if (!strcmp(binaries[i]->path, path))
			return binaries[i];
	}
	if (i == BINARIES)
		exit(1);
	binaries[i] = calloc(1, sizeof(**binaries));
	*binaries[i] = (struct binary){ .refs = 1, .id = i + 1, .root_fd = -1, .path = strdup(path) };
	binaries[i]->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (binaries[i]->fd >= 0)
		(void)reader_identify(reader, binaries[i]->fd, &binaries[i]->info);
	return binaries[i];
}

static void print_name(const struct question *q, const struct symbol_name *name)
{
	static const char *const sources[] = { "none", "fde", "table", "dwarf", "kernel" };

	printf("%s\t%llx", q->binary ? q->binary->path : "[kernel]", (unsigned long long)q->ea);
	if (name) {
		printf("\t%llx\t%s\t%s", (unsigned long long)name->function_ea, sources[name->source], name->module);
		for (u32 i = 0; i < name->line_count; i++)
			printf("\t%s\t%s\t%s\t%u", name->lines[i].function, name->lines[i].system_name,
			       name->lines[i].file, name->lines[i].line);
	}
	putchar('\n');
}

static u32 read_questions(struct reader *reader)
{
	char line[8192], *space;
	u32 count = 0;

	while (count < QUESTIONS && fgets(line, sizeof(line), stdin)) {
		space = strrchr(line, ' ');
		if (!space)
			continue;
		*space = '\0';
		questions[count].binary = strcmp(line, "[kernel]") ? find_binary(reader, line) : NULL;
		questions[count++].ea = strtoull(space + 1, NULL, 16);
	}
	return count;
}

int main(int argc, char **argv)
{
	struct symbolizer_options options = {
		.inlines = true, .memory_max_bytes = (size_t)1 << 30, .lines_us = 1000000000,
	};
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	_cleanup_(reader_freep) struct reader *reader = NULL;
	struct symbolizer_stats stats;
	u32 count;

	if (argc == 1 && !strcmp(argv[0], READER_ARGV0))
		return reader_server_main(READER_SOCKET_FD, lang_files);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--no-inline"))
			options.inlines = false;
		if (!strcmp(argv[i], "--debuginfod") && i + 2 < argc) {
			options.debuginfod_urls = argv[++i];
			options.cache_path = argv[++i];
		}
	}
	if (reader_start(0, &reader) < 0 || symbolizer_new(&options, reader, &symbolizer) < 0)
		return 1;
	count = read_questions(reader);
	for (u32 i = 0; i < count; i++)
		symbolizer_want(symbolizer, questions[i].binary, questions[i].ea);
	if (symbolizer_run(symbolizer) < 0)
		return 1;
	for (u32 i = 0; i < count; i++)
		print_name(&questions[i], symbolizer_find(symbolizer, questions[i].binary, questions[i].ea));
	stats = symbolizer_stats(symbolizer);
	fprintf(stderr, "symbols %llu starts %llu unnamed %llu dropped %llu unreadable %llu slow %llu "
		"hits %llu misses %llu %s\n",
		stats.by_symbol, stats.by_function_start, stats.unnamed, stats.dropped, stats.unreadable_files,
		stats.inline_timeouts, stats.debuginfod_hits, stats.debuginfod_misses,
		symbolizer_kernel_problem(symbolizer));
	return 0;
}
