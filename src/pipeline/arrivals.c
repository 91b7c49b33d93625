// SPDX-License-Identifier: Apache-2.0
#include "pipeline/arrivals.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "net/server.h"

struct ring {
	u64 count;		/* ever */
	struct arrival at[ARRIVALS_EACH];
};

struct arrivals {
	pthread_mutex_t lock;
	u64 count;		/* ever; the next one is number count + 1 */
	struct ring good, bad;
	struct arrivals_sender senders[ARRIVALS_SENDERS_MAX];
	u32 sender_count;
};

struct arrivals *arrivals_new(void)
{
	struct arrivals *arrivals = calloc(1, sizeof(*arrivals));

	if (arrivals)
		pthread_mutex_init(&arrivals->lock, NULL);
	return arrivals;
}

void arrivals_free(struct arrivals *arrivals)
{
	if (!arrivals)
		return;
	pthread_mutex_destroy(&arrivals->lock);
	free(arrivals);
}

void arrival_text(char *field, size_t bytes, const char *text)
{
	(void)snprintf(field, bytes, "%s", text ? text : "");
}

/* ---- Who sends ----------------------------------------------------------------------------- */

/* The port is another one with each connection. */
static void cut_port(const char *peer, char address[64])
{
	const char *colon = strrchr(peer, ':');
	bool has_port = colon && strspn(colon + 1, "0123456789") == strlen(colon + 1);
	size_t len = has_port ? (size_t)(colon - peer) : strlen(peer);

	(void)snprintf(address, 64, "%.*s", (int)len, peer);
}

/* The one that is meant, or a place for it, that of who was silent longest if there is no other. */
static struct arrivals_sender *find_sender(struct arrivals *arrivals, const char *address, const struct arrival *a)
{
	struct arrivals_sender *oldest = &arrivals->senders[0];

	for (u32 i = 0; i < arrivals->sender_count; i++) {
		struct arrivals_sender *sender = &arrivals->senders[i];

		if (!strcmp(sender->peer, address) && !strcmp(sender->agent, a->agent) &&
		    !strcmp(sender->component, a->component))
			return sender;
		if (sender->last_ns < oldest->last_ns)
			oldest = sender;
	}
	if (arrivals->sender_count < ARRIVALS_SENDERS_MAX)
		oldest = &arrivals->senders[arrivals->sender_count++];
	*oldest = (struct arrivals_sender){ .first_ns = a->time_ns };
	arrival_text(oldest->peer, sizeof(oldest->peer), address);
	arrival_text(oldest->agent, sizeof(oldest->agent), a->agent);
	arrival_text(oldest->component, sizeof(oldest->component), a->component);
	return oldest;
}

static void count_sender(struct arrivals *arrivals, const struct arrival *arrival)
{
	struct arrivals_sender *sender;
	char address[64];

	if (arrival->kind == ARRIVAL_LOG)
		return;
	cut_port(arrival->peer, address);
	sender = find_sender(arrivals, address, arrival);
	sender->last_ns = arrival->time_ns;
	sender->requests++;
	sender->refused += arrival->level >= LOG_LEVEL_WARN;
	sender->samples += arrival->samples;
	sender->bytes += arrival->bytes;
}

u32 arrivals_senders(struct arrivals *arrivals, u32 max, struct arrivals_sender *ret_at)
{
	if (!arrivals)
		return 0;
	LOCKED(&arrivals->lock);
	max = max < arrivals->sender_count ? max : arrivals->sender_count;
	memcpy(ret_at, arrivals->senders, max * sizeof(*ret_at));
	return max;
}

/* ---- What came ------------------------------------------------------------------------------- */

void arrivals_add(struct arrivals *arrivals, const struct arrival *arrival)
{
	struct arrival *slot;
	struct ring *ring;

	if (!arrivals)
		return;
	ring = arrival->level >= LOG_LEVEL_WARN ? &arrivals->bad : &arrivals->good;
	LOCKED(&arrivals->lock);
	slot = &ring->at[ring->count++ % ARRIVALS_EACH];
	*slot = *arrival;
	slot->number = ++arrivals->count;
	count_sender(arrivals, arrival);
}

void arrival_of_exchange(struct exchange *exchange, struct arrival *ret_arrival)
{
	*ret_arrival = (struct arrival){ .time_ns = clock_ns(CLOCK_REALTIME), .kind = ARRIVAL_REQUEST };
	ret_arrival->bytes = exchange_body(exchange)->len;
	ARRIVAL_TEXT(ret_arrival->peer, exchange_peer(exchange));
	ARRIVAL_TEXT(ret_arrival->agent, exchange_header(exchange, "user-agent"));
}

/* Whoever only looks has sent nothing. */
void arrivals_refusal(void *arrivals, struct exchange *exchange, const char *sentence)
{
	struct arrival arrival;

	if (!strcmp(exchange_method(exchange), "GET") || !strcmp(exchange_method(exchange), "HEAD"))
		return;
	arrival_of_exchange(exchange, &arrival);
	arrival.level = LOG_LEVEL_ERROR;
	ARRIVAL_TEXT(arrival.component, "server");
	ARRIVAL_TEXT(arrival.text, sentence);
	arrivals_add(arrivals, &arrival);
}

void arrivals_log(void *arrivals, enum log_level level, const char *component, const char *text)
{
	struct arrival arrival = { .time_ns = clock_ns(CLOCK_REALTIME), .kind = ARRIVAL_LOG, .level = level };

	if (level < LOG_LEVEL_WARN)
		return;
	ARRIVAL_TEXT(arrival.component, component);
	ARRIVAL_TEXT(arrival.text, text);
	arrivals_add(arrivals, &arrival);
}

/* The newest one of a ring that is older than those that were taken; NULL if there is none. */
static const struct arrival *newest(const struct ring *ring, u64 taken)
{
	u64 held = ring->count < ARRIVALS_EACH ? ring->count : ARRIVALS_EACH;

	return taken < held ? &ring->at[(ring->count - 1 - taken) % ARRIVALS_EACH] : NULL;
}

/* Both from the newest on, the higher number first: written from the end. */
static u32 merge(const struct arrivals *arrivals, u64 after, u32 max, struct arrival *ret_at)
{
	u64 good_taken = 0, bad_taken = 0;
	u32 count = 0;

	while (count < max) {
		const struct arrival *good = newest(&arrivals->good, good_taken);
		const struct arrival *bad = newest(&arrivals->bad, bad_taken);
		bool is_bad = bad && (!good || bad->number > good->number);
		const struct arrival *next = is_bad ? bad : good;

		if (!next || next->number <= after)
			break;
		bad_taken += is_bad;
		good_taken += !is_bad;
		ret_at[max - ++count] = *next;
	}
	memmove(ret_at, ret_at + max - count, count * sizeof(*ret_at));
	return count;
}

u32 arrivals_read(struct arrivals *arrivals, u64 after, u32 max, struct arrival *ret_at)
{
	if (!arrivals)
		return 0;
	LOCKED(&arrivals->lock);
	return merge(arrivals, after, max < ARRIVALS_MAX ? max : ARRIVALS_MAX, ret_at);
}

u64 arrivals_last(struct arrivals *arrivals)
{
	if (!arrivals)
		return 0;
	LOCKED(&arrivals->lock);
	return arrivals->count;
}
