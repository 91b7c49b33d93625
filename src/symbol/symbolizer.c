// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbolizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "exe/lines.h"
#include "exe/reader.h"
#include "exe/symbols.h"
#include "proc/binary.h"
#include "base/clean_text.h"
#include "symbol/debuginfod.h"
#include "symbol/demangle.h"
#include "symbol/kallsyms.h"
#include "symbol/name_cache.h"
#include "symbol/symbol_files.h"
#include "symbol/work_budget.h"

#define MEMORY_DEFAULT ((size_t)12 << 20)	/* 25,000 new addresses in a window, with lines */
#define MEMORY_MIN ((size_t)256 << 10)
#define WANTS_MAX (1u << 17)	/* new addresses of one round */
#define WANTS_BYTES ((size_t)WANTS_MAX * 16)
#define SLOW_ANSWERS_MAX 2	/* of one file in one round; then its names come without lines */

/*
 * Time of the reader for DWARF. Some debug files are compressed, and each question about one takes 50 ms: fine at the
 * start, when many addresses are new, but not for the few that are new in each window later.
 */
#define LINES_FULL_NS ((s64)3 * 1000000000)
#define LINES_REFILL_PPM 500
/* When that is used up, a part is left for files that answer at once: large ones take nothing from small ones. */
#define LINES_RESERVE 4
#define LINES_QUICK_NS 2000000

/* Time of the reader for names, while it is to be spared. */
#define SPARE_FULL_NS ((s64)50 * 1000000)
#define SPARE_REFILL_PPM 1000

struct want {
	struct binary *binary;	/* a reference; NULL: the kernel */
	u64 ea;
};

struct symbolizer {
	bool inlines;
	bool spares;			/* time: lines are not looked for, and names within names_budget */
	struct reader *reader;
	struct kallsyms *kallsyms;
	struct debuginfod *debuginfod;
	struct symbol_files_set files;
	struct name_cache names;
	struct arena wants_arena;
	struct interner wants;		/* struct want, each once */
	struct work_budget lines_budget, lines_reserve, names_budget;
	bool in_round;			/* something was wanted since the last run */
	struct symbolizer_stats stats;
	u64 ea[SYMBOLS_MAX];		/* a request */
	char text[DEMANGLE_MAX];
};

static int new_parts(struct symbolizer *s, const struct symbolizer_options *options)
{
	size_t max = options->memory_max_bytes ? options->memory_max_bytes : MEMORY_DEFAULT;
	s64 lines_ns = options->lines_us ? (s64)options->lines_us * 1000 : LINES_FULL_NS;
	int r;

	name_cache_init(&s->names, max < MEMORY_MIN ? MEMORY_MIN : max);
	arena_init(&s->wants_arena, WANTS_BYTES);
	interner_init(&s->wants, &s->wants_arena, WANTS_MAX);
	work_budget_init(&s->lines_budget, lines_ns, LINES_REFILL_PPM, monotonic_ns());
	work_budget_init(&s->lines_reserve, lines_ns / LINES_RESERVE, LINES_REFILL_PPM, monotonic_ns());
	s->kallsyms = kallsyms_new(NULL);
	if (!s->kallsyms)
		return -ENOMEM;
	if (options->debuginfod_urls && *options->debuginfod_urls && options->cache_path) {
		r = debuginfod_new(options->debuginfod_urls, options->cache_path, &s->debuginfod);
		if (r < 0)
			return r;
	}
	return symbol_files_init(&s->files, s->reader, s->debuginfod);
}

int symbolizer_new(const struct symbolizer_options *options, struct reader *reader, struct symbolizer **ret_symbolizer)
{
	_cleanup_(symbolizer_freep) struct symbolizer *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->inlines = options->inlines;
	s->reader = reader;
	s->files.host_root_fd = -1;
	r = new_parts(s, options);
	if (r < 0)
		return r;
	*ret_symbolizer = TAKE(s);
	return 0;
}

/* Forgets all wants, and the references they hold. */
static void drop_wants(struct symbolizer *s)
{
	for (u32 i = 0; i < s->wants.count; i++) {
		const struct want *want = interner_get(&s->wants, i)->at;

		binary_unref(want->binary);
	}
	interner_done(&s->wants);
	arena_done(&s->wants_arena);
	interner_init(&s->wants, &s->wants_arena, WANTS_MAX);
}

