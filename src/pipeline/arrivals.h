/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What arrived lately: requests with who sent them, how much and what became of them, windows of this machine, and
 * what wick itself had to warn of. The last ones of what went well, and of what did not: the many of the first kind do
 * not drive out the few of the second. Numbers that are missing were dropped to make room.
 *
 * Any thread.
 */
#ifndef PIPELINE_ARRIVALS_H
#define PIPELINE_ARRIVALS_H

#include "base/cleanup.h"
#include "base/log.h"
#include "base/types.h"

struct exchange;

#define ARRIVALS_EACH 256
#define ARRIVALS_MAX (2 * ARRIVALS_EACH)

enum arrival_kind { ARRIVAL_REQUEST, ARRIVAL_WINDOW, ARRIVAL_LOG };

struct arrival {
	u64 number;		/* given by arrivals_add(), from 1 */
	u64 time_ns;		/* CLOCK_REALTIME */
	enum arrival_kind kind;
	enum log_level level;	/* info: taken; error: it was not */
	char component[48];	/* the receiver's id, or who warned */
	char protocol[16];	/* "grpc", "http", "http json"; "" where there is none */
	char peer[64];
	char agent[128];	/* what the sender calls itself */
	u64 bytes;		/* as they came over the wire */
	u64 samples;
	u32 resources;
	char text[320];		/* what went wrong, "" if nothing did */
};

/* Who has sent something: an address with what it calls itself. */
#define ARRIVALS_SENDERS_MAX 256

struct arrivals_sender {
	char peer[64];		/* without its port; "": this machine's own windows */
	char agent[128];
	char component[48];	/* who took it */
	u64 first_ns, last_ns;	/* CLOCK_REALTIME */
	u64 requests, refused, samples, bytes;
};

struct arrivals;

/* NULL without memory. */
struct arrivals *arrivals_new(void);
void arrivals_free(struct arrivals *arrivals);
DEFINE_CLEANUP(struct arrivals *, arrivals_free)

/* Text from outside, cut to what fits. */
#define ARRIVAL_TEXT(field, text) arrival_text(field, sizeof(field), text)
void arrival_text(char *field, size_t bytes, const char *text);

/* arrivals may be NULL: nobody wants to know. */
void arrivals_add(struct arrivals *arrivals, const struct arrival *arrival);

/* Who sends a request, and how many bytes of it. */
void arrival_of_exchange(struct exchange *exchange, struct arrival *ret_arrival);

/* For struct server_hooks, whose arg is a struct arrivals: what was sent to the wrong place, or is too large. */
void arrivals_refusal(void *arrivals, struct exchange *exchange, const char *sentence);

/* A log_watch_fn, whose arg is a struct arrivals. */
void arrivals_log(void *arrivals, enum log_level level, const char *component, const char *text);

/* The number of the newest one, 0 if nothing came. */
u64 arrivals_last(struct arrivals *arrivals);

/* Copies who has sent something, at most max; how many. Of more than there is room for, who was silent longest goes. */
u32 arrivals_senders(struct arrivals *arrivals, u32 max, struct arrivals_sender *ret_at);

/* Copies what came after a number, the newest `max` of it, in the order it came; how many. */
u32 arrivals_read(struct arrivals *arrivals, u64 after, u32 max, struct arrival *ret_at);

#endif
