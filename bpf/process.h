/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Which process this is, whether it is wanted, and what a child inherits. */
#ifndef BPF_PROCESS_H
#define BPF_PROCESS_H

#include "tables.h"

#define CGROUP_DEPTH_MAX 32
#define PID_LEVELS_MAX   33	/* MAX_PID_NS_LEVEL, and the first (include/linux/pid_namespace.h) */

/* The wanted processes, by pid. Written by user space and at fork; sized when loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct target);
} targets SEC(".maps");

/* The rules' number, 0 while there are none; and who is not wanted by them, or not always. User space writes both. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, u64);
} rules_number SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, struct verdict);
} verdicts SEC(".maps");

/*
 * The number that a task has in wick's PID namespace; 0: it is not in it, nor below. A function of its own: what it
 * needs of the stack is not for those that walk.
 */
static __noinline u32 process_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u64 level = BPF_CORE_READ(pid, level);
	struct upid *at = (void *)pid + bpf_core_field_offset(pid->numbers) + level * bpf_core_type_size(struct upid);

	/* From the innermost, which is the wanted one mostly, outwards. */
	LOOP_NO_UNROLL
	for (u64 i = 0; i < PID_LEVELS_MAX; i++) {
		if (i > level)
			return 0;
		if (BPF_CORE_READ(at, ns, ns.inum) == switches.pid_namespace)
			return (u32)BPF_CORE_READ(at, nr);
		at = (void *)at - bpf_core_type_size(struct upid);
	}
	return 0;
}

static __always_inline struct proc_id process_id(struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct proc_id id;

	id.start_ns = BPF_CORE_READ(leader, start_time);
	id.exec_id = BPF_CORE_READ(leader, self_exec_id);
	return id;
}

/* The same of the current task, faster. */
static __always_inline struct proc_id process_current(void)
{
	struct task_struct *leader;
	struct proc_id id;

	if (!CURRENT_IS_TYPED)
		return process_id((void *)bpf_get_current_task());
	leader = bpf_get_current_task_btf()->group_leader;
	id.start_ns = leader->start_time;
	id.exec_id = leader->self_exec_id;
	return id;
}

static __always_inline int process_is(const struct proc_entry *entry, const struct proc_id *id)
{
	return entry->id.start_ns == id->start_ns && entry->id.exec_id == id->exec_id;
}

/*
 * The tables of a process, or NULL. They are copied next to what else this CPU needs for a sample, which is faster than
 * to look for them in the map, and taken from there until user space publishes something, of whatever process: that
 * number is read first, so that a copy is never younger than it says.
 */
static __always_inline const struct proc_entry *process_find(struct cpu_state *state, u32 pid, const struct proc_id *id)
{
	struct known_proc *known = &state->procs[pid & (KNOWN_PROCS - 1)];
	u32 zero = 0;
	const volatile u64 *number = bpf_map_lookup_elem(&published, &zero);
	const struct proc_entry *entry;
	u64 now = number ? *number : 0;

	if (known->pid == pid && known->published == now && process_is(&known->entry, id))
		return &known->entry;
	entry = bpf_map_lookup_elem(&procs, &pid);
	if (!entry || !process_is(entry, id))
		return 0;
	known->pid = pid;
	known->published = now;
	known->entry = *entry;
	return &known->entry;
}

static __always_inline struct target *process_target(struct task_struct *task, u32 pid)
{
	struct target *target = bpf_map_lookup_elem(&targets, &pid);
	u32 number;

	if (target || !switches.pid_namespace)
		return target;
	number = process_number(BPF_CORE_READ(task, group_leader)) | TARGET_NUMBERED;
	return bpf_map_lookup_elem(&targets, &number);
}

static __always_inline int process_is_target(struct task_struct *task, u32 pid, const struct proc_id *id)
{
	struct target *target = process_target(task, pid);

	if (!target)
		return 0;
	if (!target->start_ns)
		target->start_ns = id->start_ns;
	return target->start_ns == id->start_ns;
}

/* In the wanted cgroup or below it; the same walk serves both versions. */
static __always_inline int process_in_cgroup(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css;
	struct cgroup *cgroup;
	u32 subsystem = (u32)switches.filter_subsystem & 15;

	if (switches.filter_subsystem < 0) {
		cgroup = BPF_CORE_READ(set, dfl_cgrp);
	} else {
		/* No field of ours as the index: it would be looked for in the kernel, as all that is accessed here. */
		bpf_core_read(&css, sizeof(css), &set->subsys[subsystem]);
		cgroup = BPF_CORE_READ(css, cgroup);
	}
	LOOP_NO_UNROLL
	for (u64 i = 0; i < CGROUP_DEPTH_MAX; i++) {
		if (!cgroup)
			return 0;
		if (BPF_CORE_READ(cgroup, kn, id) == switches.filter_cgroup)
			return 1;
		css = BPF_CORE_READ(cgroup, self.parent);
		cgroup = css ? BPF_CORE_READ(css, cgroup) : 0;
	}
	return 0;
}

