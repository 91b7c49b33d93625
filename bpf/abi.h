/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What crosses the line between kernel and user space. Both halves include
 * this file; nothing here is a pointer, every size is asserted.
 */
#ifndef BPF_ABI_H
#define BPF_ABI_H

#include "base/types.h"

/*
 * ---- Unwind rules -------------------------------------------------------
 *
 * One rule says how to get from a frame to its caller. A whole distribution
 * needs about 4,000 distinct ones, so rows hold a 16-bit index into one table.
 *
 * The canonical frame address (CFA) is the value of the stack pointer in the
 * caller, just before the call.
 */
#define RULES_MAX 16384

/* Registers by DWARF number; a rule may name any of them for the leaf frame. */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define REG_COUNT 32
#define REG_SP 31
#define REG_FP 29
#define REG_RA 30
#define REG_BX 255	/* not followed */
#else
#define REG_COUNT 17
#define REG_SP 7
#define REG_FP 6
#define REG_RA 16
#define REG_BX 3
#endif

enum rule_kind {
	RULE_NONE,	/* nothing known here: the frame pointer is tried, the frame is marked as guessed */
	RULE_CFA,	/* CFA = cfa_reg + cfa_off */
	RULE_DEREF,	/* CFA = *(cfa_reg + cfa_off) + cfa_add */
	RULE_PLT,	/* CFA = sp + cfa_off + ((pc & 15) >= cfa_add ? 8 : 0), x86 */
	RULE_SIGNAL,	/* a signal trampoline: all registers are at sp + cfa_off, in the kernel's sigcontext */
	RULE_END,	/* the outermost frame: the stack is complete */
	RULE_FRAME,	/* code that keeps frame pointers: CFA = fp + 16 */
	RULE_SWITCH,	/* the same, of code that went over to another stack, which may lie anywhere */
	RULE_SWEPT,	/* RULE_CFA, but found by disassembly: believed only if it leads behind a call */
	RULE_SWEPT_DEREF,	/* the same of RULE_DEREF */
};

enum rule_ra {
	RA_AT_CFA,	/* the return address is at CFA + ra_off */
	RA_IN_REG,	/* ... is in register ra_off; leaf frames only */
};

enum rule_fp {
	FP_SAME,	/* the caller's frame pointer is still in its register */
	FP_AT_CFA,	/* ... is at CFA + fp_off */
	FP_AT_FP,	/* ... is at fp + fp_off (functions that realign the stack) */
};

struct unwind_rule {
	s32 cfa_off;
	s32 cfa_add;	/* of RULE_CFA on x86-64: the caller's rbx is at CFA + cfa_add; 0: it is unchanged.
			 * On arm64: ra_off and fp_off count from CFA + cfa_add, which lies below a large frame. */
	s16 ra_off;
	s16 fp_off;
	u8 kind;	/* enum rule_kind */
	u8 cfa_reg;	/* DWARF number; other than sp, fp and rbx only in the leaf frame */
	u8 saved;	/* enum rule_ra << 4 | enum rule_fp */
	u8 lang;	/* the runtime whose interpreter loop this is, or 0 */
};
_Static_assert(sizeof(struct unwind_rule) == 16, "wire size of a rule");

/*
 * ---- Unwind tables ------------------------------------------------------
 *
 *	procs[pid] -> maptab[first .. first + count) -> pages[page_base + (ea >> 16)] -> chunks[chunk] -> rules[rule]
 *
 * User space writes maptab, pages, chunks and rules through shared memory,
 * then publishes them by one update of procs; it reuses what it took back
 * only after a second, when no program can still be reading it.
 *
 * A page of a file is in chunks while stacks need it. One that is absent ends
 * the walk with END_NO_ROWS: the sample travels as a slice, and user space
 * puts each page that this stack needs into place, by one store of its entry.
 */
#define PAGE_ROWS_SHIFT 16
#define CHUNK_ROWS      131072	/* putting a chunk into place waits for all CPUs, 20 ms on busy ones: not too small */
#define CHUNKS_MAX      128
#define PAGE_ROWS_MAX   16384
#define PAGES_MAX       131072	/* 8 GiB of text */
#define MAPTAB_MAX      32768
#define PROC_MAPS_MAX   4096	/* executable mappings of one process */
#define PROC_MAPS_STEPS 13	/* a binary search of that many ends in so many steps */
#define PAGE_STEPS      15

