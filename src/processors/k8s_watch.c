// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "processors/k8s_api.h"

#define PAGE 500
#define LIST_BYTES_MAX ((size_t)64 << 20)
#define GET_NS 30000000000ll
#define SILENCE_NS 120000000000ll	/* bookmarks come each minute or so, but need not */
#define BACK_OFF_NS 800000000ll
#define BACK_OFF_MAX_NS 30000000000ll
#define PAGES_MAX 1000

/* ---- JSON --------------------------------------------------------------------------------------------- */

/* Passes over a value; where it stands. */
static struct str skipped(struct json_read *j)
{
	const char *from;

	(void)json_read_peek(j);
	from = j->at;
	json_read_skip(j);
	return (struct str){ from, j->err ? 0 : (u32)(j->at - from) };
}

static void copy_text(char *to, size_t room, struct str text)
{
	/* One that does not fit is as good as none: a part of it would be another. */
	if (text.len < room)
		(void)snprintf(to, room, "%.*s", (int)text.len, text.at);
}

int k8s_watch_version(const char *json, size_t bytes, char ret_version[128], char ret_continue[2048])
{
	struct json_read j;
	struct str key;
	int r;

	ret_version[0] = ret_continue[0] = '\0';
	json_read_init(&j, json, bytes);
	json_read_object(&j);
	while (json_read_member(&j, &key)) {
		if (!str_is(key, "metadata")) {
			json_read_skip(&j);
			continue;
		}
		json_read_object(&j);
		while (json_read_member(&j, &key)) {
			if (str_is(key, "resourceVersion"))
				copy_text(ret_version, 128, json_read_string(&j));
			else if (str_is(key, "continue"))
				copy_text(ret_continue, 2048, json_read_string(&j));
			else
				json_read_skip(&j);
		}
	}
	r = json_read_end(&j);
	json_read_done(&j);
	return r;
}

static s64 code_of(struct str object)
{
	struct json_read j;
	struct str key;
	s64 code = 0;

	json_read_init(&j, object.at, object.len);
	json_read_object(&j);
	while (json_read_member(&j, &key)) {
		if (str_is(key, "code"))
			code = json_read_s64(&j);
		else
			json_read_skip(&j);
	}
	json_read_done(&j);
	return code;
}

int k8s_watch_line(const char *line, size_t bytes, enum k8s_event *ret_event, struct str *ret_object, s64 *ret_code)
{
	static const char *const names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR" };
	enum k8s_event event = K8S_EVENT_UNKNOWN;
	struct str object = { "", 0 }, key, type;
	struct json_read j;
	int r;

	json_read_init(&j, line, bytes);
	json_read_object(&j);
	while (json_read_member(&j, &key)) {
		if (str_is(key, "object")) {
			object = skipped(&j);
		} else if (str_is(key, "type")) {
			type = json_read_string(&j);
			for (u32 i = 0; i < sizeof(names) / sizeof(*names); i++)
				if (str_is(type, names[i]))
					event = (enum k8s_event)i;
		} else {
			json_read_skip(&j);
		}
	}
	r = json_read_end(&j);
	json_read_done(&j);
	if (r < 0 || !object.len || object.at[0] != '{')
		return -EBADMSG;
	*ret_event = event;
	*ret_object = object;
	*ret_code = event == K8S_ERROR ? code_of(object) : 0;
	return 0;
}

/* ---- Listing ------------------------------------------------------------------------------------------- */

static void put_items(struct k8s_watch *w, const struct buf *page)
{
	struct json_read j;
	struct str key;

	json_read_init(&j, page->data, page->len);
	json_read_object(&j);
	while (json_read_member(&j, &key)) {
		if (!str_is(key, "items")) {
			json_read_skip(&j);
			continue;
		}
		json_read_list(&j);
		while (json_read_item(&j)) {
			struct str item = skipped(&j);

			if (item.len)
				w->ops.put(w->ops.arg, item.at, item.len);
		}
	}
	json_read_done(&j);
}

