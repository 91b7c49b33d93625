// SPDX-License-Identifier: Apache-2.0
#include "store/db.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/db_sql.h"

#define BUSY_MS 5000
#define PAGE_BYTES 4096			/* SQLite's default */
#define APPLICATION_ID "0x7769636b"	/* "wick" */

static const char *const sql[SQL_COUNT] = {
#define X(id, text) [SQL_##id] = text,
	STATEMENTS(X)
#undef X
};

/* What brings a file from one version to the next. */
static const char *const upgrades[DB_VERSION] = {
	"CREATE TABLE epoch(id INTEGER PRIMARY KEY, created_ns INTEGER NOT NULL);"
	"CREATE TABLE chunk(epoch INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,"
	" PRIMARY KEY(epoch, number)) WITHOUT ROWID;"
	"CREATE TABLE block(id INTEGER PRIMARY KEY, level INTEGER NOT NULL, epoch INTEGER NOT NULL,"
	" start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, rows INTEGER NOT NULL, data BLOB NOT NULL);"
	"CREATE INDEX block_by_time ON block(level, start_ns);"
	"CREATE INDEX block_by_epoch ON block(epoch);"
	"CREATE TABLE fact(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;",
	"CREATE TABLE series(host TEXT NOT NULL, level INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
	" end_ns INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(host, level, start_ns)) WITHOUT ROWID;",
	"CREATE TABLE exe(id INTEGER PRIMARY KEY, build_id BLOB NOT NULL UNIQUE);"
	"CREATE TABLE name(exe INTEGER NOT NULL, address INTEGER NOT NULL, start INTEGER NOT NULL, function BLOB,"
	" file BLOB, source INTEGER NOT NULL, PRIMARY KEY(exe, address)) WITHOUT ROWID;",
	/* Columns are compressed one by one. What there was cannot be read any more, and was in no release. */
	"DELETE FROM block; DELETE FROM fact WHERE key LIKE 'rolled%';"
	"ALTER TABLE block ADD COLUMN details BLOB NOT NULL DEFAULT x'';",
	"CREATE TABLE note(id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
	" kind TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL);"
	"CREATE INDEX note_by_time ON note(time_ns);",
	/* Chunks of the dictionary may say what series wait for. Those of before do not, and stay as they are. */
	"",
	/* Blocks may have labels. Those of before have none, and stay as they are. */
	"",
};


int db_errno(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return -EACCES;
	default:
		return -EIO;
	}
}

static int exec(struct db *db, const char *text)
{
	return db_errno(sqlite3_exec(db->handle, text, NULL, NULL, NULL));
}

const char *db_error(struct db *db)
{
	return sqlite3_errmsg(db->handle);
}

void db_close(struct db *db)
{
	if (!db)
		return;
	db_rollback(db);
	for (u32 i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(db->statements[i]);
	sqlite3_close(db->handle);
	free(db);
}

/* ---- Statements ---------------------------------------------------------------- */

sqlite3_stmt *db_statement(struct db *db, enum statement which, int *ret)
{
	int code = SQLITE_OK;

	if (!db->statements[which])
		code = sqlite3_prepare_v3(db->handle, sql[which], -1, SQLITE_PREPARE_PERSISTENT, &db->statements[which],
					  NULL);
	*ret = db_errno(code);
	return *ret < 0 ? NULL : db->statements[which];
}

int db_finish(sqlite3_stmt *s)
{
	int code = sqlite3_step(s);

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	return db_errno(code);
}

static int run(struct db *db, enum statement which)
{
	int r;
	sqlite3_stmt *s = db_statement(db, which, &r);

	return s ? db_finish(s) : r;
}

/* ---- How much there is of each level ------------------------------------------------- */

static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{ "blocks", offsetof(struct db_level, blocks) },
	{ "bytes", offsetof(struct db_level, bytes) },
	{ "rows", offsetof(struct db_level, rows) },
};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static const char *count_key(u32 count, u32 level, char key[32])
{
	return sqlite3_snprintf(32, key, "%s_%u", counts[count].name, level);
}

