/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running wick says, one line each, to standard error or a file:
 *
 *	2026-11-15T07:00:00.123Z	warn	otlp/backend	cannot connect: ...		console
 *	{"level":"warn","ts":"...","component":"otlp/backend","msg":"..."}		json
 *
 *  - A line that comes too often, by the place in the source that says it and
 *    the component it is about, is left out and counted: in each tick the first `initial`, then one of
 *    `thereafter`; the next line that gets through says how many were left out.
 *  - Where the lines go to the journal of systemd each begins with its priority, <3> to <7>, which that takes off.
 *  - Control characters and bytes that are not UTF-8 are escaped: what arrives
 *    from the network cannot draw on a terminal. Lines are cut at LOG_LINE_MAX.
 *
 * One logger for the process, set up by main before threads start, and again
 * after a reload. Any thread may log. Modules below pipeline/ do not.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_STREAM_MAX 64

/* What a pipe takes in one piece: lines of several processes do not mix. */
#define LOG_LINE_MAX 4096

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR, LOG_LEVELS };

/* What every line carries besides; copied. */
struct log_field {
	const char *key, *value;
};

struct log_options {
	enum log_level level;		/* and above */
	bool json;
	int fd;				/* borrowed */
	bool sampling;
	uint64_t tick_ns;
	uint32_t initial, thereafter;	/* thereafter 0: none */
	const struct log_field *fields;
	size_t field_count;
};

/* Info to standard error in console form, sampled 10 and 100 in 10 s, is what holds without it. */
void log_setup(const struct log_options *options);

/* $JOURNAL_STREAM (base/systemd.h), or NULL: lines to a descriptor that is it have priorities from now on. */
void log_set_journal(const char *stream);

/* For what is written past the logger: "<3>", or "" where the descriptor is not the journal. */
const char *log_priority(enum log_level level, int fd);

/*
 * Calls fn with each line that is written, before it is: one fn for the process, NULL for none. It runs under the
 * logger's lock and must not log.
 */
typedef void log_watch_fn(void *arg, enum log_level level, const char *component, const char *text);
void log_watch(log_watch_fn *fn, void *arg);

/* Lines that were left out since the start. */
uint64_t log_dropped_count(void);

/* component: the id of a component ("otlp/backend"), or of a part of wick ("service"). */
void log_line(enum log_level level, const char *component, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Lines that are ready to be shown, each ended by \n and without other control characters: as they are, or in JSON
 * as the msg of one object. They are never left out but by level: who writes them sees to how many there are.
 */
void log_text(enum log_level level, const char *component, const char *at, size_t bytes);

#define log_debug(component, ...) log_line(LOG_LEVEL_DEBUG, component, __VA_ARGS__)
#define log_info(component, ...) log_line(LOG_LEVEL_INFO, component, __VA_ARGS__)
#define log_warn(component, ...) log_line(LOG_LEVEL_WARN, component, __VA_ARGS__)
#define log_error(component, ...) log_line(LOG_LEVEL_ERROR, component, __VA_ARGS__)

#endif
