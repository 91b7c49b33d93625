// SPDX-License-Identifier: Apache-2.0
/*
 * Runs pipelines until it is told to stop:
 *
 *	SIGHUP		loads the configuration again. A bad one changes nothing; a good one takes the
 *			place of what runs, which sends on what it has while the new one runs already.
 *	SIGINT, SIGTERM	stops what receives and waits for the rest to be sent; a second SIGINT ends it at once.
 *
 * This thread starts, stops and waits for signals; everything else happens in others.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "cmd/activation.h"
#include "cmd/command.h"
#include "cmd/components.h"
#include "cmd/config_options.h"
#include "cmd/live.h"
#include "cmd/notify.h"
#include "cmd/port_owners.h"
#include "cmd/service_files.h"
#include "cmd/service_paths.h"
#include "cmd/service_user.h"
#include "cmd/supervisor.h"
#include "extensions/telemetry.h"
#include "halves/control.h"
#include "net/passed.h"
#include "net/server.h"
#include "pipeline/arrivals.h"
#include "pipeline/boost_desk.h"
#include "pipeline/memory_budget.h"
#include "pipeline/service.h"
#include "pipeline/taps.h"
#include "proc/memory.h"

#define WHY_MAX 4096
#define FILES_NS (60 * SECOND_NS)	/* how often it is looked whether files were replaced */
#define RELOAD_PAUSE_NS SECOND_NS	/* SIGHUPs that come sooner than that after a reload are one */
/* How the thread that drains tells that it is done. */
#define SIGDRAINED SIGUSR1

struct run_values {
	struct config_options config;
	double drain_seconds;
	double memory_mib;
	double cpu_percent;
	int privileges;		/* of privilege_choices */
};

enum { PRIVILEGES_SPLIT, PRIVILEGES_KEEP };
static const char *const privilege_choices[] = { "split", "keep", NULL };

static const struct option_entry run_options[] = {
	CONFIG_OPTIONS(struct run_values, config),
	{ "drain", 0, OPTION_REAL, offsetof(struct run_values, drain_seconds), "SECONDS", "10", 0, 86400, NULL,
	  "when stopping, wait so long for what is under way" },
	{ "max-memory", 0, OPTION_REAL, offsetof(struct run_values, memory_mib), "MIB", "0", 0, 1e6, NULL,
	  "what senders and questions may take together; 0: a quarter of what there is, 8 to 256" },
	{ "max-cpu", 0, OPTION_REAL, offsetof(struct run_values, cpu_percent), "PERCENT", "0", 0, 1e6, NULL,
	  "of one CPU, that all of it may use over a minute, to serve senders half; 0: 1, or 1 for each 16 CPUs" },
	{ "privileges", 0, OPTION_CHOICE, offsetof(struct run_values, privileges), "HOW", "split", 0, 0,
	  privilege_choices, "split: who samples and who listens have few rights each; keep: both have all" },
	{ 0 },
};

/* What ran before a reload and still has something to send. */
struct retired {
	struct service *service;
	struct config *config;
	u64 deadline_ns;
	struct thread thread;
	pthread_t owner;
	_Atomic bool is_drained;
};

struct runner {
	const struct run_values *values;
	struct service_host host;
	struct config *config;
	struct service *service;
	struct retired retired;
	struct port_owners owners;
	struct service_files files;	/* that this process may use */
	bool has_lost_files;
	struct control control;		/* fd -1: nobody samples for us */
	struct notify notify;		/* who watches this process: systemd, or the supervisor */
	struct passed passed;		/* sockets that listened before */
	_Atomic u64 busy_ns;		/* since when the main thread starts or loads; 0: it waits for signals */
	int log_fd;
};

static const struct command *const self = &command_run;

static u64 drain_deadline(const struct runner *r)
{
	return monotonic_ns() + (u64)(r->values->drain_seconds * 1e9);
}

/* ---- The configuration ------------------------------------------------------------ */

static void log_warnings(const struct config_errors *errors)
{
	for (u32 i = 0; i < errors->warning_count && i < CONFIG_ERRORS_MAX; i++)
		log_warn("config", "%s", errors->warnings[i]);
}

