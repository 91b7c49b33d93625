/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window: the samples of a few seconds, of all kinds, folded. Equal stacks are kept once;
 * a sample is then a hash and a count, and its times and values.
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
#define WINDOW_CLOCKS_MAX 16
#define WINDOW_LABELS_MAX 65535		/* sets of values of labels: their numbers have 16 bits */
#define WINDOW_PROCESS_LABELS_MAX 1024	/* ... that one process brings */
#define WINDOW_FRAMES_MAX (USER_FRAMES_MAX + 1)	/* of a user stack: with what stands for those left out */

struct window_process {
	u32 pid;
	const char *comm;
	const char *exe_path;		/* "" if unknown */
	const char *command_line;	/* "" if unknown or not asked for */
	const char *description;	/* attributes of its resource: KEY=value, each ended by NUL */
	u32 description_bytes;
	u32 description_number;		/* of another description another one: the last counts */
	const char *request_keys;	/* of attributes of its requests, by number, each ended by NUL */
	u32 request_keys_bytes;
	u32 request_keys_number;	/* as above */
	u32 label_count;		/* sets of values of its threads' labels: the window's own */
};

struct window_line {
	const char *function;
	const char *file;		/* "" if unknown */
	u32 line;			/* 0 if unknown */
};

struct window_label {
	const char *key, *value;
};

/* A frame of a language's runtime, which was named when it was taken. One that has labels only does not show. */
struct window_frame {
	/* The window's: in the one with that serial it has that number. Whoever names frames has each of them once. */
	u64 window;
	u32 number;
	const char *type;		/* profile.frame.type; static */
	u32 line_count, label_count;
	const struct window_line *lines;	/* innermost first; all but the last are inlined */
	const struct window_label *labels;
};

/*
 * A distinct stack of a process. Behind it kernel_count addresses, then user_count frames of one word each (bpf/abi.h),
 * leaf first.
 */
struct window_stack {
	u32 process;
	u16 kernel_count, user_count;
	u8 end;				/* enum stack_end */
	u8 pad[7];
	u64 words[];
};

/* What was sampled, who ran it, and where: with the stack, the identity of a sample. */
struct window_sample {
	u32 stack;
	u32 tid;
	u32 cpu;
	u16 kind;			/* its number in kinds/list.h */
	u16 reason;			/* enum wait_reason (kinds/waits.h) */
	u32 request;			/* for which it worked: its number in request_keys + 1; 0: it did not say */
	u32 waker;			/* what ended its wait: number in waker_keys + 1; 0: not known */
	u64 lock_va;			/* what it waits at in futex(); 0: it does not */
	u32 holder;			/* a thread of its process that has this lock; 0: not known */
	u16 clock;			/* its value is in periods of this one: in clocks + 1; 0: the usual one's */
	u16 labels;			/* what its thread's variables say: number in label_keys + 1; 0: nothing */
	char comm[COMM_BYTES];
};

/* Who ended waits, and where it stood then. */
struct window_waker {
	u32 stack;			/* UINT32_MAX: no thread did, but an interrupt */
	u32 tid;
	s32 syscall;			/* in which it was then; -1: none */
	char comm[COMM_BYTES];
};

/* What else is known of a wait: what has ended it, of which a record tells that comes before it or after it. */
struct window_wake {
	u64 wake;			/* see struct trace_record; 0: nothing that is known */
	u32 time;			/* in times */
	u32 wait_us;			/* how long it is, if it is in futex() */
};

#define WINDOW_SAMPLE_BITS 22
#define WINDOW_VALUE_MAX ((1ull << (64 - WINDOW_SAMPLE_BITS)) - 1)	/* 73 minutes, 4 TiB: more counts as that */

struct window_time {
	u64 sample : WINDOW_SAMPLE_BITS;
	u64 value : 64 - WINDOW_SAMPLE_BITS;
	u64 time_ns;			/* CLOCK_MONOTONIC */
};
_Static_assert(WINDOW_SAMPLES_MAX <= 1u << WINDOW_SAMPLE_BITS, "the number of a sample fits");

/* A BPF program, or another piece of generated kernel code, that came or went. */
struct window_symbol {
	u64 va;
	u32 bytes;
	bool registered;
	const char *name;
};

