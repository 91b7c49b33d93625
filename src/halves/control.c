// SPDX-License-Identifier: Apache-2.0
#include "halves/control.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/lock.h"
#include "exe/reader_protocol.h"

#define MAGIC 0x77696332u
#define TEXTS_MAX 4096
#define TEXTS_BYTES_MAX (1u << 20)

int control_check(const struct control_message *message, size_t bytes)
{
	if (bytes != sizeof(*message) || message->magic != MAGIC)
		return -EBADMSG;
	if (!message->kind || message->kind >= CONTROL_KINDS || message->error > 0 || message->error < -4095 ||
	    message->pid < 0)
		return -EBADMSG;
	return memchr(message->text, 0, sizeof(message->text)) ? 0 : -EBADMSG;
}

int control_send(int socket_fd, enum control_kind kind, int error, s32 pid, const char *text, int fd)
{
	struct control_message message = { .magic = MAGIC, .kind = kind, .error = error, .pid = pid };

	strncpy(message.text, text, sizeof(message.text) - 1);
	return reader_send(socket_fd, &message, sizeof(message), &fd, fd >= 0);
}

int control_receive(int socket_fd, struct control_message *ret_message, int *ret_fd)
{
	int fds[READER_FILES];
	u32 fd_count = 0;
	ssize_t got = reader_receive(socket_fd, ret_message, sizeof(*ret_message), fds, &fd_count);
	int r = got <= 0 ? (int)got : control_check(ret_message, (size_t)got);
	bool is_taken = r == 0 && got > 0 && fd_count == 1;

	*ret_fd = is_taken ? fds[0] : -1;
	for (u32 i = is_taken; i < fd_count; i++)
		close(fds[i]);
	if (got > 0 && r == 0)
		r = fd_count > 1 ? -EBADMSG : 1;
	return r;
}

void control_init(struct control *control, int fd)
{
	control->fd = fd;
	pthread_mutex_init(&control->lock, NULL);
	pthread_mutex_init(&control->texts_lock, NULL);
	arena_init(&control->arena, TEXTS_BYTES_MAX);
	interner_init(&control->texts, &control->arena, TEXTS_MAX);
}

void control_done(struct control *control)
{
	interner_done(&control->texts);
	arena_done(&control->arena);
	pthread_mutex_destroy(&control->texts_lock);
	pthread_mutex_destroy(&control->lock);
	closep(&control->fd);
}

const char *control_keep_text(struct control *control, const char *text)
{
	u32 number;

	LOCKED(&control->texts_lock);
	number = interner_add(&control->texts, text, strlen(text) + 1, NULL);
	return number == INTERNER_NONE ? NULL : interner_get(&control->texts, number)->at;
}

/* Waits for the answer, or for who wants none any more. */
static int await(int fd, int stop_fd)
{
	struct pollfd wait[2] = { { .fd = fd, .events = POLLIN }, { .fd = stop_fd, .events = POLLIN } };

	while (poll(wait, 2, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return wait[1].revents ? -ECANCELED : 0;
}

/* Answers to questions that nobody waited for any more. */
static void drain(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct control_message message;
	int passed = -1;

	while (fd >= 0 && poll(&wait, 1, 0) == 1 && control_receive(fd, &message, &passed) == 1)
		closep(&passed);
}

int control_connect(struct control *control, const char *id, int stop_fd, int *ret_fd, struct buf *why)
{
	struct control_message message = { 0 };
	int fd = -1, r;

	if (!control) {
		buf_addf(why, "this process gave up what sampling needs when it was started without the receiver "
			      "`profiling`; start wick again");
		return -EPERM;
	}
	LOCKED(&control->lock);
	drain(control->fd);
	r = control->fd < 0 ? -ENODEV : control_send(control->fd, CONTROL_SAMPLER, 0, 0, id, -1);
	if (r == 0)
		r = await(control->fd, stop_fd);
	if (r == 0)
		r = control_receive(control->fd, &message, &fd);
	if (r == 0)
		r = -EPIPE;
	if (r == 1)
		r = message.kind != CONTROL_SAMPLER || (!message.error && fd < 0) ? -EBADMSG : message.error;
	if (r == 0) {
		*ret_fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	buf_addf(why, "%s", r == message.error && *message.text ? message.text : strerror(-r));
	return r;
}
