/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite file under a store: a container of blobs, crash-safe by its
 * write-ahead log. What the blobs mean is not known here.
 *
 *	epoch	the dictionaries that blocks refer to
 *	chunk	their parts, in order
 *	block	level 0: windows; 1, 2, 3: roll-ups
 *	series	rows about a machine, of the same levels
 *	name	late names: what an address of an executable belongs to
 *	note	what people, and wick itself, say of a moment
 *
 * The layout has a version (user_version); a file of a newer one is refused, an
 * older one is brought up to date when it is opened for writing, and read as it
 * is otherwise. One thread uses a struct db; readers open their own, read-only.
 */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct buf;
struct db;

#define DB_VERSION 7
#define DB_LEVELS 4

struct db_block {
	s64 id;
	u32 level;
	s64 epoch;
	u64 start_ns, end_ns;	/* the first and the last moment in it */
	u32 rows;
	const void *data, *details;	/* borrowed during the call */
	size_t data_bytes, detail_bytes;
};

/* A path that begins so is no file: a database in memory, there while somebody has it open. */
#define DB_MEMORY "file:/wick-memory-"

/* -EUCLEAN: the file is broken; -EPROTO: it is of a newer wick; `why` gets a sentence. */
int db_open(const char *path, bool read_only, struct db **ret_db, struct buf *why);
void db_close(struct db *db);
DEFINE_CLEANUP(struct db *, db_close)

/* What it may grow to; past that -ENOSPC. */
int db_limit(struct db *db, u64 bytes);

/* How long to wait for another connection that writes; then -EBUSY. */
void db_set_patience(struct db *db, int ms);

/* -ENOSPC: disk full; -EROFS; -EUCLEAN: broken; -EIO: anything else, which db_error() explains. */
int db_begin(struct db *db);
int db_commit(struct db *db);
void db_rollback(struct db *db);	/* does nothing outside a transaction */
const char *db_error(struct db *db);

int db_add_epoch(struct db *db, u64 now_ns, s64 *ret_epoch);
int db_add_chunk(struct db *db, s64 epoch, u32 number, const void *data, size_t bytes);
int db_add_block(struct db *db, const struct db_block *block);

/* Each until the function returns less than 0, which is then the result. */
typedef int db_epoch_fn(void *arg, s64 epoch, u64 created_ns);
typedef int db_chunk_fn(void *arg, u32 number, const void *data, size_t bytes);
typedef int db_block_fn(void *arg, struct db_block *block);
int db_each_epoch(struct db *db, db_epoch_fn *fn, void *arg);
int db_each_chunk(struct db *db, s64 epoch, db_chunk_fn *fn, void *arg);

/*
 * The blocks of a level that start in [from, to), in the order of time; without data if !with_data. Without details:
 * fn calls db_read_details() where it needs them.
 */
int db_each_block(struct db *db, u32 level, u64 from_ns, u64 to_ns, bool with_data, db_block_fn *fn, void *arg);
void db_read_details(struct db *db, struct db_block *block);

struct db_level {
	u64 blocks, bytes, rows;
	u64 first_ns, last_ns;		/* starts; 0 if there is none */
};
/* Counted as blocks come and go, not when asked for. db_first(): when it starts, UINT64_MAX if there is none. */
int db_level(struct db *db, u32 level, struct db_level *ret_level);
int db_first(struct db *db, u32 level, u64 *ret_ns);

/* The first and the last moment of all blocks of a level, by a look at each; 0, 0 if there is none. */
int db_span(struct db *db, u32 level, u64 *ret_first_ns, u64 *ret_last_ns);

/* Removes blocks of a level, from the oldest on, at most count, that start before a time; how many. */
int db_drop_blocks(struct db *db, u32 level, u64 before_ns, u32 count);

bool db_has_epoch(struct db *db, s64 epoch);

/* Removes the epochs that no block refers to, except one; how many. */
int db_drop_epochs(struct db *db, s64 except);

/* What is in use in the file, without free pages; and gives back a few free pages to the file system. */
int db_bytes(struct db *db, u64 *ret_bytes);
int db_shrink(struct db *db, u32 pages);

/* ---- Series ---------------------------------------------------------------------- */

#define DB_HOST_BYTES 256

struct db_series {
	const char *host;
	u32 level;
	u64 start_ns, end_ns;
	const void *data;	/* borrowed during the call */
	size_t bytes;
};

/* In the place of one with the same host, level and start. */
int db_add_series(struct db *db, const struct db_series *series);

/* Those of a host and level that start in [from, to), in the order of time. */
typedef int db_series_fn(void *arg, const struct db_series *series);
int db_each_series(struct db *db, const char *host, u32 level, u64 from_ns, u64 to_ns, db_series_fn *fn, void *arg);

/* When the last, or the first, one starts: 0 if there is none. The next from a time on: UINT64_MAX if there is none. */
int db_series_end(struct db *db, const char *host, u32 level, bool last, u64 *ret_ns);
int db_series_next(struct db *db, const char *host, u32 level, u64 from_ns, u64 *ret_ns);

/* The host that comes next by its name, all after ""; 1: there is one. What is too long for ret_host is no host. */
int db_next_series_host(struct db *db, const char *after, char ret_host[DB_HOST_BYTES]);
int db_drop_series_host(struct db *db, const char *host);

/* Removes those that start before or after these times, and all but the newest `keep`; how many. */
int db_drop_series(struct db *db, const char *host, u32 level, u64 before_ns, u64 after_ns, u32 keep);

/* ---- Late names -------------------------------------------------------------------- */

/* function and file are NULL where another address of the function tells them. */
struct db_name {
	const void *build_id;	/* borrowed during the call */
	u32 build_id_bytes;
	u64 address, start;
	const char *function, *file;
	u32 function_bytes, file_bytes;
	u32 source;
};
typedef int db_name_fn(void *arg, const struct db_name *name);
int db_put_name(struct db *db, const struct db_name *name);
int db_each_name(struct db *db, db_name_fn *fn, void *arg);
/* Forgets all names of an executable. */
int db_drop_names(struct db *db, const void *build_id, u32 bytes);

/* ---- Notes --------------------------------------------------------------------------- */

struct db_note {
	s64 id;
	u64 time_ns, end_ns;	/* end 0: a moment */
	const char *kind, *title, *text, *host, *service;	/* borrowed during the call */
};
int db_add_note(struct db *db, const struct db_note *note, s64 *ret_id);

/* Those that touch [from, to), the last first; until fn returns less than 0, which is then the result. */
typedef int db_note_fn(void *arg, const struct db_note *note);
int db_each_note(struct db *db, u64 from_ns, u64 to_ns, db_note_fn *fn, void *arg);

/* How many: 0 if there is none with this id; those before a time, and all but the newest `keep`. */
int db_drop_note(struct db *db, s64 id);
int db_trim_notes(struct db *db, u64 before_ns, u32 keep);

/* A small fact by name. */
int db_set(struct db *db, const char *key, s64 value);
s64 db_get(struct db *db, const char *key, s64 otherwise);

#endif