/* What was named without lines is looked up anew when it is over. */
void symbolizer_spare(struct symbolizer *s, bool on)
{
	for (u32 i = 0; !on && s->spares && i < s->files.count; i++)
		s->files.list[i].is_fresh |= s->files.list[i].has_lines;
	if (on && !s->spares)
		work_budget_init(&s->names_budget, SPARE_FULL_NS, SPARE_REFILL_PPM, monotonic_ns());
	s->spares = on;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	drop_wants(symbolizer);
	symbol_files_done(&symbolizer->files);
	debuginfod_free(symbolizer->debuginfod);
	kallsyms_free(symbolizer->kallsyms);
	name_cache_done(&symbolizer->names);
	free(symbolizer);
}

static u32 id_of(const struct binary *binary)
{
	return binary ? binary->id : NAME_CACHE_KERNEL;
}

/* Where a debug file came late, all names of its binary are looked up anew. */
static void begin_round(struct symbolizer *s)
{
	s->in_round = true;
	(void)work_budget_refill(&s->lines_budget, monotonic_ns());
	(void)work_budget_refill(&s->lines_reserve, monotonic_ns());
	(void)work_budget_refill(&s->names_budget, monotonic_ns());
	for (u32 i = 0; i < s->files.count; i++) {
		struct symbol_files *files = &s->files.list[i];

		if (files->is_fresh)
			name_cache_forget(&s->names, files->binary->id, 0, UINT64_MAX);
		files->is_fresh = false;
	}
}

void symbolizer_want(struct symbolizer *symbolizer, struct binary *binary, u64 ea)
{
	struct want want = { binary, ea };
	const struct symbol_name *known;
	bool is_new = false;

	if (!symbolizer->in_round)
		begin_round(symbolizer);
	symbolizer->stats.lookups++;
	known = name_cache_keep(&symbolizer->names, id_of(binary), ea);
	if (known && !(known->lacks_lines && work_budget_left(&symbolizer->lines_budget))) {
		symbolizer->stats.hits++;
		return;
	}
	if (interner_add(&symbolizer->wants, &want, sizeof(want), &is_new) == INTERNER_NONE)
		symbolizer->stats.dropped++;
	else if (is_new && binary)
		binary_ref(binary);
}

void symbolizer_want_kernel(struct symbolizer *symbolizer, u64 va)
{
	symbolizer_want(symbolizer, NULL, va);
}

static const char *add_text(struct symbolizer *s, const char *text)
{
	(void)snprintf(s->text, sizeof(s->text), "%s", text);
	return name_cache_text(&s->names, clean_text(s->text));
}

/* A name that was made up: where it is. */
static const char *add_place(struct symbolizer *s, const char *module, u64 ea)
{
	(void)snprintf(s->text, sizeof(s->text), "%s+0x%llx", *module ? module : "[unknown]", (unsigned long long)ea);
	return name_cache_text(&s->names, clean_text(s->text));
}

/* A name as a file has it, and how people read it. */
static void set_function(struct symbolizer *s, struct symbol_line *line, const char *name)
{
	line->system_name = add_text(s, name);
	line->function = line->system_name;
	if (demangle(name, s->text))
		line->function = name_cache_text(&s->names, clean_text(s->text));
}

static void name_kernel(struct symbolizer *s, u64 va, u64 now_ns)
{
	struct symbol_line line = { .file = "" };
	struct symbol_name name = { .source = SYMBOL_KERNEL, .line_count = 1, .lines = &line };
	struct ksym ksym;

	if (kallsyms_find(s->kallsyms, va, now_ns, &ksym)) {
		name.function_ea = ksym.va;
		name.module = ksym.module;
		set_function(s, &line, ksym.name);
		s->stats.by_symbol++;
	} else {
		name.source = SYMBOL_NONE;
		name.function_ea = va;
		name.module = "vmlinux";
		line.system_name = "";
		line.function = add_place(s, "[kernel]", va);
		s->stats.unnamed++;
	}
	(void)name_cache_put(&s->names, NAME_CACHE_KERNEL, va, &name);
}

