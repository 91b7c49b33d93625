// SPDX-License-Identifier: Apache-2.0
/*
 * lines_dump symbols|lines FILE [DEBUG_FILE [ALT_FILE]] <ADDRESSES: what the reader process says about hexadecimal ELF
 * addresses, one on each line of the input.
 *
 *	symbols		ADDRESS START BYTES NAME	or ADDRESS -
 *	lines		ADDRESS FUNCTION<tab>FILE<tab>LINE<tab>FUNCTION ...	innermost first
 *
 * The last line tells the reader's peak memory and how often it had to be restarted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exe/lines.h"
#include "exe/reader.h"
#include "exe/reader_protocol.h"
#include "exe/symbols.h"
#include "lang/lang.h"

struct files {
	int fd[READER_FILES];
};

static int dump_symbols(struct reader *reader, const struct files *files, const u64 *ea, u32 count)
{
	_cleanup_(freep) struct symbols *symbols = NULL;
	int r = reader_symbols(reader, files->fd[READER_EXE], files->fd[READER_DEBUG], ea, count, &symbols);

	for (u32 i = 0; r == 0 && i < count; i++) {
		const struct symbol *symbol = symbols_find(symbols, ea[i]);

		if (symbol)
			printf("%llx %llx %x %s\n", ea[i], symbol->ea, symbol->bytes, symbols_name(symbols, symbol));
		else
			printf("%llx -\n", ea[i]);
	}
	return r;
}

static void print_chain(const struct exe_lines *lines, u32 index, u64 ea)
{
	const u32 *first = exe_lines_first(lines);
	const char *strings = exe_lines_strings(lines);

	printf("%llx ", ea);
	for (u32 i = first[index]; i < first[index + 1]; i++) {
		const struct exe_line *line = &exe_lines_array(lines)[i];

		printf("%s%s\t%s\t%u", i > first[index] ? "\t" : "", strings + line->function, strings + line->file,
		       line->line);
	}
	putchar('\n');
}

/* Asks again for what was cut off by the time limit. */
static int dump_lines(struct reader *reader, const struct files *files, const u64 *ea, u32 count)
{
	while (count) {
		_cleanup_(freep) struct exe_lines *lines = NULL;
		u32 looked;
		int r = reader_lines(reader, files->fd[READER_EXE], files->fd[READER_DEBUG], files->fd[READER_ALT], ea,
				     count, &lines);

		if (r < 0)
			return r;
		looked = count - lines->truncated;
		for (u32 i = 0; i < looked; i++)
			print_chain(lines, i, ea[i]);
		ea += looked;
		count -= looked;
	}
	return 0;
}

static u32 read_addresses(u64 *ea, u32 max)
{
	char line[64];
	u32 count = 0;

	while (count < max && fgets(line, sizeof(line), stdin))
		ea[count++] = strtoull(line, NULL, 16);
	return count;
}

static void print_memory(struct reader *reader)
{
	char path[64], line[128];
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", reader_pid(reader));
	status = fopen(path, "r");
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "VmHWM:", 6))
			printf("# restarts %llu %s", reader_stats(reader).restarts, line);
	if (status)
		fclose(status);
}

int main(int argc, char **argv)
{
	_cleanup_(reader_freep) struct reader *reader = NULL;
	struct files files = { { -1, -1, -1 } };
	bool is_lines = argc > 1 && !strcmp(argv[1], "lines");
	u64 ea[LINES_MAX];
	u32 count;
	int r;

	if (argc == 1 && !strcmp(argv[0], READER_ARGV0))
		return reader_server_main(READER_SOCKET_FD, lang_files);
	for (int i = 0; i < READER_FILES && i + 2 < argc; i++)
		files.fd[i] = open(argv[i + 2], O_RDONLY | O_CLOEXEC);
	r = reader_start(0, &reader);
	while (r == 0 && (count = read_addresses(ea, LINES_MAX)))
		r = (is_lines ? dump_lines : dump_symbols)(reader, &files, ea, count);
	if (r < 0)
		fprintf(stderr, "lines_dump: %s\n", strerror(-r));
	else
		print_memory(reader);
	return r < 0;
}
