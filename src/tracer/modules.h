/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the binaries that processes run: their entries in the
 * kernel's table of pages, and what language's runtime a file holds. Rows stay
 * in the cache on disk, which gets them from the reader; nobody waits for them
 * (exe/background_reader.h). Shared by all processes that map the file.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_MODULES_H
#define TRACER_MODULES_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "tracer/tables.h"

struct background_reader;
struct binary;
struct lang_file;
struct maps;
struct modules;
struct peek;
struct tls_wanted;

struct modules_stats {
	u64 files, unreadable, not_elf, full;
	u64 parts_refused;	/* parts of files that were not looked through: too many at once */
	u64 rows_none, rows_failed, rows_cut, rows_cached, rows_full;
};

/* cache_path NULL: rows are kept nowhere. variables: that are looked for in files, copied; NULL: none. */
int modules_new(struct tables *tables, struct background_reader *reader, struct peek *peek, const char *cache_path,
		const struct tls_wanted *variables, struct modules **ret_modules);
/* The reader is freed before: it may hold jobs. */
void modules_free(struct modules *modules);
DEFINE_CLEANUP(struct modules *, modules_free)

/*
 * Finds the binaries behind mappings that are new, and has their rows loaded. True if all that is to be had is there;
 * else some still come, and it is to be asked again.
 */
bool modules_find(struct modules *modules, u32 pid, struct maps *maps);

/* A binary's place in the tables; none while its rows are not there. */
const struct row_pages_range *modules_rows(const struct modules *modules, const struct binary *binary);

/* The runtime that its file holds, or NULL. */
const struct lang_file *modules_file(const struct modules *modules, const struct binary *binary);

/* Says what the file of a binary with that id holds, and takes it. */
int modules_set_file(struct modules *modules, u32 id, struct lang_file *file);

/*
 * Has a stack been cut at code that nobody has looked through yet? Then that is done in the background: true while it
 * is under way.
 */
bool modules_sweep_at(struct modules *modules, const u64 *user, u32 user_count, u8 end);

/*
 * A stack has come to code of a binary, by its id, whose rows were left for later: they are read in the background.
 * True while that is under way.
 */
bool modules_want_part(struct modules *modules, u32 id, u64 ea);

/* The binary of a frame's id: borrowed, or NULL. */
struct binary *modules_binary(void *modules, u32 id);

/* Lets go of files that nobody maps or names any more. Call it every half minute or so. */
void modules_sweep(struct modules *modules, u64 now_ns);

struct modules_stats modules_stats(const struct modules *modules);

#endif