/* The reader's answers for some addresses of one binary. */
struct answers {
	const struct symbols *symbols;		/* or NULL */
	const struct exe_lines *lines;		/* or NULL */
	bool lacks_lines;			/* for want of time */
};

static u32 set_chain(struct symbolizer *s, const struct exe_lines *lines, u32 i, struct symbol_line *ret_chain)
{
	const u32 *first = exe_lines_first(lines);
	const char *strings = exe_lines_strings(lines);
	u32 count = 0;

	for (u32 at = first[i]; at < first[i + 1] && count < LINES_DEPTH_MAX; at++, count++) {
		const struct exe_line *from = exe_lines_array(lines) + at;

		ret_chain[count] = (struct symbol_line){ .line = from->line, .column = from->column,
							 .start_line = from->start_line };
		ret_chain[count].file = add_text(s, strings + from->file);
		set_function(s, &ret_chain[count], strings + from->function);
	}
	return count;
}

/*
 * The function that has the code is called by its symbol even where DWARF knows it too: it may be a part of what
 * DWARF names (foo.cold), and all of its addresses are then called the same.
 */
static void set_physical(struct symbolizer *s, const struct binary *binary, const struct symbols *symbols, u64 ea,
			 struct symbol_line *line, struct symbol_name *name)
{
	const struct symbol *symbol = symbols ? symbols_find(symbols, ea) : NULL;
	bool by_dwarf = line->function && *line->function;

	name->function_ea = symbol ? symbol->ea : ea;
	name->lang = symbol ? (u8)symbol->lang : 0;
	if (symbol && symbol->name && *symbols_name(symbols, symbol)) {
		set_function(s, line, symbols_name(symbols, symbol));
		if (name->source == SYMBOL_NONE)
			name->source = SYMBOL_TABLE;
	} else if (!by_dwarf) {
		line->function = add_place(s, binary_name(binary), name->function_ea);
		line->system_name = "";
		name->source = symbol ? SYMBOL_FDE : SYMBOL_NONE;
	}
}

static void count_name(struct symbolizer *s, const struct symbol_name *name)
{
	s->stats.by_symbol += name->source == SYMBOL_TABLE || name->source == SYMBOL_DWARF;
	s->stats.by_function_start += name->source == SYMBOL_FDE;
	s->stats.unnamed += name->source == SYMBOL_NONE;
}

/* Inlined functions without a name (there are some in hand-made DWARF) are left out. */
static u32 drop_nameless(struct symbol_line *chain, u32 count)
{
	u32 kept = 0;

	for (u32 i = 0; i < count; i++) {
		if (i + 1 == count || (chain[i].function && *chain[i].function))
			chain[kept++] = chain[i];
	}
	return kept;
}

/* Names address i of the request that was answered. */
static void name_address(struct symbolizer *s, struct binary *binary, u64 ea, const struct answers *answers, u32 i)
{
	struct symbol_line chain[LINES_DEPTH_MAX] = { { .file = "" } };
	struct symbol_name name = { .lines = chain, .lacks_lines = answers->lacks_lines };

	if (answers->lines)
		name.line_count = drop_nameless(chain, set_chain(s, answers->lines, i, chain));
	name.source = name.line_count ? SYMBOL_DWARF : SYMBOL_NONE;
	if (!name.line_count)
		name.line_count = 1;
	set_physical(s, binary, answers->symbols, ea, &chain[name.line_count - 1], &name);
	name.module = add_text(s, binary_name(binary));
	count_name(s, &name);
	(void)name_cache_put(&s->names, binary->id, ea, &name);
}

/* Names an address like another one of its function. False: somebody has to be asked. */
static bool name_like_known(struct symbolizer *s, const struct symbol_files *files, const struct binary *binary, u64 ea)
{
	const struct known_function *f = known_functions_find(&files->known, ea);
	const struct symbol_name *name = f ? name_cache_find(&s->names, binary->id, f->ea + f->named) : NULL;

	if (!name || name->line_count != 1 || name->lines->line || name->lacks_lines || name->function_ea != f->ea ||
	    !name_cache_put(&s->names, binary->id, ea, name))
		return false;
	count_name(s, name);
	return true;
}

