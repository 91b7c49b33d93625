/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One gRPC call on a connection of its own, as bytes: what is sent is all known before, and of what comes back only
 * frames and the one message are looked at. So nobody who asks a local socket one question needs an HTTP/2 library
 * (net/client.h is libcurl, which would be 30 libraries in the process that samples). No state.
 */
#ifndef PROC_GRPC_CALL_H
#define PROC_GRPC_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct buf;

#define GRPC_CALL_ANSWER_MAX (256u << 10)	/* more than that the other side is not let send */
#define GRPC_CALL_TEXT_MAX 120			/* of path and namespace */

/* Preface, settings, headers and the message. name_space: of containerd; "": none. */
void grpc_call_write(struct buf *out, const char *path, const char *name_space, const void *message, u32 bytes);

/* The frame that says that settings of the other side were seen. */
#define GRPC_CALL_ACK_BYTES 9
extern const u8 grpc_call_ack[GRPC_CALL_ACK_BYTES];

struct grpc_call_state {
	u32 settings;	/* of the other side, that want to be acknowledged */
	bool is_over;	/* nothing more will come that matters */
};
struct grpc_call_state grpc_call_look(const void *at, size_t bytes);

/* The message of what came: 1; 0: there is none, since the call has failed; -EBADMSG; -E2BIG, -ENOMEM. */
int grpc_call_message(const void *at, size_t bytes, struct buf *out);

#endif