/* The number of the rules, with RULES_HAVE_CLOCKS; 0: there are none. */
static __always_inline u64 process_rules(void)
{
	u32 zero = 0;
	const volatile u64 *number = bpf_map_lookup_elem(&rules_number, &zero);

	return number ? *number : 0;
}

/* One look-up where there are rules. NULL: of whom nothing is known, all is taken; user space says what it is. */
static __always_inline const struct verdict *process_verdict(u64 rules, u32 pid, const struct proc_id *id)
{
	const struct verdict *verdict;

	if (!rules)
		return 0;
	verdict = bpf_map_lookup_elem(&verdicts, &pid);
	if (!verdict || verdict->number != (rules & ~RULES_HAVE_CLOCKS) || verdict->id.start_ns != id->start_ns ||
	    verdict->id.exec_id != id->exec_id)
		return 0;
	return verdict;
}

/* ... by -p and --cgroup. */
static __always_inline int process_is_chosen(struct task_struct *task, u32 pid, const struct proc_id *id)
{
	if (switches.filter_kind == FILTER_PIDS)
		return process_is_target(task, pid, id);
	if (switches.filter_kind == FILTER_CGROUP)
		return process_in_cgroup(task);
	return 1;
}

/* For kinds whose samples have weights of their own: the rate of a rule is none of theirs. */
static __always_inline int process_is_wanted(struct task_struct *task, u32 pid, const struct proc_id *id)
{
	const struct verdict *verdict = process_verdict(process_rules(), pid, id);

	return (!verdict || verdict->every) && process_is_chosen(task, pid, id);
}

/* A child starts with its parent's memory, and so with its tables, until it calls exec or maps something. */
static __always_inline void process_forked(struct task_struct *parent, struct task_struct *child)
{
	u32 parent_pid = BPF_CORE_READ(parent, tgid), child_pid = BPF_CORE_READ(child, tgid);
	struct target *target = 0, new_target = { .follow = 1 };
	struct proc_entry *entry, new_entry;
	struct proc_id parent_id = process_id(parent);

	if (parent_pid == child_pid)
		return;
	if (switches.filter_kind == FILTER_PIDS)
		target = process_target(parent, parent_pid);
	if (target && target->follow && (!target->start_ns || target->start_ns == parent_id.start_ns)) {
		new_target.start_ns = BPF_CORE_READ(child, start_time);
		if (bpf_map_update_elem(&targets, &child_pid, &new_target, BPF_ANY))
			count(COUNTER_TARGETS_FULL);
	}
	entry = bpf_map_lookup_elem(&procs, &parent_pid);
	if (!entry || entry->id.start_ns != parent_id.start_ns || entry->id.exec_id != parent_id.exec_id)
		return;
	new_entry = *entry;
	new_entry.id.start_ns = BPF_CORE_READ(child, start_time);
	new_entry.id.exec_id = BPF_CORE_READ(child, self_exec_id);
	new_entry.thread_slot = 0;
	if (bpf_map_update_elem(&procs, &child_pid, &new_entry, BPF_ANY))
		count(COUNTER_PROCS_FULL);
}

/*
 * Nothing of a process is left: what was noted of it at fork goes, too. User space need not have heard of it. A later
 * process with the same pid, or the same one after exec, keeps its own.
 */
static __always_inline void process_freed(struct task_struct *task)
{
	u32 pid = BPF_CORE_READ(task, tgid);
	u64 start_ns = BPF_CORE_READ(task, start_time);
	struct proc_entry *entry;
	struct target *target;

	if (BPF_CORE_READ(task, pid) != pid)
		return;
	target = switches.filter_kind == FILTER_PIDS ? bpf_map_lookup_elem(&targets, &pid) : 0;
	if (target && target->start_ns == start_ns)
		bpf_map_delete_elem(&targets, &pid);
	entry = bpf_map_lookup_elem(&procs, &pid);
	if (entry && entry->id.start_ns == start_ns)
		bpf_map_delete_elem(&procs, &pid);
}

#endif
