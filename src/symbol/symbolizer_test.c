// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbolizer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>

#include "exe/reader.h"
#include "proc/binary.h"
#include "test.h"

/* A symbolizer with the real reader, and this program to ask it about. */
struct fixture {
	struct reader *reader;
	struct symbolizer *symbolizer;
	struct binary *self;
	u32 last_id;
};

static struct binary *open_binary(struct fixture *f, const char *path)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	OK(binary);
	*binary = (struct binary){ .refs = 1, .id = ++f->last_id, .root_fd = -1, .path = strdup(path) };
	binary->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (binary->fd >= 0)
		EQ(reader_identify(f->reader, binary->fd, &binary->info), 0);
	return binary;
}

static void fixture_init(struct fixture *f, const struct symbolizer_options *options)
{
	*f = (struct fixture){ 0 };
	EQ(reader_start(0, &f->reader), 0);
	EQ(symbolizer_new(options, f->reader, &f->symbolizer), 0);
	f->self = open_binary(f, "/proc/self/exe");
}

static void fixture_done(struct fixture *f)
{
	symbolizer_free(f->symbolizer);
	EQ(f->self->refs, 1);
	binary_unref(f->self);
	reader_free(f->reader);
}

/* Where an address of this process lies in the file that it was loaded from. */
static u64 ea_of(const void *at)
{
	struct link_map *map;
	Dl_info info;

	OK(dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP));
	return (u64)at - map->l_addr;
}

static const struct symbol_name *name_of(struct fixture *f, struct binary *binary, u64 ea)
{
	const struct symbol_name *name;

	symbolizer_want(f->symbolizer, binary, ea);
	EQ(symbolizer_run(f->symbolizer), 0);
	name = symbolizer_find(f->symbolizer, binary, ea);
	OK(name && name->line_count);
	return name;
}

TEST(symbolizer_names_a_function_of_this_program)
{
	struct symbolizer_options options = { 0 };
	const struct symbol_name *name;
	struct fixture f;
	u64 start;

	fixture_init(&f, &options);
	start = ea_of((const void *)(uintptr_t)symbolizer_run);
	name = name_of(&f, f.self, start + 5);
	EQ(name->source, SYMBOL_TABLE);
	EQ(name->function_ea, start);
	EQ(name->line_count, 1);
	STREQ(name->lines[0].function, "symbolizer_run");
	STREQ(name->lines[0].system_name, "symbolizer_run");
	STREQ(name->module, "exe");
	EQ(symbolizer_stats(f.symbolizer).by_symbol, 1);

	symbolizer_want(f.symbolizer, f.self, start + 5);
	EQ(symbolizer_stats(f.symbolizer).hits, 1);
	fixture_done(&f);
}

static inline __attribute__((always_inline)) u64 inlined_where(void)
{
	u64 at;

#if defined(__aarch64__)
	asm volatile("adr %0, ." : "=r"(at));
#else
	asm volatile("lea -1(%%rip), %0" : "=r"(at));
#endif
	return at;
}

static __attribute__((noinline)) u64 outer_where(void)
{
	return inlined_where();
}

TEST(symbolizer_shows_inlined_functions)
{
	struct symbolizer_options options = { .inlines = true };
	const struct symbol_name *name;
	struct fixture f;

	fixture_init(&f, &options);
	if (!f.self->info.has_debug_info)
		SKIP("this program was built without DWARF");
	name = name_of(&f, f.self, ea_of((const void *)outer_where()));
	EQ(name->source, SYMBOL_DWARF);
	EQ(name->line_count, 2);
	STREQ(name->lines[0].function, "inlined_where");
	STREQ(name->lines[1].function, "outer_where");
	EQ(name->function_ea, ea_of((const void *)(uintptr_t)outer_where));
	OK(strstr(name->lines[0].file, "symbolizer_test.c"));
	OK(name->lines[0].line > 80 && name->lines[0].line < name->lines[1].line);
	fixture_done(&f);
}

/* The first question about DWARF takes all the time there is; the next address has to do with its symbol. */
TEST(symbolizer_rations_time_for_lines)
{
	struct symbolizer_options options = { .inlines = true, .lines_us = 1 };
	const struct symbol_name *name;
	struct fixture f;
	u64 ea;

	fixture_init(&f, &options);
	if (!f.self->info.has_debug_info)
		SKIP("this program was built without DWARF");
	ea = ea_of((const void *)outer_where());
	name = name_of(&f, f.self, ea_of((const void *)(uintptr_t)symbolizer_run));
	EQ(name->source, SYMBOL_DWARF);
	OK(!name->lacks_lines);
	name = name_of(&f, f.self, ea);
	EQ(name->source, SYMBOL_TABLE);
	OK(name->lacks_lines);
	EQ(name->line_count, 1);
	STREQ(name->lines[0].function, "outer_where");
	EQ(symbolizer_stats(f.symbolizer).lines_put_off, 1);

	/* Not asked for again before there is time. */
	symbolizer_want(f.symbolizer, f.self, ea);
	EQ(symbolizer_stats(f.symbolizer).hits, 1);
	fixture_done(&f);
}

