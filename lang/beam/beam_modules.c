// SPDX-License-Identifier: Apache-2.0
#include "lang/beam/beam_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "lang/lang.h"
#include "proc/maps.h"

#define DESCRIPTOR_VERSION 1
#define KIND_EMULATOR 0
#define KIND_MODULE 1
#define HEAD_BYTES 32
#define HEAD_NAME 26		/* ... of which the first six bytes of a name are */
#define RANGE_BYTES 16
#define RANGE_NAME 14
#define LINE_BYTES 12
#define LINE_FILE 10
#define LOOK_NS 10000000ull	/* between two looks, at least, if there is no reason to look */
#define MISS_NS 500000ull	/* ... if there is code that is not known */
#define LOOK_REST 8		/* ... and so many times as long as the last one took */

struct descriptor {
	u32 version, action;
	u64 changed_va, first_va;
};

struct link {
	u64 next_va, previous_va;
	u64 text_va, text_bytes;
};

/* How a text begins. */
struct head {
	u32 kind, pad;
	union {
		struct { u32 has_frame_pointers, pad; u64 normal_exit_va; } emulator;
		struct { u64 va; u32 ranges, code_bytes; } module;
	};
	u8 name[8];
};
_Static_assert(sizeof(struct head) == HEAD_BYTES, "as it lies there");

static void forget_texts(struct beam_modules *m)
{
	for (u32 i = 0; i < m->count; i++) {
		free(m->at[i].text);
		m->at[i].text = NULL;
	}
	m->kept_bytes = 0;
}

void beam_modules_done(struct beam_modules *m)
{
	forget_texts(m);
	free(m->at);
	*m = (struct beam_modules){ 0 };
}

static int read_entry(const struct lang_process *process, u64 va, struct link *ret_link, struct head *ret_head)
{
	int r = lang_read(process, va, ret_link, sizeof(*ret_link));

	if (r < 0)
		return r;
	if (ret_link->text_bytes < HEAD_BYTES || ret_link->text_bytes > BEAM_MODULE_BYTES_MAX)
		return -EBADMSG;
	return lang_read(process, ret_link->text_va, ret_head, sizeof(*ret_head));
}

static bool is_code(const struct lang_process *process, u64 va)
{
	const struct mapping *m = process->maps ? maps_find(process->maps, va) : NULL;

	return !process->maps || (m && mapping_is_generated(m));
}

bool beam_modules_is_entry(const struct lang_process *process, u64 entry_va)
{
	struct link link;
	struct head head;

	return entry_va && !(entry_va & 7) && read_entry(process, entry_va, &link, &head) == 0 && !link.previous_va &&
	       head.kind == KIND_MODULE && head.module.ranges && head.module.code_bytes &&
	       is_code(process, head.module.va);
}

