/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system that a perf.data file tells of, as it changes from record to
 * record: processes and threads, their names, what is mapped where; the
 * kernel's code.
 *
 *  - Texts, files, regions and frames are numbered from 1; 0 is none.
 *  - A program that a process executes makes it another one (struct perfread_program).
 *  - Tables are bounded by PERFREAD_TABLE_MAX, and by PERFREAD_TEXT_BYTES_MAX of texts and keys: -E2BIG.
 */
#ifndef WIRE_PERFREAD_SYSTEM_H
#define WIRE_PERFREAD_SYSTEM_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/interner.h"
#include "base/types.h"
#include "wire/perf/perfdata.h"
#include "wire/perf/perfread_ranges.h"
#include "wire/perf/perfread_file.h"

#define PERFREAD_TABLE_MAX (16u << 20)
#define PERFREAD_TEXT_BYTES_MAX ((size_t)2 << 30)

enum perfread_kind {
	PERFREAD_FILE,		/* a file of a process, "[vdso]" */
	PERFREAD_JIT,		/* memory of a process: /tmp/perf-PID.map may tell */
	PERFREAD_KERNEL,	/* the kernel, or a module */
	PERFREAD_SYMBOL,	/* a BPF program, reported by name: the file is the name */
	PERFREAD_KERNEL_NAME,	/* other code of the kernel that is */
	PERFREAD_NAME,		/* what wick writes so for any other function */
};

/* Keys of interners: no padding that is not zeroed. */
struct perfread_object {
	u32 kind;		/* enum perfread_kind */
	u32 path;		/* text */
	u32 id_bytes;
	u8 id[PERFDATA_BUILD_ID_MAX];
};

struct perfread_region {
	u32 file, pad;
	u64 offset, bytes;	/* in the file; of the kernel: where it was */
};

/* A run of one program in one process. */
struct perfread_program {
	u32 pid;
	u32 name;		/* text, or 0 */
};

struct perfread_process {
	struct perfread_ranges *maps;
	u32 program;		/* number, or 0: not sampled since its last exec */
	u32 name;		/* text: of the first thread */
};

struct perfread_system {
	struct arena arena;
	struct interner texts, files, regions;
	struct interner pids, tids, build_ids;	/* keys: pid; pid and tid; path */
	struct perfread_process *processes;	/* by number of the pid */
	u32 *thread_names;			/* texts, by number of the tid */
	struct perfdata_build_id *ids;		/* by number in build_ids */
	struct perfread_program *programs;	/* program 0 is none */
	u32 process_cap, thread_cap, id_cap, program_count, program_cap;
	struct perfread_ranges *kernel;
	struct perfread_ranges_budget budget;
};

int perfread_system_init(struct perfread_system *system);
void perfread_system_done(struct perfread_system *system);

/* Takes in what a record tells, if it is one that does; the body is without its trailer. -ENOMEM, -E2BIG. */
int perfread_system_record(struct perfread_system *system, const struct perfread_record *record);

/* Build ids: what PERFDATA_BUILD_ID or records of it hold. */
int perfread_system_build_ids(struct perfread_system *system, struct cursor bytes);

/* The process, made if it is new. NULL without memory, or past the maximum. */
struct perfread_process *perfread_system_process(struct perfread_system *system, u32 pid);

/* What is mapped in a process; NULL: nothing is known. Borrowed until the next record. */
const struct perfread_ranges *perfread_system_maps(const struct perfread_system *system, u32 pid);

/* The program that a process runs. 0 without memory, or past the maximum. */
u32 perfread_system_program(struct perfread_system *system, u32 pid);

/* The name of a thread: a text, or 0. */
u32 perfread_system_thread(const struct perfread_system *system, u32 pid, u32 tid);

/* Of tables, by number; texts end in NUL. */
const char *perfread_system_text(const struct perfread_system *system, u32 text);
const struct perfread_object *perfread_system_file(const struct perfread_system *system, u32 file);
const struct perfread_region *perfread_system_region(const struct perfread_system *system, u32 region);

/* The build id of a file, from its mapping or by its path: how many bytes, 0: not known. */
u32 perfread_system_build_id(const struct perfread_system *system, const struct perfread_object *file,
			     u8 ret_id[PERFDATA_BUILD_ID_MAX]);

#endif