/* With the warnings: that a variable is not set may be why an endpoint is none. */
static void print_errors(const struct config_errors *errors, int r)
{
	for (u32 i = 0; i < errors->warning_count && i < CONFIG_ERRORS_MAX; i++)
		(void)command_fail(self, "warning: %s", errors->warnings[i]);
	for (u32 i = 0; i < errors->error_count && i < CONFIG_ERRORS_MAX; i++)
		(void)command_fail(self, "%s", errors->errors[i]);
	if (errors->error_count > CONFIG_ERRORS_MAX)
		(void)command_fail(self, "and %u more", errors->error_count - CONFIG_ERRORS_MAX);
	if (!errors->error_count)
		(void)command_fail(self, "cannot load the configuration: %s", strerror(-r));
}

static void log_errors(const struct config_errors *errors, int r)
{
	for (u32 i = 0; i < errors->error_count && i < CONFIG_ERRORS_MAX; i++)
		log_error("config", "%s", errors->errors[i]);
	log_error("service", "the configuration is not loaded again, the old one goes on running: %s",
		  errors->error_count ? "it has errors" : strerror(-r));
}

/* ---- Starting --------------------------------------------------------------------- */

/* From the server's thread: TLS files that could not be read again. */
static void log_notice(void *arg, const char *sentence)
{
	log_warn("server", "%s", sentence);
}

/*
 * From the server's thread, as long as that goes round, and while the main thread is not stuck either: it may take
 * what is under way is given, and what the watchdog gives.
 */
static void tell_alive(void *arg)
{
	struct runner *r = arg;
	u64 busy_ns = atomic_load(&r->busy_ns);

	if (busy_ns && monotonic_ns() > busy_ns + (u64)(r->values->drain_seconds * 1e9) + r->notify.watchdog_ns)
		return;
	if (r->control.fd >= 0)
		(void)control_send(r->control.fd, CONTROL_ALIVE, 0, 0, "", -1);
	else
		notify_watchdog(&r->notify);
}

/* Who watches this process hears that it is ready; error: with the configuration that it had before. */
static void tell_ready(struct runner *r, int error)
{
	if (r->control.fd >= 0)
		(void)control_send(r->control.fd, CONTROL_READY, error, 0, "", -1);
	else
		notify_say(&r->notify, "READY=1", error ? "receives and sends; the newest configuration was refused, "
							  "the one before goes on" : "receives and sends");
}

static int start_host(struct runner *r)
{
	int err;

	r->host.registry = &components;
	r->host.telemetry = &telemetry_component;
	r->host.log_fd = &r->log_fd;
	r->host.metrics = metrics_new();
	r->host.arrivals = arrivals_new();
	r->host.taps = taps_new();
	r->host.boosts = boost_desk_new();
	r->host.control = r->control.fd >= 0 ? &r->control : NULL;
	if (!r->host.metrics || !r->host.arrivals || !r->host.taps || !r->host.boosts)
		return -ENOMEM;
	log_watch(arrivals_log, r->host.arrivals);
	memory_budget_set((u64)(r->values->memory_mib * (1 << 20)));
	err = memory_budget_tell(r->host.metrics);
	if (err == 0)
		err = service_files_tell(&r->files, r->host.metrics);
	if (err == 0)
		err = server_new(r->host.metrics, &r->host.server);
	if (err == 0)
		err = server_set_hooks(r->host.server, &(struct server_hooks){ .notice = log_notice,
									      .refusal = arrivals_refusal,
									      .arg = r->host.arrivals,
									      .pulse = tell_alive,
									      .pulse_ns = notify_beat_ns(&r->notify),
									      .pulse_arg = r });
	if (err == 0)
		server_set_passed(r->host.server, &r->passed);
	return err;
}

/* Its errors are printed. */
static int load(struct runner *r, struct config_errors *errors)
{
	int err = config_options_load(&r->values->config, &r->config, errors);

	if (err < 0)
		print_errors(errors, err);
	return err;
}

