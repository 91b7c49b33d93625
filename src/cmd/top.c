// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/live.h"
#include "cmd/screen.h"
#include "cmd/source.h"
#include "cmd/terminal.h"
#include "cmd/view.h"
#include "profile/profile.h"
#include "analysis/summary.h"

/* How long a key may wait for its effect. */
#define KEY_DELAY_MS 50
#define SCREEN_BYTES_MAX (4u << 20)

struct top_values {
	struct live_values live;
	bool batch;
	int by;
	s64 count, limit;
	double delay;
};

#define AT(field) offsetof(struct top_values, field)
static const struct option_entry top_options[] = {
	{ "batch", 'b', OPTION_SWITCH, AT(batch), NULL, NULL, 0, 0, NULL,
	  "print windows one after the other, for scripts" },
	{ "count", 'n', OPTION_INTEGER, AT(count), "WINDOWS", NULL, 1, 1e9, NULL, "end after that many" },
	{ "delay", 'd', OPTION_REAL, AT(delay), "SECONDS", "1", 0.1, 3600, NULL, "length of a window" },
	{ "by", 0, OPTION_CHOICE, AT(by), "WHAT", "function", 0, 0, view_by_names, "what a row is at first" },
	{ "limit", 0, OPTION_INTEGER, AT(limit), "ROWS", "20", 1, 1e6, NULL, "rows of a window in batch mode" },
	LIVE_OPTIONS("99"),
	{ 0 },
};
_Static_assert(AT(live) == 0, "LIVE_OPTIONS() writes there");

struct top {
	const struct top_values *values;
	struct source *source;
	struct terminal terminal;
	struct screen screen;
	struct profile *profile;	/* the window shown */
	struct summary *summary;	/* of it, by what the screen says */
	enum summary_by summarized_by;
};

static void top_done(struct top *top)
{
	summary_free(top->summary);
	profile_free(top->profile);
}

static volatile sig_atomic_t stop_wanted, resized, suspend_wanted;

static void on_signal(int signal)
{
	stop_wanted |= signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
	resized |= signal == SIGWINCH;
	suspend_wanted |= signal == SIGTSTP;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &action, NULL);
}

static int summarize(struct top *top)
{
	struct summary_options options = { .by = top->screen.by, .physical = !top->values->live.inlines };
	struct summary *summary;
	int r;

	if (!top->profile)
		return 0;
	r = summary_new(top->profile, &options, &summary);
	if (r < 0)
		return r;
	summary_free(top->summary);
	top->summary = summary;
	top->summarized_by = options.by;
	return 0;
}

/* The next window, if it has ended: 1, 0 or -errno. One that ends during a pause is dropped. */
static int take_window(struct top *top, int timeout_ms)
{
	struct profile *profile;
	int r = top->source->next(top->source->context, timeout_ms, &profile);

	if (r <= 0)
		return r;
	if (top->screen.paused) {
		profile_free(profile);
		return 0;
	}
	summary_free(TAKE(top->summary));
	profile_free(top->profile);
	top->profile = profile;
	r = summarize(top);
	return r < 0 ? r : 1;
}

static void write_heading(const struct top *top, char *text, size_t bytes)
{
	const struct source *source = top->source;
	const struct summary *s = top->summary;
	char value[TEXT_VALUE_MAX] = "", length[TEXT_VALUE_MAX], clock[16] = "";
	const char *status = source->status ? source->status(source->context) : "";
	time_t now = s ? (time_t)((s->time_unix_ns + s->duration_ns) / 1000000000) : 0;
	struct tm tm;

	if (!s) {
		snprintf(text, bytes, "wick top - waiting for the first window");
		return;
	}
	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	text_value(value, s->total, s->unit);
	text_value(length, (s64)s->duration_ns, UNIT_NANOSECONDS);
	snprintf(text, bytes, "wick top - %s  %llu samples, %s in %s%s%s", clock, (unsigned long long)s->sample_count,
		 value, length, *status ? ", " : "", status);
}

/* One write for the whole screen; each line first clears the older one. */
static int show(const struct top *top, const struct buf *lines)
{
	_cleanup_(buf_done) struct buf out;
	size_t at = 0;

	buf_init(&out, SCREEN_BYTES_MAX);
	buf_addf(&out, "\033[H");
	while (at < lines->len) {
		const char *end = memchr(lines->data + at, '\n', lines->len - at);
		size_t len = end ? (size_t)(end - lines->data) - at : lines->len - at;

		buf_addf(&out, "\033[K");
		buf_add(&out, lines->data + at, len);
		buf_addf(&out, "%s", end ? "\r\n" : "");
		at += len + 1;
	}
	if (buf_err(&out) < 0)
		return buf_err(&out);
	return write(top->terminal.fd, out.data, out.len) < 0 && errno != EINTR ? -errno : 0;
}

static int draw(struct top *top)
{
	_cleanup_(buf_done) struct buf lines;
	char heading[256];
	int r;

	buf_init(&lines, SCREEN_BYTES_MAX);
	if (top->summarized_by != top->screen.by) {
		r = summarize(top);
		if (r < 0)
			return r;
	}
	write_heading(top, heading, sizeof(heading));
	screen_draw(&top->screen, &top->terminal, heading, top->summary, &lines);
	r = buf_err(&lines);
	return r < 0 ? r : show(top, &lines);
}

/* True if anything was pressed. */
static bool press_keys(struct top *top)
{
	char input[64];
	ssize_t len = read(STDIN_FILENO, input, sizeof(input));
	const char *at = input;

	for (int key; len > 0 && (key = screen_read_key(&at, input + len)) != KEY_NONE;)
		screen_press(&top->screen, key, top->terminal.height);
	return len > 0;
}

