// SPDX-License-Identifier: Apache-2.0
#include "halves/sampling.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "exe/reader_protocol.h"
#include "halves/channel.h"
#include "halves/control.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"

#define LOOK_MS 100
#define WHY_MAX 1024
#define HEARD_MAX 32		/* messages each time round: who talks without end is not listened to more */

/* A window until it is sent. */
struct kept {
	struct channel_window window;
	int otlp_fd;		/* -1: there is none */
};

struct sampling {
	struct agent *agent;
	int control_fd, data_fd;
	_Atomic u64 wanted_ns;
	struct kept kept[SAMPLING_KEPT];	/* the oldest first */
	u32 kept_count;
	u64 dropped;
	struct boost_mail boosts;	/* what is to be said of them */
	bool ends_when_left, is_left;
	u64 beat_ns, beat_due_ns;	/* see tell_alive() */
	u64 rounds;			/* of the tracer, when that was told last */
	enum obi_state obi;		/* as it was told */
};

static const char *const self = "sampler";

/* ---- Windows, until they are sent ---------------------------------------------------- */

static void forget_first(struct sampling *s)
{
	closep(&s->kept[0].otlp_fd);
	memmove(s->kept, s->kept + 1, --s->kept_count * sizeof(*s->kept));
}

static void keep(struct sampling *s, struct kept kept)
{
	if (s->kept_count == SAMPLING_KEPT) {
		forget_first(s);
		s->dropped++;
		log_warn(self, "nobody takes what is sampled: %llu windows were left out so far",
			 (unsigned long long)s->dropped);
	}
	s->kept[s->kept_count++] = kept;
}

static void take(struct sampling *s, const struct profile *profile)
{
	struct kept kept = { { agent_end_ns(s->agent), 0 }, -1 };
	_cleanup_(buf_done) struct buf otlp;
	int r = 0;

	buf_init(&otlp, CHANNEL_WINDOW_MAX);
	if (profile_samples(profile)) {
		r = otlp_encode(profile, &otlp);
		if (r == 0)
			r = reader_pack(otlp.data, otlp.len, &kept.otlp_fd);
	}
	kept.window.bytes = r < 0 ? 0 : (u32)otlp.len;
	if (r < 0)
		log_warn(self, "a profile is left out: %s", strerror(-r));
	keep(s, kept);
}

/* ---- The service --------------------------------------------------------------------- */

static void detach(struct sampling *s)
{
	if (s->data_fd >= 0) {
		close(s->data_fd);
		s->is_left = true;
		(void)agent_unboost(s->agent, 0);	/* never refused */
		s->boosts.event_count = 0;
	}
	s->data_fd = -1;
	atomic_store(&s->wanted_ns, UINT64_MAX);
}

static void attach(struct sampling *s, int fd, s32 service_pid)
{
	detach(s);
	s->data_fd = fd;
	agent_note_companions(s->agent, getppid(), service_pid);
}

/* The counters as they are now, and the window. -EAGAIN: there is no room, it comes later. */
static int send_first(struct sampling *s)
{
	struct counter_value values[COUNTER_VALUES_MAX];
	const struct kept *kept = &s->kept[0];
	_cleanup_(buf_done) struct buf counters, window;
	int r;

	buf_init(&counters, CHANNEL_MESSAGE_MAX);
	buf_init(&window, CHANNEL_MESSAGE_MAX);
	channel_add_counters(&counters, values, agent_counters(s->agent, values, COUNTER_VALUES_MAX));
	channel_add_window(&window, kept->window);
	r = buf_err(&window);
	/* Should they not fit, the window comes without. */
	if (r == 0 && buf_err(&counters) == 0)
		r = reader_send(s->data_fd, counters.data, counters.len, NULL, 0);
	if (r == 0)
		r = reader_send(s->data_fd, window.data, window.len, &kept->otlp_fd, kept->otlp_fd >= 0);
	return r;
}