/* Only what is safe in a query stays as it is. */
static void add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		bool is_safe = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') || (*text >= '0' &&
												    *text <= '9') ||
			       *text == '-' || *text == '_' || *text == '.';

		buf_addf(out, is_safe ? "%c" : "%%%02X", (unsigned char)*text);
	}
}

/* One page; what to go on with in token, "" at the end. The status, or -errno. */
static int list_page(struct k8s_watch *w, char token[2048], struct k8s_answer *answer, struct buf *why)
{
	_cleanup_(buf_done) struct buf path, page;
	char version[128], next[2048];
	int r;

	buf_init(&path, 8192);
	buf_init(&page, LIST_BYTES_MAX);
	buf_addf(&path, "%s?limit=%d%s", w->path, PAGE, w->query);
	if (*token) {
		buf_addf(&path, "&continue=");
		add_escaped(&path, token);
	} else {
		/* From the server's cache: cheap, and what it lacks the watch brings. */
		buf_addf(&path, "&resourceVersion=0");
	}
	r = buf_err(&path);
	if (r == 0)
		r = k8s_api_get(w->api, path.data, GET_NS, &page, answer, why);
	if (r < 0 || answer->status != 200)
		return r < 0 ? r : answer->status;
	r = k8s_watch_version(page.data, page.len, version, next);
	if (r < 0 || !*version) {
		atomic_fetch_add(&w->counts.malformed, 1);
		buf_addf(why, "the list is not JSON, or has no version");
		return r < 0 ? r : -EBADMSG;
	}
	put_items(w, &page);
	memcpy(token, next, sizeof(next));
	memcpy(w->version, version, sizeof(version));
	return 200;
}

static int list(struct k8s_watch *w, struct k8s_answer *answer, struct buf *why)
{
	char token[2048] = "";
	int r = 200;

	atomic_fetch_add(&w->counts.lists, 1);
	w->ops.begin(w->ops.arg);
	for (u32 i = 0; r == 200 && i < PAGES_MAX && (!i || *token); i++)
		r = list_page(w, token, answer, why);
	if (r == 200) {
		w->listed_ns = monotonic_ns();
		w->ops.end(w->ops.arg);
	} else {
		w->version[0] = '\0';
	}
	return r;
}

/* ---- Watching ------------------------------------------------------------------------------------------- */

struct watching {
	struct k8s_watch *watch;
	struct buf line;	/* that has not ended yet */
};

static int take_event(struct k8s_watch *w, enum k8s_event event, struct str object, s64 code)
{
	char version[128], next[2048];

	if (event == K8S_ERROR)
		return code == 410 ? -ESTALE : -EREMOTEIO;
	if (event == K8S_EVENT_UNKNOWN || k8s_watch_version(object.at, object.len, version, next) < 0 || !*version)
		return -EBADMSG;
	if (event == K8S_BOOKMARK)
		atomic_fetch_add(&w->counts.bookmarks, 1);
	else if (event == K8S_DELETED)
		w->ops.drop(w->ops.arg, object.at, object.len);
	else
		w->ops.put(w->ops.arg, object.at, object.len);
	memcpy(w->version, version, sizeof(version));
	return 0;
}

static int take_line(struct k8s_watch *w, const char *line, size_t bytes)
{
	enum k8s_event event;
	struct str object;
	s64 code;
	int r;

	if (!bytes)
		return 0;
	atomic_fetch_add(&w->counts.events, 1);
	r = k8s_watch_line(line, bytes, &event, &object, &code);
	if (r == 0)
		r = take_event(w, event, object, code);
	if (r == -EBADMSG)
		atomic_fetch_add(&w->counts.malformed, 1);
	w->failures = r == 0 ? 0 : w->failures;
	return r;
}

/* Lines end where they do, whatever the pieces are. */
static int take_piece(void *arg, const char *at, size_t len)
{
	struct watching *watching = arg;
	int r = 0;

	while (len && r == 0) {
		const char *end = memchr(at, '\n', len);
		size_t bytes = end ? (size_t)(end - at) : len;

		buf_add(&watching->line, at, bytes);
		r = buf_err(&watching->line) < 0 ? -E2BIG : 0;
		if (end && r == 0) {
			r = take_line(watching->watch, watching->line.data, watching->line.len);
			watching->line.len = 0;
		}
		at += bytes + (end != NULL);
		len -= bytes + (end != NULL);
	}
	return r;
}

