// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/child.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/live.h"
#include "cmd/targets.h"
#include "cmd/terminal.h"
#include "cmd/text.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "wire/format.h"

/* How long the end of the command, or Ctrl-C, may go unnoticed: each look costs CPU that an idle machine notices. */
#define WAIT_COMMAND_MS 50
#define WAIT_MS 200
#define PROGRESS_NS 500000000ull
/* A command that was told to end by Ctrl-C gets this long before sampling ends without it. */
#define GRACE_NS 2000000000ull
#define NAMES_BYTES_MAX ((size_t)64 << 20)	/* it does not stay: more than an agent has */
#define SUMMARY_MAX 65536
/* elfutils' own, which asks those of the distributions. */
#define DEBUGINFOD_STANDARD "https://debuginfod.elfutils.org/"

struct record_values {
	struct live_values live;
	double duration;
	bool debuginfod, command_lines, quiet, verbose;
	const char *output, *format;
};

#define AT(field) offsetof(struct record_values, field)
static const struct option_entry record_options[] = {
	LIVE_OPTIONS("20"),
	{ "duration", 'd', OPTION_REAL, AT(duration), "SECONDS", NULL, 0.01, 1e7, NULL,
	  "how long; without it until Ctrl-C or the end of what is sampled" },
	{ "output", 'o', OPTION_TEXT, AT(output), "FILE", "wick.pb.gz", 0, 0, NULL,
	  "where to write; - is standard output" },
	{ "format", 'f', OPTION_TEXT, AT(format), "FORMAT", NULL, 0, 0, NULL,
	  "write this format; without it the name of FILE decides, pprof for -" },
	{ "debuginfod", 0, OPTION_SWITCH, AT(debuginfod), NULL, NULL, 0, 0, NULL,
	  "fetch missing debug information; on if $DEBUGINFOD_URLS names servers" },
	{ "command-line", 0, OPTION_SWITCH, AT(command_lines), NULL, NULL, 0, 0, NULL,
	  "put processes' arguments into the profile; they may hold secrets" },
	{ "verbose", 'v', OPTION_SWITCH, AT(verbose), NULL, NULL, 0, 0, NULL, "say when the first sample came" },
	{ "quiet", 'q', OPTION_SWITCH, AT(quiet), NULL, NULL, 0, 0, NULL, "no progress, no summary" },
	{ 0 },
};
_Static_assert(AT(live) == 0, "LIVE_OPTIONS() writes there");

struct record {
	const struct record_values *values;
	const struct format_ops *format;
	struct agent *agent;
	struct merger *merger;
	struct child child;
	struct targets targets;		/* of -p without --children */
	struct terminal terminal;	/* standard error: progress and summary */
	u64 begun_ns, started_ns, shown_ns, signalled_ns;
	bool has_command, stopping;
};

static void record_done(struct record *r)
{
	agent_free(r->agent);
	merger_free(r->merger);
	child_done(&r->child);
	targets_done(&r->targets);
}

static volatile sig_atomic_t caught_signal, caught_count;
static volatile sig_atomic_t from_terminal;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	caught_signal = signal;
	/* The terminal has told the command already. */
	from_terminal = info->si_code == SI_KERNEL;
	caught_count++;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGHUP, &action, NULL);
}

/* ---- What it says ---- */

static void show_progress(struct record *r)
{
	struct agent_status status;
	u64 now = monotonic_ns();

	if (r->values->quiet || !r->terminal.is_terminal || now - r->shown_ns < PROGRESS_NS)
		return;
	r->shown_ns = now;
	agent_status(r->agent, &status);
	fprintf(stderr, "\r%.0f s, %llu samples, %llu lost\033[K", (double)(now - r->started_ns) / 1e9,
		(unsigned long long)status.samples, (unsigned long long)live_lost(&status));
}

static void clear_progress(const struct record *r)
{
	if (r->shown_ns)
		fprintf(stderr, "\r\033[K");
}

static void add_names(const struct symbolizer_stats *s, struct buf *out)
{
	u64 all = s->by_symbol + s->by_function_start + s->unnamed;

	if (all)
		buf_addf(out, "names: %.1f %% of %llu addresses by symbol, %llu by start of function, %llu not\n",
			 100.0 * (double)s->by_symbol / (double)all, (unsigned long long)all,
			 (unsigned long long)s->by_function_start, (unsigned long long)s->unnamed);
	if (s->dropped)
		buf_addf(out, "names: no room for those of %llu addresses\n", (unsigned long long)s->dropped);
}

