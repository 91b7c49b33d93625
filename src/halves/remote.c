// SPDX-License-Identifier: Apache-2.0
#include "halves/remote.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/lock.h"
#include "exe/reader_protocol.h"
#include "halves/channel.h"
#include "halves/control.h"

#define METRIC_PREFIX "wick_profiler_"
#define STOP_NS 3000000000ull	/* for the last window */

struct remote {
	struct control *control;
	char id[CONTROL_ID_MAX];
	int fd;				/* -1: not connected */
	int stop_fd;			/* readable once it is to stop */
	_Atomic u64 stop_deadline_ns;	/* 0: it is not */
	u64 stop_wanted_ns;		/* when the last window was asked for, 0: not yet */
	u64 wanted_ns;			/* as it was told last */
	char message[CHANNEL_MESSAGE_MAX];
	void (*boosted)(void *arg, const struct boost_event *event);	/* or NULL */
	void *boosted_arg;

	pthread_mutex_t lock;	/* of what follows, and of a change of fd */
	struct counter_value counters[COUNTER_VALUES_MAX];
	size_t counter_count;
};

int remote_reconnect(struct remote *remote, struct buf *why)
{
	int fd = -1, r = control_connect(remote->control, remote->id, remote->stop_fd, &fd, why);

	if (r < 0)
		return r;
	LOCKED(&remote->lock);
	remote->fd = fd;
	remote->wanted_ns = UINT64_MAX;
	return 0;
}

int remote_open(struct control *control, const char *id, struct remote **ret_remote, struct buf *why)
{
	_cleanup_(remote_freep) struct remote *remote = calloc(1, sizeof(*remote));
	int r;

	if (!remote)
		return -ENOMEM;
	remote->control = control;
	remote->fd = -1;
	pthread_mutex_init(&remote->lock, NULL);
	remote->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (remote->stop_fd < 0)
		return -errno;
	if (snprintf(remote->id, sizeof(remote->id), "%s", id) >= (int)sizeof(remote->id)) {
		buf_addf(why, "its name is longer than %d", CONTROL_ID_MAX - 1);
		return -ENAMETOOLONG;
	}
	r = remote_reconnect(remote, why);
	if (r < 0)
		return r;
	*ret_remote = TAKE(remote);
	return 0;
}

static void disconnect(struct remote *remote)
{
	LOCKED(&remote->lock);
	closep(&remote->fd);
	remote->fd = -1;
}

void remote_free(struct remote *remote)
{
	if (!remote)
		return;
	disconnect(remote);
	closep(&remote->stop_fd);
	pthread_mutex_destroy(&remote->lock);
	free(remote);
}

/* ---- Counters ---------------------------------------------------------------------- */

/* NULL stays; false: there is no room for one more. Each is kept behind the prefix that makes a name a metric's. */
static bool keep_text(struct remote *remote, const char **text)
{
	char prefixed[sizeof(METRIC_PREFIX) + CHANNEL_TEXT_MAX];
	const char *kept;

	if (!*text)
		return true;
	snprintf(prefixed, sizeof(prefixed), METRIC_PREFIX "%s", *text);
	kept = control_keep_text(remote->control, prefixed);
	*text = kept ? kept + sizeof(METRIC_PREFIX) - 1 : NULL;
	return kept;
}

static int take_counters(struct remote *remote, const struct channel_frame *frame)
{
	struct counter_value values[COUNTER_VALUES_MAX];
	_cleanup_(freep) char *strings = NULL;
	size_t count = 0;
	int r = channel_counters(frame, values, &count, &strings);

	if (r < 0)
		return r;
	LOCKED(&remote->lock);
	for (size_t i = 0; i < count; i++)
		if (!keep_text(remote, &values[i].name) || !keep_text(remote, &values[i].text) ||
		    !keep_text(remote, &values[i].of) || !keep_text(remote, &values[i].label))
			return -EBADMSG;
	memcpy(remote->counters, values, count * sizeof(*values));
	remote->counter_count = count;
	return 0;
}

const char *remote_metric_name(const struct counter_value *value)
{
	return value->name - (sizeof(METRIC_PREFIX) - 1);
}

size_t remote_counters(struct remote *remote, struct counter_value *ret_values, size_t count_max)
{
	size_t count;

	LOCKED(&remote->lock);
	count = remote->counter_count < count_max ? remote->counter_count : count_max;
	memcpy(ret_values, remote->counters, count * sizeof(*ret_values));
	return count;
}

/* ---- Messages ---------------------------------------------------------------------- */

static int take_window(const struct channel_frame *frame, int otlp_fd, struct remote_window *ret_window)
{
	struct channel_window window = channel_window(frame);
	void *otlp = NULL;
	int r = window.bytes ? reader_unpack(otlp_fd, window.bytes, &otlp) : 0;

	if (r < 0)
		return r;
	ret_window->end_ns = window.end_ns;
	buf_init(&ret_window->otlp, CHANNEL_WINDOW_MAX);
	ret_window->otlp.data = otlp;
	ret_window->otlp.len = ret_window->otlp.cap = window.bytes;
	return 1;
}