_Static_assert(PROC_MAPS_MAX < 1 << PROC_MAPS_STEPS, "steps cover the mappings");
_Static_assert(PAGE_ROWS_MAX < 1 << PAGE_STEPS, "steps cover the rows");

/* 512 KiB of rows, of many files; apart, so that the search reads only low[]. */
struct rows_chunk {
	u16 low[CHUNK_ROWS];
	u16 rule[CHUNK_ROWS];
};

/* The rows of 64 KiB of text. Read and written as one word, but for `used`, which the kernel half sets. */
struct page_entry {
	u32 first;
	u16 count;	/* 0: no row, or absent */
	u8 chunk;
	u8 used;	/* since user space last looked */
};
_Static_assert(sizeof(struct page_entry) == sizeof(u64), "one word");
_Static_assert(CHUNKS_MAX < 255, "a byte holds their numbers");

#define PAGE_PLACE_MASK (~0ULL >> 8)	/* of the word: all but `used` */
#define PAGE_ABSENT 255	/* a chunk, where count is 0: there are rows, but not in the kernel's memory */

/* An executable mapping. */
struct map_entry {
	u64 start_va, end_va;
	u64 bias;		/* va - ea, modulo 2^64 */
	u32 page_base;		/* index into pages of the page at ea 0, modulo 2^32; see MAP_NO_ROWS */
	u32 binary : 24;	/* id, 0: anonymous memory or a file that could not be read */
	u32 lang : 8;		/* the runtime that has generated the code there, or 0 */
};
_Static_assert(sizeof(struct map_entry) == 32, "array values are rounded up to 8 bytes");

#define MAP_NO_ROWS 0x7fffffffu	/* a page_base: the file has no rows */

/*
 * A process is known by its pid, when it started, and how often it has called
 * exec: neither reuse of a pid nor exec mixes two programs.
 */
struct proc_id {
	u64 start_ns;
	u64 exec_id;
};

struct proc_entry {
	struct proc_id id;
	u32 map_first, map_count;	/* in maptab */
	u32 slot;			/* in slots: the first of its runtimes; 0: none; or SLOT_LOADING */
	u16 start_lang;			/* the runtime whose program walks from the first frame on, or 0 */
	u16 thread_slot;		/* in slots: where its threads say what they do (Threads); 0: they do not */
	u64 maps_serial;		/* of these mappings: no others have it, before or after; 0: none */
};

/*
 * ---- Runtimes -----------------------------------------------------------
 *
 * What the kernel half of a language (lang/) knows of a process. The child of
 * a fork has the same memory, and shares its parent's until its first exec.
 */
#define SLOTS_MAX  1024
#define SLOT_WORDS 62
#define SLOT_CHAIN 4	/* runtimes in one process */
#define SLOT_LOADING 0xffffffffu	/* the program of its runtime is not here yet: stacks through that are copied */

/* Languages have numbers below that, from 1 on (lang/list.h). */
#define LANG_NUMBERS_MAX 16
#define LANG_NUMBER_NONE 0

struct runtime_slot {
	u32 lang;		/* enum lang (lang/list.h) */
	u32 next;		/* the slot of another runtime in the same process; 0: none */
	u64 pad;
	u64 word[SLOT_WORDS];	/* the language's own */
};
_Static_assert(sizeof(struct runtime_slot) == 512, "array values are rounded up to 8 bytes");

/*
 * ---- Threads ------------------------------------------------------------
 *
 * What a thread says of its work, in variables that each thread has for itself. Where they are, the process's slot
 * says: its words are a struct thread_places. A child of a fork is looked at anew.
 *
 * Requests: a variable points to a record, or is NULL. Its name says how the record looks, the first that a process has
 * counts:
 *
 *	OTEL	OpenTelemetry's thread context (OTEP 4947): a struct request_record. A child has to publish itself how
 *		to read it.
 *	APM	what agents of Elastic's protocol say (specs/agents/universal-profiling-integration.md of elastic/apm):
 *		a struct apm_head, 16 bytes of a trace id, 8 of a span id, 8 of the transaction's, the local root span's
 *
 * Either is sent as a struct request_record; the bytes behind an APM one are the transaction's id.
 */
