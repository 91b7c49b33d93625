// SPDX-License-Identifier: Apache-2.0
/* wick's own profile for `go tool pprof http://localhost:1777/debug/pprof/profile?seconds=30`. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "extensions/http_endpoint.h"
#include "extensions/self_profile.h"
#include "pipeline/component.h"
#include "pipeline/service.h"
#include "profile/profile.h"
#include "wire/compression.h"
#include "wire/format.h"

#define SECONDS_DEFAULT 30
#define SECONDS_MAX 300
#define PROFILE_MAX (64u << 20)
#define COMMAND_LINE_MAX 65536
#define WHY_MAX 1024

struct options {
	const char *endpoint, *save_to_file;
};

/* One profile, and the thread that takes it. */
struct taking {
	struct pprof *self;
	struct exchange *exchange;	/* NULL: for save_to_file */
	u64 duration_ns;
	struct thread thread;
	atomic_bool is_busy;		/* until it has answered */
};

struct pprof {
	const struct options *options;
	const char *id;
	struct service *service;
	struct http_endpoint endpoint;
	pthread_mutex_t lock;		/* of asked's thread */
	struct taking asked, saved;
	atomic_bool stop;
};

static const struct options defaults = { .endpoint = "localhost:1777", .save_to_file = "" };

static const struct config_field fields[] = {
	{ "endpoint", CONFIG_TEXT, FIELD(struct options, endpoint), .required = true,
	  .help = "address and port to listen on" },
	{ "save_to_file", CONFIG_TEXT, FIELD(struct options, save_to_file),
	  .help = "also take a profile of the whole run, and write it there at the end" },
	{ "block_profile_fraction", CONFIG_NEEDLESS, .help = "there are no profiles of blocking; only of CPU time" },
	{ "mutex_profile_fraction", CONFIG_NEEDLESS, .help = "there are no profiles of mutexes; only of CPU time" },
	{ "dialer", CONFIG_REFUSED, .help = "this extension connects to nobody; remove it" },
	{ 0 },
};

/* ---- A profile --------------------------------------------------------------------------- */

static int encode(const struct profile *profile, struct buf *out)
{
	_cleanup_(buf_done) struct buf plain;
	int r;

	buf_init(&plain, PROFILE_MAX);
	r = format_by_name("pprof")->encode(profile, &plain);
	return r < 0 ? r : compression_pack(COMPRESSION_GZIP, plain.data, plain.len, out);
}

static int take(struct taking *taking, struct profile **ret_profile, struct buf *why)
{
	return self_profile(service_control(taking->self->service), taking->duration_ns, &taking->self->stop,
			    ret_profile, why);
}

static void *answer(void *arg)
{
	static const struct http_header headers[] = {
		{ "content-disposition", "attachment; filename=\"profile\"" }, { "x-content-type-options", "nosniff" },
	};
	struct taking *taking = arg;
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(buf_done) struct buf why;
	struct buf body;
	int r;

	buf_init(&why, WHY_MAX);
	buf_init(&body, PROFILE_MAX);
	r = take(taking, &profile, &why);
	if (r == 0)
		r = encode(profile, &body);
	if (r == 0) {
		exchange_reply(taking->exchange, 200, "application/octet-stream", headers, 2, &body);
	} else {
		buf_done(&body);
		buf_init(&body, 2 * WHY_MAX);
		buf_addf(&body, "wick cannot profile itself: %s\n", why.len ? why.data : strerror(-r));
		http_reply(taking->exchange, 500, CONTENT_TEXT, &body);
	}
	atomic_store(&taking->is_busy, false);
	return NULL;
}

static void *save(void *arg)
{
	struct taking *taking = arg;
	const char *path = taking->self->options->save_to_file;
	_cleanup_(profile_freep) struct profile *profile = NULL;
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, WHY_MAX);
	r = take(taking, &profile, &why);
	if (r < 0)
		log_error(taking->self->id, "wick cannot profile itself, %s is not written: %s", path, why.data);
	else if ((r = format_write_file(path, format_by_name("pprof"), profile)) < 0)
		log_error(taking->self->id, "cannot write %s: %s", path, strerror(-r));
	return NULL;
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* The number behind seconds=, 30 if there is none; -1: not one that is possible. */
static long seconds_of(const char *query)
{
	const char *at = query;
	char *end;
	long seconds;

	while (*at && strncmp(at, "seconds=", 8)) {
		at += strcspn(at, "&");
		at += *at == '&';
	}
	if (!*at)
		return SECONDS_DEFAULT;
	errno = 0;
	seconds = strtol(at + 8, &end, 10);
	return (*end && *end != '&') || end == at + 8 || errno || seconds < 1 || seconds > SECONDS_MAX ? -1 : seconds;
}