static void print_summary(const struct record *r, const struct profile *profile)
{
	_cleanup_(buf_done) struct buf out;
	struct agent_status status;
	u64 end_ns = monotonic_ns();
	const char *runtime;
	double percent;

	buf_init(&out, SUMMARY_MAX);
	agent_status(r->agent, &status);
	buf_addf(&out, "%s: %llu samples of %u processes, %s, %llu lost\n", r->values->output,
		 (unsigned long long)status.samples, profile->resources.count, status.event,
		 (unsigned long long)live_lost(&status));
	buf_addf(&out, "stacks: ");
	live_add_whole(&status, &out);
	buf_addf(&out, "\n");
	add_names(&status.symbols, &out);
	for (u32 i = 0; live_unread(&status, i, &runtime, &percent); i++)
		buf_addf(&out, "%s: %.1f %% of samples are of processes that run it; its own functions are not read\n",
			 runtime, percent);
	if (*status.kernel_problem)
		buf_addf(&out, "%s\n", status.kernel_problem);
	if (merger_times_dropped(r->merger))
		buf_addf(&out, "too many samples to keep the time of each: the profile has counts only\n");
	live_print_counters(&status, &r->terminal, &out);
	if (r->values->verbose && status.first_sample_ns)
		buf_addf(&out, "first sample after %.0f ms, ended after %.0f ms\n",
			 (double)(status.first_sample_ns - r->begun_ns) / 1e6, (double)(end_ns - r->begun_ns) / 1e6);
	fwrite(out.data, 1, out.len, stderr);
}

/* ---- When it ends ---- */

static bool is_over(struct record *r)
{
	const struct record_values *v = r->values;
	u64 now = monotonic_ns();

	if (caught_count && !r->signalled_ns) {
		r->signalled_ns = now;
		if (!from_terminal)
			child_signal(&r->child, caught_signal);
	}
	if ((r->has_command && child_ended(&r->child)) || targets_ended(&r->targets))
		return true;
	if (v->duration > 0 && (double)(now - r->started_ns) >= v->duration * 1e9)
		return true;
	return r->signalled_ns && (!r->child.pid || caught_count > 1 || now - r->signalled_ns > GRACE_NS);
}

static int wait_ms(const struct record *r)
{
	double left_ms = r->values->duration * 1e3 - (double)(monotonic_ns() - r->started_ns) / 1e6;
	int wait = r->has_command ? WAIT_COMMAND_MS : WAIT_MS;

	if (r->values->duration <= 0 || left_ms > wait)
		return wait;
	return left_ms > 1 ? (int)left_ms : 1;
}

/* Takes windows until sampling has ended and none is left. */
static int take_windows(struct record *r)
{
	for (;;) {
		_cleanup_(profile_freep) struct profile *window = NULL;
		int got;

		if (!r->stopping && is_over(r)) {
			r->stopping = true;
			agent_stop(r->agent);
		}
		got = agent_next(r->agent, wait_ms(r), &window);
		if (got == -ENODATA)
			return 0;
		if (got == 1)
			got = merger_add(r->merger, window);
		if (got < 0)
			return got;
		show_progress(r);
	}
}

/* ---- The run ---- */

/* Only those who ask for it tell a server what runs here. */
static const char *debuginfod_urls(const struct record_values *v)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls)
		return urls;
	return v->debuginfod ? DEBUGINFOD_STANDARD : NULL;
}

