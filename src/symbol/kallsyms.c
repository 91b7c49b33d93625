// SPDX-License-Identifier: Apache-2.0
#include "symbol/kallsyms.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/io.h"
#include "symbol/kernel_programs.h"
#include "symbol/program_scan.h"

#define READ_BYTES 65536u

struct kallsyms {
	struct kallsyms_paths paths;
	struct ksym_table table;
	struct kernel_programs programs;
	u64 loaded_ns;		/* when the file, or only the list of modules, was last looked at */
	u64 loads;
	u32 modules_crc;
	char problem[256];
};

struct kallsyms *kallsyms_new(const struct kallsyms_paths *paths)
{
	struct kallsyms *kallsyms = calloc(1, sizeof(*kallsyms));

	if (!kallsyms)
		return NULL;
	if (paths)
		kallsyms->paths = *paths;
	if (!kallsyms->paths.kallsyms)
		kallsyms->paths.kallsyms = "/proc/kallsyms";
	if (!kallsyms->paths.modules)
		kallsyms->paths.modules = "/proc/modules";
	if (!kallsyms->paths.kptr_restrict)
		kallsyms->paths.kptr_restrict = "/proc/sys/kernel/kptr_restrict";
	ksym_table_init(&kallsyms->table);
	return kallsyms;
}

void kallsyms_free(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	ksym_table_done(&kallsyms->table);
	kernel_programs_done(&kallsyms->programs);
	free(kallsyms);
}

/*
 *	ffffffff81000000 T _stext
 *	ffffffffc0201000 t nf_hook	[nf_tables]
 */
bool kallsyms_parse(char *line, struct kallsyms_line *ret_line)
{
	char *end, *module;
	u64 va;

	if (!isxdigit((unsigned char)*line))
		return false;
	errno = 0;
	va = strtoull(line, &end, 16);
	if (errno || *end != ' ' || !isalpha((unsigned char)end[1]) || end[2] != ' ' || end[3] <= ' ')
		return false;
	*ret_line = (struct kallsyms_line){ .va = va, .type = end[1], .name = end + 3 };
	end = ret_line->name + strcspn(ret_line->name, "\t ");
	module = strchr(end, '[');
	ret_line->module = end + strlen(end);
	if (module) {
		module[strcspn(module, "]")] = '\0';
		ret_line->module = module + 1;
	}
	*end = '\0';
	return true;
}

/* Programs have been in a module "[bpf]" of their own since there are names for them (v4.12, 74451e66d516). */
static bool is_program(const struct kallsyms_line *line)
{
	return !strcmp(line->module, "bpf") || (!*line->module && !strncmp(line->name, "bpf_prog_", 9) &&
						strspn(line->name + 9, "0123456789abcdef") == 16);
}

static void take_line(struct kallsyms *kallsyms, char *text, u64 *zero_count)
{
	struct kallsyms_line line;
	struct ksym known;

	if (!kallsyms_parse(text, &line))
		return;
	*zero_count += !line.va;
	if (!is_program(&line))
		ksym_table_add(&kallsyms->table, line.va, line.type, line.name, line.module);
	else if (line.va && !(kernel_programs_find(&kallsyms->programs, line.va, &known) && known.va == line.va))
		kernel_programs_add(&kallsyms->programs, line.va, 0, line.name);
}

/* Reads the file in pieces. A line that does not fit into one is no symbol of a kernel and ends the reading. */
static int read_lines(struct kallsyms *kallsyms, int fd, char *piece, u64 *zero_count)
{
	size_t held = 0;

	for (;;) {
		ssize_t got = read(fd, piece + held, READ_BYTES - 1 - held);
		char *line = piece, *end;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return held ? -EBADMSG : 0;
		held += got;
		while ((end = memchr(line, '\n', piece + held - line))) {
			*end = '\0';
			take_line(kallsyms, line, zero_count);
			line = end + 1;
		}
		held -= line - piece;
		memmove(piece, line, held);
	}
}

static int read_int(const char *path)
{
	char text[16];

	if (io_read_text(path, text, sizeof(text)) <= 0)
		return -1;
	return (int)strtol(text, NULL, 10);
}

