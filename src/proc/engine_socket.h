/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to one socket of this machine, and its answer. Whoever listens there may be silent, slow, or talk
 * without end: it has until a deadline, and so many bytes. Only sockets that root listens on, or our own user, are
 * asked: what another says of containers is his own word.
 *
 * Any thread; it waits.
 */
#ifndef PROC_ENGINE_SOCKET_H
#define PROC_ENGINE_SOCKET_H

#include <stdbool.h>

#include "base/types.h"

struct buf;

/*
 * What came until the answer was whole, or the other side hung up, goes to ret_answer, whose limit holds. stop_fd:
 * becomes readable when nobody wants to know any more. -ENOENT, -ECONNREFUSED and alike: nobody is there; -EACCES:
 * nobody whom we ask; -ETIMEDOUT, -E2BIG; -ECANCELED.
 */
int engine_socket_ask(const char *path, const struct buf *question, bool is_grpc, int stop_fd, u64 deadline_ns,
		      struct buf *ret_answer);

#endif