static int take_boosted(struct remote *remote, const struct channel_frame *frame)
{
	struct boost_event event;
	int r = channel_boosted(frame, &event);

	if (r == 0 && remote->boosted)
		remote->boosted(remote->boosted_arg, &event);
	return r;
}

/* 1: a window; 0: something else; -EAGAIN: nothing has come; -ENOTCONN. */
static int next_one(struct remote *remote, struct remote_window *ret_window)
{
	struct pollfd wait = { .fd = remote->fd, .events = POLLIN };
	int fds[READER_FILES], r;
	struct channel_frame frame;
	u32 fd_count = 0;
	ssize_t got;

	if (poll(&wait, 1, 0) != 1)
		return -EAGAIN;
	got = reader_receive(remote->fd, remote->message, sizeof(remote->message), fds, &fd_count);
	r = got <= 0 ? -ENOTCONN : channel_parse(CHANNEL_SERVICE, remote->message, (size_t)got, fd_count, &frame);
	if (r == 0 && frame.kind == CHANNEL_WINDOW)
		r = take_window(&frame, fds[0], ret_window);
	else if (r == 0 && frame.kind == CHANNEL_BOOSTED)
		r = take_boosted(remote, &frame);
	else if (r == 0)
		r = take_counters(remote, &frame);
	for (u32 i = 0; i < fd_count; i++)
		close(fds[i]);
	return r;
}

static int next(struct remote *remote, struct remote_window *ret_window)
{
	int r;

	do
		r = next_one(remote, ret_window);
	while (r == 0);
	return r == -EAGAIN ? 0 : r;
}

/* ---- For the receiver ---------------------------------------------------------------- */

static void tell_wanted(struct remote *remote, u64 wanted_ns)
{
	_cleanup_(buf_done) struct buf out;

	buf_init(&out, 64);
	if (remote->fd < 0 || wanted_ns == remote->wanted_ns)
		return;
	remote->wanted_ns = wanted_ns;
	channel_add_wanted(&out, wanted_ns);
	/* Should it not listen, it will do without. */
	if (buf_err(&out) == 0)
		(void)send(remote->fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What was asked to stop is over when the window that was open then has come, or at the deadline. */
static bool is_over(struct remote *remote, u64 deadline_ns, const struct remote_window *window)
{
	return monotonic_ns() >= deadline_ns || (window && window->end_ns >= remote->stop_wanted_ns);
}

static void ask_for_last(struct remote *remote)
{
	if (remote->stop_wanted_ns)
		return;
	remote->stop_wanted_ns = monotonic_ns();
	tell_wanted(remote, remote->stop_wanted_ns);
}

static int wait_for_bytes(struct remote *remote, int timeout_ms, bool is_stopping)
{
	struct pollfd wait[2] = { { .fd = remote->fd, .events = POLLIN },
				  { .fd = is_stopping ? -1 : remote->stop_fd, .events = POLLIN } };

	return poll(wait, 2, timeout_ms) < 0 && errno != EINTR ? -errno : 0;
}

int remote_next(struct remote *remote, int timeout_ms, struct remote_window *ret_window)
{
	u64 deadline_ns = atomic_load(&remote->stop_deadline_ns);
	int r;

	if (remote->fd < 0)
		return deadline_ns ? -ENODATA : -ENOTCONN;
	if (deadline_ns) {
		if (remote->stop_wanted_ns == UINT64_MAX || is_over(remote, deadline_ns, NULL))
			return -ENODATA;
		ask_for_last(remote);
	}
	r = next(remote, ret_window);
	if (r == 0 && (r = wait_for_bytes(remote, timeout_ms, deadline_ns)) == 0)
		r = next(remote, ret_window);
	if (r == 1 && deadline_ns && is_over(remote, deadline_ns, ret_window))
		remote->stop_wanted_ns = UINT64_MAX;	/* this was the last */
	if (r < 0 && r != -ENOMEM)
		disconnect(remote);
	return r;
}

bool remote_pause(struct remote *remote, int ms)
{
	struct pollfd wait = { .fd = remote->stop_fd, .events = POLLIN };

	return poll(&wait, 1, ms) == 1;
}

void remote_want(struct remote *remote, u64 wanted_ns)
{
	if (!atomic_load(&remote->stop_deadline_ns))
		tell_wanted(remote, wanted_ns);
}

int remote_boost(struct remote *remote, const struct boost *boost)
{
	_cleanup_(buf_done) struct buf out;
	ssize_t sent;

	buf_init(&out, CHANNEL_HEARD_MAX);
	channel_add_boost(&out, boost);
	if (buf_err(&out) < 0)
		return buf_err(&out);
	LOCKED(&remote->lock);
	if (remote->fd < 0)
		return -ENOTCONN;
	sent = send(remote->fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent < 0 ? -errno : 0;
}

void remote_on_boosted(struct remote *remote, void (*boosted)(void *arg, const struct boost_event *event), void *arg)
{
	remote->boosted = boosted;
	remote->boosted_arg = arg;
}

void remote_stop(struct remote *remote, u64 deadline_ns)
{
	u64 most = monotonic_ns() + STOP_NS, one = 1;

	atomic_store(&remote->stop_deadline_ns, deadline_ns && deadline_ns < most ? deadline_ns : most);
	(void)!write(remote->stop_fd, &one, sizeof(one));
}
