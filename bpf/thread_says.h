/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the thread that is sampled says of its work, in variables of its own (abi.h: Threads): for which request, and
 * values that the user wants as labels. Only processes that have such variables get here, or all where OBI tells of
 * threads; whatever the process has written is read once, bounded and checked.
 */
#ifndef BPF_THREAD_SAYS_H
#define BPF_THREAD_SAYS_H

#include "walk.h"

/* The address of the thread's variable; 0: this thread has none yet. */
static __always_inline u64 variable_va(const struct variable_place *place, u64 thread)
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

/* ---- Requests ----------------------------------------------------------- */

static __always_inline int request_has_id(const struct request_record *record)
{
	const u64 *id = (const void *)record->trace_id;

	return id[0] | id[1] ? 1 : 0;
}

/* Each way to read a record: 0; -1 if the thread says nothing, 1 if that cannot be read. */
static __always_inline int request_read_otel(struct request_record *to, u64 va)
{
	u64 bytes;

	if (bpf_probe_read_user(to, sizeof(*to), (void *)va) || to->valid > 1)
		return 1;
	if (!to->valid || !request_has_id(to))
		return -1;
	bytes = to->attribute_bytes;
	/* Its ids are good, whatever it says of the rest. */
	if (bytes > REQUEST_ATTRIBUTES_MAX ||
	    (bytes && bpf_probe_read_user(to + 1, bytes & 1023, (void *)(va + sizeof(*to))))) {
		count(COUNTER_REQUESTS_UNREAD);
		bytes = 0;
	}
	to->layout = REQUEST_OTEL;
	to->attribute_bytes = (u16)bytes;
	return 0;
}

static __always_inline int request_read_apm(struct request_record *to, u64 va)
{
	u64 ids_va = va + sizeof(struct apm_head), ids_bytes = sizeof(to->trace_id) + sizeof(to->span_id);
	struct apm_head head;

	if (bpf_probe_read_user(&head, sizeof(head), (void *)va))
		return 1;
	if (!head.valid)
		return -1;
	if (!head.version || head.has_trace > 1)
		return 1;
	if (!head.has_trace)
		return -1;
	if (bpf_probe_read_user(to, ids_bytes, (void *)ids_va) ||
	    bpf_probe_read_user(to + 1, APM_TRANSACTION_BYTES, (void *)(ids_va + ids_bytes)))
		return 1;
	if (!request_has_id(to))
		return -1;
	to->valid = 1;
	to->layout = REQUEST_APM;
	to->attribute_bytes = APM_TRANSACTION_BYTES;
	return 0;
}

/* It is behind the kernel's addresses. */
static __always_inline void request_taken(struct unwind *u, const struct request_record *record)
{
	u->trace.request_words = (u16)((sizeof(*record) + record->attribute_bytes + 7) / 8);
	u->trace.kernel_count += u->trace.request_words;
}

/* Puts it there. */
static __always_inline int request_read(struct unwind *u, u64 va, u32 layout)
{
	u64 record_va, at = u->trace.kernel_count;
	struct request_record *to;
	int r;

	if (bpf_probe_read_user(&record_va, sizeof(record_va), (void *)va))
		return 1;
	if (!record_va || at > KERNEL_FRAMES_MAX)
		return -1;
	to = (void *)&u->words[at];
	r = layout == REQUEST_APM ? request_read_apm(to, record_va) : request_read_otel(to, record_va);
	if (r)
		return r;
	request_taken(u, to);
	return 0;
}

/* What OBI knows of a thread that says nothing itself: as above. */
static __always_inline int request_read_obi(struct unwind *u)
{
	u64 thread = bpf_get_current_pid_tgid(), at = u->trace.kernel_count;
	const struct obi_context *context;
	void *threads = obi_map();
	struct request_record *to;

	if (!threads || at > KERNEL_FRAMES_MAX)
		return -1;
	context = bpf_map_lookup_elem(threads, &thread);
	if (!context)
		return -1;
	to = (void *)&u->words[at];
	*(struct obi_context *)to = *context;
	if (!request_has_id(to))
		return -1;
	to->valid = 1;
	to->layout = REQUEST_OBI;
	to->attribute_bytes = 0;
	request_taken(u, to);
	return 0;
}

