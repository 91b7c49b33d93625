// SPDX-License-Identifier: Apache-2.0
#include "cmd/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/activation.h"
#include "cmd/command.h"
#include "cmd/components.h"
#include "cmd/notify.h"
#include "cmd/privilege.h"
#include "cmd/watch.h"
#include "extensions/self_profile.h"
#include "exe/reader_protocol.h"
#include "halves/control.h"
#include "halves/sampling.h"
#include "net/passed.h"
#include "pipeline/plan.h"
#include "pipeline/telemetry.h"
#include "receivers/profiling_options.h"
#include "tracer/tracepoint.h"

#define SERVICE_FD 3
#define SERVICE_VARIABLE "WICK_SERVICE"
#define SERVICE_VALUE "supervised"
#define SAMPLERS_MAX 8
#define SETTLED_NS 10000000000ull	/* what lived so long is started again at once */
#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS 10000
#define QUESTIONS_MAX 50		/* of the service for a connection, in a second */
#define LEAVE_MS 5000			/* for a sampler to send what it has */
#define STOP_MS 5000			/* for samplers that were killed, and those that a reload has left */

static const char *const self = "supervisor";

/* A child, or the pause before it is started again. */
struct half {
	pid_t pid;		/* 0: none */
	int control_fd;
	u64 started_ns, again_ns;	/* again_ns: when it is to be started, 0: not */
	u64 alive_ns;			/* when it last showed that it goes on; 0: it was never started */
	u32 pause_ms;
	bool is_ready;
};

struct sampler_half {
	struct half half;
	const struct plan_component *owner;	/* of the plan: a receiver, or the extension that shows wick itself */
	bool is_asked;				/* the service waits for a connection */
	bool is_failed, is_told;		/* it could not start; the service knows why */
	int error;
	char why[CONTROL_TEXT_MAX];
};

struct supervisor {
	const struct supervisor_options *options;
	struct config *config;
	struct plan *plan;
	struct half service;
	struct sampler_half samplers[SAMPLERS_MAX];
	u32 sampler_count;
	pid_t leaving[SAMPLERS_MAX];		/* of the configuration before; 0: none. Others wait for them */
	u64 leaving_ns;				/* since when */
	int signal_fd, log_fd;
	bool has_served;			/* the service was ready once */
	bool is_stopping, is_reloading;
	bool is_stale;				/* the service has refused the newest configuration */
	int status;				/* of the service, when all is over */
	u64 questions_ns;			/* the second that is counted */
	u32 questions;
};

/* ---- The configuration ---------------------------------------------------------------- */

static bool is_profiling(const struct plan_component *component)
{
	return component->kind == COMPONENT_RECEIVER && component->used && component->ops &&
	       !strcmp(component->ops->type, "profiling");
}

/* Its profile of wick itself is sampled when somebody asks for it. */
static bool is_self(const struct plan_component *component)
{
	return component->kind == COMPONENT_EXTENSION && component->used && component->ops &&
	       !strcmp(component->ops->type, "pprof");
}

static const char *sampler_id(const struct plan_component *owner)
{
	return is_self(owner) ? SELF_PROFILE_ID : owner->id;
}

static int make_plan(const struct config *config, struct plan **ret_plan)
{
	struct config_errors errors;
	int r;

	config_errors_init(&errors);
	r = plan_make(&components, config, &errors, ret_plan);
	config_errors_done(&errors);
	return r;
}

bool supervisor_is_needed(const struct config *config)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;

	if (make_plan(config, &plan) < 0)
		return false;
	for (u32 i = 0; i < plan->component_count; i++)
		if (is_profiling(&plan->components[i]) || is_self(&plan->components[i]))
			return true;
	return false;
}

/* ---- Children --------------------------------------------------------------------------- */

/* In the child: what the parent has of others is not its. */
static void leave_parent(const struct supervisor *s, int control_fd)
{
	sigset_t none;

	(void)setpgid(0, 0);	/* Ctrl-C is for the supervisor, which tells the service once */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(s->signal_fd);
	notify_close(s->options->notify);
	if (s->service.control_fd >= 0)
		close(s->service.control_fd);
	for (u32 i = 0; i < s->sampler_count; i++)
		if (s->samplers[i].half.control_fd >= 0)
			close(s->samplers[i].half.control_fd);
	(void)fcntl(control_fd, F_SETFL, 0);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static const struct confinement *sampler_confinement;	/* in the child */

static int confine_child(struct buf *why)
{
	int r = confine_sampler(sampler_confinement, why);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);	/* again: a change of rights undoes it */
	return r;
}

