// SPDX-License-Identifier: Apache-2.0
/* The page, and what it asks: an extension that serves both. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "extensions/http_endpoint.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "web/annotations.h"
#include "web/boosts.h"
#include "web/api.h"
#include "web/assets.h"
#include "web/dropped.h"
#include "web/events.h"
#include "web/guard.h"
#include "web/live_profile.h"
#include "web/page_reply.h"
#include "web/page_store.h"
#include "web/sessions.h"
#include "web/sign_in.h"
#include "web/source_text.h"
#include "web/upload.h"
#include "wire/compression.h"

#define ANSWER_BYTES_MAX ((size_t)256 << 20)
#define API "/api/v1/"
#define FILES "/ui/"
#define FILE_BYTES_MAX ((size_t)4 << 20)
#define QUESTION_NS_MAX (60 * SECOND_NS)
#define HEADER_BYTES_MAX 8192

struct options {
	struct http_endpoint_options http;
	const char *token, *files;
	struct page_store_options store;
	struct source_options source;
};

struct page {
	const struct options *options;
	const char *id;
	struct service *service;
	struct http_endpoint endpoint;
	struct guard guard;
	struct sessions sessions;
	char made_token[GUARD_TOKEN_BYTES];	/* where none is set */
	int files_fd;			/* -1: those that are linked in */
	struct events *events;
	struct page_store store;
	struct dropped *dropped;
	const struct component_setup *setup;
	struct live_profile *live;
};

static const struct options defaults = {
	.http = HTTP_ENDPOINT_DEFAULTS("localhost:11000"),
	.token = "",
	.files = "",
	.store = PAGE_STORE_DEFAULTS,
};

static const struct config_field fields[] = {
	HTTP_ENDPOINT_FIELDS(struct options, http),
	{ "token", CONFIG_SECRET, FIELD(struct options, token),
	  .help = "what a browser must show once, in a form or as /?token=TOKEN" },
	{ "files", CONFIG_TEXT, FIELD(struct options, files),
	  .help = "directory with the page's files, for those who work on them; empty: those in the program" },
	{ "source", CONFIG_TEXTS, FIELD(struct options, source.directories),
	  .help = "directories whose source files are shown beside their samples; empty: none" },
	{ "source_map", CONFIG_PAIRS, FIELD(struct options, source.map),
	  .help = "beginnings of paths as programs name their sources, and what stands for them here" },
	{ "store", CONFIG_TEXT, FIELD(struct options, store.directory),
	  .help = "directory of the store that is shown; empty: that of the store exporter" },
	{ "clickhouse", CONFIG_SECTION, FIELD(struct options, store.clickhouse), .fields = page_clickhouse_fields,
	  .help = "a server that is shown instead, which exporters clickhouse write" },
	{ 0 },
};

/* ---- Files ------------------------------------------------------------------------------- */

static bool is_known(const struct exchange *exchange, const char *tag)
{
	const char *known = exchange_header(exchange, "if-none-match");

	return known && *tag && !strcmp(known, tag);
}

static void serve_asset(struct exchange *exchange, const struct asset *asset)
{
	bool unchanged = is_known(exchange, asset->tag);
	struct page_reply reply;
	struct buf body;
	int r = 0;

	page_reply_init(&reply);
	page_reply_header(&reply, "etag", asset->tag);
	page_reply_header(&reply, "cache-control", "no-cache");
	buf_init(&body, ANSWER_BYTES_MAX);
	if (!unchanged && page_takes_gzip(exchange)) {
		page_reply_header(&reply, "content-encoding", "gzip");
		buf_add(&body, asset->at, asset->bytes);
	} else if (!unchanged) {
		r = compression_unpack(COMPRESSION_GZIP, asset->at, asset->bytes, &body);
	}
	page_reply_send(&reply, exchange, r < 0 ? 500 : unchanged ? 304 : 200, asset_content_type(asset->file), &body);
}