/* Remembers which functions the addresses of a request, s->ea[], are of. */
static void know_functions(struct symbolizer *s, struct symbol_files *files, const struct symbols *symbols, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		const struct symbol *f = symbols_find(symbols, s->ea[i]);

		if (f && s->ea[i] - f->ea < f->clear_bytes)
			known_functions_add(&files->known, &(struct known_function){
				.ea = f->ea, .bytes = f->clear_bytes, .named = (u32)(s->ea[i] - f->ea) });
	}
}

/* CPU time of the reader: its own, so that a busy machine does not count. */
static u64 reader_time_ns(struct symbolizer *s)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(reader_pid(s->reader), &clock) || clock_gettime(clock, &ts))
		return 0;
	return (u64)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* A reader that was started meanwhile begins at 0. How much it was. */
static u64 spend(struct symbolizer *s, struct work_budget *budget, u64 before_ns)
{
	u64 after_ns = reader_time_ns(s), spent_ns = after_ns > before_ns ? after_ns - before_ns : after_ns;

	work_budget_spend(budget, spent_ns);
	return spent_ns;
}

/* Of a file that the reader did not survive nothing more is asked until it is opened anew. */
static int ask_symbols(struct symbolizer *s, struct symbol_files *files, u32 count, struct symbols **ret_symbols)
{
	int fd = files->binary->fd, r;
	u64 before_ns;

	if (fd < 0 || files->is_unreadable)
		return -EBADF;
	before_ns = reader_time_ns(s);
	r = reader_symbols(s->reader, fd, files->debug_fd, s->ea, count, ret_symbols);
	if (r == -EBADMSG && files->debug_fd >= 0) {
		s->stats.unreadable_files++;
		symbol_files_drop_debug(files);
		r = reader_symbols(s->reader, fd, -1, s->ea, count, ret_symbols);
	}
	if (r == -EBADMSG) {
		s->stats.unreadable_files++;
		files->is_unreadable = true;
	}
	(void)spend(s, &s->names_budget, before_ns);
	return r;
}

static bool may_ask_lines(const struct symbolizer *s, const struct symbol_files *files)
{
	return s->inlines && !s->spares && files && files->has_lines && !files->is_unreadable &&
	       files->slow_answers < SLOW_ANSWERS_MAX;
}

/* Whose time lines of a file take; NULL: there is none left. */
static struct work_budget *lines_budget_of(struct symbolizer *s, const struct symbol_files *files)
{
	if (work_budget_left(&s->lines_budget))
		return &s->lines_budget;
	return files->lines_ns < LINES_QUICK_NS && work_budget_left(&s->lines_reserve) ? &s->lines_reserve : NULL;
}

/* Lines of as many of the addresses as time allows; NULL if there are none to be had. */
static struct exe_lines *ask_lines(struct symbolizer *s, struct symbol_files *files, struct work_budget *budget,
				   const u64 *ea, u32 count)
{
	u64 before_ns = reader_time_ns(s);
	struct exe_lines *lines = NULL;
	int r = reader_lines(s->reader, files->binary->fd, files->debug_fd, files->alt_fd, ea, count, &lines);

	files->lines_ns = spend(s, budget, before_ns);
	if (r < 0) {
		s->stats.unreadable_files += r == -EBADMSG;
		files->has_lines = false;
		return NULL;
	}
	if (lines->truncated) {
		s->stats.inline_timeouts++;
		files->slow_answers++;
	}
	if (lines->truncated < lines->address_count)
		return lines;
	free(lines);
	return NULL;
}

/* Names up to SYMBOLS_MAX addresses of one binary, s->ea[]. */
static void name_request(struct symbolizer *s, struct symbol_files *files, struct binary *binary, u32 count)
{
	_cleanup_(freep) struct symbols *symbols = NULL;

	if (files)
		(void)ask_symbols(s, files, count, &symbols);	/* without symbols names are places */
	for (u32 at = 0; at < count;) {
		u32 some = count - at < LINES_MAX ? count - at : LINES_MAX;
		_cleanup_(freep) struct exe_lines *lines = NULL;
		struct answers answers = { .symbols = symbols };

		if (may_ask_lines(s, files)) {
			struct work_budget *budget = lines_budget_of(s, files);

			answers.lacks_lines = !budget || name_cache_is_tight(&s->names);
			if (!answers.lacks_lines)
				lines = ask_lines(s, files, budget, s->ea + at, some);
		}
		if (lines)
			some = lines->address_count - lines->truncated;
		answers.lines = lines;
		s->stats.lines_put_off += answers.lacks_lines ? some : 0;
		for (u32 i = 0; i < some; i++)
			name_address(s, binary, s->ea[at + i], &answers, i);
		at += some;
	}
	if (symbols && !may_ask_lines(s, files))
		know_functions(s, files, symbols, count);
}