static void send_kept(struct sampling *s)
{
	int r = 0;

	while (s->kept_count && s->data_fd >= 0 && r == 0) {
		r = send_first(s);
		if (r == 0)
			forget_first(s);
		else if (r != -EAGAIN && r != -ENOMEM)
			detach(s);
	}
}

/* What became of boosts; what is not heard now is told again. */
static void send_boosted(struct sampling *s)
{
	struct boost_event events[BOOST_EVENTS_MAX];
	u32 count = agent_boost_events(s->agent, events), sent = 0;
	int r = 0;

	for (u32 i = 0; i < count; i++) {
		/* Not those that are refused: somebody may ask for them without end. */
		if (events[i].outcome < BOOST_REFUSED)
			log_info(self, "boost %u: %s", events[i].id, boost_outcome_text(events[i].outcome));
		if (s->data_fd >= 0)
			boost_mail_tell(&s->boosts, &events[i]);
	}
	while (sent < s->boosts.event_count && s->data_fd >= 0 && r == 0) {
		_cleanup_(buf_done) struct buf out;

		buf_init(&out, CHANNEL_HEARD_MAX);
		channel_add_boosted(&out, &s->boosts.events[sent]);
		r = buf_err(&out);
		if (r == 0)
			r = reader_send(s->data_fd, out.data, out.len, NULL, 0);
		sent += r == 0;
	}
	s->boosts.event_count -= sent;
	memmove(s->boosts.events, s->boosts.events + sent, s->boosts.event_count * sizeof(s->boosts.events[0]));
}

static int hear_boost(struct sampling *s, const struct channel_frame *frame)
{
	struct boost boost;
	int r = channel_boost(frame, &boost);

	if (r < 0)
		return r;
	r = boost.hz ? agent_boost(s->agent, &boost) : agent_unboost(s->agent, boost.id);
	if (r < 0 && boost.hz)
		boost_mail_tell(&s->boosts, &(struct boost_event){ boost.id, BOOST_SOON, 0 });
	return 0;
}

/* Whatever else it says is the last that is heard of it. 0: it said nothing. */
static int hear_one(struct sampling *s)
{
	struct pollfd wait = { .fd = s->data_fd, .events = POLLIN };
	struct channel_frame frame;
	int fds[READER_FILES], r;
	u32 fd_count = 0;
	char message[CHANNEL_HEARD_MAX];
	ssize_t got;

	if (s->data_fd < 0 || poll(&wait, 1, 0) != 1)
		return 0;
	got = reader_receive(s->data_fd, message, sizeof(message), fds, &fd_count);
	for (u32 i = 0; i < fd_count; i++)
		close(fds[i]);
	r = got <= 0 ? -EPIPE : channel_parse(CHANNEL_SAMPLER, message, (size_t)got, fd_count, &frame);
	if (r == 0 && frame.kind == CHANNEL_WANTED)
		atomic_store(&s->wanted_ns, channel_wanted(&frame));
	else if (r == 0)
		r = hear_boost(s, &frame);
	if (r < 0)
		detach(s);
	return r == 0;
}

static void hear(struct sampling *s)
{
	for (int i = 0; i < HEARD_MAX && hear_one(s); i++)
		;
}

/* ---- The supervisor ------------------------------------------------------------------ */

/* Rules that cannot be read change nothing: the supervisor has checked what it sends. */
static void take_rules(struct sampling *s, int fd)
{
	struct process_choice *choice = NULL;
	_cleanup_(buf_done) struct buf text, why;
	int r;

	buf_init(&text, PROCESS_CHOICE_BYTES_MAX);
	buf_init(&why, WHY_MAX);
	r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : io_read_whole(fd, &text);
	if (r >= 0)
		r = process_choice_read(text.data, text.len, &choice, &why);
	if (r < 0)
		log_warn(self, "the rules stay as they were: %s", why.len ? why.data : strerror(-r));
	else
		agent_choose(s->agent, choice);
}