static int start(struct runner *r, struct buf *why)
{
	int err = start_host(r);

	if (err < 0)
		buf_addf(why, "cannot start: %s", strerror(-err));
	if (err == 0) {
		/* Whoever connects meanwhile is answered when all routes are there. */
		server_hold(r->host.server, true);
		err = service_start(&r->host, r->config, &r->service, why);
		if (err < 0)
			port_owners_tell(&r->owners, why);
		server_hold(r->host.server, false);
	}
	return err;
}

/* ---- What this process may do ----------------------------------------------------------- */

/* What has a supervisor, and what needs none, gives up all that it does not need before anything comes from outside. */
static int confine_self(struct runner *r, struct confinement *c, struct buf *notice, struct buf *why)
{
	struct service_paths paths = { 0 };
	int err = service_paths_find(r->config, &paths);

	if (err == 0) {
		port_owners_find(&r->owners, &paths);
		service_user_choose(&paths, c, notice);
		err = service_files_allow(&r->files, &paths, c, notice);
	}
	if (err == 0)
		err = confine_service(c, why);
	service_paths_done(&paths);
	closep(&c->rules_fd);
	service_files_begin(&r->files);
	if (r->control.fd >= 0) {
		(void)prctl(PR_SET_NAME, "wick: service");
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);	/* again: a change of rights undoes it */
	}
	return err;
}

/* Whether this process may use what the configuration names. What it may not, nobody can let it to any more. */
static bool may_use(struct runner *r, const struct config *config)
{
	struct service_paths paths = { 0 };
	char lacking[PATH_MAX];
	bool may = service_paths_find(config, &paths) < 0 ||
		   !service_files_lack(&r->files, &paths, lacking, sizeof(lacking));

	service_paths_done(&paths);
	if (!may && r->control.fd >= 0)
		log_info("service", "is started again, to be let to %s", lacking);
	else if (!may)
		log_error("service", "the configuration is not loaded again, the old one goes on running: this "
				     "process may not use %s, which was not named when it was started; start wick "
				     "again", lacking);
	return may;
}

/* A file of those that it may use was replaced by another. -ESTALE: to be started again. */
static int look_at_files(struct runner *r)
{
	char lost[PATH_MAX];

	if (!service_files_lost(&r->files, lost, sizeof(lost))) {
		r->has_lost_files = false;
		return 0;
	}
	if (r->control.fd >= 0) {
		log_info("service", "is started again, since %s was replaced", lost);
		return -ESTALE;
	}
	if (!r->has_lost_files)
		log_error("service", "%s was replaced, and this process may not open what took its place; start wick "
				     "again", lost);
	r->has_lost_files = true;
	return 0;
}

/* ---- Reloading -------------------------------------------------------------------- */

static void *drain(void *arg)
{
	struct retired *retired = arg;

	service_stop(retired->service, retired->deadline_ns);
	atomic_store(&retired->is_drained, true);
	pthread_kill(retired->owner, SIGDRAINED);
	return NULL;
}

/* Waits for what was retired, and frees it. */
static void bury(struct retired *retired)
{
	thread_join(&retired->thread);
	service_free(retired->service);
	config_free(retired->config);
	*retired = (struct retired){ 0 };
}

static void retire(struct runner *r, struct service *service, struct config *config)
{
	struct retired *retired = &r->retired;

	retired->service = service;
	retired->config = config;
	retired->deadline_ns = drain_deadline(r);
	retired->owner = pthread_self();
	if (thread_start(&retired->thread, "wick: drain", drain, retired) == 0)
		return;
	service_stop(service, retired->deadline_ns);
	bury(retired);
}

/* The new one could not start: back to what ran before. -errno: that could not start either. */
static int go_back(struct runner *r, struct buf *why)
{
	int err;

	log_error("service", "the new configuration cannot start, the old one is started again: %s", why->data);
	service_stop(r->service, drain_deadline(r));
	service_free(TAKE(r->service));
	why->len = 0;
	err = service_start(&r->host, r->config, &r->service, why);
	if (err < 0)
		log_error("service", "the old configuration cannot start again: %s", why->data);
	return err;
}

