/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What db.c shares with db_series.c and db_notes.c, and nobody else: the connection and its statements.
 */
#ifndef STORE_DB_SQL_H
#define STORE_DB_SQL_H

#include <sqlite3.h>

#include "store/db.h"

/* Statements are made once, at first use. */
#define STATEMENTS(X)                                                                                                  \
	X(BEGIN, "BEGIN IMMEDIATE")                                                                                    \
	X(COMMIT, "COMMIT")                                                                                            \
	X(ROLLBACK, "ROLLBACK")                                                                                        \
	X(ADD_EPOCH, "INSERT INTO epoch(created_ns) VALUES(?)")                                                        \
	X(ADD_CHUNK, "INSERT INTO chunk(epoch, number, data) VALUES(?, ?, ?)")                                         \
	X(ADD_BLOCK, "INSERT INTO block(level, epoch, start_ns, end_ns, rows, data, details) "                         \
		     "VALUES(?, ?, ?, ?, ?, ?, ?)")                                                                    \
	X(EPOCHS, "SELECT id, created_ns FROM epoch ORDER BY id")                                                      \
	X(HAS_EPOCH, "SELECT 1 FROM epoch WHERE id = ?")                                                               \
	X(CHUNKS, "SELECT number, data FROM chunk WHERE epoch = ? ORDER BY number")                                    \
	X(BLOCKS, "SELECT id, epoch, start_ns, end_ns, rows, data, details FROM block "                                \
		  "WHERE level = ? AND start_ns >= ? AND start_ns < ? ORDER BY start_ns")                              \
	X(FIRST, "SELECT min(start_ns) FROM block WHERE level = ?")                                                    \
	X(LAST, "SELECT max(start_ns) FROM block WHERE level = ?")                                                     \
	X(SPAN, "SELECT min(start_ns), max(end_ns) FROM block WHERE level = ?")                                        \
	X(DROP_BLOCKS, "DELETE FROM block WHERE id IN (SELECT id FROM block WHERE level = ? AND start_ns < ? "         \
		       "ORDER BY start_ns LIMIT ?) RETURNING rows, length(data) + length(details)")                    \
	X(DROP_CHUNKS, "DELETE FROM chunk WHERE epoch != ?1 AND epoch NOT IN (SELECT epoch FROM block)")               \
	X(DROP_EPOCHS, "DELETE FROM epoch WHERE id != ?1 AND id NOT IN (SELECT epoch FROM block)")                     \
	X(ADD_SERIES, "INSERT OR REPLACE INTO series(host, level, start_ns, end_ns, data) VALUES(?, ?, ?, ?, ?)")      \
	X(SERIES, "SELECT start_ns, end_ns, data FROM series "                                                         \
		  "WHERE host = ? AND level = ? AND start_ns >= ? AND start_ns < ? ORDER BY start_ns")                 \
	X(SERIES_FIRST, "SELECT min(start_ns) FROM series WHERE host = ? AND level = ?")                               \
	X(SERIES_LAST, "SELECT max(start_ns) FROM series WHERE host = ? AND level = ?")                                \
	X(SERIES_NEXT, "SELECT min(start_ns) FROM series WHERE host = ? AND level = ? AND start_ns >= ?")              \
	X(DROP_SERIES, "DELETE FROM series WHERE host = ?1 AND level = ?2 AND (start_ns < ?3 OR start_ns > ?4 OR "     \
		       "start_ns <= (SELECT start_ns FROM series WHERE host = ?1 AND level = ?2 "                      \
		       "ORDER BY start_ns DESC LIMIT 1 OFFSET ?5))")                                                   \
	X(SERIES_HOST, "SELECT min(host) FROM series WHERE host > ?")                                                  \
	X(DROP_SERIES_HOST, "DELETE FROM series WHERE host = ?")                                                       \
	X(ADD_NOTE, "INSERT INTO note(time_ns, end_ns, kind, title, text, host, service) VALUES(?, ?, ?, ?, ?, ?, ?)") \
	X(NOTES, "SELECT id, time_ns, end_ns, kind, title, text, host, service FROM note "                             \
		 "WHERE time_ns < ?2 AND max(time_ns, end_ns) >= ?1 ORDER BY time_ns DESC, id DESC")                   \
	X(DROP_NOTE, "DELETE FROM note WHERE id = ?")                                                                  \
	X(TRIM_NOTES, "DELETE FROM note WHERE time_ns < ?1 OR id <= "                                                  \
		      "(SELECT id FROM note ORDER BY id DESC LIMIT 1 OFFSET ?2)")                                      \
	X(ADD_EXE, "INSERT OR IGNORE INTO exe(build_id) VALUES(?)")                                                    \
	X(PUT_NAME, "INSERT OR REPLACE INTO name(exe, address, start, function, file, source) "                        \
		    "SELECT id, ?2, ?3, ?4, ?5, ?6 FROM exe WHERE build_id = ?1")                                      \
	X(NAMES, "SELECT build_id, address, start, function, file, source FROM name JOIN exe ON exe.id = name.exe")    \
	X(DROP_NAMES, "DELETE FROM name WHERE exe = (SELECT id FROM exe WHERE build_id = ?)")                          \
	X(DROP_EXE, "DELETE FROM exe WHERE build_id = ?")                                                              \
	X(SET, "INSERT OR REPLACE INTO fact(key, value) VALUES(?, ?)")                                                 \
	X(GET, "SELECT value FROM fact WHERE key = ?")                                                                 \
	X(PAGES, "SELECT page_count - freelist_count, page_size FROM pragma_page_count, pragma_freelist_count, "       \
		 "pragma_page_size")

enum statement {
#define X(id, sql) SQL_##id,
	STATEMENTS(X)
#undef X
	SQL_COUNT,
};

struct db {
	sqlite3 *handle;
	sqlite3_stmt *statements[SQL_COUNT];
	bool in_transaction, has_counted;
	struct db_level counts[DB_LEVELS];	/* of the writer; kept as facts, by the transaction that changes them */
};

/* What SQLite's answer is as -errno. */
int db_errno(int code);

/* Ready to be bound; NULL with the error in *ret. */
sqlite3_stmt *db_statement(struct db *db, enum statement which, int *ret);

/* For statements that return nothing. */
int db_finish(sqlite3_stmt *s);

/* One row with one time, which may be NULL. */
int db_read_time(sqlite3_stmt *s, u64 otherwise, u64 *ret_ns);

/* Nothing is an empty blob, not NULL. */
void db_bind_blob(sqlite3_stmt *s, int at, const void *data, size_t bytes);

/* SQLite's integers have a sign. */
s64 db_time(u64 time_ns);

#endif