static u32 random_below(u32 limit)
{
	u32 random = 0;

	(void)!getrandom(&random, sizeof(random), 0);	/* cannot fail for so few bytes */
	return random % limit;
}

/* Until its end. 200, another status, or -errno. */
static int watch_once(struct k8s_watch *w, struct k8s_answer *answer, struct buf *why)
{
	struct watching watching = { .watch = w };
	_cleanup_(buf_done) struct buf path;
	u32 seconds = (u32)(w->sync_ns / 1000000000);
	int r;

	atomic_fetch_add(&w->counts.watches, 1);
	buf_init(&path, 8192);
	buf_init(&watching.line, K8S_LINE_MAX);
	buf_addf(&path, "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%u%s&resourceVersion=", w->path,
		 seconds + random_below(seconds + 1), w->query);
	add_escaped(&path, w->version);
	r = buf_err(&path);
	if (r == 0)
		r = k8s_api_stream(w->api, path.data, w->sync_ns * 2 + SILENCE_NS, take_piece, &watching, answer, why);
	buf_done(&watching.line);
	return r < 0 ? r : answer->status;
}

/* ---- All of it ------------------------------------------------------------------------------------------ */

static void back_off(struct k8s_watch *w, const struct k8s_answer *answer)
{
	s64 ns = BACK_OFF_NS << (w->failures < 6 ? w->failures : 6);

	ns = ns > BACK_OFF_MAX_NS ? BACK_OFF_MAX_NS : ns;
	ns = ns / 2 + ns / 2 * random_below(1000) / 1000;
	if (answer->retry_after_ns > ns)
		ns = answer->retry_after_ns;
	w->failures++;
	atomic_fetch_add(&w->counts.failures, 1);
	(void)k8s_api_pause(w->api, ns);
}

static void tell(struct k8s_watch *w, int r, const struct buf *why)
{
	char text[512];

	if (r > 0)
		(void)snprintf(text, sizeof(text), "the API server answers %d%s", r,
			       r == 403 ? ": the service account may not list and watch pods" : "");
	else
		(void)snprintf(text, sizeof(text), "%s", why->len ? why->data : strerror(-r));
	w->ops.trouble(w->ops.arg, text);
}

/* True: what it is about is over, and it goes on at once. */
static bool is_normal(struct k8s_watch *w, int r, bool was_list)
{
	/* A version that is too old. Of a list: its token. */
	if (r == 410 || r == -ESTALE) {
		atomic_fetch_add(&w->counts.expired, 1);
		w->version[0] = '\0';
		return !was_list;
	}
	/* A line that cannot be read, or is too long. */
	if (r == -EBADMSG || r == -E2BIG)
		w->version[0] = '\0';
	return r == 200;
}

void k8s_watch_run(struct k8s_watch *w)
{
	while (!k8s_api_is_stopped(w->api)) {
		struct k8s_answer answer = { 0 };
		_cleanup_(buf_done) struct buf why;
		bool is_list = !*w->version || monotonic_ns() - w->listed_ns > (u64)w->sync_ns;
		u64 begin_ns = monotonic_ns();
		int r;

		buf_init(&why, 1024);
		r = is_list ? list(w, &answer, &why) : watch_once(w, &answer, &why);
		if (r == -ECANCELED)
			break;
		if (is_normal(w, r, is_list)) {
			w->failures = 0;
			w->ops.trouble(w->ops.arg, "");
			/* A server that ends each watch at once is not asked without end. */
			if (!is_list && monotonic_ns() - begin_ns < 1000000000)
				(void)k8s_api_pause(w->api, BACK_OFF_NS);
			continue;
		}
		tell(w, r, &why);
		back_off(w, &answer);
	}
}
