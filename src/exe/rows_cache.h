/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows kept on disk by an id of their file, so that a file is compiled once and
 * not by each wick that meets it.
 *
 *  - One file for each id in a directory of our own: 0700, owned by us, not a
 *    symbolic link; otherwise it is refused.
 *  - A file is checked (checksum, id) before it is believed, its rows as they
 *    are read (exe/rows_file.h). One that fails is removed and counted; the
 *    caller compiles anew.
 *  - Never much more than max_bytes: past it, what was used least lately goes.
 *  - Any number of wicks may share the directory: files appear by rename and
 *    are never changed.
 *
 * Nothing here is fatal: without a cache (NULL) nothing is found and nothing
 * kept. One thread owns it.
 */
#ifndef EXE_ROWS_CACHE_H
#define EXE_ROWS_CACHE_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

#define ROWS_CACHE_ID_MAX 32

struct rows;
struct rows_cache;
struct rows_file;

struct rows_cache_stats {
	u64 hits, misses;
	u64 corrupt;	/* files removed because they were not what was written */
	u64 stale;	/* ... because another version of wick wrote them */
	u64 stored;
	u64 evicted;
	u64 failed;	/* to read or write: the disk is full, for example */
};

/*
 * The directory is made if only its last part is missing. -EPERM if it belongs to somebody else or others may enter it,
 * -ELOOP or -ENOTDIR if it is no directory, or what opening it gave.
 * langs: bit n for a language that marks rows; what was written without one is stale.
 */
int rows_cache_open(const char *path, u64 max_bytes, u32 langs, struct rows_cache **ret_cache);
void rows_cache_free(struct rows_cache *cache);
DEFINE_CLEANUP(struct rows_cache *, rows_cache_free)

/*
 * Rows by an id of 1 to ROWS_CACHE_ID_MAX bytes, left on disk: they are there as long as the result is open, whatever
 * becomes of the cache. -ENOENT if there are none to be had.
 */
int rows_cache_get(struct rows_cache *cache, const u8 *id, size_t id_bytes, struct rows_file **ret_file);

/* Keeps rows under an id. -E2BIG if they alone are past the limit. */
int rows_cache_put(struct rows_cache *cache, const u8 *id, size_t id_bytes, const struct rows *rows);

/* Rows that nobody else will ask for: in a file without a name, or in memory where there is no cache. */
int rows_cache_aside(struct rows_cache *cache, const struct rows *rows, struct rows_file **ret_file);

struct rows_cache_stats rows_cache_stats(const struct rows_cache *cache);

#endif
