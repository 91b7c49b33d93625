// SPDX-License-Identifier: Apache-2.0
#include "tracer/requests.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "exe/lang_file.h"
#include "proc/binaries.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "proc/peek.h"
#include "proc/process_context.h"
#include "proc/thread_labels.h"
#include "proc/thread_variable.h"
#include "trace/window.h"
#include "tracer/modules.h"
#include "tracer/tables.h"

#define MAPS_MAX (4u << 20)
#define LOOK_FIRST_NS 10000000ull	/* each next one after twice the time: libraries publish late, some of them */
#define LOOK_LAST_NS 10000000000ull
#define AGAIN_NS 1000000000ull		/* between looks at the time of a context that is known */
#define LABELS_AGAIN_NS 100000000ull	/* between looks for labels, however often it maps code */
#define NEVER UINT64_MAX

/* When something is looked for next, and how often it was in vain, one after the other. */
struct looks {
	u64 next_ns, last_ns;
	u32 count;
	bool is_refused;		/* and counted */
};

struct process_requests {
	u64 context_va, context_time;	/* 0: none was found, or read */
	struct looks for_request, for_labels;
	u32 slot;			/* 0: the kernel half knows of nothing */
	struct thread_places places;	/* as the kernel half knows them */
	u32 keys_number;
	size_t keys_bytes;
	char keys[PROCESS_CONTEXT_KEYS_BYTES];
};

/* Whom memory is read of. */
struct subject {
	struct peek *peek;
	u64 place;
	u32 tid;
};

static int read_memory(void *arg, u64 va, void *to, size_t bytes)
{
	const struct subject *subject = arg;

	return peek_memory(subject->peek, subject->place, subject->tid, va, to, bytes);
}

/* Of a kind of requests: as the number of a label. */
#define REQUEST(layout) (-1 - (int)(layout))

/* The variable of a label, or of requests, in a file; NULL if it is not there, or not meant. */
static const struct tls_variable *variable_in(const struct requests *r, const struct binary *binary, int number)
{
	const struct lang_file *file = modules_file(r->modules, binary);
	const struct tls_variable *variable = !file ? NULL : number < 0 ? &file->requests[-1 - number] :
									  &file->labels[number];

	if (!variable || !variable->access)
		return NULL;
	return number < 0 || thread_labels_fit(r->labels, (u32)number, binary->path) ? variable : NULL;
}

/* ... among those that a process has mapped, and the file's bias; NULL if there is none. */
static const struct tls_variable *find_variable(const struct requests *r, const struct maps *maps, int number,
						u64 *ret_bias)
{
	for (u32 i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->at[i];
		const struct tls_variable *variable = m->binary ? variable_in(r, m->binary, number) : NULL;
		u64 start_va, end_va;

		if (variable && binary_place(m->binary, m, ret_bias, &start_va, &end_va))
			return variable;
	}
	return NULL;
}

static bool has_labels(const struct requests *r, const struct maps *maps)
{
	u64 bias;

	for (int i = 0; r->labels && i < (int)r->labels->count; i++)
		if (find_variable(r, maps, i, &bias))
			return true;
	return false;
}

static bool has_layout(const struct requests *r, const struct maps *maps, enum request_layout layout)
{
	u64 bias;

	return find_variable(r, maps, REQUEST(layout), &bias);
}

static bool has_request(const struct requests *r, const struct maps *maps)
{
	return !r->is_off && (has_layout(r, maps, REQUEST_OTEL) || has_layout(r, maps, REQUEST_APM));
}

/* Where an APM agent says what the process is; 0: there is none. */
static u64 find_agent(const struct requests *r, const struct maps *maps)
{
	u64 bias, start_va, end_va;

	for (u32 i = 0; i < maps->count; i++) {
		const struct binary *binary = maps->at[i].binary;
		const struct lang_file *file = binary ? modules_file(r->modules, binary) : NULL;

		if (file && file->apm_storage_ea && binary_place(binary, &maps->at[i], &bias, &start_va, &end_va))
			return file->apm_storage_ea + bias;
	}
	return 0;
}

static bool is_musl(const struct maps *maps)
{
	for (u32 i = 0; i < maps->count; i++) {
		struct str path = str_of(maps->at[i].path), name = str_base_name(path);

		if (maps->at[i].kind == MAPPING_FILE &&
		    (str_starts(name, "ld-musl") || (str_is(name, "libc.so") && strstr(maps->at[i].path, "musl"))))
			return true;
	}
	return false;
}

static u64 next_look(const struct process_requests *q)
{
	u64 next_ns = q->for_request.next_ns < q->for_labels.next_ns ? q->for_request.next_ns : q->for_labels.next_ns;

	return next_ns == NEVER ? 0 : next_ns;
}