/* A file as it is on disk now. */
static void serve_from_disk(const struct page *page, struct exchange *exchange, const char *file)
{
	char tag[ASSET_TAG_BYTES];
	struct page_reply reply;
	struct buf body;

	buf_init(&body, FILE_BYTES_MAX);
	if (asset_read(page->files_fd, file, &body) < 0) {
		buf_done(&body);
		page_refuse(exchange, 404, "there is no such file in the directory that the page is served from");
		return;
	}
	asset_tag(body.data, body.len, tag);
	page_reply_init(&reply);
	page_reply_header(&reply, "etag", tag);
	page_reply_header(&reply, "cache-control", "no-cache");
	if (is_known(exchange, tag))
		body.len = 0;
	page_reply_send(&reply, exchange, is_known(exchange, tag) ? 304 : 200, asset_content_type(file), &body);
}

/* ---- Who asks ------------------------------------------------------------------------------- */

#define FORM_BYTES_MAX 4096

/* Browsers get a form, others a sentence. */
static void ask_for_token(struct exchange *exchange, const char *sentence)
{
	const char *accepted = exchange_header(exchange, "accept");
	struct page_reply reply;
	struct buf body;

	if (!accepted || !strstr(accepted, "text/html")) {
		page_refuse(exchange, 401, sentence);
		return;
	}
	page_reply_init(&reply);
	/* A form that may not say where it comes from has the origin null. */
	for (u32 i = 0; i < reply.count; i++)
		if (!strcmp(reply.headers[i].name, "referrer-policy"))
			reply.headers[i].value = "same-origin";
	page_reply_header(&reply, "cache-control", "no-store");
	buf_init(&body, FORM_BYTES_MAX);
	sign_in_page(sentence, &body);
	page_reply_send(&reply, exchange, 401, "text/html; charset=utf-8", &body);
}

/* To the address without the token, with the cookie of a session, which ends with this process or in SESSION_NS. */
static void let_in(struct page *page, struct exchange *exchange)
{
	char id[SESSION_BYTES], cookie[256];
	_cleanup_(buf_done) struct buf to;
	struct page_reply reply;
	struct buf body;

	buf_init(&to, HEADER_BYTES_MAX);
	if (sessions_begin(&page->sessions, monotonic_ns(), id) < 0) {
		page_refuse(exchange, 500, "the system has no random numbers for a session");
		return;
	}
	buf_addf(&to, "/?");
	form_without(exchange_query(exchange), "token", &to);
	buf_add(&to, "", 1);
	/* Links from elsewhere bring a lax cookie along; requests of other sites are refused by the guard. */
	snprintf(cookie, sizeof(cookie), GUARD_COOKIE "=%s; HttpOnly; SameSite=Lax; Path=/; Max-Age=%llu%s", id,
		 (unsigned long long)(SESSION_NS / SECOND_NS), page->options->http.has_tls ? "; Secure" : "");
	page_reply_init(&reply);
	page_reply_header(&reply, "set-cookie", cookie);
	page_reply_header(&reply, "cache-control", "no-store");
	page_reply_header(&reply, "location", buf_err(&to) < 0 || !to.data[2] ? "/" : to.data);
	buf_init(&body, 16);
	page_reply_send(&reply, exchange, 303, CONTENT_TEXT, &body);
}

/* The form, sent to the address that it stood at. */
static void serve_sign_in(void *arg, struct exchange *exchange)
{
	struct page *page = arg;
	const char *why = guard_refuses_origin(&page->guard, exchange);
	_cleanup_(buf_done) struct buf form;
	char token[512];
	int r;

	buf_init(&form, FORM_BYTES_MAX + 1);
	if (why) {
		page_refuse(exchange, 403, why);
		return;
	}
	r = exchange_message(exchange, &form);
	if (r == 0)
		buf_add(&form, "", 1);
	if (r == 0 && buf_err(&form) == 0 && *page->guard.token &&
	    form_value(form.data, "token", token, sizeof(token)) && guard_is_token(&page->guard, token))
		let_in(page, exchange);
	else
		ask_for_token(exchange, "That is not the token.");
}

