/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window: the samples of a few seconds, folded. Equal stacks are kept once;
 * a sample is then a hash and a count, and its time.
 *
 * It holds copies of what it needs of processes, and references to binaries,
 * so that it can be named and exported by another thread while the next one
 * fills. It is bounded: past its limits samples are counted, not kept.
 */
#ifndef TRACE_WINDOW_H
#define TRACE_WINDOW_H

#include <stdbool.h>

#include "abi.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/interner.h"

struct binary;

#define WINDOW_BYTES_MAX (64u << 20)
#define WINDOW_SAMPLES_MAX (4u << 20)
#define WINDOW_SYMBOLS_MAX 65536

struct window_process {
	u32 pid;
	const char *comm;
	const char *exe_path;		/* "" if unknown */
	const char *container_id;	/* "" if none */
	const char *command_line;	/* "" if unknown or not asked for */
	const char *environment;	/* NAME=value, each ended by NUL */
	u32 environment_bytes;
};

/* A distinct stack of a process. Behind it kernel_count addresses, then user_count frames (bpf/abi.h), leaf first. */
struct window_stack {
	u32 process;
	u16 kernel_count, user_count;
	u8 end;				/* enum stack_end */
	u8 pad[7];
	u64 words[];
};

/* Who ran it, and where: with the stack, the identity of a sample. */
struct window_sample {
	u32 stack;
	u32 tid;
	u32 cpu;
	u32 pad;
	char comm[COMM_BYTES];
};

struct window_time {
	u32 sample;
	u32 pad;
	u64 time_ns;			/* CLOCK_MONOTONIC */
};

/* A BPF program, or another piece of generated kernel code, that came or went. */
struct window_symbol {
	u64 va;
	u32 bytes;
	bool registered;
	const char *name;
};

struct window {
	struct arena arena;
	struct interner process_keys, stack_keys, sample_keys;
	struct window_process *processes;
	u32 process_count, process_cap;
	struct window_time *times;
	u32 time_count, time_cap;
	struct binary **binaries;	/* referenced by frames */
	u32 binary_count, binary_cap;
	struct window_symbol *symbols;
	u32 symbol_count, symbol_cap;
	u64 start_ns, end_ns;		/* CLOCK_MONOTONIC */
	s64 unix_offset_ns;		/* to add to such a time to get that of the day */
	u64 ends[END_COUNT];		/* samples, by how their user stack ended */
	u64 lost;			/* samples that did not fit */
};

struct window *window_new(u64 start_ns);
void window_free(struct window *window);
DEFINE_CLEANUP(struct window *, window_free)

/* The index of a process, by a key that never means another; described only when it is new. UINT32_MAX if full. */
u32 window_process(struct window *window, u64 serial, const struct window_process *process);

/*
 * Adds a sample. words: kernel_count addresses, then user_count frames. binary(arg, id) gives the binary of a
 * frame's id, of which the window takes a reference when it sees it first.
 */
void window_add(struct window *window, u32 process, const struct trace_record *trace, const u64 *kernel,
		const u64 *user, u32 user_count, u8 end, struct binary *(*binary)(void *arg, u32 id), void *arg);

void window_add_symbol(struct window *window, const struct window_symbol *symbol);

static inline const struct window_stack *window_stack(const struct window *window, u32 index)
{
	return interner_get(&window->stack_keys, index)->at;
}

static inline const struct window_sample *window_sample(const struct window *window, u32 index)
{
	return interner_get(&window->sample_keys, index)->at;
}

/* The binary of a frame, or NULL. */
struct binary *window_binary(const struct window *window, u32 id);

#endif