void requests_mapped(const struct requests *r, struct process *p, u64 now_ns)
{
	struct process_requests *q = p->requests;
	u64 agent_va = find_agent(r, p->maps);

	if (agent_va && agent_va != p->apm_variable_va)
		description_expect(&p->description, now_ns);
	p->apm_variable_va = agent_va;
	if (r->is_off && !r->labels)
		return;
	if (!q) {
		if (has_request(r, p->maps) || has_labels(r, p->maps))
			p->requests_look_ns = now_ns;
		return;
	}
	/* What has no context yet is looked at less and less often, however often it maps code. */
	if (q->context_va || q->places.has_request ||
	    (q->for_request.next_ns == NEVER && has_request(r, p->maps))) {
		q->context_time = 0;
		q->for_request.next_ns = now_ns;
	}
	if (r->labels && q->for_labels.next_ns > q->for_labels.last_ns + LABELS_AGAIN_NS) {
		q->for_labels.count = 0;
		q->for_labels.next_ns = q->for_labels.last_ns + LABELS_AGAIN_NS;
	}
	p->requests_look_ns = next_look(q);
}

/* Its payload, to be freed, if it is new; how many bytes. 0: it is as it was. -EAGAIN, -ENOENT or another error. */
static int read_context(struct process_requests *q, const struct subject *subject, void **ret_payload)
{
	const struct process_context_reader reader = { read_memory, (void *)subject };
	_cleanup_(freep) char *maps = NULL;
	u64 time = q->context_va ? process_context_time(&reader, q->context_va) : 0;
	int r;

	if (time && time == q->context_time)
		return 0;
	if (!time) {
		if (peek_text(subject->peek, subject->place, subject->tid, "maps", MAPS_MAX, &maps) <= 0)
			return -EAGAIN;
		q->context_va = process_context_find(maps);
	}
	if (!q->context_va)
		return -ENOENT;
	r = process_context_read(&reader, q->context_va, ret_payload, &time);
	if (r > 0)
		q->context_time = time;
	return r;
}

static void take_keys(struct process_requests *q, const char *keys, size_t bytes)
{
	if (bytes == q->keys_bytes && !memcmp(keys, q->keys, bytes))
		return;
	memcpy(q->keys, keys, bytes);
	q->keys_bytes = bytes;
	q->keys_number++;
}

/* The kernel half reads a slot while it changes: it gets another one. */
static bool set_places(struct requests *r, struct process_requests *q, const struct thread_places *places, u64 now_ns)
{
	bool has_any = places->has_request || places->labels;
	struct runtime_slot *slot;
	int number;

	if (q->slot ? !memcmp(&q->places, places, sizeof(*places)) : !has_any)
		return false;
	number = has_any ? tables_take_slot(r->tables, &slot) : 0;
	if (number > 0) {
		*slot = (struct runtime_slot){ 0 };
		memcpy(slot->word, places, sizeof(*places));
		r->attached += places->has_request &&
			       (!q->slot || memcmp(&q->places.request, &places->request, sizeof(places->request)));
		r->labelled += places->labels && !(q->slot && q->places.labels);
	}
	if (q->slot)
		tables_drop_slot(r->tables, q->slot, now_ns);
	q->places = *places;
	q->slot = number > 0 ? (u32)number : 0;
	return true;
}

/* -EAGAIN: there is something, but not all of it yet. -EALREADY: it is as it was. */
static int find_otel(const struct requests *r, struct process *p, const struct subject *subject,
		     struct variable_place *ret_place)
{
	const struct process_context_reader reader = { read_memory, (void *)subject };
	_cleanup_(freep) void *payload = NULL;
	char keys[PROCESS_CONTEXT_KEYS_BYTES];
	const struct tls_variable *variable;
	size_t keys_bytes;
	u64 bias;
	int bytes = read_context(p->requests, subject, &payload), known;

	if (bytes <= 0)
		return bytes < 0 ? bytes : -EALREADY;
	known = process_context_threads(payload, (size_t)bytes, keys, &keys_bytes);
	if (known <= 0)
		return known < 0 ? known : -ENOENT;
	variable = find_variable(r, p->maps, REQUEST(REQUEST_OTEL), &bias);
	if (!variable)
		return -ENOENT;
	take_keys(p->requests, keys, keys_bytes);
	return thread_variable_place(variable, bias, is_musl(p->maps), &reader, ret_place);
}

static int find_apm(const struct requests *r, const struct process *p, const struct subject *subject,
		    struct variable_place *ret_place)
{
	const struct process_context_reader reader = { read_memory, (void *)subject };
	u64 bias;
	const struct tls_variable *variable = find_variable(r, p->maps, REQUEST(REQUEST_APM), &bias);

	return variable ? thread_variable_place(variable, bias, is_musl(p->maps), &reader, ret_place) : -ENOENT;
}

static int find_request(const struct requests *r, struct process *p, const struct subject *subject,
			struct thread_places *places)
{
	enum request_layout layout = REQUEST_OTEL;
	struct variable_place place;
	int found = -ENOENT;

	if (p->requests->context_va || has_layout(r, p->maps, REQUEST_OTEL))
		found = find_otel(r, p, subject, &place);
	if (found == -ENOENT) {
		layout = REQUEST_APM;
		found = find_apm(r, p, subject, &place);
	}
	if (found < 0)
		return found;
	places->request = place;
	places->request_layout = layout;
	places->has_request = true;
	return 0;
}

