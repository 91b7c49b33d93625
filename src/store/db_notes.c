// SPDX-License-Identifier: Apache-2.0
/* What is said of moments, in the store's file. */
#include <errno.h>

#include "store/db_sql.h"

int db_add_note(struct db *db, const struct db_note *note, s64 *ret_id)
{
	const char *const texts[] = { note->kind, note->title, note->text, note->host, note->service };
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_ADD_NOTE, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, db_time(note->time_ns));
	sqlite3_bind_int64(s, 2, db_time(note->end_ns));
	for (int i = 0; i < 5; i++)
		sqlite3_bind_text(s, 3 + i, texts[i], -1, SQLITE_STATIC);
	r = db_finish(s);
	if (r == 0)
		*ret_id = sqlite3_last_insert_rowid(db->handle);
	return r;
}

/* A file that somebody has changed may have anything in it. */
static const char *column_text(sqlite3_stmt *s, int at)
{
	const char *text = (const char *)sqlite3_column_text(s, at);

	return text ? text : "";
}

int db_each_note(struct db *db, u64 from_ns, u64 to_ns, db_note_fn *fn, void *arg)
{
	int r, code = SQLITE_DONE;
	sqlite3_stmt *s = db_statement(db, SQL_NOTES, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, db_time(from_ns));
	sqlite3_bind_int64(s, 2, db_time(to_ns));
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct db_note note = {
			.id = sqlite3_column_int64(s, 0),
			.time_ns = (u64)sqlite3_column_int64(s, 1),
			.end_ns = (u64)sqlite3_column_int64(s, 2),
			.kind = column_text(s, 3),
			.title = column_text(s, 4),
			.text = column_text(s, 5),
			.host = column_text(s, 6),
			.service = column_text(s, 7),
		};

		r = fn(arg, &note);
	}
	sqlite3_reset(s);
	return r < 0 ? r : db_errno(code);
}

int db_drop_note(struct db *db, s64 id)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_DROP_NOTE, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, id);
	r = db_finish(s);
	return r < 0 ? r : sqlite3_changes(db->handle);
}

int db_trim_notes(struct db *db, u64 before_ns, u32 keep)
{
	int r;
	sqlite3_stmt *s = db_statement(db, SQL_TRIM_NOTES, &r);

	if (!s)
		return r;
	sqlite3_bind_int64(s, 1, db_time(before_ns));
	sqlite3_bind_int64(s, 2, keep);
	r = db_finish(s);
	return r < 0 ? r : sqlite3_changes(db->handle);
}
