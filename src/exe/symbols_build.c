// SPDX-License-Identifier: Apache-2.0
#include "exe/symbols_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bounds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "exe/cfi.h"
#include "exe/elf.h"
#include "exe/known.h"
#include "exe/lang_tables.h"
#include "exe/minidebug.h"
#include "exe/plt.h"
#include "exe/sweep.h"
#include "exe/symbols.h"
#include "exe/symtab.h"

#define STRINGS_MAX (64u << 20)
/* A hostile table may let every symbol cover every address; a true one covers each a few times. */
#define OFFERS_MAX (16u << 20)
/*
 * Code without FDE is looked through for where functions begin, block by block, each with what is around it, so that
 * the answer for an address does not depend on which others are asked for.
 */
#define BLOCK_BYTES (4u << 10)
#define BLOCK_AROUND (2u << 10)
#define BLOCKS_KEPT 4
#define SWEEPS_NS 4000000000ull	/* for all addresses of a request, of the ten seconds that the reader has */
/* Pages are given back (exe_forget()) after so many symbols or FDEs, and names, which lie anywhere. */
#define FORGET_ENTRIES 16384
#define FORGET_NAMES 32

/* A function that a table tells of. Names lie in the file. */
struct found {
	u64 ea, end_ea;		/* end_ea == ea: its size is not known */
	const char *name;	/* NULL: known by its FDE alone */
	u32 name_max;		/* bytes from there to the end of the table; to read them early would cost memory */
	u8 typed;		/* a function by its type */
	u8 binding;		/* 2 global, 1 weak, 0 local */
	u8 plt;			/* "@plt" follows its name */
	u8 fde_only;		/* it is known where it begins: it is a function if an FDE says where it ends */
	u8 lang;		/* whose own tables know it, which know best */
	u8 used;
	u64 clear_ea;		/* in an answer: up to there no other function starts behind it; 0: not known */
};

/* An address and what covers it. */
struct wanted {
	u64 ea;
	struct found covering;	/* by its size; the one that starts last */
	struct found near;	/* the last that starts between the address before and this one */
	u64 first_ea;		/* the first that starts there, or ~0 */
	u64 next_ea;		/* the first start after this address, or ~0; set at the end */
	u64 fde_ea, fde_end_ea;	/* the FDE it lies in, or 0, 0 */
	u64 fde_gone_ea;	/* the last end of an FDE up to here */
};

struct build {
	const struct exe *exe, *debug;
	struct wanted *wanted;	/* ascending, distinct; one more stands behind the last address */
	u32 count;
	u32 offers_left;
	u32 entries_read, names_read;	/* since pages were last forgotten */
	struct exe_data minidebug;	/* names lie in it */
	struct arena lang_names;	/* those that a language's own tables tell */
	u64 sweep_end_ns;
	struct block {
		u64 end_ea;	/* 0: nothing is known here */
		bool has_code;	/* a debug file has none */
		u8 starts[BLOCK_BYTES / 8];	/* bit map: a function begins there */
	} block[BLOCKS_KEPT];
};

static void forget_pages(struct build *build)
{
	if (build->entries_read < FORGET_ENTRIES && build->names_read < FORGET_NAMES)
		return;
	build->entries_read = build->names_read = 0;
	exe_forget(build->exe);
	if (build->debug)
		exe_forget(build->debug);
}

static u32 name_bytes(const struct found *f)
{
	return strnlen(f->name, f->name_max < SYMBOL_NAME_MAX ? f->name_max : SYMBOL_NAME_MAX);
}

static u32 underscores(const char *name, u32 bytes)
{
	u32 n = 0;

	while (n < bytes && name[n] == '_')
		n++;
	return n;
}

/* The name with fewer leading underscores, then the shorter, then the first in order. */
static bool plainer_name(const struct found *a, const struct found *b)
{
	u32 a_bytes = name_bytes(a), b_bytes = name_bytes(b);
	u32 a_lines = underscores(a->name, a_bytes), b_lines = underscores(b->name, b_bytes);

	if (a_lines != b_lines)
		return a_lines < b_lines;
	return a_bytes != b_bytes ? a_bytes < b_bytes : memcmp(a->name, b->name, a_bytes) < 0;
}

