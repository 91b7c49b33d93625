// SPDX-License-Identifier: Apache-2.0
#include "web/live_profile.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "extensions/http_endpoint.h"
#include "kinds/kind.h"
#include "net/server.h"
#include "pipeline/taps.h"
#include "profile/profile.h"
#include "wire/compression.h"
#include "wire/pprof/pprof.h"

#define SECONDS_DEFAULT 30
#define SECONDS_MAX 300
#define LOOK_MS 200			/* how often it is looked whether the client is there */
#define GRACE_NS (30 * SECOND_NS)	/* for names, after the time is over */
#define BODY_BYTES_MAX ((size_t)256 << 20)

/* One request, and the thread that waits for its end. */
struct watch {
	struct live_profile *live;
	struct exchange *exchange;
	struct live_question question;
	struct tap *tap;
	struct thread thread;
	atomic_bool is_busy;		/* until it has answered */
};

struct live_profile {
	struct taps *taps;
	pthread_mutex_t lock;		/* of the threads' beginnings and ends */
	struct watch watches[TAPS_MAX];
	atomic_bool stop;
};

/* ---- Questions ------------------------------------------------------------------------------ */

/* The number behind NAME= in a query; *ret_value stays as it is if there is none. False: it is none, or too large. */
static bool find_number(const char *query, const char *name, u64 max, u64 *ret_value)
{
	size_t len = strlen(name);
	const char *at = query;
	u64 value = 0;

	while (*at && (strncmp(at, name, len) || at[len] != '=')) {
		at += strcspn(at, "&");
		at += *at == '&';
	}
	if (!*at)
		return true;
	at += len + 1;
	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at) && value <= max; at++)
		value = value * 10 + (u64)(*at - '0');
	if ((*at && *at != '&') || value > max)
		return false;
	*ret_value = value;
	return true;
}