static void name_binary(struct symbolizer *s, const struct want *wants, u32 count, u64 now)
{
	struct binary *binary = wants->binary;
	struct symbol_files *files = symbol_files_get(&s->files, binary, now);

	if (s->spares && !work_budget_left(&s->names_budget)) {
		s->stats.names_put_off += count;
		return;
	}
	if (files)
		files->slow_answers = 0;
	for (u32 at = 0; at < count;) {
		u32 some = 0;

		for (; at < count && some < SYMBOLS_MAX; at++)
			if (!files || may_ask_lines(s, files) || !name_like_known(s, files, binary, wants[at].ea))
				s->ea[some++] = wants[at].ea;
		if (some)
			name_request(s, files, binary, some);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct want *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return (x->ea > y->ea) - (x->ea < y->ea);
}

static void name_wants(struct symbolizer *s, const struct want *wants, u32 count)
{
	u64 now = monotonic_ns();
	u32 next;

	for (u32 at = 0; at < count; at = next) {
		for (next = at; next < count && wants[next].binary == wants[at].binary; next++) {
			if (!wants[at].binary)
				name_kernel(s, wants[next].ea, now);
		}
		if (wants[at].binary)
			name_binary(s, &wants[at], next - at, now);
	}
}

int symbolizer_run(struct symbolizer *symbolizer)
{
	u32 count = symbolizer->wants.count;
	_cleanup_(freep) struct want *wants = NULL;

	name_cache_turn(&symbolizer->names);
	symbolizer->in_round = false;
	if (symbolizer->debuginfod)
		debuginfod_begin(symbolizer->debuginfod);
	if (count) {
		wants = reallocarray(NULL, count, sizeof(*wants));
		if (!wants) {
			symbolizer->stats.dropped += count;
			drop_wants(symbolizer);
			return -ENOMEM;
		}
		for (u32 i = 0; i < count; i++)
			memcpy(&wants[i], interner_get(&symbolizer->wants, i)->at, sizeof(*wants));
		qsort(wants, count, sizeof(*wants), by_address);
		name_wants(symbolizer, wants, count);
		drop_wants(symbolizer);
	}
	symbol_files_retry(&symbolizer->files);
	symbol_files_close_idle(&symbolizer->files, monotonic_ns());
	return 0;
}

const struct symbol_name *symbolizer_find(struct symbolizer *symbolizer, const struct binary *binary, u64 ea)
{
	return name_cache_find(&symbolizer->names, id_of(binary), ea);
}

const struct symbol_name *symbolizer_find_kernel(struct symbolizer *symbolizer, u64 va)
{
	return name_cache_find(&symbolizer->names, NAME_CACHE_KERNEL, va);
}

void symbolizer_kernel_symbol(struct symbolizer *symbolizer, u64 va, u32 bytes, const char *name, bool registered)
{
	kallsyms_program(symbolizer->kallsyms, va, bytes, name, registered);
	/* What goes keeps its name for the samples that are still to be named. */
	if (registered)
		name_cache_forget(&symbolizer->names, NAME_CACHE_KERNEL, va, bytes);
}

const char *symbolizer_kernel_problem(const struct symbolizer *symbolizer)
{
	return kallsyms_problem(symbolizer->kallsyms);
}

struct symbolizer_stats symbolizer_stats(const struct symbolizer *symbolizer)
{
	struct symbolizer_stats stats = symbolizer->stats;
	struct debuginfod_stats remote = { 0 };

	if (symbolizer->debuginfod)
		remote = debuginfod_stats(symbolizer->debuginfod);
	stats.evictions = symbolizer->names.evictions;
	stats.dropped += symbolizer->names.dropped;
	stats.debuginfod_hits = remote.hits;
	stats.debuginfod_misses = remote.misses;
	return stats;
}
