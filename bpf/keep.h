/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Copies of objects that a runtime may have freed by the time that user space
 * looks at them (struct kept_objects; read by src/tracer/loader.c). For the
 * program of a language, after walk.h. Between keep_begin() and keep_end(),
 * keep_piece() copies.
 */
#ifndef BPF_KEEP_H
#define BPF_KEEP_H

#include "walk.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, KEPT_MAX);
	__type(key, struct kept_key);
	__type(value, struct kept_objects);
} kept SEC(".maps");

/* Too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct kept_objects);
} kept_scratch SEC(".maps");

/* Where to put them, no piece yet, or NULL if they are kept already. The key gets the process that is walked. */
static __always_inline struct kept_objects *keep_begin(struct kept_key *key)
{
	u32 zero = 0;
	const struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	struct kept_objects *copy;

	if (!u)
		return 0;
	key->pid = u->trace.pid;
	copy = bpf_map_lookup_elem(&kept, key) ? 0 : bpf_map_lookup_elem(&kept_scratch, &zero);
	for (u32 i = 0; copy && i < KEPT_PIECES; i++)
		copy->piece[i].va = 0;
	return copy;
}

static __always_inline void keep_end(const struct kept_key *key, const struct kept_objects *copy)
{
	bpf_map_update_elem(&kept, key, copy, BPF_ANY);
}

/* As much as there is: an object may end just before memory does. */
static __always_inline void keep_piece(struct kept_piece *to, u64 va)
{
	to->va = va;
	if (!va || bpf_probe_read_user(to->bytes, KEPT_PIECE_BYTES, (void *)va) == 0)
		return;
	if (bpf_probe_read_user(to->bytes, KEPT_PIECE_BYTES / 2, (void *)va))
		to->va = 0;
}

static __always_inline u64 keep_word(u64 va)
{
	u64 word = 0;

	(void)bpf_probe_read_user(&word, sizeof(word), (void *)va);
	return word;
}

#endif