/* 1: the old one goes on. */
static int replace(struct runner *r, struct config *config)
{
	struct service *service = NULL;
	_cleanup_(buf_done) struct buf why;
	int err;

	buf_init(&why, WHY_MAX);
	bury(&r->retired);
	server_hold(r->host.server, true);
	service_retire(r->service, drain_deadline(r));
	err = service_start(&r->host, config, &service, &why);
	if (err < 0) {
		config_free(config);
		err = go_back(r, &why);
		err = err < 0 ? err : 1;
	} else {
		retire(r, r->service, r->config);
		r->service = service;
		r->config = config;
		log_info("service", "runs with the configuration as it is now");
	}
	server_hold(r->host.server, false);
	return err;
}

/* 1: the old one goes on. */
static int reload(struct runner *r)
{
	struct config *config = NULL;
	struct config_errors errors;
	int err;

	err = look_at_files(r);
	if (err < 0)
		return err;
	config_errors_init(&errors);
	err = config_options_load(&r->values->config, &config, &errors);
	if (err < 0) {
		log_errors(&errors, err);
		err = 1;
	} else if (may_use(r, config)) {
		err = replace(r, config);
	} else {
		config_free(config);
		err = r->control.fd >= 0 ? -ESTALE : 1;
	}
	log_warnings(&errors);
	config_errors_done(&errors);
	return err;
}

/* ---- Signals ---------------------------------------------------------------------- */

static void signals(sigset_t *set)
{
	static const int all[] = { SIGHUP, SIGINT, SIGTERM, SIGDRAINED };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		sigaddset(set, all[i]);
}

/* The next signal; 0: the time has come, if there is one. */
static int next_signal(u64 until_ns)
{
	u64 now_ns = monotonic_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = { (time_t)(left_ns / SECOND_NS), (long)(left_ns % SECOND_NS) };
	sigset_t set;
	int number;

	signals(&set);
	if (!until_ns)
		return sigwait(&set, &number) == 0 ? number : 0;
	number = sigtimedwait(&set, NULL, &left);
	return number > 0 ? number : 0;
}

/* 0, or -errno: it cannot go on. */
static int reload_and_tell(struct runner *r)
{
	int err;

	atomic_store(&r->busy_ns, monotonic_ns());
	if (r->control.fd < 0)
		notify_reloading(&r->notify, "loads the configuration again");
	err = reload(r);
	if (err >= 0)
		tell_ready(r, err ? -EINVAL : 0);
	atomic_store(&r->busy_ns, 0);
	return err < 0 ? err : 0;
}

/* Until it is told to stop: 0. -errno: it cannot go on. */
static int serve(struct runner *r)
{
	u64 reload_ns = 0, reloaded_ns = 0;	/* when it is to be, 0: not at all; when it last was */
	int err = 0, number;

	while (err == 0) {
		number = next_signal(reload_ns ? reload_ns : r->files.abi ? monotonic_ns() + FILES_NS : 0);
		if (!number && !reload_ns)
			err = look_at_files(r);
		if (number == SIGDRAINED && atomic_load(&r->retired.is_drained))
			bury(&r->retired);
		if (number == SIGHUP && !reload_ns)
			reload_ns = reloaded_ns + RELOAD_PAUSE_NS;
		if (number == SIGINT || number == SIGTERM)
			break;
		if (!reload_ns || monotonic_ns() < reload_ns)
			continue;
		err = reload_and_tell(r);
		reload_ns = 0;
		reloaded_ns = monotonic_ns();
	}
	return err;
}

/* From now on whoever sits before it can end it at once. Supervisors send SIGTERM more than once, and mean one. */
static void stop_waiting_for_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void runner_done(struct runner *r)
{
	if (r->service)
		service_stop(r->service, drain_deadline(r));
	service_free(r->service);
	config_free(r->config);
	bury(&r->retired);
	server_free(r->host.server);
	metrics_free(r->host.metrics);
	log_watch(NULL, NULL);
	arrivals_free(r->host.arrivals);
	taps_free(r->host.taps);
	boost_desk_free(r->host.boosts);
	service_files_done(&r->files);
}

