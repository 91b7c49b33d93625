/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sampler (privileged, sees the machine) and the service (unprivileged, sees the network) say to each other,
 * a message at a time over a SOCK_SEQPACKET pair:
 *
 *	u32 magic | u16 version | u16 kind | body
 *
 *	sampler -> service	WINDOW		u64 end (CLOCK_MONOTONIC, ns), u64 bytes of OTLP, which are in a
 *						sealed memory file that comes along; 0: nothing was sampled
 *				COUNTERS	u32 count, then each: u8 kind, u64 value, four texts: u8 length, bytes
 *				BOOSTED		u32 id, u32 what became of it (enum boost_outcome), u64 when it ends
 *						(CLOCK_MONOTONIC, ns)
 *	service -> sampler	WANTED		u64: when the window that is open is to end, CLOCK_MONOTONIC, ns
 *				BOOST		sample some processes faster for a while: u32 id, u16 samples a second,
 *						u16 seconds, u32 pid, u8 is there a uid, u32 uid, then each of
 *						BOOST_TEXTS: u8 length, bytes. Samples a second 0, nothing behind the
 *						id: its end; id 0 then: the end of all
 *
 * Neither side trusts the other. A service that was taken over can say nothing but a time, and that some processes are
 * to be sampled faster: at most BOOSTS_MAX, BOOST_HZ_MAX and BOOST_SECONDS_MAX, compared by texts without patterns,
 * within the sampler's budget of CPU time, and refused when that is short (agent/boosts.h). A message of another kind
 * or length, one that is out of these bounds, or of the wrong direction, ends the connection. Windows are checked as if
 * they came over a network. They are not sent through the socket: its buffer holds a part of one, and each part would
 * wait for a turn of the reader.
 */
#ifndef HALVES_CHANNEL_H
#define HALVES_CHANNEL_H

#include <stddef.h>

#include "agent/boosts.h"
#include "base/buf.h"
#include "base/types.h"
#include "tracer/counters.h"

#define CHANNEL_VERSION 2
#define CHANNEL_WINDOW_MAX (64u << 20)
#define CHANNEL_MESSAGE_MAX 65536
#define CHANNEL_TEXT_MAX 255
#define CHANNEL_HEARD_MAX 2048		/* of a message to the sampler */

enum channel_kind {
	CHANNEL_WINDOW = 1,
	CHANNEL_COUNTERS,
	CHANNEL_WANTED,
	CHANNEL_BOOST,
	CHANNEL_BOOSTED,
	CHANNEL_KINDS,
};

/* Who reads: the kinds that it takes. */
enum channel_reader { CHANNEL_SERVICE, CHANNEL_SAMPLER };

struct channel_frame {
	enum channel_kind kind;
	const void *body;	/* borrowed from the message */
	size_t bytes;
};

struct channel_window {
	u64 end_ns;
	u32 bytes;		/* of OTLP */
};

/* A message and how many files came along. -EBADMSG, -EPROTO (another version): the connection is of no use. */
int channel_parse(enum channel_reader reader, const void *at, size_t bytes, u32 files, struct channel_frame *ret_frame);

void channel_add_wanted(struct buf *out, u64 wanted_ns);
u64 channel_wanted(const struct channel_frame *frame);

/* hz 0: the end of the one with that id, or of all. */
void channel_add_boost(struct buf *out, const struct boost *boost);
/* -EBADMSG: it cannot be meant. */
int channel_boost(const struct channel_frame *frame, struct boost *ret_boost);

void channel_add_boosted(struct buf *out, const struct boost_event *event);
int channel_boosted(const struct channel_frame *frame, struct boost_event *ret_event);

void channel_add_window(struct buf *out, struct channel_window window);
struct channel_window channel_window(const struct channel_frame *frame);

void channel_add_counters(struct buf *out, const struct counter_value *values, size_t count);

/* Texts are NULL or point into strings, which the caller frees. -EBADMSG, -ENOMEM. */
int channel_counters(const struct channel_frame *frame, struct counter_value ret_values[COUNTER_VALUES_MAX],
		     size_t *ret_count, char **ret_strings);

#endif
