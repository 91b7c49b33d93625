// SPDX-License-Identifier: Apache-2.0
#include "proc/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/io.h"

/* Of one file: /proc/stat has a number for each interrupt there can be. */
#define FILE_MAX (256u << 10)

/* What has to be remembered of a process to know what it used since. */
struct seen {
	pid_t pid;
	u64 start_ticks, cpu_ns;
};

struct seen_list {
	struct seen *at;
	u32 count, cap;
};

struct host_state {
	char *proc;
	int fd;				/* of that directory */
	u64 tick_ns, page_bytes;
	struct seen_list before, now;	/* by pid */
	u64 before_ns;			/* when that was; 0: never */
	char file[FILE_MAX];
};

void host_free(struct host_state *state)
{
	if (!state)
		return;
	if (state->fd >= 0)
		close(state->fd);
	free(state->before.at);
	free(state->now.at);
	free(state->proc);
	free(state);
}

struct host_state *host_new(const char *proc)
{
	_cleanup_(host_freep) struct host_state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->fd = -1;
	state->proc = strdup(proc);
	state->tick_ns = 1000000000ull / (u64)sysconf(_SC_CLK_TCK);
	state->page_bytes = (u64)sysconf(_SC_PAGESIZE);
	return state->proc ? TAKE(state) : NULL;
}

/* The beginning of a file below /proc, into state->file. */
static int read_file(struct host_state *state, const char *name, size_t *ret_len)
{
	_cleanup_(closep) int fd = openat(state->fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : io_read(fd, state->file, sizeof(state->file));

	if (n < 0)
		return (int)n;
	*ret_len = (size_t)n;
	return 0;
}

/* ---- Processes ------------------------------------------------------------------ */

static int compare_pid(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void since_before(const struct host_state *state, u64 now_ns, struct host_process *process)
{
	struct seen key = { .pid = process->pid };
	const struct seen *before = NULL;
	u64 used = process->cpu_ns;

	if (!state->before_ns || now_ns <= state->before_ns)
		return;
	if (state->before.count)
		before = bsearch(&key, state->before.at, state->before.count, sizeof(key), compare_pid);
	/* Of one that is new since then, all of its time is. */
	if (before && before->start_ticks == process->start_ticks)
		used = used > before->cpu_ns ? used - before->cpu_ns : 0;
	process->cpus = (double)used / (double)(now_ns - state->before_ns);
}

static void put_top(struct host_process *top, u32 *count, const struct host_process *process,
		    bool (*more)(const struct host_process *a, const struct host_process *b))
{
	u32 at = *count;

	while (at && more(process, &top[at - 1]))
		at--;
	if (at == HOST_TOP)
		return;
	if (*count < HOST_TOP)
		++*count;
	memmove(&top[at + 1], &top[at], (*count - 1 - at) * sizeof(*top));
	top[at] = *process;
}

static bool more_cpu(const struct host_process *a, const struct host_process *b)
{
	return a->cpus > b->cpus;
}

static bool more_rss(const struct host_process *a, const struct host_process *b)
{
	return a->rss_bytes > b->rss_bytes;
}

/* One that ended meanwhile is no error. */
static int sample_process(struct host_state *state, const char *pid, u64 now_ns, struct host_sample *sample)
{
	struct host_process process;
	char name[32];
	size_t len;

	(void)snprintf(name, sizeof(name), "%.20s/stat", pid);
	if (read_file(state, name, &len) < 0 ||
	    host_parse_process(state->file, len, state->tick_ns, state->page_bytes, &process) < 0)
		return 0;
	if (array_reserve(&state->now.at, &state->now.cap, state->now.count + 1, sizeof(*state->now.at)) < 0)
		return -ENOMEM;
	state->now.at[state->now.count++] = (struct seen){ process.pid, process.start_ticks, process.cpu_ns };
	since_before(state, now_ns, &process);
	if (process.cpus > 0)
		put_top(sample->by_cpu, &sample->by_cpu_count, &process, more_cpu);
	if (process.rss_bytes)
		put_top(sample->by_rss, &sample->by_rss_count, &process, more_rss);
	return 0;
}

static int sample_processes(struct host_state *state, DIR *directory, u64 now_ns, struct host_sample *sample)
{
	const struct dirent *entry;
	struct seen_list before;
	int r = 0;

	state->now.count = 0;
	while (r == 0 && (entry = readdir(directory))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		sample->process_count++;
		if (state->now.count == HOST_PROCESSES_MAX)
			sample->processes_left_out++;
		else
			r = sample_process(state, entry->d_name, now_ns, sample);
	}
	if (state->now.count)
		qsort(state->now.at, state->now.count, sizeof(*state->now.at), compare_pid);
	before = state->before;
	state->before = state->now;
	state->now = before;
	state->before_ns = now_ns;
	return r;
}

int host_sample(struct host_state *state, struct host_sample *ret_sample)
{
	struct host_sample sample = { .monotonic_ns = monotonic_ns() };
	DIR *directory = opendir(state->proc);
	size_t len;
	int r;

	if (!directory)
		return -errno;
	state->fd = dirfd(directory);
	if (read_file(state, "stat", &len) == 0)
		host_parse_stat(state->file, len, state->tick_ns, &sample);
	if (read_file(state, "meminfo", &len) == 0)
		host_parse_meminfo(state->file, len, &sample);
	if (read_file(state, "loadavg", &len) == 0)
		host_parse_loadavg(state->file, len, &sample);
	r = sample_processes(state, directory, sample.monotonic_ns, &sample);
	state->fd = -1;
	closedir(directory);
	if (r < 0)
		return r;
	*ret_sample = sample;
	return 0;
}