#define REQUEST_LAYOUTS(X)				\
	X(OTEL, "otel_thread_ctx_v1")			\
	X(APM, "elastic_apm_profiling_correlation_tls_v1")

enum request_layout {
#define X(ID, variable) REQUEST_##ID,
	REQUEST_LAYOUTS(X)
#undef X
	REQUEST_LAYOUT_COUNT
};

struct request_record {
	u8 trace_id[16], span_id[8];
	u8 valid;		/* 1; else it is being changed */
	u8 layout;		/* enum request_layout, or REQUEST_OBI: the kernel half writes it, not the process */
	u16 attribute_bytes;	/* behind it: the number of a key, a length, so many bytes of a value, ... */
};
_Static_assert(sizeof(struct request_record) == 28, "as the specification has it");

struct apm_head {
	u16 version;		/* 1; more are the same with something behind it, 0 is none */
	u8 valid;		/* not 0; else it is being changed */
	u8 has_trace;		/* 1, or 0: the thread works for none */
	u8 flags;
} __attribute__((packed));
_Static_assert(sizeof(struct apm_head) == 5, "as the specification has it");

#define APM_TRANSACTION_BYTES 8

/*
 * Of threads that say nothing themselves OBI may know, from outside: the value of a map by pid and tid, as
 * bpf_get_current_pid_tgid() has them (devdocs/trace-profile-correlation.md of opentelemetry-ebpf-instrumentation).
 */
struct obi_context {
	u64 trace_id[2], span_id;
};
#define OBI_THREADS_MAX 16384
#define REQUEST_OBI REQUEST_LAYOUT_COUNT	/* the layout of such a record: no words of the thread's own */

#define REQUEST_ATTRIBUTES_MAX 612	/* bytes, as the specification recommends; of more none are read */
#define REQUEST_WORDS_MAX ((sizeof(struct request_record) + REQUEST_ATTRIBUTES_MAX) / 8)

/*
 * Labels: variables that the user has named. What is taken of them is a struct thread_label each.
 */
#define THREAD_LABELS_MAX 4
#define THREAD_LABEL_BYTES 64	/* of a text, with the NUL: what is longer is cut */

#define THREAD_LABEL_TYPES(X)                                                              \
	X(U32, "u32")                                                                      \
	X(U64, "u64")                                                                      \
	X(S32, "s32")                                                                      \
	X(S64, "s64")                                                                      \
	X(STRING, "string")	/* an array of characters */                               \
	X(POINTER, "pointer")	/* the address of characters, or NULL */

enum thread_label_type {
#define X(ID, name) THREAD_LABEL_##ID,
	THREAD_LABEL_TYPES(X)
#undef X
	THREAD_LABEL_TYPE_COUNT
};

struct thread_label {
	u8 number;		/* of the label, below THREAD_LABELS_MAX */
	u8 type;		/* enum thread_label_type */
	u16 bytes;		/* of the value behind it, in words: 8 of a number, or a text without its NUL */
	u32 pad;
};
_Static_assert(sizeof(struct thread_label) == sizeof(u64), "a word");

#define LABEL_WORDS_MAX (THREAD_LABELS_MAX * (sizeof(struct thread_label) + THREAD_LABEL_BYTES) / 8)

struct variable_place {
	u64 module;		/* 0: offset counts from the thread pointer, else in that module's block */
	u64 offset;
	/* Each thread's table of blocks, the dtv: */
	s64 dtv_at;		/* the word with its address, from the thread pointer on */
	s64 count_at;		/* the word that says how many there are, from the table on */
	u64 entry_bytes;
};

struct label_place {
	struct variable_place variable;
	u32 type;		/* enum thread_label_type */
	u32 bytes;		/* that are read of a text at most, with room for a NUL */
};

struct thread_places {
	struct variable_place request;
	struct label_place label[THREAD_LABELS_MAX];
	u32 has_request;
	u32 request_layout;	/* enum request_layout */
	u32 labels;		/* bit n: label n is there */
	u32 pad;
};
_Static_assert(sizeof(struct thread_places) <= SLOT_WORDS * sizeof(u64), "fits the slot");

/*
 * What a language's program has copied of the objects behind a frame when it first met it: by the time the frame is
 * to be named, the process may have freed them, or be gone. A map `kept` of such an object holds them.
 */
#define KEPT_PIECES      4
#define KEPT_PIECE_BYTES 248
#define KEPT_MAX         2048