/* In the child. */
static struct agent_options sampler_options(const struct supervisor *s, const struct plan_component *owner)
{
	static pid_t pids[SAMPLERS_MAX + 1];
	struct agent_options options;
	struct buf why;

	if (!is_self(owner)) {
		options = profiling_agent_options(owner->options, s->options->cpu_percent);
		buf_init(&why, CONTROL_TEXT_MAX);
		(void)profiling_kinds(owner->options, &options.tracer.kinds, &why);	/* was checked */
		return options;
	}
	options = self_profile_options();
	pids[options.tracer.pid_count++] = s->service.pid;
	for (u32 i = 0; i < s->sampler_count; i++)
		if (s->samplers[i].half.pid)
			pids[options.tracer.pid_count++] = s->samplers[i].half.pid;
	options.tracer.pids = pids;
	return options;
}

static _Noreturn void become_sampler(const struct supervisor *s, const struct sampler_half *sampler, int control_fd)
{
	struct agent_options options = sampler_options(s, sampler->owner);
	static struct confinement confinement;
	sigset_t set;

	leave_parent(s, control_fd);
	passed_done(s->options->passed);	/* it takes no connections */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)prctl(PR_SET_NAME, "wick: sampler");
	confinement = *s->options->confinement;
	confinement.has_user_probes = kind_choices_have_user_probes(&options.tracer.kinds);
	sampler_confinement = &confinement;
	_exit(sampling_main(&(struct sampling_options){ &options, is_self(sampler->owner), control_fd,
							notify_beat_ns(s->options->notify), confine_child }));
}

/* The same program with the same arguments: it has an address space of its own, and loads the configuration itself. */
static _Noreturn void become_service(const struct supervisor *s, int control_fd)
{
	leave_parent(s, control_fd);
	if (dup2(control_fd, SERVICE_FD) < 0 || setenv(SERVICE_VARIABLE, SERVICE_VALUE, 1) < 0)
		_exit(127);
	(void)fcntl(SERVICE_FD, F_SETFD, 0);
	notify_hand_over(s->options->notify);
	if (activation_hand_over(s->options->passed, SERVICE_FD + 1) < 0)
		_exit(127);
	(void)close_range(SERVICE_FD + 1 + s->options->passed->count, ~0u, 0);
	execv("/proc/self/exe", command_arguments);
	_exit(127);
}

/* sampler NULL: the service. */
static int start_half(struct supervisor *s, struct half *half, struct sampler_half *sampler)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		close(pair[0]);
	if (pid == 0 && sampler)
		become_sampler(s, sampler, pair[1]);
	if (pid == 0)
		become_service(s, pair[1]);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -EAGAIN;
	}
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	half->pid = pid;
	half->control_fd = pair[0];
	half->started_ns = monotonic_ns();
	half->again_ns = 0;
	half->is_ready = false;
	return 0;
}

static void start_or_pause(struct supervisor *s, struct half *half, struct sampler_half *sampler)
{
	if (!half->alive_ns)
		half->alive_ns = monotonic_ns();
	if (start_half(s, half, sampler) < 0)
		half->again_ns = monotonic_ns() + PAUSE_MAX_MS * 1000000ull;
}

static void close_control(struct half *half)
{
	closep(&half->control_fd);
	half->control_fd = -1;
}

/* It is gone: start it again, the sooner the longer it lived. */
static void plan_restart(struct half *half)
{
	u64 now = monotonic_ns();

	half->pid = 0;
	half->is_ready = false;
	close_control(half);
	if (now - half->started_ns >= SETTLED_NS || !half->pause_ms)
		half->pause_ms = PAUSE_FIRST_MS;
	else if (half->pause_ms < PAUSE_MAX_MS)
		half->pause_ms *= 2;
	half->again_ns = now + half->pause_ms * 1000000ull;
}

/* ---- Connections ---------------------------------------------------------------------------- */

