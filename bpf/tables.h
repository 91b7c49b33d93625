/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The maps that all programs share, and what unwind.h asks for, in the kernel.
 * The object `tracer` owns them; the objects of kinds and of languages declare
 * them by including this file and take over its file descriptors when they are
 * loaded. Only `counters` each kind has for itself.
 */
#ifndef BPF_TABLES_H
#define BPF_TABLES_H

#include "kernel.h"
#include "unwind.h"

#define LOOP_NO_UNROLL _Pragma("clang loop unroll(disable)")

const volatile struct switches switches SEC(SWITCHES_SECTION) = {
	.ring_bytes = 4096, .ring_count = 1, .user_va_mask = ~0ULL, .filter_subsystem = -1, .may_switch = 1,
	.kick_count = 1, .lanes_max = 1,	/* a verifier that is asked without them looks at all code */
};

/* Written by user space (src/tracer/tables.c), read at every frame. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RULES_MAX);
	__type(key, u32);
	__type(value, struct unwind_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PAGES_MAX);
	__type(key, u32);
	__type(value, struct page_entry);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAPTAB_MAX);
	__type(key, u32);
	__type(value, struct map_entry);
} maptab SEC(".maps");

struct rows_chunk_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct rows_chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, CHUNKS_MAX);
	__type(key, u32);
	__array(values, struct rows_chunk_map);
} chunks SEC(".maps");

/* Written by user space and, at fork, by process.h. Sized when loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct proc_entry);
} procs SEC(".maps");

/* Read by user space (src/tracer/counters.c). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_COUNT);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

/* Of runtimes, by number: written by user space, read by their programs. 0 is nobody's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS_MAX);
	__type(key, u32);
	__type(value, struct runtime_slot);
} slots SEC(".maps");

/* Samples on their way to user space. Sized when loaded. */
struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RINGS_MAX);
	__type(key, u32);
	__array(values, struct ring_map);
} rings SEC(".maps");

/* Which threads work for which requests, by OBI: its map, if it has pinned one (src/tracer/obi_map.h). */
struct obi_threads_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OBI_THREADS_MAX);	/* before v5.10 (134fede4eecf) only maps of the same size are taken */
	__uint(key_size, sizeof(u64));
	__uint(value_size, sizeof(struct obi_context));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct obi_threads_map);
} obi_threads SEC(".maps");

static __always_inline void *obi_map(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&obi_threads, &zero);
}

/* What is known of a process, as long as user space has published nothing new: see process_find(). */
struct known_proc {
	struct proc_entry entry;
	u64 published;
	u32 pid, pad[3];
};
_Static_assert(sizeof(struct known_proc) == 64, "a line of the cache");

#define KNOWN_PROCS 16	/* a power of two */

/* What a CPU keeps from sample to sample of a kind. */
struct cpu_state {
	struct known_proc procs[KNOWN_PROCS];
	struct place places[PLACES_MAX];
	u64 own[8];	/* the kind's own */
};

/* How often user space has published or taken back a process: written by it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} published SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct pace);
} pace SEC(".maps");

static __always_inline void count_by(u32 which, u64 by)
{
	u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		*n += by;
}

static __always_inline void count(u32 which)
{
	count_by(which, 1);
}

static __always_inline const struct map_entry *table_map(u32 index)
{
	return bpf_map_lookup_elem(&maptab, &index);
}

static __always_inline struct page_entry *table_page(u32 index)
{
	return bpf_map_lookup_elem(&pages, &index);
}

static __always_inline const struct rows_chunk *table_chunk(u32 index)
{
	void *chunk = bpf_map_lookup_elem(&chunks, &index);
	u32 zero = 0;

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : 0;
}

static __always_inline const struct unwind_rule *table_rule(u32 index)
{
	return bpf_map_lookup_elem(&rules, &index);
}

static __always_inline int read_user(struct unwind *u, void *to, u32 bytes, u64 va)
{
	return bpf_probe_read_user(to, bytes, (const void *)va);
}

static __always_inline int read_code(struct unwind *u, void *to, u32 bytes, u64 va)
{
	return bpf_probe_read_user(to, bytes, (const void *)va);
}

/* The thread does not run on while it is looked at. */
static __always_inline int may_return(struct unwind *u, u64 return_va)
{
	return 1;
}

static __always_inline u64 strip_pac(struct unwind *u, u64 va)
{
	return va & u->user_va_mask;
}

#endif