/* Of two names of one function, the one to show. */
static bool better_name(struct build *build, const struct found *a, const struct found *b)
{
	if (a->typed != b->typed)
		return a->typed;
	if ((a->end_ea == a->ea) != (b->end_ea == b->ea))
		return a->end_ea != a->ea;
	if (a->binding != b->binding)
		return a->binding > b->binding;
	build->names_read += 2;
	return plainer_name(a, b);
}

/* Of two functions that cover one address, the one that starts last; a label only where there is no function. */
static bool better_cover(struct build *build, const struct found *a, const struct found *b)
{
	if (!b->used || a->typed != b->typed)
		return !b->used || a->typed;
	if (b->lang)
		return false;
	return a->ea != b->ea ? a->ea > b->ea : better_name(build, a, b);
}

static bool better_near(struct build *build, const struct found *a, const struct found *b)
{
	if (!b->used || a->ea != b->ea)
		return !b->used || a->ea > b->ea;
	return better_name(build, a, b);
}

/* The first wanted address at or above. */
static u32 first_from(const struct build *build, u64 ea)
{
	u32 low = 0, high = build->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (build->wanted[middle].ea < ea)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void offer(struct build *build, const struct found *f)
{
	u32 i = first_from(build, f->ea);
	struct wanted *gap = &build->wanted[i];

	if (f->ea < gap->first_ea)
		gap->first_ea = f->ea;
	if (better_near(build, f, &gap->near))
		gap->near = *f;
	for (; i < build->count && build->wanted[i].ea < f->end_ea && build->offers_left; i++) {
		build->offers_left--;
		if (better_cover(build, f, &build->wanted[i].covering))
			build->wanted[i].covering = *f;
	}
}

static void offer_fde(void *arg, u64 start_ea, u64 end_ea)
{
	struct build *build = arg;
	u32 i = first_from(build, start_ea);

	if (start_ea < build->wanted[i].first_ea)
		build->wanted[i].first_ea = start_ea;
	for (; i < build->count && build->wanted[i].ea < end_ea && build->offers_left; i++) {
		build->offers_left--;
		if (start_ea < build->wanted[i].fde_ea)
			continue;
		build->wanted[i].fde_ea = start_ea;
		build->wanted[i].fde_end_ea = end_ea;
	}
	i = first_from(build, end_ea);
	if (end_ea > build->wanted[i].fde_gone_ea)
		build->wanted[i].fde_gone_ea = end_ea;
	build->entries_read++;
	forget_pages(build);
}

/* A symbol that names code: a function, or an assembler's global label that nobody gave a type. */
static bool is_code(const struct build *build, const Elf64_Sym *sym)
{
	u32 type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || (sym->st_shndx == SHN_ABS && type == STT_NOTYPE))
		return false;
	if (type == STT_NOTYPE ? ELF64_ST_BIND(sym->st_info) == STB_LOCAL : type != STT_FUNC && type != STT_GNU_IFUNC)
		return false;
	return exe_executable(build->exe, sym->st_value);
}

static bool find_name(const struct exe_data *strings, u32 offset, struct found *ret_found)
{
	if (!offset || offset >= strings->bytes)
		return false;
	ret_found->name = (const char *)strings->at + offset;
	ret_found->name_max = at_most(strings->bytes - offset, UINT32_MAX);
	return true;
}

static void offer_symbol(struct build *build, const Elf64_Sym *sym, const struct exe_data *strings)
{
	u32 binding = ELF64_ST_BIND(sym->st_info);
	struct found f = {
		.ea = sym->st_value,
		.end_ea = sym->st_value + sym->st_size,
		.typed = ELF64_ST_TYPE(sym->st_info) != STT_NOTYPE,
		.binding = binding == STB_LOCAL ? 0 : binding == STB_WEAK ? 1 : 2,
		.used = 1,
	};

	if (f.end_ea >= f.ea && is_code(build, sym) && find_name(strings, sym->st_name, &f))
		offer(build, &f);
}

