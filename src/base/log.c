// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/systemd.h"
#include "base/utf8.h"

/* Places that log are told apart by their hash; two that share a slot share its allowance. */
#define SLOTS 1024
#define FIELDS_MAX 512
#define ESCAPE_MAX 8	/* the most that one character becomes */

struct slot {
	uint64_t tick;		/* number of the tick it counts */
	uint32_t seen;		/* in this tick */
	uint64_t left_out;	/* since a line got through */
};

/* A line that is never longer than LOG_LINE_MAX. */
struct line {
	size_t len, max;	/* max: leaves room for what has to follow */
	char at[LOG_LINE_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(enum log_level) least = LOG_LEVEL_INFO;
static _Atomic uint64_t dropped;

/* All of these under lock. */
static bool json;
static int fd = STDERR_FILENO;
static bool sampling = true;
static uint64_t tick_ns = 10000000000;
static uint32_t initial = 10, thereafter = 100;
static struct slot slots[SLOTS];
static log_watch_fn *watch;
static void *watch_arg;
static char fields[FIELDS_MAX];		/* as they stand in a line: "a":"b","c":"d" */
static char journal[LOG_STREAM_MAX];	/* "": nobody has one */
static bool has_priorities;		/* fd is the journal */

static const char *const level_names[LOG_LEVELS] = { "debug", "info", "warn", "error" };
/* Of syslog, as sd-daemon(3) writes them: debug, informational, warning, error. */
static const char *const priorities[LOG_LEVELS] = { "<7>", "<6>", "<4>", "<3>" };

static void line_add(struct line *line, const char *text, size_t len)
{
	if (len > line->max - line->len)
		return;
	memcpy(line->at + line->len, text, len);
	line->len += len;
}

static void line_put(struct line *line, const char *text)
{
	line_add(line, text, strlen(text));
}

/* C0, DEL and C1, by the length of the character. */
static bool is_control(const char *at, size_t step)
{
	unsigned char c = (unsigned char)at[0];

	return step == 1 ? c < 0x20 || c == 0x7f : step == 2 && c == 0xc2 && (unsigned char)at[1] < 0xa0;
}

static void line_escape(struct line *line, const char *at, size_t step, bool is_json)
{
	char text[ESCAPE_MAX];
	unsigned code = (unsigned char)at[step == 2 ? 1 : 0];

	if (is_json && !step)
		line_put(line, UTF8_REPLACEMENT);
	else
		line_add(line, text, (size_t)snprintf(text, sizeof(text), is_json ? "\\u%04x" : "\\x%02x", code));
}

/* Text from anywhere, cut where it does not fit; in JSON it stands between quotes. How much of it is there. */
static size_t line_text_some(struct line *line, const char *text, size_t len, bool is_json)
{
	size_t i = 0, step;

	for (; i < len && line->max - line->len >= ESCAPE_MAX; i += step ? step : 1) {
		step = utf8_next(text + i, len - i);
		if (!step || is_control(text + i, step)) {
			line_escape(line, text + i, step, is_json);
			continue;
		}
		if (is_json && (text[i] == '"' || text[i] == '\\'))
			line_put(line, "\\");
		line_add(line, text + i, step);
	}
	return i;
}

static void line_text(struct line *line, const char *text, bool is_json)
{
	(void)line_text_some(line, text, strlen(text), is_json);
}

static void line_field(struct line *line, const char *key, const char *value)
{
	line_put(line, "\"");
	line_text(line, key, true);
	line_put(line, "\":\"");
	line_text(line, value, true);
	line_put(line, "\"");
}

static void line_time(struct line *line)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / 1000000000);
	char text[40];
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	line_add(line, text, len);
	line_add(line, text, (size_t)snprintf(text, sizeof(text), ".%03uZ", (unsigned)(now / 1000000 % 1000)));
}

static void line_priority(struct line *line, enum log_level level)
{
	if (has_priorities)
		line_put(line, priorities[level]);
}

static void line_console(struct line *line, enum log_level level, const char *component, const char *text)
{
	line_priority(line, level);
	line_time(line);
	line_put(line, "\t");
	line_put(line, level_names[level]);
	line_put(line, "\t");
	line_text(line, component, false);
	line_put(line, "\t");
	line_text(line, text, false);
	line->max = LOG_LINE_MAX - 1;
	if (fields[0]) {
		line_put(line, "\t{");
		line_put(line, fields);
		line_put(line, "}");
	}
}

static void line_json_begin(struct line *line, enum log_level level, const char *component)
{
	line_priority(line, level);
	line_put(line, "{\"level\":\"");
	line_put(line, level_names[level]);
	line_put(line, "\",\"ts\":\"");
	line_time(line);
	line_put(line, "\",\"component\":\"");
	line_text(line, component, true);
	line_put(line, "\",\"msg\":\"");
}

static void line_json_end(struct line *line)
{
	line->max = LOG_LINE_MAX - 1;
	line_put(line, "\"");
	if (fields[0]) {
		line_put(line, ",");
		line_put(line, fields);
	}
	line_put(line, "}");
}

static struct slot *find_slot(const char *component, const char *format)
{
	uint64_t hash = (uint64_t)(uintptr_t)format * 0x9e3779b97f4a7c15;

