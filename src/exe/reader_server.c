// SPDX-License-Identifier: Apache-2.0
/* The reader process: takes a request, parses the files that came with it, answers, forgets them. */
#include "exe/reader_protocol.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include "exe/confine.h"
#include "exe/elf.h"
#include "exe/identify.h"

/* Freed memory above this goes back to the kernel: the process is idle most of its life. */
#define KEPT_BYTES (256 << 10)

struct answer {
	void *at;
	size_t bytes;
};

/* Open files of a request, -1 where there is none. */
struct files {
	int fd[READER_FILES];
};

static int answer_identify(const struct files *files, struct answer *ret_answer)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct exe_info *info;
	int r = exe_map(files->fd[READER_EXE], &exe);

	if (r < 0)
		return r;
	info = calloc(1, sizeof(*info));
	if (!info)
		return -ENOMEM;
	exe_identify(exe, info);
	*ret_answer = (struct answer){ info, sizeof(*info) };
	return 0;
}

static int answer_request(const struct reader_request *request, const struct files *files, struct answer *ret_answer)
{
	switch (request->op) {
	case READER_IDENTIFY:
		return answer_identify(files, ret_answer);
	default:
		return -EOPNOTSUPP;
	}
}

static int send_answer(int socket_fd, int error, const struct answer *answer)
{
	struct reader_reply reply = { .error = error, .bytes = error ? 0 : answer->bytes };
	_cleanup_(closep) int fd = -1;

	if (!reply.error && answer->bytes > READER_ANSWER_MAX)
		reply = (struct reader_reply){ .error = -E2BIG };
	if (!reply.error)
		reply.error = reader_pack(answer->at, answer->bytes, &fd);
	return reader_send(socket_fd, &reply, sizeof(reply), &fd, reply.error ? 0 : 1);
}

/* Should the agent be gone while a file keeps us busy, nobody else would end us. */
static void set_alarm(unsigned seconds)
{
	struct itimerval timer = { .it_value.tv_sec = seconds };

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* 1 after a request was answered, 0 when there will be no more, or -errno. */
static int serve_request(int socket_fd)
{
	struct files files = { { -1, -1, -1 } };
	struct answer answer = { 0 };
	struct reader_request request;
	int fds[READER_FILES], r;
	u32 fd_count = 0, next = 0;
	ssize_t got = reader_receive(socket_fd, &request, sizeof(request), fds, &fd_count);

	if (got <= 0)
		return got;
	r = reader_request_check(&request, got, fd_count);
	if (r < 0)
		return r;
	for (int place = 0; place < READER_FILES; place++)
		if (request.files & 1u << place)
			files.fd[place] = fds[next++];
	set_alarm(2 * READER_SECONDS);
	r = answer_request(&request, &files, &answer);
	for (u32 i = 0; i < fd_count; i++)
		close(fds[i]);
	r = send_answer(socket_fd, r, &answer);
	free(answer.at);
	set_alarm(0);
	return r < 0 ? r : 1;
}

int reader_server_main(int socket_fd)
{
	/* Ctrl-C and systemd's SIGTERM reach us too, but the agent still has names to ask for: the end is its to say. */
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	struct reader_hello hello = { .magic = READER_HELLO_MAGIC };
	bool seccomp = false;
	int r;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	(void)prctl(PR_SET_NAME, READER_ARGV0);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	r = confine(&seccomp);
	if (r < 0)
		return 1;
	hello.seccomp = seccomp;
	r = reader_send(socket_fd, &hello, sizeof(hello), NULL, 0);
	while (r >= 0) {
		r = serve_request(socket_fd);
		if (r == 0)
			return 0;
	}
	return 1;
}