static void read_counts(struct db *db, u32 level, struct db_level *ret_level)
{
	char key[32];

	for (u32 i = 0; i < COUNTS; i++)
		*(u64 *)((char *)ret_level + counts[i].offset) = (u64)db_get(db, count_key(i, level, key), 0);
}

static int write_counts(struct db *db)
{
	char key[32];
	int r = 0;

	for (u32 level = 0; level < DB_LEVELS && db->has_counted; level++)
		for (u32 i = 0; i < COUNTS && r == 0; i++)
			r = db_set(db, count_key(i, level, key),
				   (s64) * (const u64 *)((const char *)&db->counts[level] + counts[i].offset));
	return r;
}

static void count_block(struct db *db, u32 level, s64 sign, u64 rows, u64 bytes)
{
	struct db_level *l = &db->counts[level];

	l->blocks += (u64)sign;
	l->rows += (u64)(sign * (s64)rows);
	l->bytes += (u64)(sign * (s64)bytes);
	db->has_counted = true;
}

/* ---- Transactions --------------------------------------------------------------------- */

int db_begin(struct db *db)
{
	int r = run(db, SQL_BEGIN);

	db->in_transaction = r == 0;
	return r;
}

int db_commit(struct db *db)
{
	int r = write_counts(db);

	if (r == 0)
		r = run(db, SQL_COMMIT);
	if (r < 0) {
		db_rollback(db);
		return r;
	}
	db->in_transaction = db->has_counted = false;
	return 0;
}

void db_rollback(struct db *db)
{
	if (!db->in_transaction)
		return;
	db->in_transaction = false;
	/* SQLite may have rolled back by itself: then there is nothing to undo. */
	if (!sqlite3_get_autocommit(db->handle))
		(void)run(db, SQL_ROLLBACK);
	for (u32 i = 0; i < DB_LEVELS && db->has_counted; i++)
		read_counts(db, i, &db->counts[i]);
	db->has_counted = false;
}

/* ---- Opening -------------------------------------------------------------------- */

static int db_version(struct db *db, int *ret_version)
{
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db->handle, "PRAGMA user_version", -1, &s, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret_version = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return db_errno(code);
}

static int upgrade(struct db *db, int version)
{
	char set[64];
	int r;

	r = exec(db, "BEGIN EXCLUSIVE");
	for (; r == 0 && version < DB_VERSION; version++)
		r = exec(db, upgrades[version]);
	sqlite3_snprintf(sizeof(set), set, "PRAGMA user_version = %d", DB_VERSION);
	if (r == 0)
		r = exec(db, set);
	if (r == 0)
		return exec(db, "COMMIT");
	(void)exec(db, "ROLLBACK");
	return r;
}

static int prepare_file(struct db *db, const char *path, bool read_only, struct buf *why)
{
	int version = 0, r;

	sqlite3_busy_timeout(db->handle, BUSY_MS);
	r = read_only ? exec(db, "PRAGMA query_only = 1")
		      : exec(db, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = " APPLICATION_ID
				 "; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
				 "PRAGMA journal_size_limit = 67108864");
	if (r == 0)
		r = db_version(db, &version);
	if (r == 0 && version > DB_VERSION) {
		buf_addf(why, "%s was written by a newer wick (layout %d, this one knows %d)", path, version,
			 DB_VERSION);
		return -EPROTO;
	}
	if (r == 0 && version < DB_VERSION && !read_only)
		r = upgrade(db, version);
	if (r == 0 && version == 0 && read_only)
		r = -EUCLEAN;
	if (r < 0)
		buf_addf(why, "%s cannot be used: %s", path, db_error(db));
	return r;
}

