// SPDX-License-Identifier: Apache-2.0
#include "tracer/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "tracer/sideband_record.h"

#define RING_PAGES 32	/* data; a power of two */
#define QUEUE_MAX (1u << 18)

struct cpu_ring {
	int fd;			/* -1: not listened to */
	struct perf_event_mmap_page *page;
};

struct sideband {
	struct cpu_ring *cpus;
	u32 cpu_count;
	size_t page_bytes, ring_bytes;
	struct sideband_event *queue;	/* not sorted until dispatch */
	u32 queue_count, queue_cap;
	bool sorted;
	u64 handled_ns;		/* time of the latest event handed on */
	struct sideband_stats stats;
};

int sideband_new(struct sideband **ret_sideband)
{
	struct sideband *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->page_bytes = (size_t)getpagesize();
	s->ring_bytes = RING_PAGES * s->page_bytes;
	*ret_sideband = s;
	return 0;
}

void sideband_free(struct sideband *s)
{
	if (!s)
		return;
	for (u32 cpu = 0; cpu < s->cpu_count; cpu++)
		sideband_remove_cpu(s, cpu);
	for (u32 i = 0; i < s->queue_count; i++)
		event_done(&s->queue[i]);
	free(s->cpus);
	free(s->queue);
	free(s);
}

/*
 * Build ids are not asked for. The kernel (v5.12 to v6.18 at least) then marks other listeners' records, too, as if
 * they held some, and perf dies of it; and it would read them from the file at each mmap of each process.
 */
static int open_dummy(u32 cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SIDEBAND_SAMPLE_TYPE,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * 4096 / 4,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int sideband_reserve_cpu(struct sideband *s, u32 cpu)
{
	void *grown;

	if (cpu < s->cpu_count)
		return 0;
	grown = reallocarray(s->cpus, cpu + 1, sizeof(*s->cpus));
	if (!grown)
		return -ENOMEM;
	s->cpus = grown;
	for (; s->cpu_count <= cpu; s->cpu_count++)
		s->cpus[s->cpu_count] = (struct cpu_ring){ .fd = -1 };
	return 0;
}

int sideband_add_cpu(struct sideband *s, u32 cpu)
{
	_cleanup_(closep) int fd = -1;
	struct cpu_ring *ring;
	int r = sideband_reserve_cpu(s, cpu);

	if (r < 0)
		return r;
	ring = &s->cpus[cpu];
	if (ring->fd >= 0)
		return ring->fd;
	fd = open_dummy(cpu);
	if (fd < 0)
		return fd;
	ring->page = mmap(NULL, s->page_bytes + s->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->page == MAP_FAILED)
		return -errno;
	ring->fd = fd;
	fd = -1;
	return ring->fd;
}

void sideband_add(struct sideband *s, struct sideband_event *event)
{
	s->stats.events++;
	if (event->kind == EVENT_LOST)
		s->stats.lost += event->lost;
	if (event->kind == EVENT_THROTTLE) {
		s->stats.throttled++;
		return;
	}
	if (s->queue_count == s->queue_cap) {
		u32 cap = s->queue_cap ? s->queue_cap * 2 : 256;
		void *grown = cap <= QUEUE_MAX ? reallocarray(s->queue, cap, sizeof(*s->queue)) : NULL;

		if (!grown) {
			s->stats.lost++;
			event_done(event);
			return;
		}
		s->queue = grown;
		s->queue_cap = cap;
	}
	if (event->time_ns < s->handled_ns)
		s->stats.late++;
	event->order = s->stats.events;
	s->queue[s->queue_count++] = *event;
	s->sorted = false;
}

/* A record may wrap around the ring's end: it is copied out, at most 64 KiB. */
static void sideband_read_ring(struct sideband *s, struct cpu_ring *ring)
{
	const u8 *data = (const u8 *)ring->page + s->page_bytes;
	u64 head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	u64 tail = ring->page->data_tail;
	u8 record[UINT16_MAX] __attribute__((aligned(8)));

	while (tail + sizeof(struct perf_event_header) <= head) {
		struct perf_event_header header;
		struct sideband_event event;
		u64 at = tail & (s->ring_bytes - 1), first;

		memcpy(&header, data + at, sizeof(header));	/* records are aligned to 8: a header does not wrap */
		if (header.size < sizeof(header) || header.size > head - tail) {
			s->stats.malformed++;
			tail = head;
			break;
		}
		first = s->ring_bytes - at < header.size ? s->ring_bytes - at : header.size;
		memcpy(record, data + at, first);
		memcpy(record + first, data, header.size - first);
		tail += header.size;
		switch (event_parse(record, header.size, &event)) {
		case 1:
			sideband_add(s, &event);
			break;
		case -EBADMSG:
			s->stats.malformed++;
		}
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

void sideband_remove_cpu(struct sideband *s, u32 cpu)
{
	if (cpu >= s->cpu_count || s->cpus[cpu].fd < 0)
		return;
	sideband_read_ring(s, &s->cpus[cpu]);
	munmap(s->cpus[cpu].page, s->page_bytes + s->ring_bytes);
	close(s->cpus[cpu].fd);
	s->cpus[cpu].fd = -1;
}

void sideband_read(struct sideband *s)
{
	for (u32 cpu = 0; cpu < s->cpu_count; cpu++)
		if (s->cpus[cpu].fd >= 0)
			sideband_read_ring(s, &s->cpus[cpu]);
}

static int compare_times(const void *a, const void *b)
{
	const struct sideband_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sideband_sort(struct sideband *s)
{
	if (!s->sorted && s->queue_count)
		qsort(s->queue, s->queue_count, sizeof(*s->queue), compare_times);
	s->sorted = true;
}

void sideband_dispatch(struct sideband *s, u64 until_ns, void (*handle)(void *arg, const struct sideband_event *event),
		       void *arg)
{
	u32 done = 0;

	sideband_sort(s);
	while (done < s->queue_count && s->queue[done].time_ns <= until_ns) {
		struct sideband_event *event = &s->queue[done++];

		handle(arg, event);
		if (event->time_ns > s->handled_ns)
			s->handled_ns = event->time_ns;
		event_done(event);
	}
	s->queue_count -= done;
	if (done && s->queue_count)
		memmove(s->queue, s->queue + done, s->queue_count * sizeof(*s->queue));
}

bool sideband_exec_waits(const struct sideband *s, u32 pid)
{
	for (u32 i = 0; i < s->queue_count; i++)
		if (s->queue[i].kind == EVENT_EXEC && s->queue[i].pid == pid)
			return true;
	return false;
}

bool sideband_waits(const struct sideband *s)
{
	return s->queue_count > 0;
}

struct sideband_stats sideband_stats(const struct sideband *s)
{
	return s->stats;
}
