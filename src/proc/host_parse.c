// SPDX-License-Identifier: Apache-2.0
#include "proc/host.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

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

/* Takes the next word off a line: "" at its end. */
static struct str next_word(struct str *line)
{
	struct str word = { 0 };

	while (str_cut(line, ' ', &word) && !word.len)
		;
	return word;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 0 for what is no number; it stops at the largest. A sign, as rss could have, makes it 0. */
static u64 number(struct str word)
{
	u64 value = 0;

	for (; word.len && is_digit(*word.at); word.at++, word.len--)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *word.at - '0', &value))
			return ~0ull;
	return value;
}

static u64 next_number(struct str *line)
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
static double next_real(struct str *line)
{
	struct str word = next_word(line);
	double value = 0, scale = 1;
	bool fraction = false;

	for (u32 i = 0; i < word.len && (is_digit(word.at[i]) || word.at[i] == '.'); i++) {
		if (word.at[i] == '.') {
			fraction = true;
			continue;
		}
		value = value * 10 + (word.at[i] - '0');
		scale *= fraction ? 10 : 1;
	}
	return value / scale;
}

void host_parse_stat(const char *at, size_t len, u64 tick_ns, struct host_sample *sample)
{
	struct str text = { at, (u32)len }, line;

	while (str_cut(&text, '\n', &line)) {
		struct str word = next_word(&line);

		if (str_is(word, "cpu")) {
			for (int i = 0; i < HOST_CPU_STATE_COUNT; i++)
				sample->cpu_ns[i] = times(next_number(&line), tick_ns);
		} else if (str_starts(word, "cpu")) {
			sample->cpu_count++;
		} else if (str_is(word, "ctxt")) {
			sample->context_switches = next_number(&line);
		} else if (str_is(word, "processes")) {
			sample->forks = next_number(&line);
		} else if (str_is(word, "procs_running")) {
			sample->running = (u32)next_number(&line);
		} else if (str_is(word, "procs_blocked")) {
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
	struct str text = { at, (u32)len }, line;
	u64 used;

	while (str_cut(&text, '\n', &line)) {
		struct str word = next_word(&line);

		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			if (str_is(word, fields[i].name))
				*fields[i].value = times(next_number(&line), KIB);
	}
	used = sample->memory_total_bytes;
	for (int i = HOST_MEMORY_USED + 1; i < HOST_MEMORY_STATE_COUNT; i++)
		used = minus(used, sample->memory_bytes[i]);
	sample->memory_bytes[HOST_MEMORY_USED] = used;
}

/* oom_kill is of Linux 4.13 (8e675f7af507). */
void host_parse_vmstat(const char *at, size_t len, struct host_sample *sample)
{
	struct str text = { at, (u32)len }, line;

	while (str_cut(&text, '\n', &line))
		if (str_is(next_word(&line), "oom_kill"))
			sample->oom_kills = next_number(&line);
}

void host_parse_loadavg(const char *at, size_t len, struct host_sample *sample)
{
	struct str text = { at, (u32)len }, line;

	if (!str_cut(&text, '\n', &line))
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
	struct host_process p = { .pid = (pid_t)number((struct str){ at, (u32)len }) };
	struct str rest;
	size_t name_len;
	u64 ticks = 0;

	if (!open || !close || close < open || p.pid <= 0)
		return -EBADMSG;
	name_len = (size_t)(close - open - 1);
	memcpy(p.name, open + 1, name_len < sizeof(p.name) ? name_len : sizeof(p.name) - 1);
	rest = (struct str){ close + 1, (u32)(at + len - close - 1) };
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
