// SPDX-License-Identifier: Apache-2.0
#include "web/annotations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "store/notes.h"
#include "web/question.h"

static void put_text(struct json_write *j, const char *key, const char *text)
{
	json_write_key(j, key);
	json_write_string(j, text, strlen(text));
}

static void put_number(struct json_write *j, const char *key, double value)
{
	json_write_key(j, key);
	json_write_double(j, value);
}

/* ---- Asking ------------------------------------------------------------------------------- */

struct listing {
	struct json_write *j;
	u32 count, max;
};

static int put_note(void *arg, const struct store_note *note)
{
	struct listing *listing = arg;
	struct json_write *j = listing->j;

	if (listing->count++ >= listing->max)
		return 0;
	json_write_open(j, '{');
	put_number(j, "id", (double)note->id);
	put_number(j, "time", (double)note->time_ns / 1e9);
	put_number(j, "end", (double)note->end_ns / 1e9);
	put_text(j, "kind", note->kind);
	put_text(j, "title", note->title);
	put_text(j, "text", note->text);
	put_text(j, "host", note->host);
	put_text(j, "service", note->service);
	json_write_close(j, '}');
	return 0;
}

int annotations_json(struct store *store, const struct store_selection *selection, u32 max, struct buf *out)
{
	struct json_write j = { .b = out };
	struct listing listing = { .j = &j, .max = max };
	int r;

	json_write_open(&j, '{');
	json_write_key(&j, "rows");
	json_write_open(&j, '[');
	r = store_each_note(store, selection, put_note, &listing);
	json_write_close(&j, ']');
	put_number(&j, "left_out", listing.count > max ? listing.count - max : 0);
	json_write_close(&j, '}');
	return r;
}

/* ---- Telling ------------------------------------------------------------------------------ */

static void begin_answer(struct api_answer *answer)
{
	answer->status = 200;
	answer->content_type = "application/json";
	answer->file_name[0] = '\0';
}

static void put_failure(struct store *store, int r, struct buf *why, struct api_answer *answer)
{
	if (r == -EIO)
		store_explain(store, why);
	if (r == -EIO && why->len)
		api_error(answer, 503, why->data);
	else if (r == -EINVAL)
		api_error(answer, 400, why->len ? why->data : "the form cannot be read");
	else if (r == -EOPNOTSUPP)
		api_error(answer, 501, "this store keeps no annotations");
	else if (r == -ENOSPC || r == -EROFS)
		api_error(answer, 507, "there is no room for it in the store's directory");
	else
		api_error(answer, 500, strerror(-r));
}

static int read_form(const char *form, u64 now_ns, struct question *question, struct store_note *ret_note,
		     struct buf *why)
{
	struct store_note note = { .time_ns = now_ns };
	const char *problem;
	int r = question_parse(form, now_ns, question, why);

	if (r == 0)
		r = question_time(question, "time", now_ns, &note.time_ns, why);
	if (r == 0)
		r = question_time(question, "end", now_ns, &note.end_ns, why);
	if (r < 0)
		return r;
	note.kind = question_text(question, "kind", "note");
	note.title = question_text(question, "title", "");
	note.text = question_text(question, "text", "");
	note.host = question_text(question, "host", "");
	note.service = question_text(question, "service", "");
	problem = note_problem(&note, now_ns);
	if (problem) {
		buf_addf(why, "%s", problem);
		return -EINVAL;
	}
	*ret_note = note;
	return 0;
}

static void put_id(struct api_answer *answer, s64 id)
{
	struct json_write j = { .b = answer->body };

	json_write_open(&j, '{');
	put_number(&j, "id", (double)id);
	json_write_close(&j, '}');
}

void annotations_add(struct store *store, const char *form, struct api_answer *answer)
{
	_cleanup_(freep) struct question *question = malloc(sizeof(*question));
	u64 now_ns = clock_ns(CLOCK_REALTIME);
	_cleanup_(buf_done) struct buf why;
	struct store_note note;
	s64 id;
	int r = question ? 0 : -ENOMEM;

	begin_answer(answer);
	buf_init(&why, 1024);
	if (r == 0)
		r = read_form(form, now_ns, question, &note, &why);
	if (r == 0)
		r = store_add_note(store, &note, now_ns, &id);
	if (r < 0)
		put_failure(store, r, &why, answer);
	else
		put_id(answer, id);
}

/* Numbers that JSON can tell. */
static int read_id(const char *text, s64 *ret_id, struct buf *why)
{
	size_t digits = strspn(text, "0123456789");
	s64 id = digits <= 16 ? strtoll(text, NULL, 10) : 0;

	if (text[digits] || !id) {
		buf_addf(why, "id is to be the number of an annotation");
		return -EINVAL;
	}
	*ret_id = id;
	return 0;
}

void annotations_drop(struct store *store, const char *query, struct api_answer *answer)
{
	_cleanup_(freep) struct question *question = malloc(sizeof(*question));
	_cleanup_(buf_done) struct buf why;
	s64 id = 0;
	int r = question ? 0 : -ENOMEM;

	begin_answer(answer);
	buf_init(&why, 1024);
	if (r == 0)
		r = question_parse(query, clock_ns(CLOCK_REALTIME), question, &why);
	if (r == 0)
		r = read_id(question_text(question, "id", ""), &id, &why);
	if (r == 0)
		r = store_drop_note(store, id);
	if (r < 0)
		put_failure(store, r, &why, answer);
	else if (!r)
		api_error(answer, 404, "there is no such annotation");
	else
		put_id(answer, id);
}