/* The session is good for nothing from now on. */
static void serve_sign_out(void *arg, struct exchange *exchange)
{
	struct page *page = arg;
	const char *why = guard_refuses_origin(&page->guard, exchange);
	char id[GUARD_SESSION_BYTES];
	struct page_reply reply;
	struct buf body;

	if (why) {
		page_refuse(exchange, 403, why);
		return;
	}
	guard_session(exchange, id);
	sessions_end(&page->sessions, id);
	page_reply_init(&reply);
	page_reply_header(&reply, "set-cookie", GUARD_COOKIE "=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
	page_reply_header(&reply, "location", "/");
	buf_init(&body, 16);
	page_reply_send(&reply, exchange, 303, CONTENT_TEXT, &body);
}

/* A token in the address, whatever else is there. */
static bool has_token_in_address(const struct page *page, const struct exchange *exchange)
{
	char token[512];

	return *page->guard.token && form_value(exchange_query(exchange), "token", token, sizeof(token)) &&
	       guard_is_token(&page->guard, token);
}

/* What the form is drawn with tells nothing. */
static bool is_open_to_all(const char *file)
{
	return !strcmp(file, "style.css") || !strcmp(file, "icon.svg");
}

static void serve_file(void *arg, struct exchange *exchange)
{
	struct page *page = arg;
	const char *path = exchange_path(exchange);
	bool is_start = !strcmp(path, "/");
	const char *file = is_start ? "index.html" : path + strlen(FILES);
	const struct asset *asset = asset_find(file);
	const char *why;
	int status;

	why = guard_refuses(&page->guard, exchange, &status);
	if (why && status == 401 && is_open_to_all(file))
		why = NULL;
	if (is_start && !guard_refuses_origin(&page->guard, exchange) && has_token_in_address(page, exchange))
		let_in(page, exchange);
	else if (why && is_start && status == 401)
		ask_for_token(exchange, "This page is for those who have its token.");
	else if (why)
		page_refuse(exchange, status, why);
	else if (page->files_fd >= 0)
		serve_from_disk(page, exchange, file);
	else if (asset)
		serve_asset(exchange, asset);
	else
		page_refuse(exchange, 404, "there is nothing here");
}

/* ---- Questions ----------------------------------------------------------------------------- */

/* Who is asked: the page's store, or a file; the same for what it is compared with. */
struct asked_stores {
	struct store *main, *base;
};

/* Nothing has changed since the browser asked the same: it keeps what it has. */
static bool serve_unchanged(struct exchange *exchange, struct page_reply *reply, const char *tag)
{
	struct buf body;

	if (!is_known(exchange, tag))
		return false;
	buf_init(&body, 16);
	page_reply_send(reply, exchange, 304, CONTENT_JSON, &body);
	return true;
}

static void serve_answer(struct page *page, struct exchange *exchange, struct asked_stores *stores)
{
	struct api_sources sources = { stores->main, stores->base, service_arrivals(page->service),
				       service_taps(page->service), page->service, &page->options->source };
	struct store *store = stores->main;
	const char *name = exchange_path(exchange) + strlen(API);
	char tag[API_TAG_BYTES], cost[32];
	struct page_reply reply;
	struct buf body;
	struct api_answer answer = { .body = &body };
	u64 began_ns;

	page_reply_init(&reply);
	api_tag(store, name, exchange_query(exchange), tag);
	if (*tag)
		page_reply_header(&reply, "etag", tag);
	page_reply_header(&reply, "cache-control", *tag ? "private, no-cache" : "no-store");
	if (serve_unchanged(exchange, &reply, tag))
		return;
	buf_init(&body, ANSWER_BYTES_MAX);
	began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	api_answer(&sources, name, exchange_query(exchange), &answer);
	if (answer.file_name[0]) {
		snprintf(reply.disposition, sizeof(reply.disposition), "attachment; filename=\"%s\"", answer.file_name);
		page_reply_header(&reply, "content-disposition", reply.disposition);
	}
	page_reply_pack(&reply, exchange, &body);
	/* A page that follows what comes asks the less often the more that costs. */
	snprintf(cost, sizeof(cost), "cpu;dur=%.2f", (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / 1e6);
	page_reply_header(&reply, "server-timing", cost);
	page_reply_send(&reply, exchange, answer.status, answer.content_type, &body);
}

static void take_symbols(struct exchange *exchange, struct store *store, struct api_answer *answer)
{
	_cleanup_(buf_done) struct buf file;
	int r;

	buf_init(&file, UPLOAD_BYTES_MAX);
	r = exchange_message(exchange, &file);
	if (r == -E2BIG)
		api_error(answer, 413, "the file is too large; put it into the directory symbols of the store by hand");
	else if (r < 0)
		api_error(answer, r == -EOPNOTSUPP ? 415 : 400, "the file is packed in a way that cannot be read");
	else
		upload_symbols(store, file.data, file.len, answer);
}

/* What changes something, and is answered anew each time. */
static void serve_change(struct exchange *exchange, struct store *store,
			 void (*change)(struct exchange *exchange, struct store *store, struct api_answer *answer))
{
	struct page_reply reply;
	struct buf body;
	struct api_answer answer = { .body = &body };

	buf_init(&body, ANSWER_BYTES_MAX);
	change(exchange, store, &answer);
	page_reply_init(&reply);
	page_reply_header(&reply, "cache-control", "no-store");
	page_reply_send(&reply, exchange, answer.status, answer.content_type, &body);
}

static void serve_symbols(struct page *page, struct exchange *exchange, struct asked_stores *stores)
{
	(void)page;
	serve_change(exchange, stores->main, take_symbols);
}

static void take_annotation(struct exchange *exchange, struct store *store, struct api_answer *answer)
{
	_cleanup_(buf_done) struct buf form;

	if (!page_read_form(exchange, ANNOTATION_BYTES_MAX, &form))
		api_error(answer, 400, "the form cannot be read: title=TEXT&kind=WORD, as curl -d sends it");
	else
		annotations_add(store, form.data, answer);
}

static void drop_annotation(struct exchange *exchange, struct store *store, struct api_answer *answer)
{
	annotations_drop(store, exchange_query(exchange), answer);
}

static void serve_annotation(struct page *page, struct exchange *exchange, struct asked_stores *stores)
{
	(void)page;
	serve_change(exchange, stores->main, take_annotation);
}

static void serve_no_annotation(struct page *page, struct exchange *exchange, struct asked_stores *stores)
{
	(void)page;
	serve_change(exchange, stores->main, drop_annotation);
}

/* A question while it is answered: not for those who have left, nor for ever. */
struct asked {
	const struct exchange *exchange;
	u64 end_ns;
};

static bool is_over(void *arg)
{
	const struct asked *asked = arg;

	return exchange_peer_left(asked->exchange) || monotonic_ns() > asked->end_ns;
}

/* A file by its id, or the page's own store where that is "". */
static struct store *borrow(struct page *page, const char *id)
{
	return *id ? dropped_borrow(page->dropped, id) : page_store_borrow(&page->store);
}

static void give_back(struct page *page, struct store *store)
{
	if (!dropped_return(page->dropped, store))
		page_store_return(&page->store, store);
}

static void serve_stores(struct page *page, struct exchange *exchange,
			 void (*serve)(struct page *page, struct exchange *exchange, struct asked_stores *stores))
{
	char id[DROPPED_ID_BYTES + 1] = "", base_id[DROPPED_ID_BYTES + 1];
	struct asked_stores stores;

	(void)form_value(exchange_query(exchange), "file", id, sizeof(id));
	if (!form_value(exchange_query(exchange), "base_file", base_id, sizeof(base_id)))
		memcpy(base_id, id, sizeof(id));
	stores = (struct asked_stores){ .main = borrow(page, id), .base = borrow(page, base_id) };
	if (stores.main && stores.base)
		serve(page, exchange, &stores);
	else if (*(stores.main ? base_id : id))
		page_refuse(exchange, 410, "this file is not kept any more: drop it on the page again");
	else
		page_refuse(exchange, 503, "no store is open: a pipeline needs the exporter store");
	give_back(page, stores.main);
	give_back(page, stores.base);
}

/* What needs a store, for those who may ask. */
static void serve_from_store(struct page *page, struct exchange *exchange,
			     void (*serve)(struct page *page, struct exchange *exchange, struct asked_stores *stores))
{
	int status;
	const char *why = guard_refuses(&page->guard, exchange, &status);
	struct asked asked = { exchange, monotonic_ns() + QUESTION_NS_MAX };
	struct budget_scope scope;

	if (why) {
		page_refuse(exchange, status, why);
		return;
	}
	budget_begin(&scope, BUDGET_QUESTIONS);
	budget_set_end(&scope, is_over, &asked);
	serve_stores(page, exchange, serve);
	budget_end(&scope);
	budget_settle();
}

static void serve_api(void *arg, struct exchange *exchange)
{
	serve_from_store(arg, exchange, serve_answer);
}

static void serve_upload(void *arg, struct exchange *exchange)
{
	serve_from_store(arg, exchange, serve_symbols);
}

static void serve_annotate(void *arg, struct exchange *exchange)
{
	serve_from_store(arg, exchange, serve_annotation);
}

static void serve_unannotate(void *arg, struct exchange *exchange)
{
	serve_from_store(arg, exchange, serve_no_annotation);
}

/* ---- Files that are looked at ------------------------------------------------------------------ */

static void take_file(struct page *page, struct exchange *exchange, struct api_answer *answer)
{
	_cleanup_(buf_done) struct buf file;
	char name[256] = "";
	int r;

	buf_init(&file, DROPPED_BYTES_MAX);
	r = exchange_message(exchange, &file);
	(void)form_value(exchange_query(exchange), "name", name, sizeof(name));
	if (r == -E2BIG)
		api_error(answer, 413, "the file is too large");
	else if (r < 0)
		api_error(answer, r == -EOPNOTSUPP ? 415 : 400, "the file is packed in a way that cannot be read");
	else
		dropped_add(page->dropped, name, file.data, file.len, answer);
}

static void list_files(struct page *page, struct exchange *exchange, struct api_answer *answer)
{
	(void)exchange;
	dropped_list(page->dropped, answer);
}

static void forget_file(struct page *page, struct exchange *exchange, struct api_answer *answer)
{
	char id[DROPPED_ID_BYTES + 1] = "";

	(void)form_value(exchange_query(exchange), "file", id, sizeof(id));
	if (dropped_forget(page->dropped, id))
		dropped_list(page->dropped, answer);
	else
		api_error(answer, 404, "there is no such file");
}

static void serve_dropped(struct page *page, struct exchange *exchange,
			  void (*serve)(struct page *page, struct exchange *exchange, struct api_answer *answer))
{
	int status;
	const char *why = guard_refuses(&page->guard, exchange, &status);
	struct asked asked = { exchange, monotonic_ns() + QUESTION_NS_MAX };
	struct budget_scope scope;
	struct page_reply reply;
	struct buf body;
	struct api_answer answer = { .body = &body };

	if (why) {
		page_refuse(exchange, status, why);
		return;
	}
	budget_begin(&scope, BUDGET_QUESTIONS);
	budget_set_end(&scope, is_over, &asked);
	buf_init(&body, ANSWER_BYTES_MAX);
	serve(page, exchange, &answer);
	budget_end(&scope);
	page_reply_init(&reply);
	page_reply_header(&reply, "cache-control", "no-store");
	page_reply_send(&reply, exchange, answer.status, answer.content_type, &body);
	budget_settle();
}

static void serve_drop(void *arg, struct exchange *exchange)
{
	serve_dropped(arg, exchange, take_file);
}

static void serve_files(void *arg, struct exchange *exchange)
{
	serve_dropped(arg, exchange, list_files);
}

static void serve_forget(void *arg, struct exchange *exchange)
{
	serve_dropped(arg, exchange, forget_file);
}

static void answer_boosts(struct page *page, struct exchange *exchange, struct api_answer *answer)
{
	const struct boosts_here here = { service_boosts(page->service), page->guard.host_name, page->id };

	boosts_answer(&here, exchange, answer);
}

static void serve_boosts(void *arg, struct exchange *exchange)
{
	serve_dropped(arg, exchange, answer_boosts);
}

/* ---- Events --------------------------------------------------------------------------------- */

static u64 current_generation(void *arg)
{
	struct page *page = arg;
	struct store *store = page_store_borrow(&page->store);
	u64 generation = store ? store_generation(store) : 0;

	page_store_return(&page->store, store);
	return generation;
}

static void reply_events(void *arg, struct exchange *exchange, struct buf *text)
{
	struct page_reply reply;

	(void)arg;
	page_reply_init(&reply);
	page_reply_header(&reply, "cache-control", "no-store");
	page_reply_send(&reply, exchange, 200, "text/event-stream", text);
}

static void serve_events(void *arg, struct exchange *exchange)
{
	struct page *page = arg;
	int status;
	const char *why = guard_refuses(&page->guard, exchange, &status);
	const char *known = exchange_header(exchange, "last-event-id");

	if (why)
		page_refuse(exchange, status, why);
	else if (events_wait(page->events, exchange, known ? known : "") < 0)
		page_refuse(exchange, 503, "too many pages wait for events: ask for the generation instead");
}

/* ---- Profiles of now -------------------------------------------------------------------------- */

static void serve_live(struct page *page, struct exchange *exchange,
		       void (*serve)(struct live_profile *live, struct exchange *exchange))
{
	int status;
	const char *why = guard_refuses(&page->guard, exchange, &status);

	if (why)
		page_refuse(exchange, status, why);
	else
		serve(page->live, exchange);
}

static void serve_profile(void *arg, struct exchange *exchange)
{
	serve_live(arg, exchange, live_profile_serve);
}

static void serve_profiles(void *arg, struct exchange *exchange)
{
	serve_live(arg, exchange, live_profile_index);
}

/* ---- The component -------------------------------------------------------------------------- */

static void check(const void *arg, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *options = arg;

	page_store_check(&options->store, place, path, errors);
	source_options_check(&options->source, place, path, errors);
}

/* By a token, by an authenticator, or by certificates of clients. */
static bool says_who_may_ask(const struct options *options)
{
	return *options->token || *options->http.authenticator ||
	       (options->http.has_tls && *options->http.tls.client_ca_file);
}

static int page_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page)
		return -ENOMEM;
	page->options = options;
	page->id = setup->id;
	page->service = setup->service;
	page->setup = setup;
	page->files_fd = -1;
	sessions_init(&page->sessions);
	page->guard.sessions = &page->sessions;
	page->guard.token = page->options->token;
	page->guard.hosts = page->options->http.hosts;
	(void)gethostname(page->guard.host_name, sizeof(page->guard.host_name) - 1);
	if (!says_who_may_ask(page->options) &&
	    guard_use_operator(&page->guard, service_starter(setup->service), getenv("SUDO_UID"),
			       page->made_token) < 0) {
		buf_addf(why, "the system has no random numbers for a token");
		free(page);
		return -EAGAIN;
	}
	*ret_self = page;
	return 0;
}