static void answer(struct supervisor *s, struct sampler_half *sampler, int error, const char *why, int fd)
{
	if (sampler)
		sampler->is_asked = false;
	if (s->service.control_fd >= 0)
		(void)control_send(s->service.control_fd, CONTROL_SAMPLER, error, 0, why, fd);
}

static void connect_both(struct supervisor *s, struct sampler_half *sampler)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		answer(s, sampler, -errno, "", -1);
		return;
	}
	r = control_send(sampler->half.control_fd, CONTROL_ATTACH, 0, s->service.pid, "", pair[0]);
	answer(s, sampler, r, "", r < 0 ? -1 : pair[1]);
	close(pair[0]);
	close(pair[1]);
}

/* It is answered when the sampler samples, or does not. */
static void settle_question(struct supervisor *s, struct sampler_half *sampler)
{
	if (!sampler->is_asked)
		return;
	if (sampler->half.is_ready) {
		connect_both(s, sampler);
	} else if (sampler->is_failed && !sampler->is_told) {
		sampler->is_told = true;
		answer(s, sampler, sampler->error, sampler->why, -1);
	}
}

/* A service that was taken over could ask all the time. */
static bool asks_too_much(struct supervisor *s)
{
	u64 now = monotonic_ns();

	if (now - s->questions_ns > 1000000000ull) {
		s->questions_ns = now;
		s->questions = 0;
	}
	return ++s->questions > QUESTIONS_MAX;
}

static void ask_sampler(struct supervisor *s, struct sampler_half *sampler)
{
	sampler->is_asked = true;
	if (is_self(sampler->owner) && !sampler->half.pid) {
		sampler->is_failed = sampler->is_told = false;
		start_or_pause(s, &sampler->half, sampler);
	}
	settle_question(s, sampler);
}

static void hear_service(struct supervisor *s)
{
	struct control_message message;
	int fd = -1, r = control_receive(s->service.control_fd, &message, &fd);

	closep(&fd);
	if (r == -EAGAIN)
		return;
	if (r != 1) {
		close_control(&s->service);	/* it says no more, or nothing that is understood */
		return;
	}
	if (message.kind == CONTROL_READY) {
		s->service.is_ready = s->has_served = true;
		s->is_reloading = false;
		s->is_stale = message.error < 0;
	}
	if (message.kind == CONTROL_READY || message.kind == CONTROL_ALIVE)
		s->service.alive_ns = monotonic_ns();
	if (message.kind != CONTROL_SAMPLER)
		return;
	for (u32 i = 0; i < s->sampler_count && !asks_too_much(s); i++) {
		if (strcmp(sampler_id(s->samplers[i].owner), message.text))
			continue;
		ask_sampler(s, &s->samplers[i]);
		return;
	}
	answer(s, NULL, -ENODEV, "there is no such sampler", -1);
}

static void hear_sampler(struct supervisor *s, struct sampler_half *sampler)
{
	struct control_message message;
	int fd = -1, r = control_receive(sampler->half.control_fd, &message, &fd);

	closep(&fd);
	if (r == -EAGAIN)
		return;
	if (r != 1) {
		close_control(&sampler->half);	/* SIGCHLD follows */
		sampler->half.is_ready = false;
		return;
	}
	sampler->half.alive_ns = monotonic_ns();
	if (message.kind == CONTROL_ALIVE)
		return;
	sampler->half.is_ready = message.kind == CONTROL_READY;
	sampler->is_failed = message.kind == CONTROL_FAILED;
	sampler->error = message.error ? message.error : -EIO;
	memcpy(sampler->why, message.text, sizeof(sampler->why));
	settle_question(s, sampler);
}

/* ---- Samplers ------------------------------------------------------------------------------- */

static void send_rules(const struct sampler_half *sampler)
{
	const struct process_choice_spec rules = profiling_choice(sampler->owner->options);
	_cleanup_(closep) int fd = -1;
	_cleanup_(buf_done) struct buf text;

	buf_init(&text, PROCESS_CHOICE_BYTES_MAX);
	process_choice_write(&rules, &text);
	if (buf_err(&text) < 0 || reader_pack(text.data, text.len, &fd) < 0 ||
	    control_send(sampler->half.control_fd, CONTROL_RULES, 0, 0, "", fd) < 0)
		log_warn(self, "%s: the rules about processes stay as they were", sampler->owner->id);
}