struct kept_key {
	u32 pid, lang;
	u64 id[2];		/* the language's own: what tells its frames apart */
};

struct kept_piece {
	u64 va;			/* 0: none */
	u8 bytes[KEPT_PIECE_BYTES];
};

struct kept_objects {
	struct kept_piece piece[KEPT_PIECES];
};

/*
 * ---- Filters ------------------------------------------------------------
 */
enum filter_kind { FILTER_NONE, FILTER_PIDS, FILTER_CGROUP };

/*
 * What rules say of a process, by pid, as user space has found out when it was first sampled; of other rules than
 * those of that number it says nothing.
 */
struct verdict {
	struct proc_id id;
	u64 number;
	u32 every;	/* one of so many ticks is taken, by chance, and weighs as many; 0: none */
	u32 clock_hz;	/* only by ticks of the clock of that rate, all of them; 0: of the one that all others are by */
};

/*
 * A bit of the number of rules: there are clocks beside the one that all are sampled by (src/tracer/sampler.h). Each
 * tick is then looked at for which clock it is of: an event says so in a word that the kernel does not need of it.
 */
#define RULES_HAVE_CLOCKS (1ull << 63)
#define CLOCK_HZ_MAX 999

/*
 * A process that is wanted, by pid; or, where wick is in a PID namespace below the first, by its number there with
 * TARGET_NUMBERED. start_ns 0: the first process seen with that pid.
 */
#define TARGET_NUMBERED (1u << 31)

struct target {
	u64 start_ns;
	u32 follow;	/* its children too */
	u32 pad;
};

/*
 * ---- Switches -----------------------------------------------------------
 *
 * What a program is told before it is loaded, in a section of its own
 * (SWITCHES_SECTION): the verifier knows the values, and leaves out what they rule out.
 */
#define SWITCHES_SECTION ".rodata.switches"

struct switches {
	u64 ring_bytes;
	u64 user_va_mask;
	u64 filter_cgroup;	/* inode number of its directory */
	u64 period_ns;		/* of the software clock, whose ticks lie on a grid; 0: not known */
	s32 filter_subsystem;	/* of the version 1 hierarchy it is in; -1: version 2 */
	u32 filter_kind;	/* enum filter_kind */
	u32 ring_count;
	u32 may_switch;		/* see bpf/walk.h */
	u32 kind;		/* of the samples: its number in kinds/list.h */
	u32 pid_namespace;	/* the one that wick is in, by inode number; 0: the machine's first */

	/* Of waits (kinds/off_cpu). */
	u64 wait_min_ns;	/* shorter ones have no stack, but count */
	u32 wait_walks_max;	/* stacks of waits a second on each CPU */
	u32 wait_chance;	/* of each wait, in 2^32; 0: by its length */
	u32 wait_switches_max;	/* a second on a CPU; beyond, waits have no stacks */
	u32 has_task_storage;	/* for programs of tracepoints (v5.12, a10787e6d58c) */
	u32 kick_count;		/* rings that make interrupts */
	u32 lanes_max;		/* records of lanes a second on a CPU; 0: none are wanted */
};
_Static_assert(sizeof(struct switches) == 88, "no gaps");

/* What user space changes while it runs, to stay within its budget (src/agent/governor.h); 0: no limit. */
struct pace {
	u32 every;	/* of so many ticks of a CPU one is taken, and weighs as many */
	u32 frames_max;	/* a stack that is deeper is cut there, or a little later; STACKS_NONE: none is taken */
};
#define STACKS_NONE 0xffffffffu

/*
 * ---- Traces -------------------------------------------------------------
 */
#define RINGS_MAX          64
#define KERNEL_FRAMES_MAX  127
#define LEAF_FRAMES_MAX    512	/* of a user stack, kept from its leaf on */
#define ROOT_FRAMES_MAX    512	/* ... and up to its root; a power of two */
#define USER_FRAMES_MAX    (LEAF_FRAMES_MAX + ROOT_FRAMES_MAX)
#define USER_WORDS_MAX     (2 * USER_FRAMES_MAX)
#define LEADING_WORDS_MAX  (KERNEL_FRAMES_MAX + REQUEST_WORDS_MAX + LABEL_WORDS_MAX)	/* before the frames */
#define WALK_FRAMES_MAX    16384	/* a stack that is deeper is cut */
#define WALK_NS_MAX        2000000	/* ... as is one that takes longer, past its first frames */
#define SLICE_BYTES_MAX    (14 * SLICE_STEP_BYTES)
#define SLICE_STEP_BYTES   2048	/* divides a page: a step is there as a whole, or not */
#define SLICE_HOLES_MAX    12	/* steps of a record that may be missing: buffers that nobody has touched yet */
#define SLICE_RESTS_MAX    3	/* records that may follow a slice, each with as much again of the stack */
#define COMM_BYTES         16

