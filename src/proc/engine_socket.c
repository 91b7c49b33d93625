// SPDX-License-Identifier: Apache-2.0
#include "proc/engine_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/grpc_call.h"

#define PIECE_BYTES 16384

struct talk {
	int fd, stop_fd;
	u64 deadline_ns;
};

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	_cleanup_(closep) int fd = -1;
	int taken;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Of a socket file, this is done at once, or there is no room in its queue. */
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
		return -errno;
	if (peer.uid && peer.uid != geteuid())
		return -EACCES;
	taken = fd;
	fd = -1;
	return taken;
}

/* Until something can be done there. */
static int wait_for(const struct talk *t, short events)
{
	struct pollfd fds[2] = { { t->fd, events, 0 }, { t->stop_fd, POLLIN, 0 } };
	u64 now_ns = monotonic_ns();
	int r;

	if (now_ns >= t->deadline_ns)
		return -ETIMEDOUT;
	r = poll(fds, 2, (int)((t->deadline_ns - now_ns) / 1000000 + 1));
	if (r < 0 && errno != EINTR)
		return -errno;
	return fds[1].revents ? -ECANCELED : 0;
}

static int send_all(const struct talk *t, const void *at, size_t bytes)
{
	for (size_t sent = 0; sent < bytes;) {
		ssize_t got = send(t->fd, (const char *)at + sent, bytes - sent, MSG_NOSIGNAL);
		int r = got >= 0 ? 0 : errno == EAGAIN ? wait_for(t, POLLOUT) : errno == EINTR ? 0 : -errno;

		if (r < 0)
			return r;
		sent += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

/* 1: more may come; 0: that was all. */
static int receive(const struct talk *t, struct buf *answer)
{
	size_t room = answer->max - answer->len;
	ssize_t got;
	int r = wait_for(t, POLLIN);

	if (r < 0)
		return r;
	if (!room)
		return -E2BIG;
	room = room < PIECE_BYTES ? room : PIECE_BYTES;
	r = buf_reserve(answer, room);
	if (r < 0)
		return r;
	got = recv(t->fd, answer->data + answer->len, room, 0);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	answer->len += (size_t)got;
	return got > 0;
}

static int converse(const struct talk *t, const struct buf *question, bool is_grpc, struct buf *answer)
{
	u32 acknowledged = 0;
	int r = send_all(t, question->data, question->len);

	while (r == 0) {
		struct grpc_call_state state;

		r = receive(t, answer);
		if (r <= 0)
			return r;
		state = is_grpc ? grpc_call_look(answer->data, answer->len) : (struct grpc_call_state){ 0, false };
		if (state.is_over)
			return 0;
		for (r = 0; r == 0 && acknowledged < state.settings; acknowledged++)
			r = send_all(t, grpc_call_ack, sizeof(grpc_call_ack));
	}
	return r;
}

int engine_socket_ask(const char *path, const struct buf *question, bool is_grpc, int stop_fd, u64 deadline_ns,
		      struct buf *ret_answer)
{
	_cleanup_(closep) int fd = connect_to(path);
	int r = fd < 0 ? fd : buf_err(question);

	return r < 0 ? r : converse(&(struct talk){ fd, stop_fd, deadline_ns }, question, is_grpc, ret_answer);
}
