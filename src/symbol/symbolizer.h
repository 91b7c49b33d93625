/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for native and kernel addresses. Looked up once per distinct address,
 * off the sampling path; caches are bounded and count what they evict.
 *
 * One thread owns a symbolizer.
 *
 *   symbolizer_want() notes an address; symbolizer_run() looks up all that
 *   were noted, in batches per binary; symbolizer_find() then answers from
 *   the cache. Returned pointers are good until the next symbolizer_run().
 */
#ifndef SYMBOL_SYMBOLIZER_H
#define SYMBOL_SYMBOLIZER_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"

struct binary;
struct reader;
struct symbolizer;

struct symbolizer_options {
	bool inlines;			/* read DWARF for inlined functions and lines */
	const char *debuginfod_urls;	/* space separated, NULL: never ask */
	const char *cache_path;		/* for what debuginfod sent; NULL: none */
	size_t memory_max_bytes;	/* 0: the default */
	u64 lines_us;			/* CPU time for DWARF before it is rationed; 0: the default, 3 s */
};

struct symbol_line {
	const char *function;		/* demangled; never NULL, never empty */
	const char *system_name;	/* as in the file (mangled), or "" */
	const char *file;		/* "" if unknown */
	u32 line;			/* 0 if unknown */
	u32 column;
	u32 start_line;			/* of the function; 0 if unknown */
	u32 pad;
};

/* Where a frame's name came from. */
enum symbol_source { SYMBOL_NONE, SYMBOL_FDE, SYMBOL_TABLE, SYMBOL_DWARF, SYMBOL_KERNEL };

struct symbol_name {
	enum symbol_source source;
	bool lacks_lines;		/* there may be more in DWARF; it was put off */
	u8 lang;			/* enum lang: whose own tables have named it; 0: native code */
	u64 function_ea;		/* where the physical function starts, the address itself if unknown */
	u32 line_count;			/* at least 1 */
	const struct symbol_line *lines;	/* innermost first; all but the last are inlined */
	const char *module;		/* kernel: "vmlinux" or the module's name; else the binary's name */
};

struct symbolizer_stats {
	u64 lookups, hits, evictions;
	u64 dropped;		/* addresses left without a name: too many at once, or out of memory */
	u64 by_symbol, by_function_start, unnamed;	/* distinct addresses */
	u64 names_put_off;	/* addresses that had no name for a window, to spare time */
	u64 lines_put_off;	/* addresses whose lines and inlined functions had to wait for time or room */
	u64 inline_timeouts, unreadable_files, debuginfod_hits, debuginfod_misses;
};

int symbolizer_new(const struct symbolizer_options *options, struct reader *reader, struct symbolizer **ret_symbolizer);
void symbolizer_free(struct symbolizer *symbolizer);
DEFINE_CLEANUP(struct symbolizer *, symbolizer_free)

/* Spares time from now on: lines and inlined functions are not looked for, and names of what is new come later. */
void symbolizer_spare(struct symbolizer *symbolizer, bool on);

/* Takes a reference to the binary, which is given back some time after its last new address. */
void symbolizer_want(struct symbolizer *symbolizer, struct binary *binary, u64 ea);
void symbolizer_want_kernel(struct symbolizer *symbolizer, u64 va);
int symbolizer_run(struct symbolizer *symbolizer);

/* NULL only if the address was not wanted before the last run, or memory ran out. */
const struct symbol_name *symbolizer_find(struct symbolizer *symbolizer, const struct binary *binary, u64 ea);
const struct symbol_name *symbolizer_find_kernel(struct symbolizer *symbolizer, u64 va);

/* BPF programs come and go; the tracer reports PERF_RECORD_KSYMBOL here. Modules too: registered or gone. */
void symbolizer_kernel_symbol(struct symbolizer *symbolizer, u64 va, u32 bytes, const char *name, bool registered);

/* "" or a sentence: why kernel addresses have no names (kptr_restrict). */
const char *symbolizer_kernel_problem(const struct symbolizer *symbolizer);

struct symbolizer_stats symbolizer_stats(const struct symbolizer *symbolizer);

#endif