/* One that samples as this receiver wants it, from before, but for rules, which it can be told while it samples. */
static struct sampler_half *find_same(struct sampler_half *samplers, u32 count, const struct plan_component *owner)
{
	for (u32 i = 0; i < count; i++)
		if (samplers[i].owner && !strcmp(sampler_id(samplers[i].owner), sampler_id(owner)) &&
		    (is_self(owner) || node_is_same(samplers[i].owner->node, owner->node, profiling_is_rule)))
			return &samplers[i];
	return NULL;
}

/* It sends what it has and ends; nobody waits for it but those that come after it: no moment is sampled twice. */
static void leave(struct supervisor *s, struct sampler_half *sampler)
{
	if (sampler->half.pid)
		(void)kill(sampler->half.pid, SIGTERM);
	for (u32 i = 0; i < SAMPLERS_MAX && sampler->half.pid; i++)
		if (!s->leaving[i]) {
			s->leaving[i] = sampler->half.pid;
			break;
		}
	s->leaving_ns = monotonic_ns();
	if (sampler->is_asked)
		answer(s, sampler, -ECANCELED, "", -1);
	close_control(&sampler->half);
}

/* Those of the plan: what is as it was goes on. */
static void take_samplers(struct supervisor *s)
{
	struct sampler_half before[SAMPLERS_MAX], *same;
	u32 before_count = s->sampler_count;

	memcpy(before, s->samplers, sizeof(before));
	s->sampler_count = 0;
	for (u32 i = 0; i < s->plan->component_count && s->sampler_count < SAMPLERS_MAX; i++) {
		const struct plan_component *owner = &s->plan->components[i];
		struct sampler_half *sampler = &s->samplers[s->sampler_count];

		if (!is_profiling(owner) && !is_self(owner))
			continue;
		same = find_same(before, before_count, owner);
		*sampler = same ? *same : (struct sampler_half){ .half.control_fd = -1 };
		if (!same && !is_self(owner))
			sampler->half.again_ns = 1;	/* at once */
		sampler->owner = owner;
		if (same)
			same->owner = NULL;	/* taken */
		if (same && !is_self(owner) && sampler->half.control_fd >= 0)
			send_rules(sampler);
		s->sampler_count++;
	}
	for (u32 i = 0; i < before_count; i++)
		if (before[i].owner)
			leave(s, &before[i]);
}

static bool is_any_leaving(const struct supervisor *s)
{
	for (u32 i = 0; i < SAMPLERS_MAX; i++)
		if (s->leaving[i])
			return true;
	return false;
}

/* ---- Signals ---------------------------------------------------------------------------------- */

static void tell_service(struct supervisor *s, int number)
{
	if (s->service.pid)
		(void)kill(s->service.pid, number);
}

static void reload(struct supervisor *s)
{
	struct config *config = NULL;
	struct plan *plan = NULL;
	struct config_errors errors;
	int r;

	config_errors_init(&errors);
	r = config_options_load(s->options->config, &config, &errors);
	if (r == 0)
		r = make_plan(config, &plan);
	config_errors_done(&errors);
	if (r == 0) {
		struct plan *old_plan = s->plan;
		struct config *old_config = s->config;

		s->plan = plan;
		s->config = config;
		take_samplers(s);
		plan_free(old_plan);
		config_free(old_config);
	} else {
		config_free(config);
	}
	s->is_reloading = s->has_served;
	tell_service(s, SIGHUP);	/* who says what is wrong, if anything is */
}

static void take_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload(s);
		if (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM) {
			s->is_stopping = true;
			s->service.again_ns = 0;
			tell_service(s, (int)info.ssi_signo);
		}
	}
}

/* ---- What ended --------------------------------------------------------------------------------- */

static void describe(int status, char *text, size_t bytes)
{
	if (WIFSIGNALED(status))
		snprintf(text, bytes, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, bytes, "exit status %d", WEXITSTATUS(status));
}

static void bury_service(struct supervisor *s, int status)
{
	char text[64];

	s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	plan_restart(&s->service);
	for (u32 i = 0; i < s->sampler_count; i++)
		s->samplers[i].is_asked = false;
	if (!s->has_served || s->is_stopping) {
		s->service.again_ns = 0;
		s->is_stopping = true;
		return;
	}
	describe(status, text, sizeof(text));
	if (s->status == SERVICE_AGAIN)
		s->service.again_ns = monotonic_ns();
	else
		log_error(self, "the service has ended (%s): it is started again", text);
}