int db_open(const char *path, bool read_only, struct db **ret_db, struct buf *why)
{
	_cleanup_(db_closep) struct db *db = calloc(1, sizeof(*db));
	int flags =
		SQLITE_OPEN_NOMUTEX | (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	int r;

	if (!db)
		return -ENOMEM;
	if (!strncmp(path, DB_MEMORY, strlen(DB_MEMORY)))
		flags |= SQLITE_OPEN_URI;
	r = db_errno(sqlite3_open_v2(path, &db->handle, flags, NULL));
	if (r < 0) {
		buf_addf(why, "%s cannot be opened: %s", path, db->handle ? db_error(db) : "out of memory");
		return r;
	}
	r = prepare_file(db, path, read_only, why);
	if (r < 0)
		return r;
	for (u32 i = 0; i < DB_LEVELS && !read_only; i++)
		read_counts(db, i, &db->counts[i]);
	*ret_db = TAKE(db);
	return 0;
}

int db_limit(struct db *db, u64 bytes)
{
	char text[64];

	sqlite3_snprintf(sizeof(text), text, "PRAGMA max_page_count = %llu", bytes / PAGE_BYTES + 1);
	return exec(db, text);
}

void db_set_patience(struct db *db, int ms)
{
	sqlite3_busy_timeout(db->handle, ms);
}

/* ---- Writing --------------------------------------------------------------------- */

int db_add_epoch(struct db *db, u64 now_ns, s64 *ret_epoch)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_ADD_EPOCH, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, (s64)now_ns);
	r = db_finish(s);
	if (r == 0)
		*ret_epoch = sqlite3_last_insert_rowid(db->handle);
	return r;
}

int db_add_chunk(struct db *db, s64 epoch, u32 number, const void *data, size_t bytes)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_ADD_CHUNK, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, epoch);
	sqlite3_bind_int64(s, 2, number);
	sqlite3_bind_blob64(s, 3, data, bytes, SQLITE_STATIC);
	return db_finish(s);
}

void db_bind_blob(sqlite3_stmt *s, int at, const void *data, size_t bytes)
{
	sqlite3_bind_blob64(s, at, bytes ? data : "", bytes, SQLITE_STATIC);
}

int db_add_block(struct db *db, const struct db_block *block)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_ADD_BLOCK, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, block->level);
	sqlite3_bind_int64(s, 2, block->epoch);
	sqlite3_bind_int64(s, 3, (s64)block->start_ns);
	sqlite3_bind_int64(s, 4, (s64)block->end_ns);
	sqlite3_bind_int64(s, 5, block->rows);
	db_bind_blob(s, 6, block->data, block->data_bytes);
	db_bind_blob(s, 7, block->details, block->detail_bytes);
	count_block(db, block->level, 1, block->rows, block->data_bytes + block->detail_bytes);
	return db_finish(s);
}

int db_drop_blocks(struct db *db, u32 level, u64 before_ns, u32 count)
{
	int r, code, dropped = 0;
	sqlite3_stmt *s = db_statement(db, SQL_DROP_BLOCKS, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, level);
	sqlite3_bind_int64(s, 2, before_ns > INT64_MAX ? INT64_MAX : (s64)before_ns);
	sqlite3_bind_int64(s, 3, count);
	for (; (code = sqlite3_step(s)) == SQLITE_ROW; dropped++)
		count_block(db, level, -1, (u64)sqlite3_column_int64(s, 0), (u64)sqlite3_column_int64(s, 1));
	sqlite3_reset(s);
	return db_errno(code) < 0 ? db_errno(code) : dropped;
}

int db_drop_epochs(struct db *db, s64 except)
{
	static const enum statement both[] = { SQL_DROP_CHUNKS, SQL_DROP_EPOCHS };
	int r = 0;

	for (u32 i = 0; i < 2 && r == 0; i++) {
		sqlite3_stmt *s = db_statement(db, both[i], &r);

		if (!s)
			return r;
		sqlite3_bind_int64(s, 1, except);
		r = db_finish(s);
	}
	return r < 0 ? r : sqlite3_changes(db->handle);
}

