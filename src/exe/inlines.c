// SPDX-License-Identifier: Apache-2.0
#include "exe/inlines.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "exe/dwarf_index.h"
#include "exe/lines.h"

#define FILES_MAX 3		/* kept open */
#define HEAP_MAX (6u << 20)	/* bytes of malloc(), above which they are closed */

/* A file that libdw reads. libelf maps it, so that the descriptor need not stay open. */
struct mapped {
	void *at;		/* the mapping, libelf's */
	size_t bytes;
	Elf *elf;
	Dwarf *dwarf;
};

/* Tells files apart while they do not change. */
struct identity {
	dev_t dev;
	ino_t ino;
	off_t bytes;
	struct timespec changed;
};

struct file {
	struct identity exe, debug, alt;
	struct mapped main, supplement;
	struct dwarf_index index;
	u64 used;		/* when last; 0 if this place is empty */
};

struct inlines {
	struct file files[FILES_MAX];
	u64 uses;
};

/* Functions of a chain, the outermost first, as DIEs. */
struct chain {
	Dwarf_Die die[LINES_DEPTH_MAX];
	u32 depth;
};

static void unmap(struct mapped *mapped)
{
	if (mapped->dwarf)
		dwarf_end(mapped->dwarf);
	if (mapped->elf)
		elf_end(mapped->elf);
	*mapped = (struct mapped){ 0 };
}

static int map(int fd, struct mapped *ret_mapped)
{
	struct mapped mapped = { .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL) };

	if (mapped.elf && elf_kind(mapped.elf) == ELF_K_ELF) {
		mapped.at = elf_rawfile(mapped.elf, &mapped.bytes);
		mapped.dwarf = dwarf_begin_elf(mapped.elf, DWARF_C_READ, NULL);
	}
	if (!mapped.at || !mapped.dwarf) {
		unmap(&mapped);
		return -ENODATA;
	}
	(void)elf_cntl(mapped.elf, ELF_C_FDDONE);
	*ret_mapped = mapped;
	return 0;
}

static void identify(int fd, struct identity *ret_identity)
{
	struct stat stat;

	memset(ret_identity, 0, sizeof(*ret_identity));
	if (fd < 0 || fstat(fd, &stat) < 0)
		return;
	ret_identity->dev = stat.st_dev;
	ret_identity->ino = stat.st_ino;
	ret_identity->bytes = stat.st_size;
	ret_identity->changed = stat.st_mtim;
}

static void file_close(struct file *file)
{
	dwarf_index_done(&file->index);
	unmap(&file->main);
	unmap(&file->supplement);
	*file = (struct file){ 0 };
}

/* DWARF is in the debug file if there is one that has some, else in the executable. */
static int file_open(struct file *file, int fd, int debug_fd, int alt_fd)
{
	int r = debug_fd >= 0 ? map(debug_fd, &file->main) : -ENODATA;

	if (r < 0)
		r = map(fd, &file->main);
	if (r < 0)
		return r;
	if (alt_fd >= 0 && map(alt_fd, &file->supplement) == 0)
		dwarf_setalt(file->main.dwarf, file->supplement.dwarf);
	return dwarf_index_init(&file->index, file->main.dwarf, file->main.at, file->main.bytes);
}

static bool same(const struct identity *a, const struct identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->bytes == b->bytes && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

/* The file, opened if it is not yet; the one that was used least recently makes room. */
static int get_file(struct inlines *inlines, int fd, int debug_fd, int alt_fd, struct file **ret_file)
{
	struct file *oldest = &inlines->files[0];
	struct identity exe, debug, alt;
	int r;

	identify(fd, &exe);
	identify(debug_fd, &debug);
	identify(alt_fd, &alt);
	for (struct file *file = inlines->files; file < inlines->files + FILES_MAX; file++) {
		if (file->used && same(&file->exe, &exe) && same(&file->debug, &debug) && same(&file->alt, &alt)) {
			file->used = ++inlines->uses;
			*ret_file = file;
			return 0;
		}
		if (file->used < oldest->used)
			oldest = file;
	}
	file_close(oldest);
	r = file_open(oldest, fd, debug_fd, alt_fd);
	if (r < 0) {
		file_close(oldest);
		return r;
	}
	oldest->exe = exe;
	oldest->debug = debug;
	oldest->alt = alt;
	oldest->used = ++inlines->uses;
	*ret_file = oldest;
	return 0;
}

struct inlines *inlines_new(void)
{
	elf_version(EV_CURRENT);
	return calloc(1, sizeof(struct inlines));
}

void inlines_free(struct inlines *inlines)
{
	if (!inlines)
		return;
	for (int i = 0; i < FILES_MAX; i++)
		file_close(&inlines->files[i]);
	free(inlines);
}

void inlines_rest(struct inlines *inlines)
{
	struct mallinfo2 heap = mallinfo2();
	bool full = heap.uordblks + heap.hblkhd > HEAP_MAX;

	for (struct file *file = inlines->files; file < inlines->files + FILES_MAX; file++) {
		if (file->used && full)
			file_close(file);
		if (!file->used)
			continue;
		(void)madvise(file->main.at, file->main.bytes, MADV_DONTNEED);
		if (file->supplement.at)
			(void)madvise(file->supplement.at, file->supplement.bytes, MADV_DONTNEED);
	}
	if (full)
		malloc_trim(0);
}

/* The child whose code holds the address: a block, or a function that was inlined. */
static bool child_at(Dwarf_Die *parent, u64 ea, Dwarf_Die *ret_child)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
		    tag != DW_TAG_catch_block)
			continue;
		if (dwarf_haspc(&child, ea) <= 0)
			continue;
		*ret_child = child;
		return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Adds the functions that were inlined into the one at the head of the chain. Blocks between them count as depth. */