static int start(struct record *r, char **command)
{
	const struct record_values *v = r->values;
	struct live_values live = v->live;
	struct agent_options options = agent_defaults;
	_cleanup_(buf_done) struct buf why;
	int err = 0;

	buf_init(&why, SUMMARY_MAX);
	options.tracer.command_lines = v->command_lines;
	options.symbolizer.debuginfod_urls = debuginfod_urls(v);
	options.symbolizer.memory_max_bytes = NAMES_BYTES_MAX;
	options.tracer.lanes_max = MERGE_TIMES_MAX / 4;	/* beyond that the profile would have no times at all */
	r->has_command = command[0] != NULL;
	if (r->has_command) {
		err = child_start(command, &r->child);
		if (err < 0)
			return command_fail(&command_record, "cannot start %s: %s", command[0], strerror(-err));
		live.pids.at[0] = (u32)r->child.pid;
		live.pids.count = 1;
		live.children = true;
	}
	err = live_start(&live, &options, &r->agent, &why);
	if (err < 0)
		return command_fail(&command_record, "%s", why.len ? why.data : strerror(-err));
	if (v->live.pids.count && !v->live.children)
		targets_init(&r->targets, &v->live.pids);
	r->started_ns = monotonic_ns();
	err = r->has_command ? child_go(&r->child) : 0;
	if (err < 0) {
		(void)command_fail(&command_record, "cannot run %s: %s", command[0], strerror(-err));
		return err == -ENOENT ? 127 : 126;
	}
	return 0;
}

/* What cannot be written as wished is not lost: OTLP holds everything. */
static void keep_aside(const struct record *r, const struct profile *profile)
{
	_cleanup_(freep) char *path = NULL;

	if (!strcmp(r->values->output, "-") || asprintf(&path, "%s.otlp", r->values->output) < 0)
		return;
	if (files_write(&command_record, path, format_by_name("otlp"), profile) == 0)
		(void)command_fail(&command_record, "what was recorded is in %s", path);
}

/* Writes what there is; 0, or the exit status. */
static int finish(struct record *r, int taken)
{
	_cleanup_(profile_freep) struct profile *profile = merger_finish(r->merger);
	int err;

	clear_progress(r);
	if (taken < 0)
		(void)command_fail(&command_record, "sampling ended early: %s; writing what was taken",
				   strerror(-taken));
	err = files_write(&command_record, r->values->output, r->format, profile);
	if (err) {
		keep_aside(r, profile);
		return err;
	}
	if (!r->values->quiet)
		print_summary(r, profile);
	return taken < 0;
}

static int record_run(const void *values, int count, char **operands)
{
	const struct record_values *v = values;
	_cleanup_(record_done) struct record r = { .values = v, .child = CHILD_NONE, .begun_ns = monotonic_ns() };
	int status, taken;

	r.format = files_output(&command_record, v->output, v->format, "pprof");
	if (!r.format)
		return 1;
	if (count && v->live.pids.count)
		return command_fail(&command_record, "-p and a command exclude each other");
	terminal_init(&r.terminal, STDERR_FILENO);
	if (merger_new(MERGE_TIMES_MAX, &r.merger) < 0)
		return command_fail(&command_record, "out of memory");
	catch_signals();
	status = start(&r, operands);
	if (status)
		return status;
	taken = take_windows(&r);
	status = finish(&r, taken);
	if (r.has_command && !status)
		status = child_wait(&r.child);
	return status;
}

const struct command command_record = {
	.name = "record",
	.help = "sample every process, or a command, and write a profile",
	.operands = "[-- COMMAND [ARGUMENTS]]",
	.operands_max = -1,
	.about = "Samples what runs on every CPU, with whole stacks of kernel and user code, until the time is\n"
		 "over, the command or all processes of -p have ended or Ctrl-C is pressed, and writes a profile.\n"
		 "A COMMAND is run and sampled with all its descendants, nothing else is, and its exit status is\n"
		 "returned. With --children, -p goes on until Ctrl-C: others may have been started.\n",
	.examples = "  sudo wick record -d 10 -o out.pb.gz\n"
		    "  sudo wick record -F 997 -- make -j4\n"
		    "  sudo wick record -e wall -- make\n"
		    "  sudo wick record -e tracepoint:sched:sched_process_exec -d 10\n"
		    "  sudo wick record -e 'uprobe:libssl.so.3:SSL_do_handshake{until=return}' -d 10 -o out.otlp\n"
		    "  sudo wick record -p 1234,1235 --children -o out.otlp\n"
		    "  sudo wick record --cgroup /sys/fs/cgroup/system.slice -o - --format=folded | flamegraph.pl > "
		    "out.svg\n",
	.options = { .entries = record_options, .stop_at_operand = true },
	.values_bytes = sizeof(struct record_values),
	.run = record_run,
};