/* Offers all functions of a table; true if the file has it. */
static bool read_table(struct build *build, const struct exe *exe, u32 type)
{
	struct exe_data symbols, strings;
	Elf64_Sym sym;

	if (!symtab_open(exe, type, &symbols, &strings))
		return false;
	for (size_t at = 0; symbols.bytes - at >= sizeof(sym); at += sizeof(sym)) {
		memcpy(&sym, symbols.at + at, sizeof(sym));
		offer_symbol(build, &sym, &strings);
		build->entries_read++;
		forget_pages(build);
	}
	return true;
}

static void read_plt(struct build *build)
{
	struct exe_data symbols, strings;
	struct plt_entry entry;
	Elf64_Sym sym;

	if (!symtab_open(build->exe, SHT_DYNSYM, &symbols, &strings))
		return;
	for (u32 i = 0; i < build->count; i++) {
		struct found f = { .typed = 1, .plt = 1, .used = 1 };

		if (build->wanted[i].covering.used || !plt_find(build->exe, build->wanted[i].ea, &entry) ||
		    entry.symbol >= symbols.bytes / sizeof(sym))
			continue;
		memcpy(&sym, symbols.at + entry.symbol * sizeof(sym), sizeof(sym));
		f.ea = entry.ea;
		f.end_ea = entry.ea + entry.bytes;
		if (find_name(&strings, sym.st_name, &f))
			offer(build, &f);
	}
}

/* Where a stripped program begins has a name, too. */
static void read_program(struct build *build)
{
	struct known_program program;
	/* A debug file has no code that tells where it ends. */
	struct found f = { .name = "_start", .name_max = sizeof("_start"), .typed = 1, .binding = 2, .used = 1,
			   .fde_only = 1 };

	if (!known_program(build->exe, &program))
		return;
	f.ea = program.start_ea;
	f.end_ea = program.start_end_ea;
	offer(build, &f);
	if (!program.main_ea)
		return;
	f = (struct found){ .ea = program.main_ea, .end_ea = program.main_ea, .name = "main", .typed = 1, .binding = 2,
			    .name_max = sizeof("main"), .used = 1, .fde_only = 1 };
	offer(build, &f);
}

/* Functions that a language's own tables name. */
static void read_lang(struct build *build)
{
	struct lang_tables tables = { 0 };
	struct lang_function function;

	if (lang_tables_open(build->exe, &tables) < 0)
		return;
	for (u32 i = 0; i < build->count; i++) {
		u64 ea = build->wanted[i].ea;
		const char *name;

		if (build->wanted[i].covering.used || !tables.ops->function(tables.state, ea, &function))
			continue;
		name = arena_copy(&build->lang_names, function.name, strlen(function.name) + 1);
		if (name)
			offer(build, &(struct found){
				.ea = function.start_ea, .end_ea = function.end_ea, .name = name,
				.name_max = sizeof(function.name), .typed = 1, .binding = 2, .used = 1,
				.lang = function.is_native ? 0 : tables.lang,
			});
	}
	lang_tables_done(&tables);
}

static bool all_covered(const struct build *build)
{
	for (u32 i = 0; i < build->count; i++)
		if (!build->wanted[i].covering.used)
			return false;
	return true;
}

/* What was noted by gaps holds for the addresses after them (near, ends) or before them (next starts). */
static void spread_gaps(struct build *build)
{
	struct wanted *w = build->wanted;

	for (u32 i = 1; i < build->count; i++) {
		if (!w[i].near.used)
			w[i].near = w[i - 1].near;
		if (w[i].fde_gone_ea < w[i - 1].fde_gone_ea)
			w[i].fde_gone_ea = w[i - 1].fde_gone_ea;
	}
	for (u32 i = build->count; i-- > 0;)
		w[i].next_ea = at_most(w[i + 1].first_ea, w[i + 1].next_ea);
}

