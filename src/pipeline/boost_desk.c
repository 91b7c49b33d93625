// SPDX-License-Identifier: Apache-2.0
#include "pipeline/boost_desk.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"

#define LATE_NS 2000000000ull	/* past its end, when nobody has said that it has ended */

struct boost_desk {
	pthread_mutex_t lock;	/* of all that follows */
	pthread_cond_t changed;
	u32 usual_hz;
	int (*send)(void *arg, const struct boost *boost);	/* NULL: nobody samples */
	void *arg;
	bool is_tight;		/* see boost_desk_set_tight() */
	u32 last_id;
	struct boost_row rows[BOOST_ROWS_MAX];	/* the newest first */
	u32 count;
};

struct boost_desk *boost_desk_new(void)
{
	struct boost_desk *desk = calloc(1, sizeof(*desk));

	if (!desk)
		return NULL;
	pthread_mutex_init(&desk->lock, NULL);
	cond_init(&desk->changed);
	return desk;
}

void boost_desk_free(struct boost_desk *desk)
{
	if (!desk)
		return;
	pthread_cond_destroy(&desk->changed);
	pthread_mutex_destroy(&desk->lock);
	free(desk);
}

static struct boost_row *find(struct boost_desk *desk, u32 id)
{
	for (u32 i = 0; i < desk->count; i++)
		if (desk->rows[i].boost.id == id)
			return &desk->rows[i];
	return NULL;
}

static void end_row(struct boost_row *row, enum boost_outcome outcome)
{
	row->is_answered = true;
	row->outcome = outcome;
	row->end_ns = monotonic_ns();
}

/* ---- Who samples --------------------------------------------------------------- */

static void end_all(struct boost_desk *desk)
{
	for (u32 i = 0; i < desk->count; i++)
		if (!desk->rows[i].is_answered || desk->rows[i].outcome == BOOST_RUNS)
			end_row(&desk->rows[i], BOOST_STOPPED);
	pthread_cond_broadcast(&desk->changed);
}

void boost_desk_join(struct boost_desk *desk, u32 usual_hz, int (*send)(void *arg, const struct boost *boost),
		     void *arg)
{
	if (!desk)
		return;
	LOCKED(&desk->lock);
	end_all(desk);
	desk->is_tight = false;
	desk->usual_hz = usual_hz;
	desk->send = send;
	desk->arg = arg;
}

void boost_desk_leave(struct boost_desk *desk, void *arg)
{
	if (!desk)
		return;
	LOCKED(&desk->lock);
	if (desk->arg != arg)
		return;
	end_all(desk);
	desk->send = NULL;
	desk->arg = NULL;
	desk->usual_hz = 0;
}

void boost_desk_note(struct boost_desk *desk, const struct boost_event *event)
{
	struct boost_row *row;

	if (!desk)
		return;
	LOCKED(&desk->lock);
	row = find(desk, event->id);
	if (!row)
		return;
	desk->is_tight |= event->outcome == BOOST_SPARED || event->outcome == BOOST_TIGHT;
	end_row(row, event->outcome);
	if (event->outcome == BOOST_RUNS)
		row->end_ns = event->end_ns;
	pthread_cond_broadcast(&desk->changed);
}

void boost_desk_set_tight(struct boost_desk *desk, bool is_tight)
{
	if (!desk)
		return;
	LOCKED(&desk->lock);
	desk->is_tight = is_tight;
}

void boost_desk_gone(struct boost_desk *desk)
{
	if (!desk)
		return;
	LOCKED(&desk->lock);
	end_all(desk);
}

/* ---- Who asks ------------------------------------------------------------------- */

u32 boost_desk_usual_hz(struct boost_desk *desk)
{
	if (!desk)
		return 0;
	LOCKED(&desk->lock);
	return desk->usual_hz;
}

static void add_row(struct boost_desk *desk, const struct boost *boost, const char *who)
{
	if (desk->count == BOOST_ROWS_MAX)
		desk->count--;
	memmove(desk->rows + 1, desk->rows, desk->count * sizeof(desk->rows[0]));
	desk->count++;
	desk->rows[0] = (struct boost_row){ .boost = *boost, .asked_ns = monotonic_ns() };
	(void)snprintf(desk->rows[0].who, sizeof(desk->rows[0].who), "%s", who);
}

/* Under the lock, which is given up meanwhile: the row may be another's by then. */
static int wait_for_answer(struct boost_desk *desk, u32 id, int timeout_ms, struct buf *why)
{
	u64 deadline_ns = deadline_after((u64)timeout_ms * 1000000);
	struct boost_row *row = find(desk, id);
	int r = 0;

	while (row && !row->is_answered && r == 0) {
		r = cond_wait_until(&desk->changed, &desk->lock, deadline_ns);
		row = find(desk, id);
	}
	if (!row || !row->is_answered) {
		/* Nobody is to be surprised by it later. */
		if (desk->send)
			(void)desk->send(desk->arg, &(struct boost){ .id = id });
		if (row)
			end_row(row, BOOST_STOPPED);
		buf_addf(why, "the sampler is busy and does not answer: try again");
		return -ETIMEDOUT;
	}
	if (row->outcome == BOOST_RUNS)
		return 0;
	buf_addf(why, "%s", boost_outcome_text(row->outcome));
	return -EBUSY;
}

int boost_desk_start(struct boost_desk *desk, struct boost *boost, const char *who, int timeout_ms, struct buf *why)
{
	const char *problem;
	int r;

	LOCKED(&desk->lock);
	boost->id = desk->last_id + 1 ? desk->last_id + 1 : 1;
	problem = boost_problem(boost);
	if (problem) {
		buf_addf(why, "%s", problem);
		return -EINVAL;
	}
	if (!desk->send) {
		buf_addf(why, "this wick samples nothing");
		return -ENODEV;
	}
	desk->last_id = boost->id;
	add_row(desk, boost, who);
	if (desk->is_tight) {
		end_row(&desk->rows[0], BOOST_TIGHT);
		buf_addf(why, "%s", boost_outcome_text(BOOST_TIGHT));
		return -EBUSY;
	}
	r = desk->send(desk->arg, boost);
	if (r < 0) {
		end_row(&desk->rows[0], BOOST_STOPPED);
		buf_addf(why, "the sampler is not there, or does not listen: %s", strerror(-r));
		return -ENODEV;
	}
	return wait_for_answer(desk, boost->id, timeout_ms, why);
}

/* One whose end nobody has told is over all the same. */
static bool runs(const struct boost_row *row)
{
	return row->is_answered && row->outcome == BOOST_RUNS && monotonic_ns() < row->end_ns + LATE_NS;
}

int boost_desk_stop(struct boost_desk *desk, u32 id)
{
	const struct boost_row *row;

	LOCKED(&desk->lock);
	row = find(desk, id);
	if (!row || !runs(row) || !desk->send)
		return -ENOENT;
	return desk->send(desk->arg, &(struct boost){ .id = id });
}

u32 boost_desk_list(struct boost_desk *desk, struct boost_row ret_rows[BOOST_ROWS_MAX])
{
	LOCKED(&desk->lock);
	for (u32 i = 0; i < desk->count; i++)
		if (desk->rows[i].is_answered && desk->rows[i].outcome == BOOST_RUNS && !runs(&desk->rows[i]))
			end_row(&desk->rows[i], BOOST_OVER);
	memcpy(ret_rows, desk->rows, desk->count * sizeof(desk->rows[0]));
	return desk->count;
}