static int run_with_id(struct db *db, enum statement which, const void *build_id, u32 bytes)
{
	int r;
	sqlite3_stmt *s = db_statement(db, which, &r);

	if (!s)
		return r;
	sqlite3_bind_blob(s, 1, build_id, (int)bytes, SQLITE_STATIC);
	return db_finish(s);
}

int db_put_name(struct db *db, const struct db_name *name)
{
	int r = run_with_id(db, SQL_ADD_EXE, name->build_id, name->build_id_bytes);
	sqlite3_stmt *s = r < 0 ? NULL : db_statement(db, SQL_PUT_NAME, &r);

	if (!s)
		return r;
	sqlite3_bind_blob(s, 1, name->build_id, (int)name->build_id_bytes, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, (s64)name->address);
	sqlite3_bind_int64(s, 3, (s64)name->start);
	if (name->function)
		sqlite3_bind_blob(s, 4, name->function, (int)name->function_bytes, SQLITE_STATIC);
	if (name->file)
		sqlite3_bind_blob(s, 5, name->file, (int)name->file_bytes, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, name->source);
	return db_finish(s);
}

int db_drop_names(struct db *db, const void *build_id, u32 bytes)
{
	int r = run_with_id(db, SQL_DROP_NAMES, build_id, bytes);

	return r < 0 ? r : run_with_id(db, SQL_DROP_EXE, build_id, bytes);
}

int db_set(struct db *db, const char *key, s64 value)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_SET, &r);

	if (!s)
		return r;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, value);
	return db_finish(s);
}

int db_shrink(struct db *db, u32 pages)
{
	char text[64];

	sqlite3_snprintf(sizeof(text), text, "PRAGMA incremental_vacuum(%u)", pages);
	return exec(db, text);
}

/* ---- Reading --------------------------------------------------------------------- */

s64 db_get(struct db *db, const char *key, s64 otherwise)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_GET, &r);

	if (!s)
		return otherwise;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		otherwise = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return otherwise;
}

int db_each_epoch(struct db *db, db_epoch_fn *fn, void *arg)
{
	int r, code = SQLITE_ROW;
	sqlite3_stmt *s = db_statement(db, SQL_EPOCHS, &r);

	while (s && r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = fn(arg, sqlite3_column_int64(s, 0), (u64)sqlite3_column_int64(s, 1));
	sqlite3_reset(s);
	return r < 0 ? r : db_errno(code);
}

bool db_has_epoch(struct db *db, s64 epoch)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_HAS_EPOCH, &r);
	bool has = false;

	if (!s)
		return false;
	sqlite3_bind_int64(s, 1, epoch);
	has = sqlite3_step(s) == SQLITE_ROW;
	sqlite3_reset(s);
	return has;
}

int db_each_chunk(struct db *db, s64 epoch, db_chunk_fn *fn, void *arg)
{
	int r, code = SQLITE_ROW;
	sqlite3_stmt *s = db_statement(db, SQL_CHUNKS, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, epoch);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW)
		r = fn(arg, (u32)sqlite3_column_int64(s, 0), sqlite3_column_blob(s, 1),
		       (size_t)sqlite3_column_bytes(s, 1));
	sqlite3_reset(s);
	return r < 0 ? r : db_errno(code);
}

static const void *column_blob(sqlite3_stmt *s, int at, size_t *ret_bytes)
{
	const void *data = sqlite3_column_blob(s, at);

	*ret_bytes = (size_t)sqlite3_column_bytes(s, at);
	return data;
}

void db_read_details(struct db *db, struct db_block *block)
{
	block->details = column_blob(db->statements[SQL_BLOCKS], 6, &block->detail_bytes);
}

