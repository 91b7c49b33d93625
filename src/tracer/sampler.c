// SPDX-License-Identifier: Apache-2.0
#include "tracer/sampler.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/io.h"
#include "tracer/sideband.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define CPUS_MAX 8192

struct sampler {
	struct sampler_options options;
	int (*fds)[KIND_MAX + SAMPLER_CLOCKS_MAX];	/* by CPU, then as in options.events, then as in clocks_hz */
	u32 clocks_hz[SAMPLER_CLOCKS_MAX];		/* 0: there is none in that place */
	bool *online, *is_added;
	u32 cap;
	bool paused;
	u64 wanted[CPUS_MAX / 64];	/* a bit for each CPU that is to be sampled */
	char list[4096];	/* of CPUs, as it was last read */
};

/* clock_hz: as what it is known to the kernel half; 0 for all but those beside the usual clock. */
static int open_event(const struct sampler_event *event, u32 frequency_hz, u32 clock_hz, int cpu, int pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->event->type,
		.config = event->event->config,
		.freq = !event->events_per_sample,
		.sample_period = event->events_per_sample,
		.exclude_idle = 1,
		.disabled = 1,
		/* Records of throttling go to the side-band's buffer, which keeps this time. */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		/* That is for samples in a buffer, where none of ours go: the program can read it (bpf/kernel.h). */
		.wakeup_events = clock_hz,
	};
	int fd;

	if (attr.freq)
		attr.sample_freq = frequency_hz;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int sampler_probe(const struct kind_choice *choice, const struct kind_event **ret_event)
{
	const struct kind_event *event = choice->event ? choice->event : choice->kind->events;
	int fd;

	if (choice->kind->events->type == KIND_EVENT_HOOKS) {
		*ret_event = choice->kind->events;
		return 0;
	}
	do {
		fd = open_event(&(struct sampler_event){ event, choice->events_per_sample, -1, false }, 1, 0, -1, 0);
	} while (fd < 0 && !choice->event && (++event)->name);
	if (fd < 0)
		return fd;
	close(fd);
	*ret_event = event;
	return 0;
}

static int want_cpu(void *arg, u32 cpu)
{
	struct sampler *s = arg;

	s->wanted[cpu / 64] |= 1ull << cpu % 64;
	return 0;
}

static bool is_wanted(const struct sampler *s, u32 cpu)
{
	return s->wanted[cpu / 64] >> cpu % 64 & 1;
}

int sampler_new(const struct sampler_options *options, struct sampler **ret_sampler)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return -ENOMEM;
	s->options = *options;
	if (!options->cpus)
		memset(s->wanted, 0xff, sizeof(s->wanted));
	else
		r = sampler_parse_cpus(options->cpus, want_cpu, s);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret_sampler = s;
	return 0;
}

static void sampler_remove_cpu(struct sampler *s, u32 cpu)
{
	if (!s->is_added[cpu])
		return;
	s->is_added[cpu] = false;
	for (u32 i = 0; i < KIND_MAX + SAMPLER_CLOCKS_MAX; i++)
		closep(&s->fds[cpu][i]);
	memset(s->fds[cpu], -1, sizeof(s->fds[cpu]));
	sideband_remove_cpu(s->options.sideband, cpu);
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (u32 cpu = 0; cpu < s->cap; cpu++)
		sampler_remove_cpu(s, cpu);
	free(s->fds);
	free(s->online);
	free(s->is_added);
	free(s);
}

static int sampler_reserve(struct sampler *s, u32 cpu)
{
	u32 cap = cpu + 1;
	void *grown;

	if (cpu < s->cap)
		return 0;
	if (cpu >= CPUS_MAX)
		return -E2BIG;
	grown = reallocarray(s->fds, cap, sizeof(*s->fds));
	if (!grown)
		return -ENOMEM;
	s->fds = grown;
	grown = reallocarray(s->online, cap, sizeof(*s->online));
	if (!grown)
		return -ENOMEM;
	s->online = grown;
	grown = reallocarray(s->is_added, cap, sizeof(*s->is_added));
	if (!grown)
		return -ENOMEM;
	s->is_added = grown;
	for (; s->cap < cap; s->cap++) {
		memset(s->fds[s->cap], -1, sizeof(s->fds[s->cap]));
		s->is_added[s->cap] = false;
	}
	return 0;
}

/* Where the clock of CPU time is in options.events; event_count: nowhere. */
static u32 cpu_event(const struct sampler *s)
{
	u32 i = 0;

	while (i < s->options.event_count && (!s->options.events[i].is_cpu || s->options.events[i].events_per_sample))
		i++;
	return i;
}

static int sampler_add_event(struct sampler *s, u32 cpu, u32 index, int records)
{
	u32 clock_hz = index < KIND_MAX ? 0 : s->clocks_hz[index - KIND_MAX];
	const struct sampler_event *event = &s->options.events[clock_hz ? cpu_event(s) : index];
	_cleanup_(closep) int fd = open_event(event, clock_hz ? clock_hz : s->options.frequency_hz, clock_hz, (int)cpu,
					      -1);

	if (fd < 0)
		return fd;
	/* Without it only the count of throttlings is missing. */
	(void)ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, records);
	/* The clock of a CPU that is not wanted is there, but never starts. */
	if (is_wanted(s, cpu) && (ioctl(fd, PERF_EVENT_IOC_SET_BPF, event->program_fd) < 0 ||
				  (!s->paused && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)))
		return -errno;
	s->fds[cpu][index] = fd;
	fd = -1;
	return 0;
}

