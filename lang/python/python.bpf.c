// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "walk.h"

#include "lang/list.h"
#include "python.h"

/*
 * A module's code is run once, and freed: within milliseconds, while a program imports what it needs. So what names a
 * code object is copied when it is first met. Read by user space (src/tracer/loader.c).
 */
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

/* As much as there is: an object may end just before memory does. */
static __always_inline void keep_piece(struct kept_piece *to, u64 va)
{
	to->va = va;
	if (!va || bpf_probe_read_user(to->bytes, KEPT_PIECE_BYTES, (void *)va) == 0)
		return;
	if (bpf_probe_read_user(to->bytes, KEPT_PIECE_BYTES / 2, (void *)va))
		to->va = 0;
}

static __always_inline u64 word_of(u64 va)
{
	u64 word = 0;

	(void)bpf_probe_read_user(&word, sizeof(word), (void *)va);
	return word;
}

/* A function of its own, which the verifier looks at once, however often it is called. */
__noinline int keep_code(u64 code, u64 cookie, u64 file_va)
{
	struct kept_key key = { .lang = LANG_PYTHON, .id = { cookie, code } };
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	struct kept_objects *copy = bpf_map_lookup_elem(&kept_scratch, &zero);
	const struct python_slot *slot;

	if (!u || !copy)
		return 0;
	slot = (const void *)u->slot;
	key.pid = u->trace.pid;
	if (bpf_map_lookup_elem(&kept, &key))
		return 0;
	keep_piece(&copy->piece[0], code);
	keep_piece(&copy->piece[1], word_of(code + slot->code_qualname));
	keep_piece(&copy->piece[2], file_va);
	keep_piece(&copy->piece[3], word_of(code + slot->code_lines));
	bpf_map_update_elem(&kept, &key, copy, BPF_ANY);
	return 0;
}

static __always_inline void python_keep(u64 code, u64 cookie, u64 file_va)
{
	(void)keep_code(code, cookie, file_va);
}

#include "python_step.h"

WALKER(LANG_PYTHON)