static void say_problem(struct kallsyms *kallsyms, int err, u64 zero_count)
{
	const char *path = kallsyms->paths.kallsyms;
	size_t size = sizeof(kallsyms->problem);

	kallsyms->problem[0] = '\0';
	if (err < 0)
		(void)snprintf(kallsyms->problem, size, "Kernel functions have no names: %s: %s.", path,
			       strerror(-err));
	else if (kallsyms->table.count)
		return;
	else if (!zero_count)
		(void)snprintf(kallsyms->problem, size, "Kernel functions have no names: %s lists none.", path);
	else if (read_int(kallsyms->paths.kptr_restrict) >= 2)
		(void)snprintf(kallsyms->problem, size, "Kernel functions have no names: kernel.kptr_restrict hides "
			       "their addresses; run: sudo sysctl kernel.kptr_restrict=1");
	else
		(void)snprintf(kallsyms->problem, size, "Kernel functions have no names: CAP_SYSLOG is missing and "
			       "kernel.kptr_restrict hides their addresses; run as root, or: "
			       "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
}

static int load(struct kallsyms *kallsyms, u64 *zero_count)
{
	_cleanup_(closep) int fd = open(kallsyms->paths.kallsyms, O_RDONLY | O_CLOEXEC);
	char *piece;
	int r;

	if (fd < 0)
		return -errno;
	piece = malloc(READ_BYTES);
	if (!piece)
		return -ENOMEM;
	r = read_lines(kallsyms, fd, piece, zero_count);
	free(piece);
	if (r < 0)
		return r;
	return ksym_table_finish(&kallsyms->table);
}

/* The list of modules has their addresses too, so one that was replaced shows. Reference counts would show as well. */
static u32 modules_crc(const struct kallsyms *kallsyms)
{
	FILE *file = fopen(kallsyms->paths.modules, "re");
	char line[1024], name[64], at[32];
	u32 crc = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %*s %*s %*s %*s %31s", name, at) != 2)
			continue;
		crc = crc32(crc, (const Bytef *)name, strlen(name) + 1);
		crc = crc32(crc, (const Bytef *)at, strlen(at) + 1);
	}
	if (file)
		fclose(file);
	return crc;
}

/* Reads the file if that may bring something new; false if not. */
static bool refresh(struct kallsyms *kallsyms, u64 now_ns)
{
	u64 zero_count = 0;
	u32 crc;
	int r;

	if (kallsyms->loads && now_ns - kallsyms->loaded_ns < KALLSYMS_RELOAD_NS)
		return false;
	kallsyms->loaded_ns = now_ns;
	crc = modules_crc(kallsyms);
	if (kallsyms->loads && crc == kallsyms->modules_crc && kallsyms->table.count)
		return false;
	kallsyms->modules_crc = crc;
	kallsyms->loads++;
	ksym_table_done(&kallsyms->table);
	r = load(kallsyms, &zero_count);
	if (r < 0)
		ksym_table_done(&kallsyms->table);
	if (kallsyms->programs.count)
		(void)program_scan(&kallsyms->programs);	/* without it their names end with their page */
	say_problem(kallsyms, r, zero_count);
	return true;
}

static bool find_known(const struct kallsyms *kallsyms, u64 va, struct ksym *ret_ksym)
{
	return kernel_programs_find(&kallsyms->programs, va, ret_ksym) ||
	       ksym_table_find(&kallsyms->table, va, ret_ksym);
}

bool kallsyms_find(struct kallsyms *kallsyms, u64 va, u64 now_ns, struct ksym *ret_ksym)
{
	if (!kallsyms->loads)
		(void)refresh(kallsyms, now_ns);
	return find_known(kallsyms, va, ret_ksym) ||
	       (refresh(kallsyms, now_ns) && find_known(kallsyms, va, ret_ksym));
}

void kallsyms_program(struct kallsyms *kallsyms, u64 va, u32 bytes, const char *name, bool registered)
{
	if (registered)
		kernel_programs_add(&kallsyms->programs, va, bytes, name);
	else
		kernel_programs_remove(&kallsyms->programs, va);
}

const char *kallsyms_problem(const struct kallsyms *kallsyms)
{
	return kallsyms->problem;
}

struct kallsyms_stats kallsyms_stats(const struct kallsyms *kallsyms)
{
	return (struct kallsyms_stats){
		.loads = kallsyms->loads,
		.dropped = kallsyms->table.dropped + kallsyms->programs.dropped,
		.held_bytes = ksym_table_bytes(&kallsyms->table),
	};
}