/* Ctrl-Z: gives the terminal back, stops, and takes it again when woken. */
static int suspend(struct top *top)
{
	suspend_wanted = 0;
	terminal_leave();
	(void)raise(SIGSTOP);
	resized = 1;
	return terminal_enter(&top->terminal);
}

static int run_screen(struct top *top)
{
	s64 windows = 0;
	int r = terminal_enter(&top->terminal);

	resized = 1;
	while (r >= 0 && !stop_wanted && !top->screen.quit) {
		bool changed = press_keys(top) | resized;

		if (resized)
			terminal_measure(&top->terminal);
		resized = 0;
		if (top->values->count && windows >= top->values->count)
			break;
		r = suspend_wanted ? suspend(top) : take_window(top, KEY_DELAY_MS);
		windows += r == 1;
		if (r >= 0 && (r == 1 || changed))
			r = draw(top);
	}
	terminal_leave();
	return r == -EINTR ? 0 : r;
}

static int print_window(struct top *top)
{
	struct view view = { .terminal = &top->terminal, .by = top->screen.by, .limit = (u32)top->values->limit };
	_cleanup_(buf_done) struct buf out;
	char heading[256];

	buf_init(&out, SCREEN_BYTES_MAX);
	write_heading(top, heading, sizeof(heading));
	buf_addf(&out, "%s\n", heading);
	view_table(&view, top->summary, &out);
	buf_addf(&out, "\n");
	if (buf_err(&out) < 0)
		return buf_err(&out);
	fwrite(out.data, 1, out.len, stdout);
	return fflush(stdout) != 0 ? -errno : 0;
}

static int run_batch(struct top *top)
{
	int r = 0;

	for (s64 windows = 0; r >= 0 && !stop_wanted && (!top->values->count || windows < top->values->count);) {
		r = take_window(top, 1000);
		if (r == 1) {
			windows++;
			r = print_window(top);
		}
	}
	return r == -EINTR || r == -ENODATA ? 0 : r;
}

/* ---- A file as the source ---- */

struct file_source {
	struct profile *profile; /* NULL once it was given away */
	bool once;		 /* then there is no more, instead of nothing new */
};

static int file_next(void *context, int timeout_ms, struct profile **ret_profile)
{
	struct file_source *file = context;
	struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };

	if (!file->profile && file->once)
		return -ENODATA;
	if (!file->profile) {
		(void)poll(&keys, 1, timeout_ms);
		return 0;
	}
	*ret_profile = TAKE(file->profile);
	return 1;
}

/* ---- This machine as the source ---- */

struct live_source {
	struct agent *agent;
	char text[64];
};

static int live_next(void *context, int timeout_ms, struct profile **ret_profile)
{
	struct live_source *live = context;

	return agent_next(live->agent, timeout_ms, ret_profile);
}

static const char *live_text(void *context)
{
	struct live_source *live = context;
	struct agent_status status;
	double whole;

	agent_status(live->agent, &status);
	whole = live_whole_percent(&status);
	snprintf(live->text, sizeof(live->text), "%llu lost, %.1f %% whole stacks",
		 (unsigned long long)live_lost(&status), whole < 0 ? 0 : whole);
	return live->text;
}

static int run_live(struct top *top)
{
	const struct top_values *v = top->values;
	struct agent_options options = agent_defaults;
	struct live_source live = { 0 };
	struct source source = { .context = &live, .next = live_next, .status = live_text };
	_cleanup_(buf_done) struct buf why;
	int r;

	buf_init(&why, 4096);
	options.interval_ms = (u32)(v->delay * 1000);
	r = live_start(&v->live, &options, &live.agent, &why);
	if (r < 0)
		return command_fail(&command_top, "%s", why.len ? why.data : strerror(-r));
	top->source = &source;
	r = v->batch ? run_batch(top) : run_screen(top);
	agent_free(live.agent);
	return r < 0 ? command_fail(&command_top, "%s", strerror(-r)) : 0;
}

static int run_file(struct top *top, const char *path)
{
	struct file_source file = { .once = top->values->batch };
	struct source source = { .context = &file, .next = file_next };
	int r = files_read(&command_top, path, NULL, &file.profile);

	if (r)
		return r;
	top->source = &source;
	r = top->values->batch ? run_batch(top) : run_screen(top);
	profile_free(file.profile);
	return r < 0 ? command_fail(&command_top, "%s: %s", path, strerror(-r)) : 0;
}

static int top_run(const void *values, int count, char **operands)
{
	struct top_values v = *(const struct top_values *)values;
	_cleanup_(top_done) struct top top = { .values = &v, .screen = { .by = (enum summary_by)v.by } };

	terminal_init(&top.terminal, STDOUT_FILENO);
	v.batch |= !top.terminal.is_terminal || !isatty(STDIN_FILENO);
	catch_signals();
	return count ? run_file(&top, operands[0]) : run_live(&top);
}

const struct command command_top = {
	.name = "top",
	.help = "show what the machine is busy with, live",
	.operands = "[FILE]",
	.operands_max = 1,
	.about = "Shows functions, processes or threads by the time they took in the last window, as top(1)\n"
		 "does, or browses a profile in a FILE. Keys: f p t e l choose what a row is, / filters, space\n"
		 "pauses, ? helps, q quits. Where the output is no terminal it prints windows one after the\n"
		 "other.\n",
	.examples = "  sudo wick top\n"
		    "  sudo wick top --by=process -d 5\n"
		    "  sudo wick top -b -n 1 > now.txt\n"
		    "  wick top out.pb.gz\n",
	.options = { .entries = top_options },
	.values_bytes = sizeof(struct top_values),
	.run = top_run,
};