/* The end of the section or, without sections, of the segment that an address lies in; and where that starts. */
static u64 code_end(const struct exe *exe, u64 ea, u64 *ret_start_ea)
{
	struct exe_section section;

	*ret_start_ea = ea;
	for (u32 i = 1; exe_section(exe, i, &section); i++)
		if (section.flags & SHF_EXECINSTR && ea >= section.ea && ea - section.ea < section.bytes) {
			*ret_start_ea = section.ea;
			return section.ea + section.bytes;
		}
	for (u32 i = 0; i < exe->load_count; i++)
		if (ea >= exe->load[i].ea && ea - exe->load[i].ea < exe->load[i].mem_bytes) {
			*ret_start_ea = exe->load[i].ea;
			return exe->load[i].ea + exe->load[i].mem_bytes;
		}
	return ea;
}

/* The function an address lies in. False if nobody knows one. */
static bool settle(const struct build *build, const struct wanted *w, struct found *ret_found)
{
	bool in_fde = w->fde_end_ea > w->ea;
	struct found f = w->near;
	u64 start_ea;

	if (w->covering.used) {
		*ret_found = w->covering;
		return true;
	}
	/* A symbol without size reaches to the end of its FDE; so does one at its start, whatever its size says. */
	if (f.used && in_fde && (f.end_ea == f.ea ? f.ea >= w->fde_ea : f.ea == w->fde_ea) && !f.plt) {
		f.end_ea = at_most(w->fde_end_ea, w->next_ea);
		*ret_found = f;
		return true;
	}
	if (in_fde) {
		*ret_found = (struct found){ .ea = w->fde_ea, .end_ea = w->fde_end_ea, .used = 1 };
		return true;
	}
	/* Where there is no FDE it reaches to whatever comes next, unless its own FDE has ended. */
	if (!f.used || f.end_ea != f.ea || f.fde_only || w->fde_gone_ea > f.ea)
		return false;
	f.end_ea = at_most(code_end(build->exe, f.ea, &start_ea), w->next_ea);
	*ret_found = f;
	return f.end_ea > w->ea;
}

static void note_start(void *arg, u64 ea)
{
	struct block *block = arg;
	u64 at = ea - (block->end_ea - BLOCK_BYTES);

	if (at < BLOCK_BYTES)
		block->starts[at / 8] |= 1 << at % 8;
}

/* What is known of the block that an address lies in, or is found out now. NULL if there is no code, or no time. */
static const struct block *find_block(struct build *build, u64 ea)
{
	u64 block_ea = ea / BLOCK_BYTES * BLOCK_BYTES, code_ea, end_ea = code_end(build->exe, ea, &code_ea), from_ea;
	struct block *block = &build->block[ea / BLOCK_BYTES % BLOCKS_KEPT];

	if (block->end_ea == block_ea + BLOCK_BYTES)
		return block->has_code ? block : NULL;
	if (monotonic_ns() > build->sweep_end_ns)
		return NULL;
	*block = (struct block){ .end_ea = block_ea + BLOCK_BYTES };
	from_ea = block_ea > code_ea + BLOCK_AROUND ? block_ea - BLOCK_AROUND : code_ea;
	block->has_code = sweep_starts(build->exe, from_ea, at_most(block->end_ea + BLOCK_AROUND, end_ea), note_start,
				       block) == 0;
	return block->has_code ? block : NULL;
}

/* The last start in a block at or before an address of it; 0 if there is none. */
static u64 last_start(struct build *build, u64 ea)
{
	const struct block *block = find_block(build, ea);

	for (u64 at = ea % BLOCK_BYTES + 1; block && at-- > 0;)
		if (block->starts[at / 8] >> at % 8 & 1)
			return block->end_ea - BLOCK_BYTES + at;
	return 0;
}

/* The first start in a block behind an address of it, or the end of the block. */
static u64 next_start(struct build *build, u64 ea)
{
	const struct block *block = find_block(build, ea);

	for (u64 at = ea % BLOCK_BYTES + 1; block && at < BLOCK_BYTES; at++)
		if (block->starts[at / 8] >> at % 8 & 1)
			return block->end_ea - BLOCK_BYTES + at;
	return ea / BLOCK_BYTES * BLOCK_BYTES + BLOCK_BYTES;
}