TEST(symbolizer_names_what_has_no_symbol_by_its_place)
{
	struct symbolizer_options options = { .inlines = true };
	const struct symbol_name *name;
	struct binary *gone;
	struct fixture f;

	fixture_init(&f, &options);
	name = name_of(&f, f.self, 0x7ffffff);
	EQ(name->source, SYMBOL_NONE);
	STREQ(name->lines[0].function, "exe+0x7ffffff");
	STREQ(name->lines[0].system_name, "");

	gone = open_binary(&f, "/no/such/lib\nfoo.so");
	name = name_of(&f, gone, 0x1230);
	STREQ(name->lines[0].function, "lib?foo.so+0x1230");
	STREQ(name->module, "lib?foo.so");
	EQ(symbolizer_stats(f.symbolizer).unnamed, 2);
	EQ(gone->refs, 2);	/* ours, and for its files */
	symbolizer_free(TAKE(f.symbolizer));
	EQ(gone->refs, 1);
	binary_unref(gone);
	fixture_done(&f);
}

TEST(symbolizer_sets_a_file_aside_that_stops_the_reader)
{
	struct symbolizer_options options = { .inlines = true };
	const struct symbol_name *name;
	struct fixture f;

	fixture_init(&f, &options);
	EQ(kill(reader_pid(f.reader), SIGSTOP), 0);
	reader_set_timeout(f.reader, 20);
	name = name_of(&f, f.self, 0x1234);
	STREQ(name->lines[0].function, "exe+0x1234");
	EQ(symbolizer_stats(f.symbolizer).unreadable_files, 1);

	reader_set_timeout(f.reader, 10000);
	name = name_of(&f, f.self, ea_of((const void *)(uintptr_t)symbolizer_run));
	EQ(symbolizer_stats(f.symbolizer).unreadable_files, 1);
	EQ(name->source, SYMBOL_NONE);
	EQ(reader_stats(f.reader).timeouts, 1);
	fixture_done(&f);
}

TEST(symbolizer_answers_many_addresses_of_several_files_in_one_run)
{
	struct symbolizer_options options = { .inlines = true };
	struct binary *libc;
	struct fixture f;
	Dl_info info;
	u64 self, other;

	fixture_init(&f, &options);
	OK(dladdr((const void *)(uintptr_t)qsort, &info));
	libc = open_binary(&f, info.dli_fname);
	self = ea_of((const void *)(uintptr_t)symbolizer_new);
	other = ea_of((const void *)(uintptr_t)qsort);
	for (u32 i = 0; i < 6000; i++)
		symbolizer_want(f.symbolizer, f.self, self + i);
	for (u32 i = 0; i < 6000; i++)
		symbolizer_want(f.symbolizer, libc, other + i);
	EQ(symbolizer_run(f.symbolizer), 0);
	for (u32 i = 0; i < 6000; i++) {
		OK(symbolizer_find(f.symbolizer, f.self, self + i));
		OK(symbolizer_find(f.symbolizer, libc, other + i));
	}
	STREQ(symbolizer_find(f.symbolizer, f.self, self)->lines[0].function, "symbolizer_new");
	EQ(symbolizer_find(f.symbolizer, libc, other)->function_ea, other);
	EQ(symbolizer_stats(f.symbolizer).dropped, 0);
	symbolizer_free(TAKE(f.symbolizer));
	binary_unref(libc);
	fixture_done(&f);
}

TEST(symbolizer_names_kernel_functions_and_programs)
{
	struct symbolizer_options options = { 0 };
	const struct symbol_name *name;
	struct fixture f;
	u64 va = 0xffffffffc0ffe000;

	fixture_init(&f, &options);
	symbolizer_want_kernel(f.symbolizer, va + 8);
	EQ(symbolizer_run(f.symbolizer), 0);
	name = symbolizer_find_kernel(f.symbolizer, va + 8);
	OK(name);
	EQ(name->source, SYMBOL_NONE);
	STREQ(name->lines[0].function, "[kernel]+0xffffffffc0ffe008");

	/* The kernel put a program there since. */
	symbolizer_kernel_symbol(f.symbolizer, va, 0x40, "bpf_prog_1", true);
	symbolizer_want_kernel(f.symbolizer, va + 8);
	EQ(symbolizer_run(f.symbolizer), 0);
	symbolizer_kernel_symbol(f.symbolizer, va, 0x40, "bpf_prog_1", false);
	name = symbolizer_find_kernel(f.symbolizer, va + 8);
	EQ(name->source, SYMBOL_KERNEL);
	STREQ(name->lines[0].function, "bpf_prog_1");
	STREQ(name->module, "bpf");
	EQ(name->function_ea, va);
	fixture_done(&f);
}