/* Looked at by the verifier alone, as walk_step() is. */
__noinline int request_take(u32 slot_number)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	const struct runtime_slot *slot = bpf_map_lookup_elem(&slots, &slot_number);
	const struct thread_places *places;
	u64 va;
	int r;

	if (!u || !slot)
		return 0;
	places = (const void *)slot->word;
	va = places->has_request ? variable_va(&places->request, walk_thread_pointer()) : 0;
	r = va ? request_read(u, va, places->request_layout) : -1;
	if (r < 0)
		r = request_read_obi(u);
	if (r >= 0)
		count(r ? COUNTER_REQUESTS_UNREAD : COUNTER_REQUESTS);
	return 0;
}

/* ---- Labels ------------------------------------------------------------- */

/* A text, with its NUL, to `to`: its bytes, 0 if there is none, less than 0 if it cannot be read. */
static __always_inline long label_text(u64 *to, u32 type, u64 max_bytes, u64 va)
{
	if (type == THREAD_LABEL_POINTER) {
		if (bpf_probe_read_user(to, sizeof(*to), (void *)va))
			return -1;
		va = *to;
		if (!va)
			return 0;
	}
	if (max_bytes > THREAD_LABEL_BYTES)
		max_bytes = THREAD_LABEL_BYTES;
	return bpf_probe_read_user_str(to, (u32)max_bytes, (void *)va);
}

/* Its value, to `to`: how many bytes, 0 if it says nothing, less than 0 if it cannot be read. */
static __always_inline long label_value(u64 *to, const struct label_place *label, u64 va)
{
	u32 type = label->type;
	long bytes;

	if (type >= THREAD_LABEL_STRING) {
		bytes = label_text(to, type, label->bytes, va);
		return bytes > 0 ? bytes - 1 : bytes;
	}
	*to = 0;
	if (type & 1)
		bytes = bpf_probe_read_user(to, sizeof(u64), (void *)va);
	else
		bytes = bpf_probe_read_user(to, sizeof(u32), (void *)va);
	return bytes ? -1 : (long)sizeof(u64);
}

/*
 * Puts one behind what is there already: 1 if there is something to say. A number is sent with all of its 8 bytes; what
 * it means is for user space to say. Looked at by the verifier alone.
 */
__noinline int label_take(u32 slot_number, u32 number)
{
	u32 zero = 0;
	struct unwind *u = bpf_map_lookup_elem(&scratch, &zero);
	const struct runtime_slot *slot = bpf_map_lookup_elem(&slots, &slot_number);
	const struct label_place *label;
	struct thread_label *to;
	u64 at, va, words;
	long bytes;

	if (!u || !slot)
		return 0;
	/* Pointers are made right after the check, and kept: of numbers on the stack older kernels know no bounds. */
	at = number;
	asm volatile("" : "+r"(at));
	at &= THREAD_LABELS_MAX - 1;
	label = &((const struct thread_places *)slot->word)->label[at];
	asm volatile("" : "+r"(label));
	va = variable_va(&label->variable, walk_thread_pointer());
	if (!va)
		return 0;
	at = u->trace.kernel_count;
	asm volatile("" : "+r"(at));
	if (at > LEADING_WORDS_MAX - 1 - THREAD_LABEL_BYTES / 8)
		return 0;
	to = (void *)&u->words[at];
	asm volatile("" : "+r"(to));
	bytes = label_value((u64 *)(to + 1), label, va);
	if (bytes < 0)
		count(COUNTER_LABELS_UNREAD);
	if (bytes <= 0)
		return 0;
	*to = (struct thread_label){ (u8)number, (u8)label->type, (u16)bytes, 0 };
	words = 1 + (((u64)bytes + 7) >> 3);
	u->trace.label_words += words;
	u->trace.kernel_count += words;
	return 1;
}
_Static_assert(!(THREAD_LABELS_MAX & (THREAD_LABELS_MAX - 1)), "a power of two");
_Static_assert((THREAD_LABEL_U64 & 1) && (THREAD_LABEL_S64 & 1) && !(THREAD_LABEL_U32 & 1) && !(THREAD_LABEL_S32 & 1),
	       "odd types have 8 bytes");

__noinline int thread_says(u32 slot_number)
{
	const struct runtime_slot *slot = bpf_map_lookup_elem(&slots, &slot_number);
	const struct thread_places *places;
	int labels = 0;

	if (!slot)
		return 0;
	places = (const void *)slot->word;
	request_take(slot_number);
	LOOP_NO_UNROLL
	for (u32 i = 0; i < THREAD_LABELS_MAX; i++)
		if (places->labels >> i & 1)
			labels += label_take(slot_number, i);
	if (labels)
		count(COUNTER_LABELS);
	return 0;
}

#endif
