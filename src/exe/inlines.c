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
#include <gelf.h>

#include "exe/dwarf_index.h"
#include "exe/line_table.h"
#include "exe/lines.h"

#define FILES_MAX 3		/* kept open */
#define UNPACKED_MAX (64u << 20)	/* bytes of compressed sections, unpacked */
#define HEAP_MAX (6u << 20)	/* bytes of malloc(), above which they are closed */

/* Where names lie. */
enum text { TEXT_STR, TEXT_LINE_STR, TEXT_INFO, TEXT_TYPES, TEXTS };
static const char *const text_names[TEXTS] = { ".debug_str", ".debug_line_str", ".debug_info", ".debug_types" };

/* A file that libdw reads. libelf maps it, so that the descriptor need not stay open. */
struct mapped {
	void *at;		/* the mapping, libelf's */
	size_t bytes;
	Elf *elf;
	Dwarf *dwarf;
	struct line_section text[TEXTS];
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
	struct line_sections sections;
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

/* A section's bytes, decompressed if need be (libdw has seen to that). */
static void find_section(Elf *elf, const char *name, struct line_section *ret_section)
{
	size_t names;
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *found = gelf_getshdr(scn, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		Elf_Data *data;

		if (!found || strcmp(found, name))
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			*ret_section = (struct line_section){ data->d_buf, data->d_size };
		return;
	}
}

/* What compressed sections take in memory. libdw unpacks all that it knows, at once. */
static u64 unpacked_bytes(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Chdr header;
	u64 sum = 0;

	while ((scn = elf_nextscn(elf, scn)) && sum <= UNPACKED_MAX)
		if (gelf_getchdr(scn, &header))
			sum += header.ch_size < UNPACKED_MAX ? header.ch_size : UNPACKED_MAX + 1;
	return sum;
}

static int map(int fd, struct mapped *ret_mapped)
{
	struct mapped mapped = { .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL) };

	if (mapped.elf && elf_kind(mapped.elf) == ELF_K_ELF) {
		if (unpacked_bytes(mapped.elf) > UNPACKED_MAX) {
			unmap(&mapped);
			return -E2BIG;
		}
		mapped.at = elf_rawfile(mapped.elf, &mapped.bytes);
		mapped.dwarf = dwarf_begin_elf(mapped.elf, DWARF_C_READ, NULL);
	}
	if (!mapped.at || !mapped.dwarf) {
		unmap(&mapped);
		return -ENODATA;
	}
	for (int i = 0; i < TEXTS; i++)
		find_section(mapped.elf, text_names[i], &mapped.text[i]);
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

