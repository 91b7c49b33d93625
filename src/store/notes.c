// SPDX-License-Identifier: Apache-2.0
#include "store/notes.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/lock.h"
#include "base/utf8.h"
#include "store/scan.h"
#include "store/shared.h"
#include "store/sqlite.h"

#define FUTURE_NS (3600 * SECOND_NS)	/* nobody would find what is further away */

static bool fits(const char *text, size_t most)
{
	return strlen(text) <= most && utf8_valid(text, strlen(text));
}

const char *note_problem(const struct store_note *note, u64 now_ns)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

	if (!*note->title)
		return "title is missing: what happened, in a few words";
	if (!*note->kind || strlen(note->kind) > NOTE_WORD_MAX || strspn(note->kind, letters) != strlen(note->kind))
		return "kind is to be one word of small letters, such as deploy";
	if (!fits(note->title, NOTE_LINE_MAX) || !fits(note->host, NOTE_LINE_MAX) ||
	    !fits(note->service, NOTE_LINE_MAX))
		return "title, host and service are to be UTF-8 of at most 255 bytes each";
	if (!fits(note->text, NOTE_TEXT_MAX))
		return "text is to be UTF-8 of at most 4000 bytes";
	if (note->time_ns > now_ns + FUTURE_NS || note->end_ns > now_ns + FUTURE_NS)
		return "time is in the future";
	if (note->end_ns && note->end_ns < note->time_ns)
		return "end is before time";
	return NULL;
}

/* ---- In a store of this machine; one in memory keeps none ------------------------------------ */

static int write_note(struct sqlite_store *store, const struct store_note *note, u64 now_ns, s64 *ret_id)
{
	struct db_note row = { .time_ns = note->time_ns, .end_ns = note->end_ns, .kind = note->kind,
			       .title = note->title, .text = note->text, .host = note->host, .service = note->service };
	u64 before_ns = now_ns > store->age_max_ns ? now_ns - store->age_max_ns : 0;
	int r = db_begin(store->db);

	if (r < 0)
		return r;
	r = db_add_note(store->db, &row, ret_id);
	if (r == 0)
		r = db_trim_notes(store->db, before_ns, NOTES_MAX);
	if (r >= 0)
		return db_commit(store->db);
	db_rollback(store->db);
	return r;
}

int sqlite_add_note(struct store *base, const struct store_note *note, u64 now_ns, s64 *ret_id)
{
	struct sqlite_store *store = sqlite_store(base);
	int r;

	if (!base->directory)
		return -EOPNOTSUPP;
	LOCKED(&store->write_lock);
	r = write_note(store, note, now_ns, ret_id);
	atomic_fetch_add(&store->generation, 1);
	return r;
}

int sqlite_drop_note(struct store *base, s64 id)
{
	struct sqlite_store *store = sqlite_store(base);
	int r;

	if (!base->directory)
		return -EOPNOTSUPP;
	LOCKED(&store->write_lock);
	r = db_drop_note(store->db, id);
	atomic_fetch_add(&store->generation, 1);
	return r;
}

struct reading {
	store_note_fn *fn;
	void *arg;
};

static int take_row(void *arg, const struct db_note *row)
{
	const struct reading *reading = arg;
	struct store_note note = { row->id, row->time_ns, row->end_ns, row->kind, row->title, row->text, row->host,
				   row->service };

	return reading->fn(reading->arg, &note);
}

int sqlite_each_note(struct store *base, u64 from_ns, u64 to_ns, store_note_fn *fn, void *arg)
{
	struct sqlite_store *store = sqlite_store(base);
	struct reading reading = { fn, arg };
	_cleanup_(db_closep) struct db *db = NULL;
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, 512);
	if (!base->directory)
		return 0;
	r = db_open(store->path, true, &db, &why);
	return r < 0 ? r : db_each_note(db, from_ns, to_ns, take_row, &reading);
}

/* ---- In any store -------------------------------------------------------------------------- */

int store_add_note(struct store *store, const struct store_note *note, u64 now_ns, s64 *ret_id)
{
	return store->ops->add_note(store, note, now_ns, ret_id);
}

int store_drop_note(struct store *store, s64 id)
{
	return store->ops->drop_note(store, id);
}

struct choosing {
	const struct store_selection *selection;
	store_note_fn *fn;
	void *arg;
};

static bool is_chosen(const struct store_selection *selection, const struct store_note *note)
{
	for (u32 i = 0; i < selection->filter_count; i++) {
		const struct store_filter *filter = &selection->filters[i];
		const char *text = filter->label == STORE_HOST ? note->host :
				   filter->label == STORE_SERVICE ? note->service : "";

		if (*text && !scan_matches(filter, str_of(text)))
			return false;
	}
	return true;
}

static int choose(void *arg, const struct store_note *note)
{
	const struct choosing *choosing = arg;

	return is_chosen(choosing->selection, note) ? choosing->fn(choosing->arg, note) : 0;
}

int store_each_note(struct store *store, const struct store_selection *selection, store_note_fn *fn, void *arg)
{
	struct choosing choosing = { selection, fn, arg };

	return store->ops->each_note(store, selection->from_ns, selection->to_ns, choose, &choosing);
}

/* ---- By wick itself ----------------------------------------------------------------------- */

static int tell_one(void *arg, struct store *store)
{
	struct store_note note = *(const struct store_note *)arg;
	s64 id;

	note.host = store_host(store);
	if (store->ops->tell_note) {
		store->ops->tell_note(store, &note);
		return 0;
	}
	(void)store_add_note(store, &note, note.time_ns, &id);	/* a store that cannot write says so elsewhere */
	return 0;
}

void notes_tell(const char *kind, const char *title, const char *text)
{
	struct store_note note = { .time_ns = clock_ns(CLOCK_REALTIME), .kind = kind, .title = title, .text = text,
				   .host = "", .service = "" };

	(void)store_each(tell_one, &note);
}

/* Once for each process: a reload is no start. */
void notes_tell_start(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&told))
		notes_tell("restart", "wick started", "version " WICK_VERSION);
}
