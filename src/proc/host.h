/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers about this machine that explain a profile: what the CPUs did, how
 * loaded and how full it is, which processes used most of it.
 *
 *	host_new() -> host_sample() ... -> host_free()
 *
 *  - CPU times of states are since boot; those of processes since the sample before, as CPUs used on average (1: one
 *    CPU, all the time). The first sample knows none.
 *  - Work and memory are bounded: HOST_PROCESSES_MAX are looked at, what is past it is counted. Only what /proc shows
 *    is seen.
 *
 * One thread owns a struct host_state.
 */
#ifndef PROC_HOST_H
#define PROC_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/types.h"

#define HOST_PROCESSES_MAX 65536
#define HOST_TOP 10
#define HOST_NAME_MAX 32

struct host_state;

/* In the order of /proc/stat; name, as OTel calls it */
#define HOST_CPU_STATES(X) \
	X(USER, "user") X(NICE, "nice") X(SYSTEM, "system") X(IDLE, "idle") X(IOWAIT, "wait") \
	X(IRQ, "interrupt") X(SOFTIRQ, "softirq") X(STEAL, "steal")

enum host_cpu_state {
#define X(name, text) HOST_CPU_##name,
	HOST_CPU_STATES(X)
#undef X
	HOST_CPU_STATE_COUNT,
};
extern const char *const host_cpu_state_names[HOST_CPU_STATE_COUNT];

/* name, as OTel calls it; they add up to the total */
#define HOST_MEMORY_STATES(X) \
	X(USED, "used") X(FREE, "free") X(BUFFERED, "buffered") X(CACHED, "cached") \
	X(SLAB_RECLAIMABLE, "slab_reclaimable") X(SLAB_UNRECLAIMABLE, "slab_unreclaimable")

enum host_memory_state {
#define X(name, text) HOST_MEMORY_##name,
	HOST_MEMORY_STATES(X)
#undef X
	HOST_MEMORY_STATE_COUNT,
};
extern const char *const host_memory_state_names[HOST_MEMORY_STATE_COUNT];

struct host_process {
	pid_t pid;
	u32 threads;
	u64 start_ticks;		/* with pid: which one it is */
	u64 cpu_ns;			/* since it started */
	double cpus;			/* since the last sample */
	u64 rss_bytes;
	char name[HOST_NAME_MAX];	/* what it calls itself; may hold any bytes but NUL */
};

struct host_sample {
	u64 monotonic_ns;
	u32 cpu_count;
	u64 cpu_ns[HOST_CPU_STATE_COUNT];
	u64 context_switches, forks;	/* since boot */
	u64 oom_kills;			/* the same */
	u32 running, blocked;		/* threads */
	double load[3];			/* of 1, 5, 15 minutes */
	u64 memory_total_bytes, memory_available_bytes;
	u64 memory_bytes[HOST_MEMORY_STATE_COUNT];
	u32 process_count, processes_left_out;
	u32 processes_read;		/* of the others it is known that they sleep */
	u32 by_cpu_count, by_rss_count;
	struct host_process by_cpu[HOST_TOP], by_rss[HOST_TOP];	/* the largest first */
};

/* proc: "/proc", or one made up for tests. NULL without memory. */
struct host_state *host_new(const char *proc);
void host_free(struct host_state *state);
DEFINE_CLEANUP(struct host_state *, host_free)

/* -errno. What one file does not say stays 0. */
int host_sample(struct host_state *state, struct host_sample *ret_sample);

/* ---- Files, as text that need not be whole ------------------------------------- */

void host_parse_stat(const char *text, size_t len, u64 tick_ns, struct host_sample *sample);
void host_parse_meminfo(const char *text, size_t len, struct host_sample *sample);
void host_parse_vmstat(const char *text, size_t len, struct host_sample *sample);
void host_parse_loadavg(const char *text, size_t len, struct host_sample *sample);
/* /proc/PID/stat; -EBADMSG if it does not look like one. */
int host_parse_process(const char *text, size_t len, u64 tick_ns, u64 page_bytes, struct host_process *ret_process);

#endif