	if (r == -ENODATA)
		r = map(fd, &file->main);
	if (r < 0)
		return r;
	if (alt_fd >= 0 && map(alt_fd, &file->supplement) == 0)
		dwarf_setalt(file->main.dwarf, file->supplement.dwarf);
	find_section(file->main.elf, ".debug_line", &file->sections.line);
	file->sections.line_str = file->main.text[TEXT_LINE_STR];
	file->sections.str = file->main.text[TEXT_STR];
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

static void forget_pages(const struct mapped *mapped)
{
	if (mapped->at)
		(void)madvise(mapped->at, mapped->bytes, MADV_DONTNEED);
}

void inlines_rest(struct inlines *inlines)
{
	struct mallinfo2 heap = mallinfo2();
	bool full = heap.uordblks + heap.hblkhd > HEAP_MAX;

	for (struct file *file = inlines->files; file < inlines->files + FILES_MAX; file++) {
		if (file->used && full)
			file_close(file);
		forget_pages(&file->main);
		forget_pages(&file->supplement);
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

static bool ends_inside(const struct mapped *mapped, const char *text)
{
	for (int i = 0; i < TEXTS; i++) {
		const struct line_section *section = &mapped->text[i];
		size_t offset = (const u8 *)text - section->at;

		if (section->at && (const u8 *)text >= section->at && offset < section->bytes)
			return memchr(text, 0, section->bytes - offset);
	}
	return false;
}

/* A string attribute, or NULL. libdw does not look whether it ends. */
static const char *string(const struct file *file, Dwarf_Attribute *attribute)
{
	const char *text = dwarf_formstring(attribute);

	return text && (ends_inside(&file->main, text) || ends_inside(&file->supplement, text)) ? text : NULL;
}

/* The linkage name, which is unique, or the plain one. */
static const char *function_name(const struct file *file, Dwarf_Die *die)
{
	static const unsigned attributes[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const char *name = string(file, dwarf_attr_integrate(die, attributes[i], &attribute));

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

/* A unit while addresses of it are looked at. */
struct unit {
	Dwarf_Die die;
	const char *directory;		/* that it was compiled in */
	bool has_lines;
	struct line_table lines;
	struct line_wanted rows[LINES_MAX];	/* ascending */
	u32 row_count;
};

static int compare_rows(const void *a, const void *b)
{
	const struct line_wanted *x = a, *y = b;

	return x->ea < y->ea ? -1 : x->ea > y->ea;
}

/* Finds the rows of all addresses in the unit at once: the program has to be run from its start each time. */
static void find_rows(struct file *file, struct unit *unit, const u64 *ea, u32 count)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	unit->directory = string(file, dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
	for (u32 i = 0; i < count; i++)
		unit->rows[i] = (struct line_wanted){ .ea = ea[i] };
	unit->row_count = count;
	qsort(unit->rows, count, sizeof(unit->rows[0]), compare_rows);
	unit->has_lines = dwarf_formudata(dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute), &offset) == 0 &&
			  line_table_open(&unit->lines, &file->sections, offset) == 0;
	if (unit->has_lines)
		line_table_find(&unit->lines, unit->rows, count);
}

/* A source file by its number; its name is relative to its directory, and that to the unit's. */
static const char *file_path(const struct unit *unit, u64 number, char path[PATH_MAX])
{
	const char *base = unit->directory ? unit->directory : "", *directory, *name;

	if (!unit->has_lines || !line_table_file(&unit->lines, number, &directory, &name))
		return NULL;
	if (*name == '/')
		return name;
	if (*directory == '/')
		base = "";
	if (snprintf(path, PATH_MAX, "%s%s%s%s%s", base, *base ? "/" : "", directory, *directory ? "/" : "", name) >=
	    PATH_MAX)
		return NULL;
	return path;
}

/* The chain of one address. */
static void add_chain(struct file *file, struct unit *unit, u64 ea, struct lines_builder *builder)
{
	const struct line_wanted key = { .ea = ea };
	const struct line_wanted *row = bsearch(&key, unit->rows, unit->row_count, sizeof(key), compare_rows);
	struct chain chain = { .depth = 0 };
	u32 line = row->line, column = row->column;
	char path[PATH_MAX];
	const char *source = row->found ? file_path(unit, row->file, path) : NULL;

	if (dwarf_index_function(&file->index, &unit->die, ea, &chain.die[0])) {
		chain.depth = 1;
		find_inlined(&chain, ea);
	} else if (source) {
		lines_add(builder, NULL, source, line, column);
	}
	while (chain.depth--) {
		Dwarf_Die *die = &chain.die[chain.depth];

		lines_add(builder, function_name(file, die), source, line, column);
		source = file_path(unit, number(die, DW_AT_call_file), path);
		line = number(die, DW_AT_call_line);
		column = number(die, DW_AT_call_column);
	}
}

/* Adds the addresses from the first on that lie in the same unit, and returns how many there were. */
static u32 add_group(struct file *file, const u64 *ea, u32 count, struct lines_builder *builder)
{
	struct unit unit;
	Dwarf_Die other;
	u32 n = 1;

	if (!dwarf_index_unit(&file->index, ea[0], &unit.die)) {
		lines_next(builder);
		return 1;
	}
	while (n < count && dwarf_index_unit(&file->index, ea[n], &other) &&
	       dwarf_dieoffset(&other) == dwarf_dieoffset(&unit.die))
		n++;
	find_rows(file, &unit, ea, n);
	for (u32 i = 0; i < n; i++) {
		add_chain(file, &unit, ea[i], builder);
		lines_next(builder);
	}
	forget_pages(&file->main);
	forget_pages(&file->supplement);
	return n;
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
	begin_ns = now_ns();
	while (looked < count && (!looked || now_ns() - begin_ns < budget_ns))
		looked += add_group(file, ea + looked, count - looked, &builder);
	for (u32 i = looked; i < count; i++)
		lines_next(&builder);
	return lines_finish(&builder, count - looked, ret_lines);
}