static int sampler_add_cpu(void *arg, u32 cpu)
{
	struct sampler *s = arg;
	int r = sampler_reserve(s, cpu), records;

	if (r < 0)
		return r;
	s->online[cpu] = true;
	if (s->is_added[cpu])
		return 0;
	records = sideband_add_cpu(s->options.sideband, cpu);
	if (records < 0)
		return records;
	s->is_added[cpu] = true;
	for (u32 i = 0; r == 0 && i < s->options.event_count; i++)
		r = sampler_add_event(s, cpu, i, records);
	for (u32 i = 0; r == 0 && i < SAMPLER_CLOCKS_MAX; i++)
		if (s->clocks_hz[i])
			r = sampler_add_event(s, cpu, KIND_MAX + i, records);
	if (r < 0)
		sampler_remove_cpu(s, cpu);
	return r;
}

/* ---- Clocks beside the usual one --------------------------------------------------- */

static void sampler_remove_clock(struct sampler *s, u32 clock)
{
	for (u32 cpu = 0; cpu < s->cap; cpu++) {
		closep(&s->fds[cpu][KIND_MAX + clock]);
		s->fds[cpu][KIND_MAX + clock] = -1;
	}
	s->clocks_hz[clock] = 0;
}

static int sampler_add_clock(struct sampler *s, u32 rate_hz)
{
	u32 clock = SAMPLER_CLOCKS_MAX;
	int r = 0;

	for (u32 i = 0; i < SAMPLER_CLOCKS_MAX; i++) {
		if (s->clocks_hz[i] == rate_hz)
			return 0;
		if (!s->clocks_hz[i])
			clock = i;
	}
	assert(clock < SAMPLER_CLOCKS_MAX);
	s->clocks_hz[clock] = rate_hz;
	for (u32 cpu = 0; r == 0 && cpu < s->cap; cpu++)
		if (s->is_added[cpu])
			r = sampler_add_event(s, cpu, KIND_MAX + clock, sideband_add_cpu(s->options.sideband, cpu));
	return r;
}

int sampler_set_clocks(struct sampler *s, const u32 *rates_hz, u32 count)
{
	int r = count && cpu_event(s) == s->options.event_count ? -EOPNOTSUPP : 0;

	assert(count <= SAMPLER_CLOCKS_MAX);
	for (u32 i = 0; i < SAMPLER_CLOCKS_MAX; i++) {
		bool is_wanted = false;

		for (u32 k = 0; k < count; k++)
			is_wanted |= rates_hz[k] == s->clocks_hz[i];
		if (s->clocks_hz[i] && !is_wanted)
			sampler_remove_clock(s, i);
	}
	for (u32 i = 0; r == 0 && i < count; i++)
		r = sampler_add_clock(s, rates_hz[i]);
	for (u32 i = 0; r < 0 && i < SAMPLER_CLOCKS_MAX; i++)
		sampler_remove_clock(s, i);
	return r;
}

int sampler_parse_cpus(const char *list, int (*add)(void *arg, u32 cpu), void *arg)
{
	int count = 0, r;

	while (*list && *list != '\n') {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return -EBADMSG;
		if (*end == '-') {
			list = end + 1;
			last = strtoul(list, &end, 10);
			if (end == list)
				return -EBADMSG;
		}
		if (last < first || last >= CPUS_MAX)
			return -EBADMSG;
		for (; first <= last; first++, count++) {
			r = add(arg, (u32)first);
			if (r < 0)
				return r;
		}
		list = *end == ',' ? end + 1 : end;
		if (*end && *end != ',' && *end != '\n')
			return -EBADMSG;
	}
	return count;
}

void sampler_pause(struct sampler *s, bool pause)
{
	s->paused = pause;
	for (u32 cpu = 0; cpu < s->cap; cpu++)
		for (u32 i = 0; s->is_added[cpu] && is_wanted(s, cpu) && i < KIND_MAX + SAMPLER_CLOCKS_MAX; i++)
			if (s->fds[cpu][i] >= 0)
				(void)ioctl(s->fds[cpu][i], pause ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

int sampler_update_cpus(struct sampler *s)
{
	char list[sizeof(s->list)];
	int r = (int)io_read_text(ONLINE, list, sizeof(list));

	if (r < 0)
		return r;
	if (!strcmp(list, s->list))
		return 0;
	for (u32 cpu = 0; cpu < s->cap; cpu++)
		s->online[cpu] = false;
	r = sampler_parse_cpus(list, sampler_add_cpu, s);
	for (u32 cpu = 0; cpu < s->cap; cpu++)
		if (!s->online[cpu])
			sampler_remove_cpu(s, cpu);
	/* A CPU may go away between the two: tried again at the next call. */
	if (r >= 0 || r == -ENODEV)
		memcpy(s->list, r >= 0 ? list : "", r >= 0 ? sizeof(list) : 1);
	return r == -ENODEV ? 0 : r;
}