/* Until it is told to stop. The exit status. */
static int run_service(struct runner *r, struct confinement *confinement, struct config_errors *errors, struct buf *why)
{
	_cleanup_(buf_done) struct buf notice;
	int err;

	buf_init(&notice, WHY_MAX);
	atomic_store(&r->busy_ns, monotonic_ns());
	err = confine_self(r, confinement, &notice, why);
	if (err == 0)
		err = start(r, why);
	if (err < 0) {
		(void)command_fail(self, "%s", why->len ? why->data : strerror(-err));
		return 1;
	}
	log_warnings(errors);
	if (notice.len)
		log_info("service", "%s", notice.data);
	log_info("service", "Everything is ready. Begin running and processing data.");
	activation_tell_unused(&r->passed);
	tell_ready(r, 0);
	atomic_store(&r->busy_ns, 0);
	err = serve(r);
	stop_waiting_for_signals();
	if (r->control.fd < 0)
		notify_say(&r->notify, "STOPPING=1", "stops: what is under way is sent");
	log_info("service", "stops; what is under way is sent within %g s", r->values->drain_seconds);
	return err == -ESTALE ? SERVICE_AGAIN : err < 0;
}

/* Who samples is two processes more. */
static int run_supervisor(struct runner *r, const struct confinement *confinement, struct buf *why)
{
	const struct supervisor_options options = { &r->values->config, confinement, r->values->cpu_percent,
						    &r->notify, &r->passed,
						    (u64)(r->values->drain_seconds * 1e9) };
	int status = supervisor_run(&options, TAKE(r->config), why);

	if (status < 0)
		(void)command_fail(self, "%s", why->len ? why->data : strerror(-status));
	return status < 0 ? 1 : status;
}

static int run(const void *values, int count, char **operands)
{
	struct runner r = { .values = values, .log_fd = -1, .host.starter = geteuid() };
	struct confinement confinement = { .is_off = r.values->privileges == PRIVILEGES_KEEP, .rules_fd = -1 };
	struct config_errors errors;
	_cleanup_(buf_done) struct buf why;
	sigset_t set;
	int status = 1;

	memory_fit_heap();
	buf_init(&why, WHY_MAX);
	config_errors_init(&errors);
	control_init(&r.control, supervisor_claim());
	activation_claim(&r.passed, r.control.fd < 0 ? SYSTEMD_FIRST_FD : r.control.fd + 1);
	notify_open(&r.notify);
	signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	/* What is not configured samples this machine: without the privilege nothing else needs to be tried. */
	if (r.control.fd < 0 && !r.values->config.configs.count && live_check_privileges(&why) < 0)
		(void)command_fail(self, "%s", why.data);
	else if (load(&r, &errors) == 0 && r.control.fd < 0 && supervisor_is_needed(r.config))
		status = run_supervisor(&r, &confinement, &why);
	else if (r.config)
		status = run_service(&r, &confinement, &errors, &why);
	runner_done(&r);
	passed_done(&r.passed);
	notify_close(&r.notify);
	control_done(&r.control);
	config_errors_done(&errors);
	return status;
}

const struct command command_run = {
	.name = "run",
	.help = "run the pipelines of a configuration",
	.operands = "",
	.about = "Receives, processes and sends profiles as an OpenTelemetry Collector does, by the same\n"
		 "configuration. The word run may be left out. SIGHUP loads the configuration again.\n"
		 "Without a configuration this machine is profiled, and shown at http://localhost:11000.\n",
	.examples = "  sudo wick\n"
		    "  sudo wick --store.retention=30d,10GB\n"
		    "  sudo wick --store.clickhouse=http://localhost:8123\n"
		    "  wick --config=agent.yaml\n"
		    "  wick --config=agent.yaml --set=service.telemetry.logs.level=debug\n"
		    "  wick run --config=file:base.yaml '--config=yaml:exporters::debug::verbosity: detailed'\n",
	.options = CONFIG_OPTIONS_TABLE(struct run_values, config, run_options),
	.values_bytes = sizeof(struct run_values),
	.run = run,
};
