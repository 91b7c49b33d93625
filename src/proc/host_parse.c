// SPDX-License-Identifier: Apache-2.0
#include "proc/host.h"

#include <errno.h>
#include <string.h>

#define KIB 1024

const char *const host_cpu_state_names[HOST_CPU_STATE_COUNT] = {
#define X(name, text) [HOST_CPU_##name] = text,
	HOST_CPU_STATES(X)
#undef X
};

const char *const host_memory_state_names[HOST_MEMORY_STATE_COUNT] = {
#define X(name, text) [HOST_MEMORY_##name] = text,
	HOST_MEMORY_STATES(X)
#undef X
};

/* A text that is read from front to back and never past its end. */
struct text {
	const char *at, *end;
};

static bool next_line(struct text *text, struct text *ret_line)
{
	const char *end;

	if (text->at >= text->end)
		return false;
	end = memchr(text->at, '\n', (size_t)(text->end - text->at));
	*ret_line = (struct text){ text->at, end ? end : text->end };
	text->at = end ? end + 1 : text->end;
	return true;
}

static struct text next_word(struct text *line)
{
	struct text word;

	while (line->at < line->end && *line->at == ' ')
		line->at++;
	word.at = line->at;
	while (line->at < line->end && *line->at != ' ')
		line->at++;
	word.end = line->at;
	return word;
}

static bool is_word(struct text word, const char *name)
{
	size_t len = strlen(name);

	return (size_t)(word.end - word.at) == len && !memcmp(word.at, name, len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 0 for what is no number; it stops at the largest. A sign, as rss could have, makes it 0. */
static u64 number(struct text word)
{
	u64 value = 0;

	for (; word.at < word.end && is_digit(*word.at); word.at++)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *word.at - '0', &value))
			return ~0ull;
	return value;
}

static u64 next_number(struct text *line)
{
	return number(next_word(line));
}

static u64 times(u64 a, u64 b)
{
	u64 product;

	return __builtin_mul_overflow(a, b, &product) ? ~0ull : product;
}

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

/* "0.52" */
static double next_real(struct text *line)
{
	struct text word = next_word(line);
	double value = 0, scale = 1;
	bool fraction = false;

	for (; word.at < word.end && (is_digit(*word.at) || *word.at == '.'); word.at++) {
		if (*word.at == '.') {
			fraction = true;
			continue;
		}
		value = value * 10 + (*word.at - '0');
		scale *= fraction ? 10 : 1;
	}
	return value / scale;
}

void host_parse_stat(const char *at, size_t len, u64 tick_ns, struct host_sample *sample)
{
	struct text text = { at, at + len }, line;

	while (next_line(&text, &line)) {
		struct text word = next_word(&line);

		if (is_word(word, "cpu")) {
			for (int i = 0; i < HOST_CPU_STATE_COUNT; i++)
				sample->cpu_ns[i] = times(next_number(&line), tick_ns);
		} else if (word.end - word.at > 3 && !memcmp(word.at, "cpu", 3)) {
			sample->cpu_count++;
		} else if (is_word(word, "ctxt")) {
			sample->context_switches = next_number(&line);
		} else if (is_word(word, "processes")) {
			sample->forks = next_number(&line);
		} else if (is_word(word, "procs_running")) {
			sample->running = (u32)next_number(&line);
		} else if (is_word(word, "procs_blocked")) {
			sample->blocked = (u32)next_number(&line);
		}
	}
}

void host_parse_meminfo(const char *at, size_t len, struct host_sample *sample)
{
	const struct { const char *name; u64 *value; } fields[] = {
		{ "MemTotal:", &sample->memory_total_bytes },
		{ "MemAvailable:", &sample->memory_available_bytes },
		{ "MemFree:", &sample->memory_bytes[HOST_MEMORY_FREE] },
		{ "Buffers:", &sample->memory_bytes[HOST_MEMORY_BUFFERED] },
		{ "Cached:", &sample->memory_bytes[HOST_MEMORY_CACHED] },
		{ "SReclaimable:", &sample->memory_bytes[HOST_MEMORY_SLAB_RECLAIMABLE] },
		{ "SUnreclaim:", &sample->memory_bytes[HOST_MEMORY_SLAB_UNRECLAIMABLE] },
	};
	struct text text = { at, at + len }, line;
	u64 used;

	while (next_line(&text, &line)) {
		struct text word = next_word(&line);

		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			if (is_word(word, fields[i].name))
				*fields[i].value = times(next_number(&line), KIB);
	}
	used = sample->memory_total_bytes;
	for (int i = HOST_MEMORY_USED + 1; i < HOST_MEMORY_STATE_COUNT; i++)
		used = minus(used, sample->memory_bytes[i]);
	sample->memory_bytes[HOST_MEMORY_USED] = used;
}

void host_parse_loadavg(const char *at, size_t len, struct host_sample *sample)
{
	struct text text = { at, at + len }, line;

	if (!next_line(&text, &line))
		return;
	for (int i = 0; i < 3; i++)
		sample->load[i] = next_real(&line);
}

/*
 *	pid (name) state ppid ... utime stime cutime cstime priority nice threads itrealvalue starttime vsize rss
 *	1    2      3     4       14    15    16     17     18       19   20      21          22        23    24
 *
 * The name may hold blanks and brackets: it ends at the last bracket.
 */
int host_parse_process(const char *at, size_t len, u64 tick_ns, u64 page_bytes, struct host_process *ret_process)
{
	const char *open = memchr(at, '(', len), *close = memrchr(at, ')', len);
	struct host_process p = { .pid = (pid_t)number((struct text){ at, at + len }) };
	struct text rest;
	size_t name_len;
	u64 ticks = 0;

	if (!open || !close || close < open || p.pid <= 0)
		return -EBADMSG;
	name_len = (size_t)(close - open - 1);
	memcpy(p.name, open + 1, name_len < sizeof(p.name) ? name_len : sizeof(p.name) - 1);
	rest = (struct text){ close + 1, at + len };
	for (int field = 3; field <= 24; field++) {
		u64 value = next_number(&rest);

		if (field == 14 || field == 15)
			ticks = __builtin_add_overflow(ticks, value, &ticks) ? ~0ull : ticks;
		else if (field == 20)
			p.threads = (u32)value;
		else if (field == 22)
			p.start_ticks = value;
		else if (field == 24)
			p.rss_bytes = times(value, page_bytes);
	}
	p.cpu_ns = times(ticks, tick_ns);
	*ret_process = p;
	return 0;
}