static void find_inlined(struct chain *chain, u64 ea)
{
	Dwarf_Die scope = chain->die[0];

	for (u32 depth = 0; depth < 4 * LINES_DEPTH_MAX && child_at(&scope, ea, &scope); depth++) {
		if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine)
			continue;
		/* Of a chain too long, the innermost and the outermost stay. */
		if (chain->depth == LINES_DEPTH_MAX)
			memmove(&chain->die[1], &chain->die[2], (--chain->depth - 1) * sizeof(chain->die[0]));
		chain->die[chain->depth++] = scope;
	}
}

/* The linkage name, which is unique, or the plain one. */
static const char *function_name(Dwarf_Die *die)
{
	static const unsigned attributes[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const char *name = dwarf_formstring(dwarf_attr_integrate(die, attributes[i], &attribute));

		if (name && *name)
			return name;
	}
	return NULL;
}

static u32 number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
		return 0;
	return value;
}

/* Adds a line; file names that are relative are so to the directory that the unit was compiled in. */
static void add_line(struct lines_builder *builder, Dwarf_Die *unit, const char *function, const char *file, u32 line,
		     u32 column)
{
	Dwarf_Attribute attribute;
	char path[PATH_MAX];
	const char *directory;

	if (file && *file != '/') {
		directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
		if (directory && (size_t)snprintf(path, sizeof(path), "%s/%s", directory, file) < sizeof(path))
			file = path;
	}
	lines_add(builder, function, file, line, column);
}

/* The file that an inlined function was called from, by its unit's table. */
static const char *call_file(Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Files *files;
	size_t count;
	u32 file = number(die, DW_AT_call_file);

	if (dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
		return NULL;
	return dwarf_filesrc(files, file, NULL, NULL);
}

/* Where the code of an address comes from, by the line table. */
static void find_line(Dwarf_Die *unit, u64 ea, const char **ret_file, u32 *ret_line, u32 *ret_column)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, ea);
	int line = 0, column = 0;

	if (!row)
		return;
	*ret_file = dwarf_linesrc(row, NULL, NULL);
	if (dwarf_lineno(row, &line) == 0 && line > 0)
		*ret_line = line;
	if (dwarf_linecol(row, &column) == 0 && column > 0)
		*ret_column = column;
}

static void add_address(struct file *file, u64 ea, struct lines_builder *builder)
{
	struct chain chain = { .depth = 0 };
	const char *source = NULL;
	u32 line = 0, column = 0;
	Dwarf_Die unit;

	if (!dwarf_index_unit(&file->index, ea, &unit))
		return;
	find_line(&unit, ea, &source, &line, &column);
	if (dwarf_index_function(&file->index, &unit, ea, &chain.die[0])) {
		chain.depth = 1;
		find_inlined(&chain, ea);
	} else if (source) {
		add_line(builder, &unit, NULL, source, line, column);
	}
	while (chain.depth--) {
		Dwarf_Die *die = &chain.die[chain.depth];

		add_line(builder, &unit, function_name(die), source, line, column);
		source = call_file(&unit, die);
		line = number(die, DW_AT_call_line);
		column = number(die, DW_AT_call_column);
	}
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

int inlines_find(struct inlines *inlines, int fd, int debug_fd, int alt_fd, const u64 *ea, u32 count, u64 budget_ns,
		 struct exe_lines **ret_lines)
{
	_cleanup_(lines_done) struct lines_builder builder;
	struct file *file = NULL;
	u64 begin_ns;
	u32 looked = 0;
	int r;

	lines_init(&builder);
	r = get_file(inlines, fd, debug_fd, alt_fd, &file);
	if (r < 0)
		return r;
	for (begin_ns = now_ns(); looked < count && (!looked || now_ns() - begin_ns < budget_ns); looked++) {
		add_address(file, ea[looked], &builder);
		lines_next(&builder);
	}
	for (u32 i = looked; i < count; i++)
		lines_next(&builder);
	return lines_finish(&builder, count - looked, ret_lines);
}
