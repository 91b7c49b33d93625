// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * What the tracer needs of the kernel whatever is sampled: the maps that all
 * programs share, and what becomes of a process's tables when it forks and
 * when it is gone.
 */
#include "process.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	u64 began_ns = bpf_ktime_get_ns();

	process_forked(parent, child);
	count_by(COUNTER_RUN_NS, bpf_ktime_get_ns() - began_ns);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(freed, struct task_struct *task)
{
	u64 began_ns = bpf_ktime_get_ns();

	process_freed(task);
	count_by(COUNTER_RUN_NS, bpf_ktime_get_ns() - began_ns);
	return 0;
}
