/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes we know of, by pid. What happens to them comes as events, in
 * the order of time: fork, exec, mmap, comm, exit. /proc is read only for a
 * process that was there before we were.
 *
 * A process here is one program: exec ends one and begins the next with the
 * same pid. It gets its identity (start time, exec id) from its first sample.
 *
 * The tracer's thread owns it.
 */
#ifndef PROC_PROCESSES_H
#define PROC_PROCESSES_H

#include <stdbool.h>

#include "abi.h"
#include "base/cleanup.h"
#include "proc/description.h"

struct maps;
struct mapping;
struct peek;
struct processes;
struct process_requests;
struct runtime_set;

#define PROCESSES_MAX 65536

struct process {
	u64 serial;		/* never used twice */
	u32 pid;
	u32 kernel_pid;		/* in the machine's first PID namespace; 0: not known */
	u32 parent_pid;		/* who forked it, if nothing is known of that one; else 0 */
	bool is_identified;
	bool maps_known;	/* all mappings are known; else /proc must be read */
	bool maps_changed;	/* since they were installed */
	bool is_published;	/* we told the kernel half of it; of a forked child that knows by itself, mostly */
	bool is_gone;		/* ended before its mappings could be read */
	bool is_removed;	/* it is held, but its pid is nobody's or another's */
	u32 holds;
	struct proc_id id;
	char comm[COMM_BYTES];
	char *exe_path;		/* or NULL */
	char *command_line;	/* arguments with spaces between; NULL if unknown or not asked for */
	struct description description;
	u64 rate_told_ns;	/* when the kernel half was last told what part of its samples is wanted */
	struct maps *maps;
	struct runtime_set *runtimes;	/* the tracer's: those of languages; NULL: not looked for yet */
	struct process_requests *requests;	/* the tracer's: what its threads say; NULL: not looked for */
	u64 requests_look_ns;	/* ... when that is looked at next; 0: never */
	u64 apm_variable_va;	/* ... where an APM agent says what it is (proc/apm_storage.h); 0: there is none */
	u64 exited_ns;		/* 0: still there */
	u64 since_ns;		/* when it began, if we saw that; else 0 */
	u64 scanned_ns;		/* when /proc was last read for it; 0: never */
	u64 installed_ns;	/* when its mappings were last installed; 0: never */
	u64 sampled_ns;		/* the tracer's: when it was last sampled */
	/* The tracer's: since when files behind its mappings are being read (0: they are known), what waits for that */
	u64 lacks_files_ns;
	u32 waiting_bytes;
	struct process *next, *next_exited;
};

struct processes_stats {
	u64 known;		/* now */
	u64 scans, scan_failures;
	u64 full;		/* past PROCESSES_MAX */
	u64 maps_dropped;	/* mappings past PROC_MAPS_MAX */
};

/* What a process's end means to the tracer. */
struct processes_ops {
	void *arg;
	struct peek *peek;	/* how processes are looked at */
	bool command_lines;	/* are to be read */
	struct description_options description;
	void (*maps_gone)(void *arg, struct maps *maps);	/* the last user of installed maps is gone */
	void (*process_gone)(void *arg, struct process *process);
};

int processes_new(const struct processes_ops *ops, struct processes **ret_processes);
void processes_free(struct processes *processes);
DEFINE_CLEANUP(struct processes *, processes_free)

struct process *processes_find(struct processes *processes, u32 pid);

/* The process with that pid and identity; one that has another identity is replaced by a new one. NULL if full. */
struct process *processes_identify(struct processes *processes, u32 pid, const struct proc_id *id);

/* Is it the one with that identity? It may be NULL. */
bool process_is(const struct process *process, const struct proc_id *id);

/* Is the process another, later one than that of a sample with the same pid? */
bool processes_is_newer(const struct process *process, const struct trace_record *sample);

void processes_fork(struct processes *processes, u32 parent_pid, u32 child_pid, u64 time_ns);
void processes_exec(struct processes *processes, u32 pid, const char *comm, u64 time_ns);
void processes_comm(struct processes *processes, u32 pid, const char *comm);
void processes_mmap(struct processes *processes, u32 pid, const struct mapping *mapping);
void processes_exit(struct processes *processes, u32 pid, u64 time_ns);

/*
 * Reads /proc for a process whose mappings are not known, by one of its threads. If it is gone, but has never called
 * exec, its parent still shows what it had.
 */
int processes_scan(struct processes *processes, struct process *process, u32 tid);

/*
 * Reads what only /proc tells of a process, once, while it is there: its description, and its arguments if wanted. The
 * time is that of a sample of it.
 */
void processes_describe(struct processes *processes, struct process *process, u32 tid, u64 now_ns);


/* The same by a sample, also of a thread of the kernel, or of a process that is no more. */
void processes_describe_sample(struct processes *processes, struct process *process, const struct trace_record *sample);

/* Other rules, borrowed until the next; NULL: none. All are described again. */
void processes_choose(struct processes *processes, const struct process_choice *choice,
		      const struct boost_list *boosts);

/*
 * Events were lost: what is known of mappings may be wrong, and is read from /proc again when it is needed; and who has
 * ended without a word is found by processes_find_ended(), which looks at some at each call until it has seen all.
 */
void processes_distrust(struct processes *processes);
void processes_find_ended(struct processes *processes, u64 now_ns);

/* Calls it for all; it adds and removes none. */
void processes_each(struct processes *processes, void (*fn)(void *arg, struct process *process), void *arg);

/* Forgets processes that ended a while ago. */
void processes_sweep(struct processes *processes, u64 now_ns);

/*
 * Keeps a process, as it was, beyond its end. Once it is no more in the table it counts as exited, and nothing of it
 * can be read.
 */
struct process *process_hold(struct process *process);
void process_release(struct processes *processes, struct process *process);

/* The mappings, to be changed: its own copy if they are shared. NULL for lack of memory. */
struct maps *process_own_maps(struct processes *processes, struct process *process);

struct processes_stats processes_stats(const struct processes *processes);

#endif