struct window {
	struct arena arena;
	u64 serial;			/* never that of another window; not 0 */
	struct interner process_keys, stack_keys, sample_keys, texts;
	struct interner request_keys;	/* struct request_record, with its attributes */
	struct interner label_keys;	/* sets of labels, packed (trace/thread_label.h) */
	struct interner waker_keys;	/* struct window_waker */
	struct interner wake_keys;	/* numbers of wakes that are known */
	u32 *wakers;			/* of each of those: in waker_keys */
	u32 waker_cap;
	struct window_wake *wakes;
	u32 wake_count, wake_cap;
	u64 wakers_unknown;		/* wakes of which no record tells */
	struct window_process *processes;
	u32 process_count, process_cap;
	struct window_frame *frames;
	u32 frame_count, frame_cap;
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
	u64 labels_lost;		/* ... whose labels did not */
	u32 clocks_hz[WINDOW_CLOCKS_MAX];	/* beside the usual one (tracer/sampler.h) */
	u32 clock_count;
	bool is_weighed;		/* a sample has a value other than 1 */
};

struct window *window_new(u64 start_ns);
void window_free(struct window *window);
DEFINE_CLEANUP(struct window *, window_free)

/* The index of a process, by a key that never means another; described only when it is new. UINT32_MAX if full. */
u32 window_process(struct window *window, u64 serial, const struct window_process *process);

/* The word (FRAME_NAMED) of a frame that was named, of which the window takes a copy; 0 if it is full. */
u64 window_name_frame(struct window *window, struct window_frame *frame);

/* The frame of such a word, or NULL. */
const struct window_frame *window_frame(const struct window *window, u64 word);

/*
 * Adds a sample. kernel: kernel_count words, of addresses and what its thread says; user: so many frames.
 * binary(arg, id) gives the binary of a frame's id, of which the window takes a reference when it sees it first.
 */
void window_add(struct window *window, u32 process, const struct trace_record *trace, const u64 *kernel,
		const u64 *user, u32 user_count, u8 end, struct binary *(*binary)(void *arg, u32 id), void *arg);

/* Adds the stack of a record with WAIT_WAKES, likewise. */
void window_add_waker(struct window *window, u32 process, const struct trace_record *trace, const u64 *kernel,
		      const u64 *user, u32 user_count, u8 end, struct binary *(*binary)(void *arg, u32 id), void *arg);

/* Once all samples are there: tells those of waits who ended them. */
void window_join_wakers(struct window *window);

/*
 * Copies the sample of one of the times to another window, as its last time; false if that is full. The time is marked:
 * window_moved() takes all that are out of the window, whose other times get new numbers.
 */
bool window_move(struct window *from, u32 time, struct window *to);
void window_moved(struct window *from);

void window_add_symbol(struct window *window, const struct window_symbol *symbol);

static inline const struct window_stack *window_stack(const struct window *window, u32 index)
{
	return interner_get(&window->stack_keys, index)->at;
}

/* What the value of a sample of CPU time is to be multiplied with, where the usual clock has this period. */
u64 window_period_ns(const struct window *window, const struct window_sample *sample, u64 usual_ns);

static inline const struct window_sample *window_sample(const struct window *window, u32 index)
{
	return interner_get(&window->sample_keys, index)->at;
}

/* For which request a sample was: its record, as its thread has it, with so many bytes; NULL: not known. */
static inline const struct interner_entry *window_request(const struct window *window, const struct window_sample *s)
{
	return s->request ? interner_get(&window->request_keys, s->request - 1) : NULL;
}

/* The labels that a sample has by variables of its thread, packed (trace/thread_label.h); NULL: none. */
static inline const struct interner_entry *window_thread_labels(const struct window *window,
								const struct window_sample *s)
{
	return s->labels ? interner_get(&window->label_keys, s->labels - 1u) : NULL;
}

/* Who ended the wait of a sample; NULL: not known. */
static inline const struct window_waker *window_waker(const struct window *window, const struct window_sample *s)
{
	return s->waker ? interner_get(&window->waker_keys, s->waker - 1)->at : NULL;
}

/* The binary of a frame, or NULL. */
struct binary *window_binary(const struct window *window, u32 id);

#endif