/* Those that wait are answered first: the endpoint waits for all exchanges. */
static void page_stop(void *self, u64 deadline_ns)
{
	struct page *page = self;

	events_stop(page->events);
	live_profile_stop(page->live);
	http_endpoint_close(&page->endpoint, deadline_ns);
	events_free(TAKE(page->events));
	dropped_free(TAKE(page->dropped));
	page_store_close(&page->store);
	live_profile_free(TAKE(page->live));
	closep(&page->files_fd);
	page->files_fd = -1;
}

static bool is_loopback(const char *endpoint)
{
	return !strncmp(endpoint, "localhost:", 10) || !strncmp(endpoint, "127.", 4) || !strncmp(endpoint, "[::1]:", 6);
}

static int add_routes(struct page *page, struct buf *why)
{
	static const struct {
		const char *method, *path;
		size_t body_max;
		void (*serve)(void *arg, struct exchange *exchange);
	} routes[] = {
		{ "GET", API, 0, serve_api },
		{ "POST", API "annotations", ANNOTATION_BYTES_MAX, serve_annotate },
		{ "DELETE", API "annotations", 0, serve_unannotate },
		{ "GET", API "boosts", 0, serve_boosts },
		{ "POST", API "boosts", BOOST_FORM_BYTES_MAX, serve_boosts },
		{ "DELETE", API "boosts", 0, serve_boosts },
		{ "GET", API "events", 0, serve_events },
		{ "GET", API "files", 0, serve_files },
		{ "POST", API "files", DROPPED_BYTES_MAX, serve_drop },
		{ "DELETE", API "files", 0, serve_forget },
		{ "POST", API "symbols", UPLOAD_BYTES_MAX, serve_upload },
		{ "GET", LIVE_PROFILE_PATH "profile", 0, serve_profile },
		{ "GET", LIVE_PROFILE_PATH, 0, serve_profiles },
		{ "GET", "/debug/pprof", 0, serve_profiles },
		{ "GET", "/", 0, serve_file },
		{ "POST", "/", FORM_BYTES_MAX, serve_sign_in },
		{ "POST", "/sign-out", FORM_BYTES_MAX, serve_sign_out },
		{ "GET", FILES, 0, serve_file },
	};
	int r = 0;

	for (u32 i = 0; i < sizeof(routes) / sizeof(routes[0]) && r == 0; i++)
		r = http_endpoint_route_body(&page->endpoint, routes[i].method, routes[i].path, routes[i].body_max,
					     routes[i].serve, why);
	return r;
}

