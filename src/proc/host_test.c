// SPDX-License-Identifier: Apache-2.0
#include "proc/host.h"

#include <errno.h>
#include <sys/stat.h>

#include "test.h"

#define TICK_NS 10000000ull

TEST(host_reads_what_the_cpus_did)
{
	static const char text[] =
		"cpu  10 20 30 40 50 60 70 80 5 5\ncpu0 5 10 15 20 25 30 35 40 0 0\n"
		"cpu1 5 10 15 20 25 30 35 40 0 0\nintr 99 0 1\nctxt 1234\nbtime 1\nprocesses 77\n"
		"procs_running 3\nprocs_blocked 1\n";
	struct host_sample s = { 0 };

	host_parse_stat(text, sizeof(text) - 1, TICK_NS, &s);
	for (u32 i = 0; i < HOST_CPU_STATE_COUNT; i++)
		EQ(s.cpu_ns[i], (i + 1) * 10 * TICK_NS);
	EQ(s.cpu_count, 2);
	EQ(s.context_switches, 1234);
	EQ(s.forks, 77);
	EQ(s.running, 3);
	EQ(s.blocked, 1);
	STREQ(host_cpu_state_names[HOST_CPU_IOWAIT], "wait");
}

TEST(host_divides_memory_so_that_it_adds_up)
{
	static const char text[] = "MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:     600 kB\n"
				   "Buffers:           50 kB\nCached:           200 kB\nSwapCached:         7 kB\n"
				   "SReclaimable:      40 kB\nSUnreclaim:        10 kB\n";
	struct host_sample s = { 0 };
	u64 sum = 0;

	host_parse_meminfo(text, sizeof(text) - 1, &s);
	EQ(s.memory_total_bytes, 1000 * 1024);
	EQ(s.memory_available_bytes, 600 * 1024);
	EQ(s.memory_bytes[HOST_MEMORY_USED], 600 * 1024);
	EQ(s.memory_bytes[HOST_MEMORY_CACHED], 200 * 1024);
	for (u32 i = 0; i < HOST_MEMORY_STATE_COUNT; i++)
		sum += s.memory_bytes[i];
	EQ(sum, s.memory_total_bytes);
}

TEST(host_reads_load)
{
	struct host_sample s = { 0 };

	host_parse_loadavg("0.52 1.25 12.07 1/123 4567\n", 27, &s);
	EQ(s.load[0] * 100 + 0.5, 52);
	EQ(s.load[1] * 100, 125);
	EQ(s.load[2] * 100 + 0.5, 1207);
}

TEST(host_takes_numbers_that_are_none_as_they_come)
{
	struct host_sample s = { 0 };

	host_parse_stat("cpu  99999999999999999999999 x -5", 33, TICK_NS, &s);
	EQ(s.cpu_ns[0], ~0ull);
	EQ(s.cpu_ns[1], 0);
	EQ(s.cpu_ns[2], 0);
	host_parse_meminfo("MemTotal: 5 kB\nMemFree: 9 kB", 28, &s);
	EQ(s.memory_bytes[HOST_MEMORY_USED], 0);
	host_parse_stat("", 0, TICK_NS, &s);
	host_parse_loadavg("", 0, &s);
}

TEST(host_reads_processes_whose_names_hold_brackets)
{
	static const char text[] = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 7 8 20 0 5 0 9000 100 25 1\n";
	struct host_process p;

	EQ(host_parse_process(text, sizeof(text) - 1, TICK_NS, 4096, &p), 0);
	EQ(p.pid, 42);
	STREQ(p.name, "a) b (c)");
	EQ(p.cpu_ns, 200 * TICK_NS);
	EQ(p.threads, 5);
	EQ(p.start_ticks, 9000);
	EQ(p.rss_bytes, 25 * 4096);
	EQ(host_parse_process("42 )a(", 6, TICK_NS, 4096, &p), -EBADMSG);
	EQ(host_parse_process("x (a) S", 7, TICK_NS, 4096, &p), -EBADMSG);
	EQ(host_parse_process("", 0, TICK_NS, 4096, &p), -EBADMSG);
	EQ(host_parse_process("7 (a name that is longer than any that the kernel gives) S", 58, TICK_NS, 4096, &p), 0);
	EQ(strlen(p.name), HOST_NAME_MAX - 1);
}

/* ---- A /proc of our own ----------------------------------------------------------- */

static char root[64];

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "we");
	OK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void put_process(u32 pid, u32 start, u32 ticks, u32 pages)
{
	char name[128], text[256];

	snprintf(name, sizeof(name), "%s/%u", root, pid);
	(void)mkdir(name, 0700);
	snprintf(name, sizeof(name), "%u/stat", pid);
	snprintf(text, sizeof(text), "%u (p%u) S 1 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 %u 0 %u\n", pid, pid, ticks,
		 start, pages);
	put(name, text);
}

static u32 root_count;

