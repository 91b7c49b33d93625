/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of clients: a thread behind a unix socket that answers as the test says, and keeps what it was told. */
#ifndef NET_PEER_TEST_H
#define NET_PEER_TEST_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

#define PEER_ANSWERS_MAX 8

struct peer {
	char path[64];
	int fd;
	const char *answers[PEER_ANSWERS_MAX];	/* one for each request, then it closes */
	size_t answer_bytes[PEER_ANSWERS_MAX];	/* 0: up to its NUL */
	bool close_between;			/* after the first answer, without a word */
	char seen[PEER_ANSWERS_MAX][4096];
	int connections;
	pthread_t thread;
};

/* A whole request: its head, and as much as Content-Length says. */
static inline bool read_request(int fd, char *out, size_t room)
{
	size_t len = 0, want = 0;
	char *end;

	while (len < room - 1) {
		ssize_t n = read(fd, out + len, room - 1 - len);

		if (n <= 0)
			return false;
		len += n;
		out[len] = '\0';
		end = strstr(out, "\r\n\r\n");
		if (!end)
			continue;
		if (strstr(out, "Content-Length: "))
			want = strtoul(strstr(out, "Content-Length: ") + 16, NULL, 10);
		if (len >= (size_t)(end + 4 - out) + want)
			return true;
	}
	return false;
}

static inline void *peer_run(void *arg)
{
	struct peer *peer = arg;
	int fd = -1;
	size_t bytes;

	for (int i = 0; i < PEER_ANSWERS_MAX && peer->answers[i];) {
		if (fd < 0) {
			fd = accept(peer->fd, NULL, NULL);
			peer->connections++;
		}
		if (!read_request(fd, peer->seen[i], sizeof(peer->seen[i]))) {
			close(fd);
			fd = -1;
			continue;
		}
		bytes = peer->answer_bytes[i] ? peer->answer_bytes[i] : strlen(peer->answers[i]);
		if (write(fd, peer->answers[i], bytes) < 0)
			break;
		if (!i && peer->close_between) {
			close(fd);
			fd = -1;
		}
		i++;
	}
	close(fd);
	return NULL;
}

static inline void peer_start(struct peer *peer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(peer->path, sizeof(peer->path), "/tmp/wick-client-%d", (int)getpid());
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", peer->path);
	peer->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)unlink(peer->path);
	EQ(bind(peer->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	EQ(listen(peer->fd, 5), 0);
	EQ(pthread_create(&peer->thread, NULL, peer_run, peer), 0);
}

static inline void peer_stop(struct peer *peer)
{
	EQ(pthread_join(peer->thread, NULL), 0);
	close(peer->fd);
	EQ(unlink(peer->path), 0);
}

#endif