/*
 * A frame of user code is one word:
 *
 *	63      60 59    56 55            36 35                  0
 *	|  kind   |  flags | binary id       | address in ELF      |	FRAME_EXE
 *	|  kind   |  flags | address in the process                |	FRAME_VA
 *	|  kind   |  flags | language | the language's own        |	FRAME_RUNTIME; a second word of its own follows
 *	|  kind   |   0    | index in the window                   |	FRAME_NAMED: what user space makes of the others
 *	|  kind   |   0    | how many                              |	FRAME_GAP: so many frames were left out here
 *
 * Addresses that were found as return addresses have 1 subtracted: they lie in the call.
 */
enum frame_kind { FRAME_NONE, FRAME_EXE, FRAME_VA, FRAME_RUNTIME, FRAME_NAMED, FRAME_GAP };

#define FRAME_KIND_SHIFT   60
#define FRAME_GUESSED      (1ULL << 56)	/* found without a rule, by the frame pointer */
#define FRAME_LABELS       (1ULL << 57)	/* of FRAME_RUNTIME: stands for labels of the sample, and never shows */
#define FRAME_BINARY_SHIFT 36
#define FRAME_BINARY_MASK  0xfffffULL
#define FRAME_EA_MASK      0xfffffffffULL
#define FRAME_VA_MASK      0xffffffffffffffULL
#define FRAME_LANG_SHIFT   48
#define FRAME_LOW_MASK     0xffffffffffffULL	/* of FRAME_RUNTIME, FRAME_NAMED and FRAME_GAP */

/* How a user stack ended. Each is a counter; the text is what `wick doctor` prints. */
#define STACK_ENDS(X)                                                                                \
	X(COMPLETE, "stack_complete", "whole user stacks, down to the first function of the thread")  \
	X(KERNEL_THREAD, "kernel_thread", "kernel threads: no user stack")                             \
	X(EXEC, "in_exec", "inside execve: the old user stack is gone, the new one not yet there")     \
	X(EXIT, "in_exit", "exiting: no user memory any more")                                         \
	X(COMPAT, "process_32bit", "cut: 32-bit programs, whose stacks are not unwound")               \
	X(SLICE, "stack_slice", "first samples of a process: a copy of its stack was taken instead")   \
	X(NO_REGISTERS, "no_registers", "cut: user registers could not be read")                       \
	X(UNREADABLE, "stack_unreadable", "cut: a page of the stack was not in memory")                \
	X(NO_MAPPING, "stack_no_mapping", "cut: an address outside every known mapping")               \
	X(NO_RULE, "stack_no_rule", "cut: code without unwind information or frame pointer")           \
	X(NO_REGISTER, "stack_no_register", "cut: the rule needs a register that is not known here")   \
	X(NO_PROGRESS, "stack_no_progress", "cut: the stack pointer did not move up")                  \
	X(NO_ROOT, "stack_no_root", "cut: no first function of a thread, or frames before it may be missing") \
	X(TRUNCATED, "stack_truncated", "cut: deeper than 16384 frames or 2 ms; the leaf part is kept") \
	X(SLICE_SHORT, "stack_slice_short", "cut: the copied part of the stack ends there")            \
	X(GONE, "process_gone", "cut: the process ended before its mappings could be read")             \
	X(RUNTIME, "stack_runtime", "cut: the structures of a language's runtime made no sense")       \
	X(NO_ROWS, "stack_no_rows", "cut: rows were not in the kernel, nor could the stack be copied") \
	X(NOT_TAKEN, "stack_not_taken", "time of threads of which no sample tells where it went")      \
	X(SPARED, "stack_spared", "cut: the budget of CPU time was used up, and no stack was taken")

enum stack_end {
#define X(ID, name, text) END_##ID,
	STACK_ENDS(X)
#undef X
	END_COUNT
};