static void bury_sampler(struct supervisor *s, struct sampler_half *sampler, int status)
{
	char text[64];

	/* What it last said may still be unread. */
	if (sampler->half.control_fd >= 0 && !sampler->half.is_ready && !sampler->is_failed)
		hear_sampler(s, sampler);
	describe(status, text, sizeof(text));
	if (!sampler->is_failed && (status || !is_self(sampler->owner)))
		log_error(self, "the sampler %s has ended (%s): it is started again", sampler->owner->id, text);
	plan_restart(&sampler->half);
	if (is_self(sampler->owner))
		sampler->half.again_ns = 0;
}

static void bury(struct supervisor *s, pid_t pid, int status)
{
	if (pid == s->service.pid)
		bury_service(s, status);
	for (u32 i = 0; i < s->sampler_count; i++)
		if (pid == s->samplers[i].half.pid)
			bury_sampler(s, &s->samplers[i], status);
	for (u32 i = 0; i < SAMPLERS_MAX; i++)
		if (pid == s->leaving[i])
			s->leaving[i] = 0;
}

static void reap(struct supervisor *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		bury(s, pid, status);
}

/* ---- Whoever watches --------------------------------------------------------------------------------- */

/* One that samples wick itself comes and goes. */
static void tell(struct supervisor *s)
{
	struct watch_part parts[SAMPLERS_MAX + 1] = { { "the service", s->service.alive_ns, s->service.is_ready,
							NULL } };
	struct watch_state state = { monotonic_ns(), s->has_served, s->is_reloading, s->is_stopping, s->is_stale,
				     s->options->patience_ns, parts, 1 };
	char names[SAMPLERS_MAX][CONTROL_ID_MAX];

	for (u32 i = 0; i < s->sampler_count; i++) {
		const struct sampler_half *sampler = &s->samplers[i];

		if (is_self(sampler->owner))
			continue;
		(void)snprintf(names[i], sizeof(names[i]), "the sampler %s", sampler->owner->id);
		parts[state.part_count++] =
			(struct watch_part){ names[i], sampler->half.alive_ns, sampler->half.is_ready,
					     sampler->is_failed ? sampler->why : NULL };
	}
	watch_tell(s->options->notify, &state);
}

/* ---- All of it ------------------------------------------------------------------------------------ */

/* True: there are some to be waited for, but not for ever. */
static bool hurry_leaving(struct supervisor *s)
{
	bool is_late = monotonic_ns() - s->leaving_ns > LEAVE_MS * 1000000ull;

	for (u32 i = 0; is_late && i < SAMPLERS_MAX; i++)
		if (s->leaving[i])
			(void)kill(s->leaving[i], SIGKILL);
	return is_any_leaving(s);
}

static void start_due(struct supervisor *s)
{
	u64 now = monotonic_ns();

	if (s->service.again_ns && now >= s->service.again_ns)
		start_or_pause(s, &s->service, NULL);
	if (hurry_leaving(s))
		return;
	for (u32 i = 0; i < s->sampler_count; i++) {
		struct sampler_half *sampler = &s->samplers[i];

		/* What failed is tried again when somebody asks once more. */
		if (!sampler->half.again_ns || now < sampler->half.again_ns ||
		    (sampler->is_failed && !sampler->is_asked))
			continue;
		sampler->is_failed = sampler->is_told = false;
		start_or_pause(s, &sampler->half, sampler);
	}
}

static int wait_ms(const struct supervisor *s)
{
	u64 first = s->service.again_ns ? s->service.again_ns : UINT64_MAX, now = monotonic_ns();

	for (u32 i = 0; i < s->sampler_count; i++)
		if (s->samplers[i].half.again_ns && s->samplers[i].half.again_ns < first &&
		    (!s->samplers[i].is_failed || s->samplers[i].is_asked))
			first = s->samplers[i].half.again_ns;
	if (first != UINT64_MAX && is_any_leaving(s))
		return LEAVE_MS / 10;	/* or when SIGCHLD comes */
	if (watch_due_ns(s->options->notify) < first)
		first = watch_due_ns(s->options->notify);
	if (first == UINT64_MAX)
		return -1;
	return first <= now ? 0 : (int)((first - now) / 1000000) + 1;
}

