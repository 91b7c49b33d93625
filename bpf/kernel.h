/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The kernel fields we read, and no others. CO-RE relocates them when the
 * program is loaded, so the layouts here need not match any kernel.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

/* libbpf 1.1 keeps the compiler's offsetof(), which does not know CO-RE. */
#undef offsetof
#undef container_of
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct mm_struct {
	unsigned long start_stack;
};

#if defined(__TARGET_ARCH_arm64)
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#else
struct thread_struct {
	unsigned long fsbase;
};
#endif

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

/* Without CONFIG_SCHED_INFO it is empty. */
struct sched_info {
	unsigned long long run_delay;	/* waited for a CPU, so far */
};

struct sched_entity {
	u64 sum_exec_runtime;
};

/* A function that has been called, and is probed where it returns. */
struct return_instance {
	unsigned long stack;		/* where its return address was */
	unsigned long orig_ret_vaddr;	/* ... and which */
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;	/* the innermost */
};

struct task_struct {
	struct uprobe_task *utask;	/* with CONFIG_UPROBES */
	struct thread_struct thread;
	unsigned int __state;	/* a long `state` before v5.14 (2f064a59a11f) */
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned int flags;
	int on_cpu;		/* with CONFIG_SMP */
	unsigned in_execve : 1;
	unsigned in_iowait : 1;
	int tgid;
	int pid;
	struct pid *thread_pid;
	u64 start_time;
	u64 self_exec_id;	/* u32 before v5.7 (d1e7fd6462ca) */
	void *stack;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct css_set *cgroups;
	char comm[COMM_BYTES];
};

struct task_struct___old {
	long state;
};

struct perf_event_attr {
	u32 wakeup_events;	/* of records that are sent; ours send none, and it says which clock it is */
};

struct perf_event {
	struct perf_event_attr attr;
};

/* What the context of a program of perf's is. */
struct bpf_perf_event_data_kern {
	struct perf_event *event;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/*
 * A field of the current task. Where the verifier knows its type (v5.11) it is read by a load, elsewhere by a helper,
 * which takes ten times as long.
 */
#define CURRENT_IS_TYPED bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)
#define CURRENT(field)                                        \
	(CURRENT_IS_TYPED ? bpf_get_current_task_btf()->field \
			  : BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), field))

/*
 * Registers as the kernel lays them out on its stack and in the program's
 * context. Not relocated: the layout is ABI, but newer headers turn cs and ss
 * into unions (FRED, v6.9), which CO-RE cannot match against older kernels.
 */
#if defined(__TARGET_ARCH_arm64)
struct kernel_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
	u64 orig_x0;
	s32 syscallno;
	u32 pad;
};
#else
struct kernel_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#endif

#if defined(__TARGET_ARCH_arm64)
/* Only its size is asked for. x86 has it in its user headers. */
struct pt_regs {
	u64 any;
} __attribute__((preserve_access_index));
#endif

#endif