/* In a thread of its own: those of the server have other things to do. One at a time. */
static void serve_profile(void *arg, struct exchange *exchange)
{
	struct pprof *self = arg;
	long seconds = seconds_of(exchange_query(exchange));
	int r = 0;

	if (seconds < 0) {
		http_reply_text(exchange, 400, "seconds must be a number from 1 to 300.");
		return;
	}
	pthread_mutex_lock(&self->lock);
	if (atomic_exchange(&self->asked.is_busy, true)) {
		r = -EBUSY;
	} else {
		thread_join(&self->asked.thread);
		self->asked.exchange = exchange;
		self->asked.duration_ns = (u64)seconds * 1000000000;
		r = thread_start(&self->asked.thread, "wick: pprof", answer, &self->asked);
		if (r < 0)
			atomic_store(&self->asked.is_busy, false);
	}
	pthread_mutex_unlock(&self->lock);
	if (r == -EBUSY)
		http_reply_text(exchange, 500, "Somebody else is taking a profile of wick; try again when it is done.");
	else if (r < 0)
		http_reply_text(exchange, 500, strerror(-r));
}

static void serve_command_line(void *arg, struct exchange *exchange)
{
	_cleanup_(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	struct buf body;
	ssize_t n = -1;

	buf_init(&body, COMMAND_LINE_MAX);
	if (fd >= 0 && buf_reserve(&body, COMMAND_LINE_MAX) == 0)
		n = read(fd, body.data, COMMAND_LINE_MAX);
	if (n > 0)
		body.len = (size_t)n - 1;
	http_reply(exchange, 200, CONTENT_TEXT, &body);
}

static void serve_index(void *arg, struct exchange *exchange)
{
	static const char page[] =
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>wick: pprof</title>\n"
		"<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem}</style>\n"
		"</head><body><h1>Profiles of wick itself</h1>\n<ul>\n"
		"<li><a href=\"/debug/pprof/profile?seconds=5\">profile</a>: CPU, for <code>?seconds=</code> 1 to 300, "
		"30 if not given</li>\n<li><a href=\"/debug/pprof/cmdline\">cmdline</a>: how it was started</li>\n"
		"</ul>\n<p><code>go tool pprof http://.../debug/pprof/profile</code> reads them, and so does "
		"<code>wick report</code>.</p></body></html>\n";
	struct buf body;

	buf_init(&body, sizeof(page));
	buf_add(&body, page, sizeof(page) - 1);
	http_reply(exchange, 200, CONTENT_HTML, &body);
}

static void serve_rest(void *arg, struct exchange *exchange)
{
	if (!strcmp(exchange_path(exchange), "/debug/pprof/"))
		serve_index(arg, exchange);
	else
		http_reply_text(exchange, 404, "wick has no such profile: it is not a Go program. There are "
				"/debug/pprof/profile and /debug/pprof/cmdline.");
}

/* ---- Life ------------------------------------------------------------------------------------- */

static void pprof_free(void *arg)
{
	struct pprof *self = arg;

	if (!self)
		return;
	pthread_mutex_destroy(&self->lock);
	free(self);
}

static int pprof_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct pprof *self = calloc(1, sizeof(*self));

	if (!self)
		return -ENOMEM;
	self->options = options;
	self->id = setup->id;
	self->service = setup->service;
	self->asked.self = self->saved.self = self;
	self->saved.duration_ns = ~0ull;
	pthread_mutex_init(&self->lock, NULL);
	*ret_self = self;
	return 0;
}

/* A profile that is being taken ends early, with what it has. */
static void pprof_stop(void *arg, u64 deadline_ns)
{
	struct pprof *self = arg;

	atomic_store(&self->stop, true);
	http_endpoint_close(&self->endpoint, deadline_ns);
	thread_join(&self->asked.thread);
	thread_join(&self->saved.thread);
}

static int pprof_start(void *arg, struct buf *why)
{
	static const struct { const char *path; void (*handle)(void *arg, struct exchange *exchange); } routes[] = {
		{ "/debug/pprof/profile", serve_profile }, { "/debug/pprof/cmdline", serve_command_line },
		{ "/debug/pprof", serve_index }, { "/debug/pprof/", serve_rest },
	};
	struct pprof *self = arg;
	struct http_endpoint_options where = HTTP_ENDPOINT_DEFAULTS(self->options->endpoint);
	int r = http_endpoint_open(&self->endpoint, self->service, &where, self, why);

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]) && r == 0; i++)
		r = http_endpoint_route(&self->endpoint, "GET", routes[i].path, routes[i].handle, why);
	if (r == 0 && *self->options->save_to_file)
		r = thread_start(&self->saved.thread, "wick: pprof", save, &self->saved);
	if (r < 0)
		pprof_stop(self, 0);
	return r;
}

const struct component_ops extension_pprof = {
	.type = "pprof",
	.help = "takes profiles of wick itself when asked by HTTP",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.create = pprof_create,
	.start = pprof_start,
	.stop = pprof_stop,
	.free = pprof_free,
};
