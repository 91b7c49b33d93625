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
 *	service -> sampler	WANTED		u64: when the window that is open is to end, CLOCK_MONOTONIC, ns
 *
 * Neither side trusts the other. A service that was taken over can say nothing but a time; a message of another kind
 * or length, or of the wrong direction, ends the connection. Windows are checked as if they came over a network. They
 * are not sent through the socket: its buffer holds a part of one, and each part would wait for a turn of the reader.
 */
#ifndef HALVES_CHANNEL_H
#define HALVES_CHANNEL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"
#include "tracer/counters.h"

#define CHANNEL_VERSION 1
#define CHANNEL_WINDOW_MAX (64u << 20)
#define CHANNEL_MESSAGE_MAX 65536
#define CHANNEL_TEXT_MAX 255

enum channel_kind { CHANNEL_WINDOW = 1, CHANNEL_COUNTERS, CHANNEL_WANTED, CHANNEL_KINDS };

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

void channel_add_window(struct buf *out, struct channel_window window);
struct channel_window channel_window(const struct channel_frame *frame);

void channel_add_counters(struct buf *out, const struct counter_value *values, size_t count);

/* Texts are NULL or point into strings, which the caller frees. -EBADMSG, -ENOMEM. */
int channel_counters(const struct channel_frame *frame, struct counter_value ret_values[COUNTER_VALUES_MAX],
		     size_t *ret_count, char **ret_strings);

#endif