static void make_root(u32 count)
{
	root_count = count;
	snprintf(root, sizeof(root), "/tmp/wick-host-XXXXXX");
	OK(mkdtemp(root));
	put("stat", "cpu  1 2 3 4 5 6 7 8\ncpu0 1\n");
	put("loadavg", "1.00 2.00 3.00 1/1 1\n");
	put("meminfo", "MemTotal: 10 kB\n");
	for (u32 pid = 1; pid <= root_count; pid++)
		put_process(pid, 5, 100, pid * 7 % 31);
}

static void remove_root(void)
{
	char path[128];

	for (u32 pid = 1; pid <= root_count; pid++) {
		snprintf(path, sizeof(path), "%s/%u/stat", root, pid);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%u", root, pid);
		rmdir(path);
	}
	for (const char *const *name = (const char *const[]){ "stat", "loadavg", "meminfo", NULL }; *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", root, *name);
		unlink(path);
	}
	EQ(rmdir(root), 0);
}

TEST(host_samples_tell_what_was_used_since_the_last)
{
	_cleanup_(host_freep) struct host_state *state = NULL;
	struct host_sample s;

	make_root(30);
	state = host_new(root);
	EQ(host_sample(state, &s), 0);
	EQ(s.process_count, 30);
	EQ(s.by_cpu_count, 0);
	EQ(s.by_rss_count, HOST_TOP);
	for (u32 i = 1; i < HOST_TOP; i++)
		OK(s.by_rss[i - 1].rss_bytes >= s.by_rss[i].rss_bytes);
	EQ(s.by_rss[0].rss_bytes, 30 * (u64)sysconf(_SC_PAGESIZE));
	EQ(s.load[2], 3);
	put_process(7, 5, 150, 0);	/* used 50 more */
	put_process(9, 5, 300, 0);	/* used 200 more */
	put_process(11, 6, 90, 0);	/* is another one by now */
	EQ(host_sample(state, &s), 0);
	EQ(s.by_cpu_count, 3);
	EQ(s.by_cpu[0].pid, 9);
	EQ(s.by_cpu[1].pid, 11);
	EQ(s.by_cpu[2].pid, 7);
	OK(s.by_cpu[0].cpus > 3.9 * s.by_cpu[2].cpus && s.by_cpu[0].cpus < 4.1 * s.by_cpu[2].cpus);
	EQ(host_sample(state, &s), 0);
	EQ(s.by_cpu_count, 0);
	remove_root();
}

TEST(host_reads_processes_that_sleep_less_often_where_there_are_many)
{
	_cleanup_(host_freep) struct host_state *state = NULL;
	u32 most = 0, found = 0;
	struct host_sample s;

	make_root(2000);
	state = host_new(root);
	for (u32 i = 0; i < 40; i++) {
		EQ(host_sample(state, &s), 0);
		EQ(s.process_count, 2000);
		EQ(s.by_rss_count, HOST_TOP);
		OK(s.processes_read <= 1100);		/* nor all of them at once when they come */
		most = i >= 20 && s.processes_read > most ? s.processes_read : most;
	}
	OK(most > 0 && most < 400);
	/* One that wakes up is found soon, and from then on at once. */
	for (u32 i = 1; i <= 32; i++) {
		put_process(77, 5, 100 + i, 1);
		EQ(host_sample(state, &s), 0);
		found += s.by_cpu_count == 1 && s.by_cpu[0].pid == 77;
	}
	OK(found >= 16 && found < 32);
	remove_root();
}

TEST(host_samples_this_machine)
{
	_cleanup_(host_freep) struct host_state *state = host_new("/proc");
	struct host_sample s;

	EQ(host_sample(state, &s), 0);
	OK(s.cpu_count > 0 && s.cpu_ns[HOST_CPU_USER] > 0);
	OK(s.memory_total_bytes > s.memory_bytes[HOST_MEMORY_FREE]);
	OK(s.process_count > 0 && s.by_rss_count > 0);
}

TEST(host_survives_lack_of_memory_and_of_proc)
{
	struct host_sample s;
	struct host_state *nowhere = host_new("/nonexistent");

	EQ(host_sample(nowhere, &s), -ENOENT);
	host_free(nowhere);
	for (long i = 0, asked = 1; asked >= i; i++) {
		struct host_state *state;

		OK(i < 1000);
		test_alloc_fail(i);
		state = host_new("/proc");
		if (state)
			(void)host_sample(state, &s);
		asked = test_alloc_reset();
		host_free(state);
	}
}

TEST(host_reads_how_often_memory_ran_out)
{
	static const char text[] = "nr_free_pages 5\noom_kill 3\noom_kills 9\ndrop_pagecache 0\n";
	struct host_sample s = { 0 };

	host_parse_vmstat(text, sizeof(text) - 1, &s);
	EQ(s.oom_kills, 3);
	host_parse_vmstat("oom_kil", 7, &s);
	EQ(s.oom_kills, 3);
}