int db_each_block(struct db *db, u32 level, u64 from_ns, u64 to_ns, bool with_data, db_block_fn *fn, void *arg)
{
	int r, code = SQLITE_ROW;
	sqlite3_stmt *s = db_statement(db, SQL_BLOCKS, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, level);
	sqlite3_bind_int64(s, 2, (s64)from_ns);
	sqlite3_bind_int64(s, 3, to_ns > INT64_MAX ? INT64_MAX : (s64)to_ns);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct db_block block = {
			.id = sqlite3_column_int64(s, 0),
			.level = level,
			.epoch = sqlite3_column_int64(s, 1),
			.start_ns = (u64)sqlite3_column_int64(s, 2),
			.end_ns = (u64)sqlite3_column_int64(s, 3),
			.rows = (u32)sqlite3_column_int64(s, 4),
		};

		/* SQLite reads a column when it is asked for. */
		if (with_data)
			block.data = column_blob(s, 5, &block.data_bytes);
		r = fn(arg, &block);
	}
	sqlite3_reset(s);
	return r < 0 ? r : db_errno(code);
}

int db_each_name(struct db *db, db_name_fn *fn, void *arg)
{
	int r, code = SQLITE_ROW;
	sqlite3_stmt *s = db_statement(db, SQL_NAMES, &r);

	while (s && r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct db_name name = {
			.build_id = sqlite3_column_blob(s, 0),
			.build_id_bytes = (u32)sqlite3_column_bytes(s, 0),
			.address = (u64)sqlite3_column_int64(s, 1),
			.start = (u64)sqlite3_column_int64(s, 2),
			.function = sqlite3_column_blob(s, 3),
			.function_bytes = (u32)sqlite3_column_bytes(s, 3),
			.file = sqlite3_column_blob(s, 4),
			.file_bytes = (u32)sqlite3_column_bytes(s, 4),
			.source = (u32)sqlite3_column_int64(s, 5),
		};

		r = fn(arg, &name);
	}
	sqlite3_reset(s);
	return r < 0 ? r : db_errno(code);
}

/* The one time that a bound statement returns. */
int db_read_time(sqlite3_stmt *s, u64 otherwise, u64 *ret_ns)
{
	int code = sqlite3_step(s);

	if (code == SQLITE_ROW)
		*ret_ns = sqlite3_column_type(s, 0) == SQLITE_NULL ? otherwise : (u64)sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return db_errno(code);
}

/* When the first or last block of a level starts. */
static int level_end(struct db *db, enum statement which, u32 level, u64 otherwise, u64 *ret_ns)
{
	int r;
	sqlite3_stmt *s = db_statement(db, which, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, level);
	return db_read_time(s, otherwise, ret_ns);
}

int db_level(struct db *db, u32 level, struct db_level *ret_level)
{
	struct db_level found = { 0 };
	int r = level_end(db, SQL_FIRST, level, 0, &found.first_ns);

	if (r == 0)
		r = level_end(db, SQL_LAST, level, 0, &found.last_ns);
	if (r < 0)
		return r;
	read_counts(db, level, &found);
	*ret_level = found;
	return 0;
}

int db_first(struct db *db, u32 level, u64 *ret_ns)
{
	return level_end(db, SQL_FIRST, level, UINT64_MAX, ret_ns);
}

int db_span(struct db *db, u32 level, u64 *ret_first_ns, u64 *ret_last_ns)
{
	int r, code;
	sqlite3_stmt *s = db_statement(db, SQL_SPAN, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, level);
	code = sqlite3_step(s);
	if (code == SQLITE_ROW) {
		*ret_first_ns = (u64)sqlite3_column_int64(s, 0);
		*ret_last_ns = (u64)sqlite3_column_int64(s, 1);
	}
	sqlite3_reset(s);
	return db_errno(code);
}

int db_bytes(struct db *db, u64 *ret_bytes)
{
	int r, code;
	sqlite3_stmt *s = db_statement(db, SQL_PAGES, &r);

	if (!s)
		return r;
	code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret_bytes = (u64)sqlite3_column_int64(s, 0) * (u64)sqlite3_column_int64(s, 1);
	sqlite3_reset(s);
	return db_errno(code);
}
