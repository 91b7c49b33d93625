// SPDX-License-Identifier: Apache-2.0
#include "web/boosts.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/log.h"
#include "net/server.h"
#include "pipeline/boost_desk.h"
#include "web/api.h"
#include "web/page_reply.h"
#include "web/question.h"

#define ANSWER_MS 5000		/* the sampler looks ten times a second */
#define SECONDS_USUAL 30
#define TIMES_USUAL 10		/* as often as all others */
#define PIDS_MAX 4194304
#define WHY_MAX 1024

/* ---- Reading ------------------------------------------------------------------------------- */

static int take_user(const char *text, struct boost *boost, struct buf *why)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	const struct passwd *user;

	if (!*text)
		return 0;
	boost->has_uid = true;
	boost->uid = (u32)number;
	if (!*end && number < UINT32_MAX)
		return 0;
	user = getpwnam(text);
	if (user) {
		boost->uid = user->pw_uid;
		return 0;
	}
	buf_addf(why, "there is no user %.80s", text);
	return -EINVAL;
}

static int take_text(const char *text, const char *key, char to[BOOST_TEXT_MAX + 1], struct buf *why)
{
	size_t len = strlen(text);

	if (len > BOOST_TEXT_MAX) {
		buf_addf(why, "%s is longer than %d bytes", key, BOOST_TEXT_MAX);
		return -EINVAL;
	}
	memcpy(to, text, len + 1);
	return 0;
}

/* What there is no way to choose by is not left out silently: more would be boosted than was meant. */
static int check_keys(const struct question *q, const char *host_name, struct buf *why)
{
	static const char *const known[] = {
#define X(member) #member,
		BOOST_TEXTS(X)
#undef X
		"process", "pid", "user", "rate", "seconds", "host",
	};

	for (u32 i = 0; i < q->count; i++) {
		size_t k = 0;

		while (k < sizeof(known) / sizeof(*known) && strcmp(q->pairs[i].key, known[k]))
			k++;
		if (k == sizeof(known) / sizeof(*known)) {
			buf_addf(why, "%.40s: processes are chosen by service, container, pod, process, executable, "
				      "pid, cgroup and user", q->pairs[i].key);
			return -EINVAL;
		}
	}
	if (strcmp(question_text(q, "host", host_name), host_name)) {
		buf_addf(why, "this is %s: another host's wick is asked there, or has no API; agents that send here "
			      "cannot be told from here", host_name);
		return -EINVAL;
	}
	return 0;
}

