// SPDX-License-Identifier: Apache-2.0
/* Rows about machines in the store's file. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "store/db_sql.h"

/* With its first two parameters bound. */
static sqlite3_stmt *series_statement(struct db *db, enum statement which, const char *host, u32 level, int *ret)
{
	sqlite3_stmt *s = db_statement(db, which, ret);

	if (!s)
		return NULL;
	sqlite3_bind_text(s, 1, host, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, level);
	return s;
}

s64 db_time(u64 time_ns)
{
	return time_ns > INT64_MAX ? INT64_MAX : (s64)time_ns;
}

int db_add_series(struct db *db, const struct db_series *series)
{
	int r;
	sqlite3_stmt *s = series_statement(db, SQL_ADD_SERIES, series->host, series->level, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 3, db_time(series->start_ns));
	sqlite3_bind_int64(s, 4, db_time(series->end_ns));
	sqlite3_bind_blob64(s, 5, series->data, series->bytes, SQLITE_STATIC);
	return db_finish(s);
}

int db_each_series(struct db *db, const char *host, u32 level, u64 from_ns, u64 to_ns, db_series_fn *fn, void *arg)
{
	int r, code = SQLITE_ROW;
	sqlite3_stmt *s = series_statement(db, SQL_SERIES, host, level, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 3, db_time(from_ns));
	sqlite3_bind_int64(s, 4, db_time(to_ns));
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct db_series series = {
			.host = host,
			.level = level,
			.start_ns = (u64)sqlite3_column_int64(s, 0),
			.end_ns = (u64)sqlite3_column_int64(s, 1),
			.data = sqlite3_column_blob(s, 2),
			.bytes = (size_t)sqlite3_column_bytes(s, 2),
		};

		r = fn(arg, &series);
	}
	sqlite3_reset(s);
	return r < 0 ? r : db_errno(code);
}

int db_series_end(struct db *db, const char *host, u32 level, bool last, u64 *ret_ns)
{
	int r;
	sqlite3_stmt *s = series_statement(db, last ? SQL_SERIES_LAST : SQL_SERIES_FIRST, host, level, &r);

	return s ? db_read_time(s, 0, ret_ns) : r;
}

int db_series_next(struct db *db, const char *host, u32 level, u64 from_ns, u64 *ret_ns)
{
	int r;
	sqlite3_stmt *s = series_statement(db, SQL_SERIES_NEXT, host, level, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 3, db_time(from_ns));
	return db_read_time(s, UINT64_MAX, ret_ns);
}

int db_drop_series(struct db *db, const char *host, u32 level, u64 before_ns, u64 after_ns, u32 keep)
{
	int r;
	sqlite3_stmt *s = series_statement(db, SQL_DROP_SERIES, host, level, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 3, db_time(before_ns));
	sqlite3_bind_int64(s, 4, db_time(after_ns));
	sqlite3_bind_int64(s, 5, keep);
	r = db_finish(s);
	return r < 0 ? r : sqlite3_changes(db->handle);
}

int db_next_series_host(struct db *db, const char *after, char ret_host[DB_HOST_BYTES])
{
	int r, code;
	sqlite3_stmt *s = db_statement(db, SQL_SERIES_HOST, &r);
	const char *host;

	if (!s)
		return r;
	sqlite3_bind_text(s, 1, after, -1, SQLITE_TRANSIENT);
	code = sqlite3_step(s);
	host = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
	r = host && strlen(host) < DB_HOST_BYTES;
	if (r)
		memcpy(ret_host, host, strlen(host) + 1);
	sqlite3_reset(s);
	return code == SQLITE_ROW ? r : db_errno(code);
}

int db_drop_series_host(struct db *db, const char *host)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_DROP_SERIES_HOST, &r);

	if (!s)
		return r;
	sqlite3_bind_text(s, 1, host, -1, SQLITE_STATIC);
	return db_finish(s);
}
