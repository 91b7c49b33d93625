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

/*
 * A machine may have ten thousand processes that sleep. Where there are many, one that has used nothing since it was
 * last read is read less and less often, and who there is at all is asked less often. A read costs some 20 us, ten
 * times that where all CPUs are wanted, so it is not a part of them that is read each time, but so many.
 */
#define MANY 512
#define IDLE_READS 128			/* of those that sleep, each time */
#define IDLE_WAIT_MIN 15		/* times that one is left out, where there are few */
#define IDLE_MAX 16			/* of 2, the times: more than 65,536 / IDLE_READS */
#define NEW_READS 512			/* of those that were not there before; more are read the next times */
#define LISTED_AT_ONCE 512		/* of so many more, the list is read every further time */

/* What is remembered of a process, to know what it used since. */
struct seen {
	struct host_process process;
	u64 read_ns;
	u8 idle;			/* how often it had used nothing, up to IDLE_MAX */
	u16 wait;			/* times until it is read again */
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
	bool is_sorted;			/* `now` is */
	u32 list_wait;			/* times until the list of processes is read again */
	u32 process_count, left_out;	/* as of the last time that it was */
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

	return x->process.pid < y->process.pid ? -1 : x->process.pid > y->process.pid;
}

static const struct seen *find_before(const struct host_state *state, pid_t pid)
{
	struct seen key = { .process = { .pid = pid } };

	if (!state->before.count)
		return NULL;
	return bsearch(&key, state->before.at, state->before.count, sizeof(key), compare_pid);
}

static void since_before(const struct host_state *state, const struct seen *before, struct seen *now)
{
	u64 from_ns = before ? before->read_ns : state->before_ns, used = now->process.cpu_ns;

	if (!from_ns || now->read_ns <= from_ns)
		return;
	/* Of one that is new since then, all of its time is. */
	if (before && before->process.start_ticks == now->process.start_ticks)
		used = used > before->process.cpu_ns ? used - before->process.cpu_ns : 0;
	now->process.cpus = (double)used / (double)(now->read_ns - from_ns);
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

/* When it is read again: the longer it was idle, the later; not all of them at once. */
static void be_patient(const struct host_state *state, const struct seen *before, struct seen *now)
{
	u32 most = state->before.count / IDLE_READS, wait;

	if (!before || now->process.cpus > 0 || state->before.count < MANY)
		return;
	most = most > IDLE_WAIT_MIN ? most : IDLE_WAIT_MIN;
	now->idle = before->idle < IDLE_MAX ? before->idle + 1 : IDLE_MAX;
	wait = (1u << now->idle) - 1;
	if (!before->idle)
		wait = (u32)now->process.pid % (most + 1);
	now->wait = (u16)(wait < most ? wait : most);
}

/* False if it has ended meanwhile. */
static bool read_process(struct host_state *state, pid_t pid, const struct seen *before, struct seen *now)
{
	char name[32];
	size_t len;

	(void)snprintf(name, sizeof(name), "%d/stat", pid);
	if (read_file(state, name, &len) < 0 ||
	    host_parse_process(state->file, len, state->tick_ns, state->page_bytes, &now->process) < 0)
		return false;
	since_before(state, before, now);
	be_patient(state, before, now);
	return true;
}

static int sample_process(struct host_state *state, pid_t pid, const struct seen *before, u64 now_ns,
			  struct host_sample *sample)
{
	struct seen now = { .read_ns = now_ns };

	if (before && before->wait) {
		now = *before;
		now.wait--;
	} else if (!before && sample->processes_read >= NEW_READS) {
		now.process.pid = pid;
		now.wait = (u16)(state->now.count / NEW_READS);
	} else if (!read_process(state, pid, before, &now)) {
		return 0;
	} else {
		sample->processes_read++;
	}
	if (array_reserve(&state->now.at, &state->now.cap, state->now.count + 1, sizeof(*state->now.at)) < 0)
		return -ENOMEM;
	state->is_sorted &= !state->now.count || state->now.at[state->now.count - 1].process.pid < pid;
	state->now.at[state->now.count++] = now;
	if (now.process.cpus > 0)
		put_top(sample->by_cpu, &sample->by_cpu_count, &now.process, more_cpu);
	if (now.process.rss_bytes)
		put_top(sample->by_rss, &sample->by_rss_count, &now.process, more_rss);
	return 0;
}

static int sample_listed(struct host_state *state, DIR *directory, u64 now_ns, struct host_sample *sample)
{
	const struct dirent *entry;
	int r = 0;

	while (r == 0 && (entry = readdir(directory))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		sample->process_count++;
		if (state->now.count == HOST_PROCESSES_MAX)
			sample->processes_left_out++;
		else
			r = sample_process(state, pid, find_before(state, pid), now_ns, sample);
	}
	state->list_wait = state->now.count / LISTED_AT_ONCE;
	state->process_count = sample->process_count;
	state->left_out = sample->processes_left_out;
	return r;
}

static int sample_known(struct host_state *state, u64 now_ns, struct host_sample *sample)
{
	int r = 0;

	for (u32 i = 0; r == 0 && i < state->before.count; i++)
		r = sample_process(state, state->before.at[i].process.pid, &state->before.at[i], now_ns, sample);
	state->list_wait--;
	sample->process_count = state->process_count;
	sample->processes_left_out = state->left_out;
	return r;
}

static int sample_processes(struct host_state *state, DIR *directory, u64 now_ns, struct host_sample *sample)
{
	struct seen_list before;
	int r;

	state->now.count = 0;
	state->is_sorted = true;	/* as the kernel lists them, mostly */
	r = state->list_wait ? sample_known(state, now_ns, sample) : sample_listed(state, directory, now_ns, sample);
	if (!state->is_sorted)
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
	if (read_file(state, "vmstat", &len) == 0)
		host_parse_vmstat(state->file, len, &sample);
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
