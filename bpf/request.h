/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * For which request the thread works that is sampled, as it says itself (abi.h: Requests). Only processes that publish
 * how get here; whatever the process has written is read once, bounded and checked.
 */
#ifndef BPF_REQUEST_H
#define BPF_REQUEST_H

#include "walk.h"

/* The address of the thread's variable; 0: this thread has none yet. */
static __always_inline u64 request_variable(const struct variable_place *place, u64 thread)
{
	u64 table, entry, count;

	if (!place->module)
		return thread + place->offset;
	if (bpf_probe_read_user(&table, sizeof(table), (void *)(thread + place->dtv_at)) ||
	    bpf_probe_read_user(&count, sizeof(count), (void *)(table + place->count_at)) || count < place->module ||
	    bpf_probe_read_user(&entry, sizeof(entry), (void *)(table + place->module * place->entry_bytes)))
		return 0;
	return entry + 1 > 1 ? entry + place->offset : 0;	/* glibc's block that is not there is -1, musl's 0 */
}

static __always_inline int request_has_id(const struct request_record *record)
{
	const u64 *id = (const void *)record->trace_id;

	return id[0] | id[1] ? 1 : 0;
}

/* Puts it behind the kernel's addresses: 0; -1 if the thread says nothing, 1 if that cannot be read. */
static __always_inline int request_read(struct unwind *u, u64 variable_va)
{
	u64 record_va, at = u->trace.kernel_count, bytes;
	struct request_record *to;

	if (bpf_probe_read_user(&record_va, sizeof(record_va), (void *)variable_va))
		return 1;
	if (!record_va || at > KERNEL_FRAMES_MAX)
		return -1;
	to = (void *)&u->words[at];
	if (bpf_probe_read_user(to, sizeof(*to), (void *)record_va))
		return 1;
	if (to->valid > 1)
		return 1;
	if (!to->valid || !request_has_id(to))
		return -1;
	bytes = to->attribute_bytes;
	/* Its ids are good, whatever it says of the rest. */
	if (bytes > REQUEST_ATTRIBUTES_MAX ||
	    (bytes && bpf_probe_read_user(to + 1, bytes & 1023, (void *)(record_va + sizeof(*to))))) {
		count(COUNTER_REQUESTS_UNREAD);
		bytes = 0;
	}
	to->attribute_bytes = (u16)bytes;
	u->trace.request_words = (u16)((sizeof(*to) + bytes + 7) / 8);
	u->trace.kernel_count += u->trace.request_words;
	return 0;
}

/* Looked at by the verifier alone, as walk_step() is. */
__noinline int request_take(u32 slot_number)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	const struct runtime_slot *slot = bpf_map_lookup_elem(&slots, &slot_number);
	u64 variable_va;
	int r;

	if (!u || !slot)
		return 0;
	variable_va = request_variable((const void *)slot->word, walk_thread_pointer());
	r = variable_va ? request_read(u, variable_va) : -1;
	if (r >= 0)
		count(r ? COUNTER_REQUESTS_UNREAD : COUNTER_REQUESTS);
	return 0;
}

#endif