/* False: it is gone. */
static bool obey(struct sampling *s)
{
	struct pollfd wait = { .fd = s->control_fd, .events = POLLIN };
	struct control_message message;
	int fd = -1, r;

	if (s->control_fd < 0 || poll(&wait, 1, 0) != 1)
		return true;
	r = control_receive(s->control_fd, &message, &fd);
	if (r == 1 && message.kind == CONTROL_ATTACH && fd >= 0) {
		attach(s, fd, message.pid);
		fd = -1;
	} else if (r == 1 && message.kind == CONTROL_RULES && fd >= 0) {
		take_rules(s, fd);
	}
	closep(&fd);
	return r == 1;
}

static bool is_told_to_stop(void)
{
	struct timespec now = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	return sigtimedwait(&set, NULL, &now) == SIGTERM;
}

/* This thread goes round; it says so when the one that takes samples has, too. */
static void tell_alive(struct sampling *s)
{
	u64 now = monotonic_ns(), rounds = agent_rounds(s->agent);

	if (!s->beat_ns || now < s->beat_due_ns || rounds == s->rounds || s->control_fd < 0)
		return;
	s->rounds = rounds;
	s->beat_due_ns = now + s->beat_ns;
	(void)control_send(s->control_fd, CONTROL_ALIVE, 0, 0, "", -1);
}

static void tell_of_obi(struct sampling *s)
{
	enum obi_state state = agent_obi(s->agent);

	if (state == s->obi)
		return;
	s->obi = state;
	if (state == OBI_REFUSED)
		log_warn(self, "what is pinned as %s is left alone: it is no map of OBI's, an LRU hash with keys of 8 "
			 "bytes and values of 24", OBI_MAP_NAME);
	else
		log_info(self, "OBI's map of threads, %s, is %s", OBI_MAP_NAME, state == OBI_USED ? "read" : "gone");
}

/* ---- All of it ----------------------------------------------------------------------- */

static u64 wanted_ns(void *arg)
{
	struct sampling *s = arg;

	return atomic_load(&s->wanted_ns);
}

static int serve(struct sampling *s)
{
	for (;;) {
		_cleanup_(profile_freep) struct profile *profile = NULL;
		int r = agent_next(s->agent, LOOK_MS, &profile);

		if (r == 1)
			take(s, profile);
		else if (r == -ENOMEM || r == -E2BIG)
			log_warn(self, "a profile is left out: %s", strerror(-r));
		else if (r < 0)
			return r == -ENODATA ? 0 : r;
		if (!obey(s) || is_told_to_stop() || (s->ends_when_left && s->is_left)) {
			s->control_fd = -1;	/* nobody attaches any more */
			agent_stop(s->agent);
		}
		hear(s);
		send_boosted(s);
		send_kept(s);
		tell_alive(s);
		tell_of_obi(s);
	}
}

static void finish(struct sampling *s)
{
	send_kept(s);
	detach(s);
	while (s->kept_count)
		forget_first(s);
	agent_free(s->agent);
}

int sampling_main(const struct sampling_options *options)
{
	struct sampling s = { .control_fd = options->control_fd, .data_fd = -1, .wanted_ns = UINT64_MAX,
			      .ends_when_left = options->ends_when_left, .beat_ns = options->beat_ns };
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, WHY_MAX);
	options->agent->wanted_ns = wanted_ns;
	options->agent->wanted_arg = &s;
	r = options->confine(&why);
	if (r == 0)
		r = agent_start(options->agent, &s.agent, &why);
	(void)control_send(options->control_fd, r < 0 ? CONTROL_FAILED : CONTROL_READY, r, 0,
			   r < 0 && why.len ? why.data : "", -1);
	if (r == 0) {
		r = serve(&s);
		if (r < 0)
			log_error(self, "sampling has ended: %s", strerror(-r));
	}
	finish(&s);
	return r < 0;
}