static int compare_modules(const void *a, const void *b)
{
	const struct beam_module *x = a, *y = b;

	return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

const struct beam_module *beam_modules_at(const struct beam_modules *m, u64 va)
{
	u32 lo = 0, hi = m->count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (va < m->at[mid].start_va)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo && va < m->at[lo - 1].end_va ? &m->at[lo - 1] : NULL;
}

/* The list as it is found. */
struct walk {
	struct beam_module *at;
	u32 count, cap;
};

/* Takes what one entry tells of; the oldest module is that of the fragments. */
static void take_entry(struct beam_modules *m, struct walk *walk, const struct link *link, const struct head *head)
{
	if (head->kind == KIND_EMULATOR) {
		m->normal_exit_va = head->emulator.normal_exit_va;
		m->has_frame_pointers = head->emulator.has_frame_pointers;
	} else if (head->kind == KIND_MODULE && array_reserve(&walk->at, &walk->cap, walk->count + 1,
							      sizeof(*walk->at)) == 0) {
		walk->at[walk->count++] = (struct beam_module){
			.start_va = head->module.va, .end_va = head->module.va + head->module.code_bytes,
			.text_va = link->text_va, .text_bytes = link->text_bytes,
		};
		if (!link->next_va)
			m->global_va = head->module.va;
	} else {
		m->dropped++;
	}
}

/* Does a module lie where one of those lies, which are sorted? */
static bool is_covered(const struct walk *walk, const struct beam_module *module)
{
	u32 lo = 0, hi = walk->count;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (walk->at[mid].start_va < module->end_va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && walk->at[lo - 1].end_va > module->start_va;
}

/* Adds those that are known and lie where no new one lies: such a one is gone, and its names are stale. */
static int keep_known(struct beam_modules *m, struct walk *walk)
{
	u32 new_count = walk->count;
	struct walk new = *walk;

	if (array_reserve(&walk->at, &walk->cap, walk->count + m->count, sizeof(*walk->at)) < 0)
		return -ENOMEM;
	new.at = walk->at;
	for (u32 i = 0; i < m->count; i++) {
		if (is_covered(&new, &m->at[i])) {
			m->kept_bytes -= m->at[i].text ? m->at[i].text_bytes : 0;
			free(m->at[i].text);
			m->is_stale = true;
		} else {
			walk->at[walk->count++] = m->at[i];
		}
	}
	return (int)new_count;
}

/* The new ones, and those that were known. */
static void join(struct beam_modules *m, struct walk *walk)
{
	if (!walk->count)
		return;
	qsort(walk->at, walk->count, sizeof(*walk->at), compare_modules);
	if (keep_known(m, walk) < 0) {
		m->dropped += walk->count;
		free(walk->at);
		return;
	}
	qsort(walk->at, walk->count, sizeof(*walk->at), compare_modules);
	free(m->at);
	m->at = walk->at;
	m->count = walk->count;
	m->generation += m->is_stale || m->has_missed;
	m->is_stale = m->has_missed = false;
}

static bool is_same(const struct beam_entry *a, u64 va, const struct link *link)
{
	return a->va == va && a->text_va == link->text_va && a->text_bytes == link->text_bytes;
}

/* New entries are put in front, so that what follows the one that was the first is known. */
static void follow(struct beam_modules *m, const struct lang_process *process, u64 first_va)
{
	struct beam_entry first = { 0 };
	struct walk walk = { 0 };
	struct link link = { 0 };
	struct head head;
	u32 looked = 0;

	for (u64 va = first_va; va; va = link.next_va) {
		/* A list that leads in a circle ends at the limit; one that is being changed is followed once more. */
		if (looked++ == BEAM_MODULES_MAX || read_entry(process, va, &link, &head) < 0) {
			m->dropped++;
			free(walk.at);
			return;
		}
		if (is_same(&m->first, va, &link))
			break;
		if (va == first_va)
			first = (struct beam_entry){ va, link.text_va, link.text_bytes };
		take_entry(m, &walk, &link, &head);
	}
	join(m, &walk);
	if (first.va)
		m->first = first;
}

/* Past the limit all is forgotten, and told of anew. */
static void make_room(struct beam_modules *m)
{
	if (m->count < BEAM_MODULES_MAX)
		return;
	forget_texts(m);
	m->count = 0;
	m->first = (struct beam_entry){ 0 };
	m->is_stale = true;
}

static void look(struct beam_modules *m, const struct lang_process *process, u64 apart_ns)
{
	u64 start_ns = monotonic_ns();
	struct descriptor d;

	if (start_ns < m->next_look_ns || start_ns - m->last_look_ns < apart_ns)
		return;
	make_room(m);
	if (lang_read(process, m->descriptor_va, &d, sizeof(d)) == 0 && d.version == DESCRIPTOR_VERSION)
		follow(m, process, d.first_va);
	m->last_look_ns = monotonic_ns();
	m->next_look_ns = m->last_look_ns + (m->last_look_ns - start_ns) * LOOK_REST;
}

void beam_modules_look(struct beam_modules *m, const struct lang_process *process)
{
	look(m, process, LOOK_NS);
}

/* The text of a module, or NULL. */
static const u8 *read_text(struct beam_modules *m, const struct lang_process *process, struct beam_module *module)
{
	_cleanup_(freep) u8 *text = NULL;

	if (module->text)
		return module->text;
	if (m->kept_bytes + module->text_bytes > BEAM_MODULES_BYTES_MAX)
		forget_texts(m);
	text = malloc(module->text_bytes);
	if (!text || lang_read(process, module->text_va, text, module->text_bytes) < 0)
		return NULL;
	m->kept_bytes += module->text_bytes;
	module->text = TAKE(text);
	return module->text;
}

/* Reads on in a text: what is not there makes it end. */
struct reader {
	const u8 *at, *end;
};

static u32 get_u32(const u8 *at)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* A record of so many bytes, whose last word at `name` says how long the name is that follows; NULL at the end. */
static const u8 *next_record(struct reader *r, size_t name, size_t bytes, const char **ret_name)
{
	const u8 *record = r->at;
	size_t left = (size_t)(r->end - r->at), name_bytes;

	if (left < bytes)
		return NULL;
	name_bytes = (size_t)record[name - 2] | (size_t)record[name - 1] << 8;
	if (!name_bytes || name_bytes > BEAM_NAME_MAX || name_bytes > left - bytes || record[name + name_bytes - 1])
		return NULL;
	*ret_name = (const char *)record + name;
	r->at += bytes + name_bytes;
	return record;
}

/* Goes to the next range; its lines are looked through for the last one at an offset or before. */
static bool next_range(struct reader *r, u64 module_va, u64 offset, struct beam_place *place)
{
	const u8 *range = next_record(r, RANGE_NAME, RANGE_BYTES, &place->name), *line;
	const char *file;
	u32 lines;

	if (!range)
		return false;
	place->start_va = module_va + get_u32(range);
	place->end_va = module_va + get_u32(range + 4);
	place->file = "";
	place->line = 0;
	lines = get_u32(range + 8);
	for (u32 i = 0; i < lines && (line = next_record(r, LINE_FILE, LINE_BYTES, &file)); i++)
		if (get_u32(line) <= offset) {
			place->file = file;
			place->line = get_u32(line + 4);
		}
	return true;
}

static int find_range(struct beam_modules *m, const struct lang_process *process, struct beam_module *module, u64 va,
		      const char *name, struct beam_place *ret_place)
{
	const u8 *text = read_text(m, process, module);
	struct beam_place place;
	const char *module_name;
	struct reader r;

	if (!text)
		return -ENOENT;
	r = (struct reader){ text, text + module->text_bytes };
	if (!next_record(&r, HEAD_NAME, HEAD_BYTES, &module_name))
		return -ENOENT;
	while (next_range(&r, module->start_va, va - module->start_va, &place))
		if (name ? !strcmp(place.name, name) : va >= place.start_va && va < place.end_va) {
			*ret_place = place;
			return 0;
		}
	return -ENOENT;
}

int beam_modules_find(struct beam_modules *m, const struct lang_process *process, u64 va, struct beam_place *ret_place)
{
	const struct beam_module *module = beam_modules_at(m, va);

	if (!module) {
		look(m, process, MISS_NS);
		module = beam_modules_at(m, va);
	}
	m->has_missed |= !module;
	return module ? find_range(m, process, (struct beam_module *)module, va, NULL, ret_place) : -ENOENT;
}

int beam_modules_named(struct beam_modules *m, const struct lang_process *process, u64 module_va, const char *name,
		       struct beam_place *ret_place)
{
	const struct beam_module *module = beam_modules_at(m, module_va);

	return module ? find_range(m, process, (struct beam_module *)module, module_va, name, ret_place) : -ENOENT;
}