TEST(symbolizer_bears_memory_running_out)
{
	struct symbolizer_options options = {
		.inlines = true, .debuginfod_urls = "http://127.0.0.1:1/", .cache_path = "/nonexistent",
	};
	struct fixture f;
	u64 ea = ea_of((const void *)outer_where());

	fixture_init(&f, &options);
	for (long n = 0;; n += 1 + n / 8) {
		struct symbolizer *symbolizer = NULL;
		const struct symbol_name *name;
		int r;

		test_alloc_fail(n);
		r = symbolizer_new(&options, f.reader, &symbolizer);
		if (r == 0) {
			symbolizer_want(symbolizer, f.self, ea);
			symbolizer_want_kernel(symbolizer, 0xffffffff81000000);
			(void)symbolizer_run(symbolizer);
			name = symbolizer_find(symbolizer, f.self, ea);
			if (name)
				OK(*name->lines[name->line_count - 1].function);
		}
		symbolizer_free(symbolizer);
		if (test_alloc_reset() <= n)
			break;
	}
	fixture_done(&f);
}

TEST(symbolizer_asks_once_for_a_function_without_lines)
{
	struct symbolizer_options options = { 0 };
	const struct symbol_name *first, *second;
	struct fixture f;
	u64 start, requests;

	fixture_init(&f, &options);
	start = ea_of((const void *)(uintptr_t)symbolizer_run);
	first = name_of(&f, f.self, start + 5);
	requests = reader_stats(f.reader).requests;
	second = name_of(&f, f.self, start + 9);
	EQ(reader_stats(f.reader).requests, requests);
	first = symbolizer_find(f.symbolizer, f.self, start + 5);
	STREQ(second->lines->function, "symbolizer_run");
	STREQ(first->lines->function, second->lines->function);
	EQ(second->function_ea, start);
	EQ(symbolizer_stats(f.symbolizer).by_symbol, 2);
	fixture_done(&f);
}

#define STRIDE 61	/* bytes between the addresses that are asked for */
#define ASKED 12000

/* Names addresses of a file from that one on, every so many, from that one on. */
static void name_every(struct fixture *f, struct binary *binary, u64 from_ea, u32 first, u32 every)
{
	for (u32 i = first; i < ASKED; i += every)
		symbolizer_want(f->symbolizer, binary, from_ea + i * STRIDE);
	EQ(symbolizer_run(f->symbolizer), 0);
}

static void compare_names(const char *path, u64 from_ea)
{
	struct symbolizer_options options = { 0 };
	struct fixture asked, known;
	struct binary *a, *b;

	fixture_init(&asked, &options);
	fixture_init(&known, &options);
	a = open_binary(&asked, path);
	b = open_binary(&known, path);
	name_every(&asked, a, from_ea, 0, 1);
	name_every(&known, b, from_ea, 0, 3);
	name_every(&known, b, from_ea, 1, 3);
	name_every(&known, b, from_ea, 2, 3);
	for (u32 i = 0; i < ASKED; i++) {
		const struct symbol_name *x = symbolizer_find(asked.symbolizer, a, from_ea + i * STRIDE);
		const struct symbol_name *y = symbolizer_find(known.symbolizer, b, from_ea + i * STRIDE);

		OK(x && y);
		STREQ(x->lines->function, y->lines->function);
		EQ(x->function_ea, y->function_ea);
		EQ(x->source, y->source);
	}
	binary_unref(a);
	binary_unref(b);
	fixture_done(&asked);
	fixture_done(&known);
}

/* ... of libc, too, where assembler's functions nest. */
TEST(symbolizer_names_addresses_of_known_functions_as_if_it_had_asked)
{
	Dl_info libc;

	compare_names("/proc/self/exe", ea_of((const void *)(uintptr_t)symbolizer_new));
	OK(dladdr((const void *)(uintptr_t)qsort, &libc));
	compare_names(libc.dli_fname, ea_of((const void *)(uintptr_t)qsort));
}