const char *live_question_parse(const char *query, struct live_question *ret_question)
{
	u64 seconds = SECONDS_DEFAULT, pid = 0, frequency = 0;

	if (!find_number(query, "seconds", SECONDS_MAX, &seconds) || !seconds)
		return "seconds must be a number from 1 to 300.";
	if (!find_number(query, "pid", INT32_MAX, &pid))
		return "pid must be the number of a process.";
	if (!find_number(query, "hz", 100000, &frequency))
		return "hz must be a number; leave it out to get what the agent samples at.";
	*ret_question = (struct live_question){ (u32)seconds, (u32)frequency, (s64)pid };
	return NULL;
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* go tool pprof shows the text of an answer that has this header. */
static void refuse(struct exchange *exchange, int status, const char *sentence)
{
	static const struct http_header headers[] = {
		{ "x-go-pprof", "1" }, { "x-content-type-options", "nosniff" }, { "cache-control", "no-store" },
	};
	struct buf body;

	buf_init(&body, 1024);
	buf_addf(&body, "%s\n", sentence);
	exchange_reply(exchange, status, CONTENT_TEXT, headers, sizeof(headers) / sizeof(headers[0]), &body);
}

/* A profile without samples still says of what it has none: else pprof cannot read it. */
static void complete(struct profile *profile, const struct watch *watch)
{
	struct profile_scope *scope;
	struct profile_set *set;

	if (profile->resources.count)
		return;
	scope = profile_add_scope(profile, profile_add_resource(profile, NULL, 0));
	set = scope ? profile_add_set(profile, scope) : NULL;
	if (!set)
		return;
	profile_set_describe(profile, set, kind_list[KIND_CPU],
			     1000000000 / (s64)(watch->question.frequency_hz ? watch->question.frequency_hz : 1));
	set->duration_ns = watch->question.seconds * SECOND_NS;
	set->time_unix_ns = clock_ns(CLOCK_REALTIME) - set->duration_ns;
}

static int encode(struct profile *profile, const struct watch *watch, struct buf *out)
{
	_cleanup_(buf_done) struct buf plain;
	int r;

	complete(profile, watch);
	buf_init(&plain, BODY_BYTES_MAX);
	r = profile_err(profile);
	if (r == 0)
		r = pprof_encode(profile, &plain);
	return r < 0 ? r : compression_pack(COMPRESSION_GZIP, plain.data, plain.len, out);
}

static void answer(struct watch *watch)
{
	static const struct http_header headers[] = {
		{ "content-disposition", "attachment; filename=\"profile.pb.gz\"" },
		{ "x-content-type-options", "nosniff" }, { "cache-control", "no-store" },
	};
	_cleanup_(profile_freep) struct profile *profile = NULL;
	struct buf body;
	int r;

	buf_init(&body, BODY_BYTES_MAX);
	r = tap_take(watch->tap, &profile);
	if (r == 0)
		r = encode(profile, watch, &body);
	if (r < 0) {
		buf_done(&body);
		refuse(watch->exchange, 500, strerror(-r));
		return;
	}
	exchange_reply(watch->exchange, 200, "application/octet-stream", headers, sizeof(headers) / sizeof(headers[0]),
		       &body);
}

/* Until all of its time is there, the client has gone, or the page ends. */
static int wait_for_end(struct watch *watch)
{
	u64 end_ns = monotonic_ns() + watch->question.seconds * SECOND_NS + GRACE_NS;
	int r = 0;

	while (r == 0 && monotonic_ns() < end_ns && !atomic_load(&watch->live->stop) &&
	       !exchange_peer_left(watch->exchange))
		r = tap_wait(watch->tap, LOOK_MS);
	return r < 0 ? r : 0;
}

static void *run(void *arg)
{
	struct watch *watch = arg;
	int r = wait_for_end(watch);

	if (r == -E2BIG)
		refuse(watch->exchange, 503, "This is more than 64 MiB of profile: ask for fewer seconds, or one pid.");
	else if (r == -ENODEV)
		refuse(watch->exchange, 503, "Sampling has ended meanwhile.");
	else if (r < 0)
		refuse(watch->exchange, 500, strerror(-r));
	else
		answer(watch);
	tap_close(TAKE(watch->tap));
	atomic_store(&watch->is_busy, false);
	return NULL;
}

/* ---- Requests ------------------------------------------------------------------------------- */

static int begin(struct live_profile *live, struct exchange *exchange, const struct live_question *question)
{
	struct watch *watch = NULL;
	int r;

	for (u32 i = 0; i < TAPS_MAX && !watch; i++)
		watch = atomic_load(&live->watches[i].is_busy) ? NULL : &live->watches[i];
	if (!watch)
		return -EBUSY;
	thread_join(&watch->thread);
	watch->live = live;
	watch->exchange = exchange;
	watch->question = *question;
	r = tap_open(live->taps, question->seconds * SECOND_NS, question->pid, &watch->tap);
	if (r < 0)
		return r;
	atomic_store(&watch->is_busy, true);
	r = thread_start(&watch->thread, "wick: pprof", run, watch);
	if (r < 0) {
		tap_close(TAKE(watch->tap));
		atomic_store(&watch->is_busy, false);
	}
	return r;
}

/* NULL, or what is in the way of such a profile here. */
static const char *find_problem(struct live_profile *live, struct live_question *question, char *text, size_t room,
				int *ret_status)
{
	u32 frequency = live->taps ? taps_frequency(live->taps) : 0;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%lld", question->pid);
	if (!frequency) {
		*ret_status = 503;
		return "This wick only collects: it samples nothing itself. A pipeline needs the receiver profiling.";
	}
	if (question->frequency_hz && question->frequency_hz != frequency) {
		*ret_status = 400;
		(void)snprintf(text, room, "hz: this wick samples %u times a second, which is samples_per_second of "
			       "the receiver profiling; leave hz out.", frequency);
		return text;
	}
	if (question->pid && access(path, F_OK) < 0) {
		*ret_status = 404;
		(void)snprintf(text, room, "There is no process %lld.", question->pid);
		return text;
	}
	question->frequency_hz = frequency;
	return NULL;
}

void live_profile_serve(struct live_profile *live, struct exchange *exchange)
{
	struct live_question question;
	const char *problem = live_question_parse(exchange_query(exchange), &question);
	int r, status = 400;
	char text[256];

	if (!problem)
		problem = find_problem(live, &question, text, sizeof(text), &status);
	if (problem) {
		refuse(exchange, status, problem);
		return;
	}
	pthread_mutex_lock(&live->lock);
	r = atomic_load(&live->stop) ? -ECANCELED : begin(live, exchange, &question);
	pthread_mutex_unlock(&live->lock);
	if (r == -EBUSY)
		refuse(exchange, 503, "Four others are taking profiles; try again when one of them is done.");
	else if (r == -ENODEV || r == -ECANCELED)
		refuse(exchange, 503, "Sampling has ended.");
	else if (r < 0)
		refuse(exchange, 500, strerror(-r));
}

void live_profile_index(struct live_profile *live, struct exchange *exchange)
{
	static const char page[] =
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>/debug/pprof/</title>"
		"</head>\n<body><h1>/debug/pprof/</h1>\n<p>This machine, not wick alone: every process, or one.</p>\n"
		"<ul>\n"
		"<li><a href=\"/debug/pprof/profile?seconds=10\">profile</a>: CPU, as pprof, for "
		"<code>?seconds=</code> 1 to 300, 30 if not given; <code>&amp;pid=</code> one process</li>\n</ul>\n"
		"<p><code>go tool pprof http://.../debug/pprof/profile</code> reads it, and so does "
		"<code>wick report</code>.</p></body></html>\n";
	static const struct http_header headers[] = {
		{ "content-security-policy", "default-src 'none'" }, { "x-content-type-options", "nosniff" },
	};
	const char *path = exchange_path(exchange);
	struct buf body;

	(void)live;
	if (strcmp(path, LIVE_PROFILE_PATH) && strcmp(path, "/debug/pprof")) {
		refuse(exchange, 404, "There is only /debug/pprof/profile here: heap, goroutine and alike are Go's.");
		return;
	}
	buf_init(&body, sizeof(page));
	buf_add(&body, page, sizeof(page) - 1);
	exchange_reply(exchange, 200, CONTENT_HTML, headers, sizeof(headers) / sizeof(headers[0]), &body);
}

/* ---- Life ----------------------------------------------------------------------------------- */

struct live_profile *live_profile_new(struct taps *taps)
{
	struct live_profile *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->taps = taps;
	pthread_mutex_init(&live->lock, NULL);
	return live;
}

void live_profile_stop(struct live_profile *live)
{
	if (!live)
		return;
	LOCKED(&live->lock);
	atomic_store(&live->stop, true);
	for (u32 i = 0; i < TAPS_MAX; i++)
		thread_join(&live->watches[i].thread);
}

void live_profile_free(struct live_profile *live)
{
	if (!live)
		return;
	live_profile_stop(live);
	pthread_mutex_destroy(&live->lock);
	free(live);
}