static int open_files(struct page *page, struct buf *why)
{
	const char *files = page->options->files;
	int r;

	if (!*files)
		return 0;
	page->files_fd = open(files, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (page->files_fd >= 0)
		return 0;
	r = -errno;
	buf_addf(why, "files: %s: %s", files, strerror(-r));
	return r;
}

static int page_start(void *self, struct buf *why)
{
	struct page *page = self;
	const struct options *options = page->options;
	struct events_ops ops = { current_generation, reply_events, page };
	int r = page_store_open(&page->store, &options->store, why);

	if (r == 0)
		r = open_files(page, why);
	page->live = live_profile_new(service_taps(page->service));
	if (r == 0 && !page->live)
		r = -ENOMEM;
	if (r == 0)
		r = dropped_new(page->setup, &page->dropped);
	if (r == 0)
		r = events_new(&ops, &page->events);
	if (r == 0)
		r = http_endpoint_open(&page->endpoint, page->service, &options->http, page, why);
	if (r == 0)
		r = add_routes(page, why);
	if (r < 0) {
		page_stop(page, 0);
		return r;
	}
	log_info(page->id, "the page is at http%s://%s", options->http.has_tls ? "s" : "",
		 listener_address(page->endpoint.listener));
	if (page->guard.lets_operator && !is_loopback(options->http.endpoint))
		log_warn(page->id, "no token is set; from other machines the page is opened by that of this run: "
			 "http%s://%s/?token=%s", options->http.has_tls ? "s" : "", options->http.endpoint,
			 page->made_token);
	return 0;
}

static void page_free(void *self)
{
	struct page *page = self;

	if (page)
		sessions_done(&page->sessions);
	free(page);
}

const struct component_ops extension_page = {
	.type = "page",
	.help = "shows what the store holds: flame graphs, functions, time",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = page_create,
	.start = page_start,
	.stop = page_stop,
	.free = page_free,
};