/* What else is counted in the kernel half; stack ends are counted where they become known, in user space. */
#define COUNTERS(X)                                                                              \
	X(TICKS, "ticks", "clock ticks outside idle, or events of another kind")                  \
	X(FILTERED, "filtered", "ticks left out by -p, --cgroup or the command")                  \
	X(OTHER_CLOCK, "ticks_of_other_clocks", "ticks of a clock that the process is not sampled by (boosts)") \
	X(THINNED, "ticks_thinned", "ticks left out by the rate of a rule: those that are taken weigh for them") \
	X(OUTSIDE, "outside_pid_namespace", "ticks of processes outside the PID namespace that wick is in") \
	X(SENT, "samples_sent", "samples handed to user space")                                   \
	X(RING_FULL, "samples_lost_ring_full", "samples lost: the ring buffer was full")          \
	X(NO_RING, "samples_lost_no_ring", "samples lost: no ring buffer takes them")             \
	X(NO_SCRATCH, "samples_lost_nested", "samples lost: a tick interrupted an unwind")        \
	X(LATE, "ticks_late", "ticks that came more than half a period late")                     \
	X(KERNEL_CUT, "kernel_stack_cut", "kernel stacks cut at 127 frames")                      \
	X(PROCS_FULL, "processes_table_full", "forked processes that did not fit the kernel table") \
	X(NO_WALKER, "walks_without_runtime", "walks that a language's program could not take over") \
	X(WALK_LOST, "samples_lost_walk", "samples lost: the walk could not be handed back")      \
	X(TARGETS_FULL, "targets_table_full", "child processes that could not be followed")       \
	X(ROWS_MISSES, "rows_misses", "samples whose stack was copied for rows that were not in the kernel") \
	X(SPARED, "ticks_spared", "ticks left out to stay within the budget: the next sample weighs for them") \
	X(RUN_NS, "bpf_ns", "nanoseconds that the kernel half has run") \
	X(WAITS_MISSED, "waits_missed", "waits without a stack: the thread had gone on before it could be looked at") \
	X(WAITS_SHED, "waits_shed", "waits without a stack: more than max_rate of them")          \
	X(SWITCHES_SHED, "switches_shed", "switches between threads not looked at: there were too many") \
	X(WAKERS, "wakers", "stacks taken of threads that ended the waits of others")              \
	X(WAKERS_MISSED, "wakers_missed", "... not taken: the thread had gone on before it could be looked at") \
	X(THREADS_FULL, "threads_lost", "threads whose waits are not seen: no room to note when they began") \
	X(LANES_LOST, "lanes_lost", "times of threads left out of lanes: too many switches, or no room") \
	X(REQUESTS, "samples_with_request", "samples whose thread said for which request it worked") \
	X(REQUESTS_UNREAD, "requests_unreadable", "... whose thread said so in a way that could not be read") \
	X(LABELS, "samples_with_thread_labels", "samples that got labels from variables of their thread") \
	X(LABELS_UNREAD, "thread_labels_unreadable", "variables that could not be read: the sample lacks a label") \
	X(IDLE, "events_of_idle_cpus", "events of a probe while no process ran: they are in no profile") \
	X(VALUES_OUT_OF_RANGE, "values_out_of_range", "values of a probe below 0 or beyond 2^42, which count as 0") \
	X(VALUES_UNREADABLE, "values_unreadable", "values or keys of a probe that cannot be read, which count as 0") \
	X(OWED, "values_owed", "values of a probe that no sample has yet: the next one will weigh them") \
	X(PAIRS_FULL, "starts_not_noted", "starts of pairs that there was no room for: they have no value") \
	X(ENDS_ALONE, "ends_without_start", "ends of pairs whose start was not seen, or not sampled")

enum counter {
#define X(ID, name, text) COUNTER_##ID,
	COUNTERS(X)
#undef X
	COUNTER_COUNT
};

/* What is known of the frame that a slice begins with: as in struct unwind. */
#define SLICE_IS_LEAF   1
#define SLICE_IS_RETURN 2
#define SLICE_IS_GUESS  4
#define SLICE_SP_LOST   8
#define SLICE_IS_UNSURE 16
#define SLICE_IS_ASLEEP 32	/* the thread waits: all of its stack can be read where it is */