static int take_all(const struct question *q, struct boost *boost, struct buf *why)
{
	int r = question_number(q, "rate", 1, BOOST_HZ_MAX, &boost->hz, why);

	if (r == 0)
		r = question_number(q, "seconds", 1, BOOST_SECONDS_MAX, &boost->seconds, why);
	if (r == 0)
		r = question_number(q, "pid", 1, PIDS_MAX, &boost->pid, why);
	if (r == 0)
		r = take_user(question_text(q, "user", ""), boost, why);
	/* What the page calls a process is the name of its file. */
	if (r == 0)
		r = take_text(question_text(q, "process", ""), "process", boost->executable, why);
#define X(member)										\
	if (r == 0 && *question_text(q, #member, ""))						\
		r = take_text(question_text(q, #member, ""), #member, boost->member, why);
	BOOST_TEXTS(X)
#undef X
	return r;
}

int boosts_read_form(const char *form, const char *host_name, u32 usual_hz, struct boost *ret_boost, struct buf *why)
{
	_cleanup_(freep) struct question *question = malloc(sizeof(*question));
	struct boost boost = { .hz = usual_hz * TIMES_USUAL, .seconds = SECONDS_USUAL };
	int r = question ? question_parse(form, clock_ns(CLOCK_REALTIME), question, why) : -ENOMEM;

	if (boost.hz > BOOST_HZ_MAX)
		boost.hz = BOOST_HZ_MAX;
	if (r == 0)
		r = check_keys(question, host_name, why);
	if (r == 0)
		r = take_all(question, &boost, why);
	if (r < 0)
		return r;
	*ret_boost = boost;
	return 0;
}

/* ---- Answering ------------------------------------------------------------------------------- */

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

static void put_where(struct json_write *j, const struct boost *boost)
{
	json_write_key(j, "where");
	json_write_open(j, '{');
#define X(member)				\
	if (*boost->member)			\
		put_text(j, #member, boost->member);
	BOOST_TEXTS(X)
#undef X
	if (boost->pid)
		put_number(j, "pid", boost->pid);
	if (boost->has_uid)
		put_number(j, "user", boost->uid);
	json_write_close(j, '}');
}

static void put_row(struct json_write *j, const struct boost_row *row, u64 now_ns)
{
	bool runs = row->is_answered && row->outcome == BOOST_RUNS;

	json_write_open(j, '{');
	put_number(j, "id", row->boost.id);
	put_where(j, &row->boost);
	put_number(j, "rate", row->boost.hz);
	put_number(j, "seconds", row->boost.seconds);
	put_text(j, "state", runs ? "runs" : !row->is_answered ? "asked" :
			     row->outcome >= BOOST_REFUSED ? "refused" : "ended");
	put_number(j, "left", runs && row->end_ns > now_ns ? (double)(row->end_ns - now_ns) / 1e9 : 0);
	put_text(j, "text", row->is_answered ? boost_outcome_text(row->outcome) : "");
	put_text(j, "by", row->who);
	json_write_close(j, '}');
}

void boosts_json(struct boost_desk *desk, struct buf *out)
{
	struct boost_row rows[BOOST_ROWS_MAX];
	u32 count = desk ? boost_desk_list(desk, rows) : 0;
	struct json_write j = { .b = out };

	json_write_open(&j, '{');
	put_number(&j, "usual_rate", boost_desk_usual_hz(desk));
	put_number(&j, "rate_max", BOOST_HZ_MAX);
	put_number(&j, "seconds_max", BOOST_SECONDS_MAX);
	json_write_key(&j, "rows");
	json_write_open(&j, '[');
	for (u32 i = 0; i < count; i++)
		put_row(&j, &rows[i], monotonic_ns());
	json_write_close(&j, ']');
	json_write_close(&j, '}');
}

static void put_id(struct api_answer *answer, u32 id)
{
	struct json_write j = { .b = answer->body };

	json_write_open(&j, '{');
	put_number(&j, "id", id);
	json_write_close(&j, '}');
}

static int status_of(int r)
{
	switch (r) {
	case -EINVAL:
		return 400;
	case -EBUSY:
		return 409;
	case -ENODEV:
	case -ETIMEDOUT:
		return 503;
	default:
		return 500;
	}
}

/* "uid 0 at 127.0.0.1:40312", or the address alone. */
static void name_peer(const struct exchange *exchange, char ret_who[BOOST_WHO_BYTES])
{
	uid_t uid;

	if (exchange_peer_user(exchange, &uid))
		(void)snprintf(ret_who, BOOST_WHO_BYTES, "uid %u at %s", (unsigned int)uid, exchange_peer(exchange));
	else
		(void)snprintf(ret_who, BOOST_WHO_BYTES, "%s", exchange_peer(exchange));
}

/* As in the log: service=shop pid=7. */
static void say_where(const struct boost *boost, struct buf *out)
{
#define X(member)				\
	if (*boost->member)			\
		buf_addf(out, " " #member "=%s", boost->member);
	BOOST_TEXTS(X)
#undef X
	if (boost->pid)
		buf_addf(out, " pid=%u", boost->pid);
	if (boost->has_uid)
		buf_addf(out, " user=%u", boost->uid);
}

static void start(const struct boosts_here *here, struct exchange *exchange, const char *form,
		  struct api_answer *answer)
{
	_cleanup_(buf_done) struct buf why, where;
	char who[BOOST_WHO_BYTES];
	struct boost boost;
	int r = boost_desk_usual_hz(here->desk) ? 0 : -ENODEV;

	buf_init(&why, WHY_MAX);
	buf_init(&where, BOOST_FORM_BYTES_MAX);
	if (r < 0)
		buf_addf(&why, "this wick samples nothing");
	else
		r = boosts_read_form(form, here->host_name, boost_desk_usual_hz(here->desk), &boost, &why);
	if (r == 0) {
		name_peer(exchange, who);
		say_where(&boost, &where);
		r = boost_desk_start(here->desk, &boost, who, ANSWER_MS, &why);
		log_info(here->log_id, "boost %u, asked for by %s:%s, %u samples a second for %u s%s%s", boost.id, who,
			 where.len ? where.data : "", boost.hz, boost.seconds, r < 0 ? ": refused: " : "",
			 r < 0 && why.len ? why.data : "");
	}
	if (r < 0)
		api_error(answer, status_of(r), why.len ? why.data : strerror(-r));
	else
		put_id(answer, boost.id);
}

static void take_form(const struct boosts_here *here, struct exchange *exchange, struct api_answer *answer)
{
	_cleanup_(buf_done) struct buf form;

	if (!page_read_form(exchange, BOOST_FORM_BYTES_MAX, &form))
		api_error(answer, 400, "the form cannot be read: service=NAME&rate=200&seconds=30, as curl -d has it");
	else
		start(here, exchange, form.data, answer);
}

static void stop(const struct boosts_here *here, struct exchange *exchange, struct api_answer *answer)
{
	_cleanup_(freep) struct question *question = malloc(sizeof(*question));
	_cleanup_(buf_done) struct buf why;
	char who[BOOST_WHO_BYTES];
	u32 id = 0;
	int r = question ? 0 : -ENOMEM;

	buf_init(&why, WHY_MAX);
	if (r == 0)
		r = question_parse(exchange_query(exchange), clock_ns(CLOCK_REALTIME), question, &why);
	if (r == 0)
		r = question_number(question, "id", 1, UINT32_MAX, &id, &why);
	if (r < 0) {
		api_error(answer, status_of(r), why.len ? why.data : strerror(-r));
		return;
	}
	r = here->desk ? boost_desk_stop(here->desk, id) : -ENOENT;
	if (r < 0) {
		api_error(answer, r == -ENOENT ? 404 : 503, r == -ENOENT ? "no such boost runs" : strerror(-r));
		return;
	}
	name_peer(exchange, who);
	log_info(here->log_id, "boost %u is stopped by %s", id, who);
	put_id(answer, id);
}

void boosts_answer(const struct boosts_here *here, struct exchange *exchange, struct api_answer *answer)
{
	const char *method = exchange_method(exchange);

	answer->status = 200;
	answer->content_type = "application/json";
	answer->file_name[0] = '\0';
	if (!strcmp(method, "POST"))
		take_form(here, exchange, answer);
	else if (!strcmp(method, "DELETE"))
		stop(here, exchange, answer);
	else
		boosts_json(here->desk, answer->body);
}