static void step(struct supervisor *s)
{
	struct pollfd wait[SAMPLERS_MAX + 2] = { { .fd = s->signal_fd, .events = POLLIN },
						 { .fd = s->service.control_fd, .events = POLLIN } };
	u32 count = s->sampler_count;

	for (u32 i = 0; i < count; i++)
		wait[i + 2] = (struct pollfd){ .fd = s->samplers[i].half.control_fd, .events = POLLIN };
	if (poll(wait, count + 2, wait_ms(s)) < 0)
		return;
	for (u32 i = 0; i < count; i++)
		if (wait[i + 2].revents)
			hear_sampler(s, &s->samplers[i]);
	if (wait[1].revents)
		hear_service(s);
	if (wait[0].revents)
		take_signals(s);
	reap(s);
	start_due(s);
	tell(s);
}

static int listen_to_signals(struct supervisor *s)
{
	static const int all[] = { SIGHUP, SIGINT, SIGTERM, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sigaddset(&set, all[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	s->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signal_fd < 0 ? -errno : 0;
}

/* Nobody takes what they have any more. They are not left behind. */
static void end_samplers(struct supervisor *s)
{
	for (u32 i = 0; i < s->sampler_count; i++)
		if (s->samplers[i].half.pid)
			(void)kill(s->samplers[i].half.pid, SIGKILL);
	for (int waited_ms = 0; waited_ms < STOP_MS && waitpid(-1, NULL, WNOHANG) >= 0; waited_ms += 10)
		usleep(10000);
}

static void warn_of_privileges(void)
{
	char text[PRIVILEGE_COSTS_BYTES];
	const char *costs = privilege_costs_here(text);

	if (*costs)
		log_warn(self, "%s", costs);
}

/* What the samplers of the plan need it must have, too: a reload that asks for more does not get it. */
static int confine(const struct supervisor *s, struct buf *why)
{
	struct confinement confinement = *s->options->confinement;

	for (u32 i = 0; i < s->plan->component_count; i++) {
		const struct plan_component *owner = &s->plan->components[i];
		struct kind_choices kinds = { 0 };
		_cleanup_(buf_done) struct buf problem;

		buf_init(&problem, CONTROL_TEXT_MAX);
		if (is_profiling(owner))
			(void)profiling_kinds(owner->options, &kinds, &problem);	/* was checked */
		confinement.has_user_probes |= kind_choices_have_user_probes(&kinds);
		if (kind_choices_have_tracepoints(&kinds))
			(void)tracepoint_folder();	/* while that may be mounted; samplers have it from here */
		kind_choices_done(&kinds);
	}
	return confine_supervisor(&confinement, why);
}

int supervisor_run(const struct supervisor_options *options, struct config *config, struct buf *why)
{
	struct supervisor s = { .options = options, .config = config, .signal_fd = -1, .log_fd = -1,
				.service.control_fd = -1 };
	int r = make_plan(config, &s.plan);

	if (r == 0)
		r = telemetry_setup_logs(&s.plan->telemetry.logs, &s.log_fd, why);
	warn_of_privileges();
	if (r == 0)
		r = confine(&s, why);
	if (r == 0)
		r = listen_to_signals(&s);
	if (r == 0) {
		s.service.alive_ns = monotonic_ns();
		r = start_half(&s, &s.service, NULL);
	}
	if (r == 0) {
		take_samplers(&s);
		start_due(&s);
		while (s.service.pid || s.service.again_ns)
			step(&s);
		r = s.status;
	}
	end_samplers(&s);
	closep(&s.signal_fd);
	plan_free(s.plan);
	config_free(s.config);
	return r;
}

int supervisor_claim(void)
{
	const char *value = getenv(SERVICE_VARIABLE);
	int type = 0;
	socklen_t bytes = sizeof(type);

	if (!value || strcmp(value, SERVICE_VALUE))
		return -1;
	(void)unsetenv(SERVICE_VARIABLE);
	if (getsockopt(SERVICE_FD, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 || type != SOCK_SEQPACKET)
		return -1;
	(void)fcntl(SERVICE_FD, F_SETFD, FD_CLOEXEC);
	return SERVICE_FD;
}