#define TRACE_USER_MODE 1	/* the tick interrupted user code */
#define TRACE_SYSCALL   2	/* ... the kernel, in a system call */
#define TRACE_TOTALS    4	/* no sample: user_count words are a struct thread_totals */
#define TRACE_REST      8	/* no sample: slice_bytes that follow those of the thread's slice at this time */
#define TRACE_WAIT_SHIFT 4	/* above: enum wait, what the thread did instead of running */

enum wait {
	WAIT_NOT,	/* it ran */
	WAIT_CPU,	/* it could have run, had there been a CPU */
	WAIT_SLEEP,	/* until something happens, or a signal comes */
	WAIT_BLOCK,	/* until something happens */
	WAIT_DISK,	/* ... to a disk */
	WAIT_STOP,	/* it was stopped, or is traced */
	WAIT_UNKNOWN,	/* its time is known, but nothing else */
	WAIT_WAKES,	/* no sample: it ended the waits of others, whose `wake` is the same */
};

#define WAKE_INTERRUPT 1	/* a `wake`: no thread did, but a timer or a device */

/* What a thread did since it was last told, to the nanosecond: it ran, wanted to, waited for the rest. */
struct thread_totals {
	u64 run_ns, cpu_wait_ns, all_ns;
};

/*
 * What a thread did up to the time of the record, one after the other, to the nanosecond: a record of the kind `lanes`.
 * It is the first of its user words; behind it are up to LANE_FRAMES_MAX addresses of the kernel's functions in which
 * it waited.
 */
#define LANE_FRAMES_MAX 32

struct lane_times {
	u64 ran_ns, waited_ns, queued_ns;
};

/* The registers a slice starts with, by DWARF number; REG_RA holds the pc on x86. */
struct slice_regs {
	u64 reg[REG_COUNT];
	u64 pc;
};

/*
 * One sample. Behind it: kernel_count words of kernel addresses, the last
 * of which are a struct request_record in request_words instead, and labels in
 * label_words; then user_count words of frames; if end is END_SLICE, then a struct slice_regs of
 * the next frame and slice_bytes of memory from its stack pointer on. All leaf
 * first. A slice that is as long as it may be is followed by what comes after
 * it on the stack, in records with TRACE_REST.
 *
 * Frames past LEAF_FRAMES_MAX have two words each, whatever they are, and go
 * round: the one with number n, counted from there on, is at
 * n % ROOT_FRAMES_MAX. Those below frames_lost are no more
 * (src/tracer/both_ends.h puts all this in order).
 */
struct trace_record {
	u64 time_ns;		/* CLOCK_MONOTONIC */
	u64 value;		/* what it weighs, in the unit of its kind */
	struct proc_id id;
	u32 pid, tid;		/* in wick's PID namespace */
	u32 kernel_pid;		/* in the first one */
	s32 syscall;		/* number, if TRACE_SYSCALL */
	u16 kernel_count;
	u16 user_count;
	u32 slice_bytes;
	u8 end;			/* enum stack_end */
	u8 flags;
	u8 slice_state;		/* SLICE_... */
	u8 kind;		/* its number in kinds/list.h */
	u16 cpu;
	u16 label_words;	/* struct thread_label, each with its value */
	u32 frame_count;	/* of user frames that were met */
	u32 frames_lost;
	u32 cpu_wait;		/* the part of the value, in 2^32, that a thread which waited could have run;
				 * of a pair of probes: PAIR_... (kinds/probe/setup.h) */
	u16 request_words;
	u16 clock_hz;		/* of the clock that ticked, see struct verdict; the value is in its periods */
	u64 wake;		/* of a wait: what ended it; a record with WAIT_WAKES has the same. 0: not known */
	u64 lock_va;		/* what a thread in futex() waits at; 0: it is not in that */
	u64 slice_holes;	/* bit n: the slice's step n could not be read, and means nothing */
	u32 holder;		/* of that lock, a thread of the same process: user space finds out; 0: not known */
	u32 wait_us;		/* how long a thread in futex() has been waiting, with what was told before */
	char comm[COMM_BYTES];
};
_Static_assert(sizeof(struct trace_record) == 128, "wire size of a trace");
_Static_assert((SLICE_RESTS_MAX + 1) * SLICE_BYTES_MAX / SLICE_STEP_BYTES <= 64, "a bit for each step of a slice");

#endif
