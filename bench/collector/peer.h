/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What send.c and sink.c share: sockets of loopback that block, one thread
 * each, and HTTP/2 sessions of nghttp2 on them. They are tools of a benchmark, which end the
 * process at the first thing that is not as it should be.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>

#define PEER_WINDOW (16 << 20)		/* HTTP/2 flow control never holds anybody up */

_Noreturn void peer_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

void peer_send(int fd, const void *at, size_t bytes);
size_t peer_receive(int fd, void *at, size_t max);	/* 0: the other side is done */

/* Sends the settings and the window of a new session. */
void peer_begin_session(nghttp2_session *session);

/* Sends what waits, receives once; false when the other side is done or the session is. */
bool peer_turn_session(nghttp2_session *session, int fd, void *buffer, size_t max);

/* The length of a header block, with the empty line; 0: not whole yet. */
size_t peer_header_bytes(const char *at, size_t bytes);

/* The number after "NAME:" in a header block; -1 if it is not there. */
long peer_header_number(const char *at, const char *name);

#define PEER_HEADER(name, value) \
	{ (unsigned char *)(name), (unsigned char *)(value), sizeof(name) - 1, sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE }

#endif
