// SPDX-License-Identifier: Apache-2.0
#include "proc/processes.h"

#include <unistd.h>

#include "proc/maps.h"
#include "test.h"

static int maps_gone, processes_gone;

static void on_maps_gone(void *arg, struct maps *maps)
{
	maps_gone++;
}

static void on_process_gone(void *arg, struct process *process)
{
	processes_gone++;
}

static struct processes *new_table(void)
{
	static const struct processes_ops ops = { .maps_gone = on_maps_gone, .process_gone = on_process_gone };
	struct processes *t;

	EQ(processes_new(&ops, &t), 0);
	return t;
}

static void map(struct processes *t, u32 pid, u64 start, const char *path)
{
	processes_mmap(t, pid, &(struct mapping){ .start_va = start, .end_va = start + 0x1000, .path = (char *)path });
}

static const struct proc_id first = { 100, 1 }, second = { 100, 2 };

TEST(processes_knows_a_program_from_its_exec_on)
{
	struct processes *t = new_table();
	struct process *p;

	processes_exec(t, 7, "prog", 1000);
	map(t, 7, 0x1000, "/bin/prog");
	map(t, 7, 0x5000, "/lib/libc.so");
	p = processes_identify(t, 7, &first);
	OK(p->maps_known);
	EQ(p->maps->count, 2);
	STREQ(p->exe_path, "/bin/prog");
	STREQ(p->comm, "prog");
	processes_free(t);
}

TEST(processes_never_mixes_two_programs_of_one_pid)
{
	struct processes *t = new_table();
	struct process *p;
	u64 serial;

	processes_exec(t, 7, "one", 1000);
	map(t, 7, 0x1000, "/bin/one");
	serial = processes_identify(t, 7, &first)->serial;
	processes_exec(t, 7, "two", 2000);
	map(t, 7, 0x1000, "/bin/two");
	p = processes_identify(t, 7, &second);
	OK(p->serial != serial);
	STREQ(p->exe_path, "/bin/two");
	EQ(p->maps->count, 1);
	EQ(processes_gone, 1);
	/* A late sample of the first is not taken for the second. */
	OK(processes_is_newer(p, &(struct trace_record){ .time_ns = 1500, .id = first }));
	OK(!processes_is_newer(p, &(struct trace_record){ .time_ns = 2500, .id = second }));
	processes_free(t);
}

TEST(processes_replaces_one_whose_pid_was_reused)
{
	struct processes *t = new_table();
	struct proc_id other = { 500, 1 };
	u64 serial;

	serial = processes_identify(t, 7, &first)->serial;
	OK(processes_identify(t, 7, &first)->serial == serial);
	OK(processes_identify(t, 7, &other)->serial != serial);
	processes_free(t);
}

TEST(processes_lets_a_child_share_mappings_until_one_changes)
{
	struct processes *t = new_table();
	struct process *parent, *child;

	processes_exec(t, 7, "sh", 1000);
	map(t, 7, 0x1000, "/bin/sh");
	processes_fork(t, 7, 8, 2000);
	parent = processes_find(t, 7);
	child = processes_find(t, 8);
	OK(parent->maps == child->maps);
	STREQ(child->exe_path, "/bin/sh");
	map(t, 8, 0x9000, "/lib/x.so");
	OK(parent->maps != child->maps);
	EQ(parent->maps->count, 1);
	EQ(child->maps->count, 2);
	processes_free(t);
}

TEST(processes_keeps_installed_mappings_while_a_child_has_them)
{
	struct processes *t = new_table();

	processes_exec(t, 7, "sh", 1000);
	map(t, 7, 0x1000, "/bin/sh");
	processes_find(t, 7)->maps->installed_count = 1;
	processes_fork(t, 7, 8, 2000);
	processes_exec(t, 7, "other", 3000);
	EQ(maps_gone, 0);
	processes_exec(t, 8, "other", 3000);
	EQ(maps_gone, 1);
	processes_free(t);
}

TEST(processes_tells_a_child_of_what_its_parent_has_not_installed)
{
	struct processes *t = new_table();

	processes_exec(t, 7, "sh", 1000);
	map(t, 7, 0x1000, "/bin/sh");
	processes_find(t, 7)->maps->installed_count = 1;
	processes_find(t, 7)->maps_changed = false;
	processes_fork(t, 7, 8, 2000);
	OK(!processes_find(t, 8)->maps_changed);
	map(t, 7, 0x2000, "/lib/libc.so.6");
	processes_fork(t, 7, 9, 3000);
	OK(processes_find(t, 9)->maps_changed);
	OK(process_own_maps(t, processes_find(t, 9)) != processes_find(t, 7)->maps);
	EQ(processes_find(t, 9)->maps->installed_count, 0);
	processes_free(t);
}

TEST(processes_forgets_ended_ones_after_a_while)
{
	struct processes *t = new_table();

	processes_exec(t, 7, "a", 1);
	processes_exec(t, 8, "b", 1);
	processes_exit(t, 7, 1000);
	processes_exit(t, 8, 1001);
	processes_sweep(t, 1000000000);
	OK(processes_find(t, 7));
	/* Its pid is used again: the new one stays. */
	processes_exec(t, 8, "c", 2000);
	processes_sweep(t, 5000000000);
	OK(!processes_find(t, 7));
	STREQ(processes_find(t, 8)->comm, "c");
	EQ(processes_stats(t).known, 1);
	processes_free(t);
}

TEST(processes_reads_its_own_mappings)
{
	struct processes *t = new_table();
	struct process *p = processes_identify(t, (u32)getpid(), &first);

	EQ(processes_scan(t, p, (u32)getpid()), 0);
	OK(p->maps_known);
	OK(p->maps->count > 2);
	OK(p->exe_path && strstr(p->exe_path, "unit"));
	OK(maps_find(p->maps, (u64)(unsigned long)on_maps_gone));
	processes_free(t);
}

TEST(processes_takes_a_gone_childs_mappings_from_its_parent)
{
	struct processes *t = new_table();
	u32 gone = 4194304 + 5;	/* more than a pid can be */
	struct process *p;

	processes_fork(t, (u32)getpid(), gone, 1000);
	p = processes_identify(t, gone, &first);
	EQ(processes_scan(t, p, gone), 0);
	OK(!p->is_gone);
	OK(p->maps == processes_find(t, (u32)getpid())->maps);
	p = processes_identify(t, gone + 1, &first);
	OK(processes_scan(t, p, gone + 1) < 0);
	OK(p->is_gone);
	processes_free(t);
}

TEST(processes_finds_who_has_ended_while_events_were_lost)
{
	struct processes *t = new_table();
	u32 nobody = 0x3fffff;	/* past what the kernel numbers: PID_MAX_LIMIT is 1 << 22 */

	processes_fork(t, 1, (u32)getpid(), 1000);
	processes_fork(t, 1, nobody, 1000);
	for (u32 i = 0; i < 1000; i++)
		processes_find_ended(t, 2000);
	OK(!processes_find(t, nobody)->exited_ns);	/* nothing was lost: nobody is looked at */
	processes_distrust(t);
	for (u32 i = 0; i < 1000; i++)
		processes_find_ended(t, 3000);
	EQ(processes_find(t, nobody)->exited_ns, 3000);
	OK(!processes_find(t, (u32)getpid())->exited_ns);
	processes_sweep(t, 3000 + 10000000000ull);
	OK(!processes_find(t, nobody));
	processes_free(t);
}