	for (const char *c = component; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	return &slots[(hash ^ hash >> 32) % SLOTS];
}

/* May a line from here pass? Then *ret_left_out were kept back before it. */
static bool admit(const char *component, const char *format, uint64_t *ret_left_out)
{
	struct slot *slot = find_slot(component, format);
	uint64_t tick = tick_ns ? monotonic_ns() / tick_ns : 0;

	if (!sampling)
		return true;
	if (slot->tick != tick) {
		slot->tick = tick;
		slot->seen = 0;
	}
	slot->seen++;
	if (slot->seen > initial && (!thereafter || (slot->seen - initial) % thereafter)) {
		slot->left_out++;
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
		return false;
	}
	*ret_left_out = slot->left_out;
	slot->left_out = 0;
	return true;
}

static void line_end(struct line *line)
{
	line->max = LOG_LINE_MAX;
	line_put(line, "\n");
	(void)io_write_all(fd, line->at, line->len);
}

static void say(enum log_level level, const char *component, char *text, size_t max, uint64_t left_out)
{
	struct line line = { .max = LOG_LINE_MAX - FIELDS_MAX - 8 };
	size_t len = strlen(text);

	if (left_out)
		(void)snprintf(text + len, max - len, " (%llu like this were left out)", (unsigned long long)left_out);
	if (watch)
		watch(watch_arg, level, component, text);
	if (json) {
		line_json_begin(&line, level, component);
		line_text(&line, text, true);
		line_json_end(&line);
	} else {
		line_console(&line, level, component, text);
	}
	line_end(&line);
}

void log_line(enum log_level level, const char *component, const char *format, ...)
{
	char text[LOG_LINE_MAX - FIELDS_MAX];
	uint64_t left_out = 0;
	int error = errno;
	va_list args;

	if (level < atomic_load_explicit(&least, memory_order_relaxed))
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text) - 64, format, args);
	va_end(args);
	pthread_mutex_lock(&lock);
	if (admit(component, format, &left_out))
		say(level, component, text, sizeof(text), left_out);
	pthread_mutex_unlock(&lock);
	errno = error;
}

/* However long it is: written in pieces. */
static void say_text_json(enum log_level level, const char *component, const char *at, size_t bytes)
{
	struct line line = { .max = LOG_LINE_MAX - FIELDS_MAX - 8 };

	line_json_begin(&line, level, component);
	for (size_t i = 0; i < bytes;) {
		i += line_text_some(&line, at + i, bytes - i, true);
		if (i < bytes) {
			(void)io_write_all(fd, line.at, line.len);
			line.len = 0;
		}
	}
	line_json_end(&line);
	line_end(&line);
}

/* Each line has its priority: one that begins as another's would say its own. */
static void say_text(enum log_level level, const char *at, size_t bytes)
{
	while (has_priorities && bytes) {
		const char *end = memchr(at, '\n', bytes);
		size_t len = end ? (size_t)(end - at) + 1 : bytes;

		(void)io_write_all(fd, priorities[level], strlen(priorities[level]));
		(void)io_write_all(fd, at, len);
		at += len;
		bytes -= len;
	}
	if (bytes)
		(void)io_write_all(fd, at, bytes);
}

void log_text(enum log_level level, const char *component, const char *at, size_t bytes)
{
	int error = errno;

	if (level < atomic_load_explicit(&least, memory_order_relaxed))
		return;
	pthread_mutex_lock(&lock);
	if (json)
		say_text_json(level, component, at, bytes);
	else
		say_text(level, at, bytes);
	pthread_mutex_unlock(&lock);
	errno = error;
}

/* Those that do not fit are left out. */
static void set_fields(const struct log_field *at, size_t count)
{
	struct line line = { .max = FIELDS_MAX - 1 };

	for (size_t i = 0; i < count; i++) {
		size_t len = line.len;

		if (len)
			line_put(&line, ",");
		line.max = LOG_LINE_MAX;
		line_field(&line, at[i].key, at[i].value);
		if (line.len > FIELDS_MAX - 1)
			line.len = len;
		line.max = FIELDS_MAX - 1;
	}
	memcpy(fields, line.at, line.len);
	fields[line.len] = '\0';
}

void log_setup(const struct log_options *options)
{
	LOCKED(&lock);
	json = options->json;
	fd = options->fd;
	sampling = options->sampling;
	tick_ns = options->tick_ns;
	initial = options->initial;
	thereafter = options->thereafter;
	has_priorities = systemd_is_journal(journal, fd);
	set_fields(options->fields, options->field_count);
	atomic_store_explicit(&least, options->level, memory_order_relaxed);
}

void log_set_journal(const char *stream)
{
	LOCKED(&lock);
	if (!stream || strlen(stream) >= sizeof(journal))
		stream = "";
	memcpy(journal, stream, strlen(stream) + 1);
	has_priorities = systemd_is_journal(journal, fd);
}

const char *log_priority(enum log_level level, int of_fd)
{
	LOCKED(&lock);
	return systemd_is_journal(journal, of_fd) ? priorities[level] : "";
}

void log_watch(log_watch_fn *fn, void *arg)
{
	LOCKED(&lock);
	watch = fn;
	watch_arg = arg;
}

uint64_t log_dropped_count(void)
{
	return atomic_load_explicit(&dropped, memory_order_relaxed);
}
