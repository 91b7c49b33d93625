// SPDX-License-Identifier: Apache-2.0
#include "tracer/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "exe/lang_file.h"
#include "proc/binaries.h"
#include "proc/maps.h"
#include "proc/peek.h"
#include "proc/process_context.h"
#include "proc/thread_variable.h"
#include "trace/window.h"
#include "tracer/modules.h"
#include "tracer/tables.h"

#define MAPS_MAX (4u << 20)
#define LOOK_FIRST_NS 10000000ull	/* each next one after twice the time: libraries publish late, some of them */
#define LOOK_LAST_NS 10000000000ull
#define AGAIN_NS 1000000000ull		/* between looks at the time of a context that is known */

struct process_requests {
	u64 context_va, context_time;	/* 0: none was found, or read */
	u32 slot;			/* 0: the kernel half knows of nothing */
	u32 looks;			/* in vain, one after the other */
	bool is_refused;		/* and counted */
	struct variable_place place;	/* as the kernel half knows it */
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

/* The variable's file among those that a process has mapped, and its bias; NULL if there is none. */
static const struct tls_variable *find_variable(const struct requests *r, const struct maps *maps, u64 *ret_bias)
{
	for (u32 i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->at[i];
		const struct lang_file *file = m->binary ? modules_file(r->modules, m->binary) : NULL;
		u64 start_va, end_va;

		if (file && file->request.access && binary_place(m->binary, m, ret_bias, &start_va, &end_va))
			return &file->request;
	}
	return NULL;
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

void requests_mapped(const struct requests *r, struct process *p, u64 now_ns)
{
	u64 bias;

	/* What has nothing yet is looked at less and less often, however often it maps code. */
	if (r->is_off || (p->requests && !p->requests->context_va))
		return;
	if (p->requests)
		p->requests->context_time = 0;
	else if (!find_variable(r, p->maps, &bias))
		return;
	p->requests_look_ns = now_ns;
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
static bool set_place(struct requests *r, struct process_requests *q, const struct variable_place *place, u64 now_ns)
{
	struct runtime_slot *slot;
	int number;

	if (q->slot && place && !memcmp(&q->place, place, sizeof(*place)))
		return false;
	if (!q->slot && !place)
		return false;
	number = place ? tables_take_slot(r->tables, &slot) : 0;
	if (number > 0) {
		*slot = (struct runtime_slot){ 0 };
		memcpy(slot->word, place, sizeof(*place));
		q->place = *place;
	}
	if (q->slot)
		tables_drop_slot(r->tables, q->slot, now_ns);
	r->attached += number > 0;
	q->slot = number > 0 ? (u32)number : 0;
	return true;
}

/* -EAGAIN: there is something, but not all of it yet. */
static int find_place(const struct requests *r, struct process *p, const struct subject *subject,
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
	variable = find_variable(r, p->maps, &bias);
	if (!variable)
		return -ENOENT;
	take_keys(p->requests, keys, keys_bytes);
	return thread_variable_place(variable, bias, is_musl(p->maps), &reader, ret_place);
}

static bool is_due(const struct process *p, u64 now_ns)
{
	return p->requests_look_ns && now_ns >= p->requests_look_ns && p->maps && !p->exited_ns && !p->is_removed;
}

bool requests_look(struct requests *r, struct process *p, u32 tid, u64 now_ns)
{
	struct subject subject = { r->peek, peek_process(p->serial), tid };
	struct variable_place place;
	struct process_requests *q;
	u64 wait_ns;
	int found;

	if (!is_due(p, now_ns))
		return false;
	q = p->requests ? p->requests : calloc(1, sizeof(*q));
	p->requests = q;
	p->requests_look_ns = now_ns + AGAIN_NS;
	if (!q)
		return false;
	found = find_place(r, p, &subject, &place);
	if (found == -EALREADY)
		return false;
	if (found == 0) {
		q->looks = 0;
		return set_place(r, q, &place, now_ns);
	}
	q->context_time = 0;
	wait_ns = LOOK_FIRST_NS << (q->looks < 16 ? q->looks : 16);
	p->requests_look_ns = now_ns + (wait_ns < LOOK_LAST_NS ? wait_ns : LOOK_LAST_NS);
	q->looks++;
	if (found == -EAGAIN)
		return false;
	r->refused += found != -ENOENT && !q->is_refused;
	q->is_refused |= found != -ENOENT;
	return set_place(r, q, NULL, now_ns);
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