/* Where the code that an address may be of begins: behind what is known of others. */
static u64 gap_start(const struct wanted *w, u64 code_ea)
{
	u64 ea = w->fde_gone_ea > code_ea ? w->fde_gone_ea : code_ea;

	return w->near.used && w->near.end_ea > ea ? w->near.end_ea : ea;
}

/*
 * Code without FDEs or symbols: its function begins where its instructions say, in the block of the address or the one
 * before. Behind the block others may know better.
 */
static bool settle_swept(struct build *build, const struct wanted *w, struct found *ret_found)
{
	u64 code_ea, end_ea = code_end(build->exe, w->ea, &code_ea), gap_ea = gap_start(w, code_ea), start_ea;
	u64 block_ea = w->ea / BLOCK_BYTES * BLOCK_BYTES, far_ea = block_ea ? block_ea - BLOCK_BYTES : 0;
	bool is_main = w->near.used && w->near.fde_only && w->near.ea >= far_ea;

	if (build->exe->machine != EM_X86_64 || build->exe->elf_class != ELFCLASS64 || gap_ea > w->ea ||
	    !find_block(build, w->ea))
		return false;
	start_ea = last_start(build, w->ea);
	if (!start_ea && block_ea > code_ea)
		start_ea = last_start(build, block_ea - 1);
	if (is_main && w->near.ea >= start_ea)
		start_ea = w->near.ea;
	if (start_ea < gap_ea || !start_ea)
		return false;
	*ret_found = is_main && start_ea == w->near.ea ? w->near : (struct found){ .used = 1 };
	ret_found->ea = start_ea;
	ret_found->end_ea = at_most(at_most(next_start(build, w->ea), w->next_ea), end_ea);
	return true;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->ea != y->ea)
		return x->ea < y->ea ? -1 : 1;
	return x->end_ea > y->end_ea ? -1 : x->end_ea < y->end_ea;
}

/*
 * Up to where all addresses have the same answer: no other function starts between the start of this one and the
 * address, nor from there on. Labels are not for that: where a function reaches over one, that goes first.
 */
static u64 clear_ea(const struct wanted *w, const struct found *f)
{
	if ((f->name && !f->typed) || (w->near.used && w->near.ea > f->ea))
		return 0;
	return at_most(f->end_ea, w->next_ea);
}

/* Sorts by start and keeps the longest of each. Returns how many are left. */
static u32 sort_found(struct found *found, u32 count)
{
	u32 kept = 0;

	qsort(found, count, sizeof(*found), compare_found);
	for (u32 i = 0; i < count; i++)
		if (!kept || found[kept - 1].ea != found[i].ea)
			found[kept++] = found[i];
		else if (found[kept - 1].clear_ea < found[i].clear_ea && found[kept - 1].end_ea == found[i].end_ea)
			found[kept - 1].clear_ea = found[i].clear_ea;
	return kept;
}

static void add_name(struct buf *strings, const struct found *f, struct symbol *symbol)
{
	if (!f->name)
		return;
	symbol->name = strings->len;
	buf_add(strings, f->name, name_bytes(f));
	buf_add(strings, "@plt", f->plt ? 5 : 0);
	buf_add(strings, "", f->plt ? 0 : 1);
}

