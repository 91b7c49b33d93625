/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent and the reader process say to each other over a SOCK_SEQPACKET
 * socket pair, one request at a time. Neither side trusts the other: each
 * message is checked whole before any part of it is used.
 *
 *	reader -> agent   struct reader_hello                      once, when it has given up its privileges
 *	agent -> reader   struct reader_request, 1 to 3 files      its addresses follow it
 *	reader -> agent   struct reader_reply, a sealed memfd      the memfd only where error is 0
 */
#ifndef EXE_READER_PROTOCOL_H
#define EXE_READER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/types.h"
#include "exe/lines.h"
#include "exe/reader.h"

struct lang_file_ops;
#include "exe/symbols.h"

/* The reader process is this program again, started with this argv[0] and the socket as this descriptor. */
#define READER_ARGV0 "wick: reader"
#define READER_SOCKET_FD 0
#define READER_OFFER "1000"	/* its oom_score_adj */

#define READER_HELLO_MAGIC 0x77696b31
#define READER_ANSWER_MAX (256u << 20)	/* bytes */
#define READER_FILE_MAX (8ull << 30)	/* bytes */
#define READER_SECONDS 10		/* for one request */

enum reader_op {
	READER_IDENTIFY, READER_ROWS, READER_SYMBOLS, READER_LINES, READER_LANG, READER_SOURCE_MAP,
	READER_SWEEP, READER_ROWS_PAGE, READER_PROBE_POINTS, READER_OPS
};

/* Files by place: the executable, its separate debug file, the dwz supplementary file. */
enum reader_file { READER_EXE, READER_DEBUG, READER_ALT, READER_FILES };

struct reader_hello {
	u32 magic;
	u32 seccomp;	/* 1 if system calls are filtered */
};

struct reader_request {
	u32 op;		/* enum reader_op */
	u32 files;	/* bit n: enum reader_file n comes along, in that order */
	u32 count;	/* addresses; of READER_SYMBOLS, _LINES, _SWEEP and _ROWS_PAGE; words of _PROBE_POINTS, _LANG */
	u32 pad;
	u64 ea[];
};
#define READER_REQUEST_MAX (sizeof(struct reader_request) + SYMBOLS_MAX * sizeof(u64))

struct reader_reply {
	s32 error;	/* 0 or -errno */
	u32 bytes;	/* of the answer in the memfd */
};

static inline size_t reader_request_bytes(u32 count)
{
	return sizeof(struct reader_request) + count * sizeof(u64);
}

/* 0, or -EBADMSG if the message of that length with that many descriptors is not a request. */
int reader_request_check(const struct reader_request *request, size_t bytes, u32 fd_count);

/* The same for a reply. */
int reader_reply_check(const struct reader_reply *reply, size_t bytes, u32 fd_count);

/* Sends one message, never waiting for room. 0 or -errno; -EPIPE if the other side is gone. */
int reader_send(int socket_fd, const void *at, size_t bytes, const int *fds, u32 fd_count);

/*
 * Receives one message of at most max_bytes; waits if the socket does. Returns its length, 0 if the other side is
 * gone, or -errno. At most READER_FILES descriptors are taken into fds (which are close-on-exec and the caller's).
 */
ssize_t reader_receive(int socket_fd, void *at, size_t max_bytes, int fds[READER_FILES], u32 *ret_fd_count);

/* Bytes to and from a memfd. Packing seals it; unpacking takes only a sealed one, which can't block or change. */
int reader_pack(const void *at, size_t bytes, int *ret_fd);
int reader_unpack(int fd, size_t bytes, void **ret_at);

/* The same for the answer to READER_IDENTIFY. */
int exe_info_check(const struct exe_info *info, size_t bytes);

/* What the reader process runs; returns its exit status. */
int reader_server_main(int socket_fd, const struct lang_file_ops *const *langs);

#endif