static bool is_due(const struct process *p, u64 now_ns)
{
	return p->requests_look_ns && now_ns >= p->requests_look_ns && p->maps && !p->exited_ns && !p->is_removed;
}

static void look_later(struct looks *looks, u64 now_ns)
{
	u64 wait_ns = LOOK_FIRST_NS << (looks->count < 16 ? looks->count : 16);

	looks->next_ns = now_ns + (wait_ns < LOOK_LAST_NS ? wait_ns : LOOK_LAST_NS);
	looks->count++;
}

/* Counts what was not understood, once for each process. */
static void refuse(struct looks *looks, u64 *count)
{
	*count += !looks->is_refused;
	looks->is_refused = true;
}

static void look_for_request(struct requests *r, struct process *p, const struct subject *subject, u64 now_ns,
			     struct thread_places *places)
{
	struct process_requests *q = p->requests;
	int found = q->context_va || has_request(r, p->maps) ? find_request(r, p, subject, places) : -ENODATA;

	if (found == -EALREADY || (found == 0 && places->request_layout == REQUEST_OTEL)) {
		q->for_request.next_ns = now_ns + AGAIN_NS;
		q->for_request.count = 0;
		return;
	}
	q->context_time = 0;
	/* An agent's variable stays where it is; a context may come yet, if there is the variable for it. */
	if (found == -ENODATA || (found == 0 && !has_layout(r, p->maps, REQUEST_OTEL)))
		q->for_request.next_ns = NEVER;
	else
		look_later(&q->for_request, now_ns);
	if (found == 0 || found == -EAGAIN)
		return;
	if (found != -ENOENT && found != -ENODATA)
		refuse(&q->for_request, &r->refused);
	places->has_request = places->request_layout = 0;
	places->request = (struct variable_place){ 0 };
}

/* 0 if it is there or is not to be had; -EAGAIN if it may be later. */
static int look_for_label(struct requests *r, struct process *p, const struct subject *subject, u32 number,
			  struct thread_places *places)
{
	const struct process_context_reader reader = { read_memory, (void *)subject };
	u64 bias;
	const struct tls_variable *variable = find_variable(r, p->maps, (int)number, &bias);
	u32 type = r->labels->at[number].type, bytes = variable ? thread_label_bytes(type, variable->bytes) : 0;
	struct variable_place place = { 0 };
	int found = bytes ? thread_variable_place(variable, bias, is_musl(p->maps), &reader, &place) : -ENOENT;

	memset(&places->label[number], 0, sizeof(places->label[number]));
	places->labels &= ~(1u << number);
	if (found == 0) {
		places->label[number].variable = place;
		places->label[number].type = type;
		places->label[number].bytes = bytes;
		places->labels |= 1u << number;
		return 0;
	}
	if (variable && found != -EAGAIN)
		refuse(&p->requests->for_labels, &r->labels_refused);
	return variable && bytes ? -EAGAIN : 0;
}

static void look_for_labels(struct requests *r, struct process *p, const struct subject *subject, u64 now_ns,
			    struct thread_places *places)
{
	struct looks *looks = &p->requests->for_labels;
	int found = 0;

	looks->last_ns = now_ns;
	for (u32 i = 0; i < r->labels->count; i++)
		found |= look_for_label(r, p, subject, i, places);
	if (found)
		look_later(looks, now_ns);
	else
		looks->next_ns = NEVER;
}

bool requests_look(struct requests *r, struct process *p, u32 tid, u64 now_ns)
{
	struct subject subject = { r->peek, peek_process(p->serial), tid };
	struct thread_places places;
	struct process_requests *q;

	if (!is_due(p, now_ns))
		return false;
	q = p->requests ? p->requests : calloc(1, sizeof(*q));
	p->requests = q;
	p->requests_look_ns = now_ns + AGAIN_NS;
	if (!q)
		return false;
	places = q->places;
	if (now_ns >= q->for_request.next_ns)
		look_for_request(r, p, &subject, now_ns, &places);
	if (!r->labels)
		q->for_labels.next_ns = NEVER;
	else if (now_ns >= q->for_labels.next_ns)
		look_for_labels(r, p, &subject, now_ns, &places);
	p->requests_look_ns = next_look(q);
	return set_places(r, q, &places, now_ns);
}

u32 requests_slot(const struct process *p)
{
	return p->requests ? p->requests->slot : 0;
}

void requests_describe(const struct process *p, struct window_process *to)
{
	if (!p->requests)
		return;
	to->request_keys = p->requests->keys;
	to->request_keys_bytes = (u32)p->requests->keys_bytes;
	to->request_keys_number = p->requests->keys_number;
}

void requests_forget(struct requests *r, struct process *p, u64 now_ns)
{
	if (p->requests && p->requests->slot)
		tables_drop_slot(r->tables, p->requests->slot, now_ns);
	free(TAKE(p->requests));
	p->requests_look_ns = 0;
}