static int write_symbols(struct build *build, const struct found *found, u32 count, struct symbols **ret_symbols)
{
	struct symbols head = { .magic = SYMBOLS_MAGIC, .count = count };
	_cleanup_(freep) struct symbol *array = calloc(count + 1, sizeof(*array));
	struct buf strings, out;
	int r;

	if (!array)
		return -ENOMEM;
	buf_init(&strings, STRINGS_MAX);
	buf_init(&out, STRINGS_MAX * 2);
	buf_add(&strings, "", 1);
	for (u32 i = 0; i < count; i++) {
		array[i].ea = found[i].ea;
		array[i].lang = found[i].lang;
		array[i].bytes = at_most(found[i].end_ea - found[i].ea, UINT32_MAX);
		if (found[i].clear_ea > found[i].ea)
			array[i].clear_bytes = at_most(found[i].clear_ea - found[i].ea, UINT32_MAX);
		add_name(&strings, &found[i], &array[i]);
		build->names_read++;
		forget_pages(build);
	}
	head.strings_bytes = strings.len;
	head.bytes = sizeof(head) + count * sizeof(*array) + strings.len;
	buf_add(&out, &head, sizeof(head));
	buf_add(&out, array, count * sizeof(*array));
	buf_add(&out, strings.data, strings.len);
	r = buf_err(&strings) ? buf_err(&strings) : buf_err(&out);
	buf_done(&strings);
	if (r < 0)
		buf_done(&out);
	else
		*ret_symbols = (struct symbols *)out.data;
	return r;
}

static int answer(struct build *build, struct symbols **ret_symbols)
{
	_cleanup_(freep) struct found *found = calloc(build->count + 1, sizeof(*found));
	u32 count = 0;

	if (!found)
		return -ENOMEM;
	for (u32 i = 0; i < build->count; i++)
		if (settle(build, &build->wanted[i], &found[count]) ||
		    settle_swept(build, &build->wanted[i], &found[count])) {
			found[count].clear_ea = clear_ea(&build->wanted[i], &found[count]);
			count++;
		}
	count = sort_found(found, count);
	return write_symbols(build, found, count, ret_symbols);
}

static int want(struct build *build, const u64 *ea, u32 count)
{
	_cleanup_(freep) u64 *sorted = calloc(count + 1, sizeof(*sorted));

	build->wanted = calloc(count + 1, sizeof(*build->wanted));
	if (!sorted || !build->wanted)
		return -ENOMEM;
	memcpy(sorted, ea, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_u64);
	for (u32 i = 0; i < count; i++)
		if (!i || sorted[i] != sorted[i - 1])
			build->wanted[build->count++].ea = sorted[i];
	for (u32 i = 0; i <= build->count; i++)
		build->wanted[i].first_ea = build->wanted[i].next_ea = UINT64_MAX;
	return 0;
}

/*
 * The same tables are read whatever is asked, so that a function is always known by the same of its names. Those
 * read only where something is missing have no names for functions that others name, or lose against them.
 */
static void read_tables(struct build *build)
{
	_cleanup_(exe_freep) struct exe *mini = NULL;

	read_lang(build);
	if (all_covered(build))
		return;
	if (!read_table(build, build->exe, SHT_SYMTAB))
		(void)read_table(build, build->exe, SHT_DYNSYM);
	if (build->debug)
		(void)read_table(build, build->debug, SHT_SYMTAB);
	if (!all_covered(build) && minidebug_read(build->exe, &build->minidebug) == 0 &&
	    exe_open_mem(build->minidebug.at, build->minidebug.bytes, &mini) == 0)
		(void)read_table(build, mini, SHT_SYMTAB);
	if (!all_covered(build))
		read_plt(build);
	if (!all_covered(build))
		read_program(build);
	if (!all_covered(build))
		(void)cfi_each_function(build->exe, offer_fde, build); /* a file without has none to offer */
}

int symbols_build(const struct exe *exe, const struct exe *debug, const u64 *ea, u32 count,
		  struct symbols **ret_symbols)
{
	struct build build = { .exe = exe, .debug = debug, .offers_left = OFFERS_MAX };
	int r = count > SYMBOLS_MAX ? -E2BIG : want(&build, ea, count);

	arena_init(&build.lang_names, STRINGS_MAX);
	if (r == 0) {
		read_tables(&build);
		spread_gaps(&build);
		build.sweep_end_ns = monotonic_ns() + SWEEPS_NS;
		r = answer(&build, ret_symbols);
	}
	exe_data_done(&build.minidebug);
	arena_done(&build.lang_names);
	free(build.wanted);
	return r;
}
