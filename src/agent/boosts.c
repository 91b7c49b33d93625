// SPDX-License-Identifier: Apache-2.0
#include "agent/boosts.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define SECOND_NS 1000000000ull

static const char *const texts[] = {
#define X(id, text) text,
	BOOST_OUTCOMES(X)
#undef X
};

const char *boost_outcome_text(u64 outcome)
{
	return outcome < BOOST_OUTCOME_COUNT ? texts[outcome] : "";
}

static bool has_same(const struct boosts *b, const struct boost *boost)
{
	for (u32 i = 0; i < b->list.count; i++)
		if (b->list.at[i].id == boost->id || boost_is_same(&b->list.at[i], boost))
			return true;
	return false;
}

static enum boost_outcome judge(const struct boosts *b, const struct boost *boost, u32 usual_hz, bool is_tight,
				u64 now_ns)
{
	u64 oldest_ns = b->changes_ns[b->change];

	if (boost_problem(boost))
		return BOOST_REFUSED;
	if (boost->hz <= usual_hz)
		return BOOST_SLOW;
	if (is_tight)
		return BOOST_TIGHT;
	if (has_same(b, boost))
		return BOOST_SAME;
	if (b->list.count == BOOSTS_MAX)
		return BOOST_FULL;
	return oldest_ns && now_ns - oldest_ns < BOOST_CHANGES_NS ? BOOST_SOON : BOOST_RUNS;
}

enum boost_outcome boosts_start(struct boosts *b, const struct boost *boost, u32 usual_hz, bool is_tight, u64 now_ns,
				struct boost_event *ret_event)
{
	enum boost_outcome outcome = judge(b, boost, usual_hz, is_tight, now_ns);

	*ret_event = (struct boost_event){ boost->id, outcome, 0 };
	if (outcome != BOOST_RUNS)
		return outcome;
	ret_event->end_ns = now_ns + boost->seconds * SECOND_NS;
	b->changes_ns[b->change] = now_ns;
	b->change = (b->change + 1) % BOOST_CHANGES_MAX;
	b->end_ns[b->list.count] = ret_event->end_ns;
	b->list.at[b->list.count++] = *boost;
	return outcome;
}

static void take_out(struct boosts *b, u32 index, enum boost_outcome outcome, struct boost_event *ret_event)
{
	*ret_event = (struct boost_event){ b->list.at[index].id, outcome, 0 };
	b->list.count--;
	memmove(&b->list.at[index], &b->list.at[index + 1], (b->list.count - index) * sizeof(b->list.at[0]));
	memmove(&b->end_ns[index], &b->end_ns[index + 1], (b->list.count - index) * sizeof(b->end_ns[0]));
}

bool boosts_stop(struct boosts *b, u32 id, enum boost_outcome outcome, struct boost_event *ret_event)
{
	for (u32 i = 0; i < b->list.count; i++)
		if (b->list.at[i].id == id) {
			take_out(b, i, outcome, ret_event);
			return true;
		}
	return false;
}

bool boosts_expire(struct boosts *b, u64 now_ns, struct boost_event *ret_event)
{
	for (u32 i = 0; i < b->list.count; i++)
		if (now_ns >= b->end_ns[i]) {
			take_out(b, i, BOOST_OVER, ret_event);
			return true;
		}
	return false;
}

u64 boosts_due_ns(const struct boosts *b)
{
	u64 due_ns = UINT64_MAX;

	for (u32 i = 0; i < b->list.count; i++)
		due_ns = b->end_ns[i] < due_ns ? b->end_ns[i] : due_ns;
	return due_ns;
}

/* ---- Mail ------------------------------------------------------------------------------------- */

int boost_mail_ask(struct boost_mail *mail, const struct boost *boost)
{
	/* The end of all of them is also that of those which have not begun. */
	if (!boost->hz && !boost->id)
		mail->asked_count = 0;
	if (mail->asked_count == BOOST_MAIL_MAX)
		return -EBUSY;
	mail->asked[mail->asked_count++] = *boost;
	return 0;
}

u32 boost_mail_take(struct boost_mail *mail, struct boost ret_asked[BOOST_MAIL_MAX])
{
	u32 count = mail->asked_count;

	memcpy(ret_asked, mail->asked, count * sizeof(mail->asked[0]));
	mail->asked_count = 0;
	return count;
}

void boost_mail_tell(struct boost_mail *mail, const struct boost_event *event)
{
	if (mail->event_count == BOOST_EVENTS_MAX)
		memmove(mail->events, mail->events + 1, --mail->event_count * sizeof(mail->events[0]));
	mail->events[mail->event_count++] = *event;
}

u32 boost_mail_events(struct boost_mail *mail, struct boost_event ret_events[BOOST_EVENTS_MAX])
{
	u32 count = mail->event_count;

	memcpy(ret_events, mail->events, count * sizeof(mail->events[0]));
	mail->event_count = 0;
	return count;
}
