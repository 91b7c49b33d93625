// SPDX-License-Identifier: Apache-2.0
#include "tracer/runtimes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lang/lang.h"
#include "lang/named.h"
#include "lang/unread.h"
#include "proc/binaries.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "proc/peek.h"
#include "proc/processes.h"
#include "tracer/counters.h"
#include "tracer/loader.h"
#include "tracer/modules.h"
#include "tracer/source_maps.h"
#include "tracer/tables.h"

/* A JVM needs 30 ms to a second to start, and may not live for much longer: at first it is asked often. */
#define RETRY_FIRST_NS 10000000ull
#define RETRIES_FIRST 20
#define RETRY_NEXT_NS 50000000ull
#define RETRIES_STARTING 40		/* until then, 1.2 s in all, it counts as starting */
#define RETRIES_MAX 52			/* later ones each after twice the time: six minutes in all */

/* A runtime of a process. */
struct runtime {
	const struct lang_ops *ops;
	u32 lang;
	void *state;
	struct runtime_slot slot;	/* what its kernel half is told */
	bool is_changed;		/* ... since it was */
};

struct runtime_set {
	struct lang_process process;
	struct runtime list[SLOT_CHAIN];
	u32 count;
	u32 refused;			/* bit n: language n could not be taken up */
	bool waits_for_program;		/* the kernel's turn: the process has not been asked */
	bool walks_copies;		/* ... of a language that can walk copies of stacks meanwhile */
	u32 retries;
	u64 retry_ns;			/* 0: nothing to try again */
	u64 dropped;			/* of generated code, as counted so far */
	u64 rows_order;			/* of what generated code is unwound by in the kernel's tables */
	struct named names;
};

enum program { PROGRAM_NONE, PROGRAM_LOADED, PROGRAM_FAILED };

struct runtimes {
	struct runtimes_options options;
	enum program programs[LANG_MAX];
	struct unread unread[UNREAD_MAX];
	u32 unread_count;
	struct runtimes_stats stats;
};

int runtimes_new(const struct runtimes_options *options, struct runtimes **ret_runtimes)
{
	struct runtimes *rt = calloc(1, sizeof(*rt));

	if (!rt)
		return -ENOMEM;
	rt->options = *options;
	*ret_runtimes = rt;
	return 0;
}

void runtimes_free(struct runtimes *rt)
{
	free(rt);
}

static struct runtime *set_find(struct runtime_set *set, u32 lang)
{
	for (u32 i = 0; set && i < set->count; i++)
		if (set->list[i].lang == lang)
			return &set->list[i];
	return NULL;
}

static int on_recall(void *arg, const struct kept_key *key, struct kept_objects *ret_kept)
{
	const struct runtimes *rt = arg;

	return rt->options.loader ? loader_recall(rt->options.loader, key, ret_kept) : -ENOENT;
}

static int on_source_map(void *arg, const struct lang_process *process, const struct lang_script *script,
			 const struct source_map **ret_map)
{
	const struct runtimes *rt = arg;

	return source_maps_find(rt->options.source_maps, process, script, ret_map);
}

static struct runtime_set *set_of(struct runtimes *rt, struct process *p)
{
	if (!p->runtimes) {
		p->runtimes = calloc(1, sizeof(*p->runtimes));
		if (!p->runtimes)
			return NULL;
		named_init(&p->runtimes->names);
	}
	p->runtimes->process = (struct lang_process){ .pid = p->pid, .serial = p->serial, .maps = p->maps,
						      .wishes = rt->options.wishes,
						      .is_gone = p->exited_ns != 0, .peek = rt->options.peek,
						      .recall = on_recall, .source_map = on_source_map,
						      .arg = rt };
	return p->runtimes;
}

static int runtimes_load(struct runtimes *rt, u32 lang, const struct lang_ops *ops)
{
	int r;

	if (!ops->object || rt->programs[lang] == PROGRAM_LOADED)
		return 0;
	if (rt->programs[lang] == PROGRAM_FAILED)
		return -ENOTSUP;
	r = rt->options.loader ? loader_load_lang(rt->options.loader, lang, ops) : -ENOTSUP;
	if (r == -EINPROGRESS)
		return r;
	rt->programs[lang] = r < 0 ? PROGRAM_FAILED : PROGRAM_LOADED;
	rt->stats.programs_failed += r < 0;
	return r;
}

static void set_retry(struct runtime_set *set, u64 now_ns)
{
	if (set->retries >= RETRIES_MAX)
		return;
	if (set->retries < RETRIES_FIRST)
		set->retry_ns = now_ns + RETRY_FIRST_NS;
	else if (set->retries < RETRIES_STARTING)
		set->retry_ns = now_ns + RETRY_NEXT_NS;
	else
		set->retry_ns = now_ns + (RETRY_NEXT_NS << (set->retries - RETRIES_STARTING));
}

static void add_file(struct runtime *runtime, const struct lang_file *file, const struct lang_place *place)
{
	struct runtime_slot before = runtime->slot;

	runtime->ops->add_file(runtime->state, file, place, &runtime->slot);
	runtime->is_changed |= memcmp(&before, &runtime->slot, sizeof(before)) != 0;
}

/* Would a file of that language be taken up, or tried to? */
static bool is_wanted(const struct runtimes *rt, struct runtime_set *set, u32 lang)
{
	if (lang >= LANG_MAX || !lang_list[lang] || !(rt->options.langs >> lang & 1))
		return false;
	return !set || (!(set->refused >> lang & 1) && !set_find(set, lang) && set->count < SLOT_CHAIN);
}

/* Past the limit a runtime goes untold. */
static void note_unread(struct runtimes *rt, struct process *p, const char *title)
{
	u32 i = 0;

	while (i < rt->unread_count && strcmp(rt->unread[i].title, title))
		i++;
	if (i == UNREAD_MAX)
		return;
	rt->unread_count += i == rt->unread_count;
	rt->unread[i].title = title;
	p->maps->unread = i + 1;
}

/* A runtime that could not be taken up, or that nobody here knows. One is enough. */
static void find_unread(struct runtimes *rt, struct process *p)
{
	for (u32 lang = 1; p->runtimes && !p->maps->unread && lang < LANG_MAX; lang++)
		if (p->runtimes->refused >> lang & 1 && lang_list[lang]->look.title)
			note_unread(rt, p, lang_list[lang]->look.title);
	for (u32 i = 0; !p->maps->unread && i < p->maps->count; i++) {
		const char *path = p->maps->at[i].path;
		const char *title = p->maps->at[i].kind == MAPPING_FILE && path ? unread_runtime(path) : NULL;

		if (title)
			note_unread(rt, p, title);
	}
}

static void attach_one(struct runtimes *rt, struct runtime_set *set, u32 lang, const struct lang_file *file,
		       const struct lang_place *place, u64 now_ns)
{
	const struct lang_ops *ops = lang_list[lang];
	struct runtime *to = &set->list[set->count], *known = set_find(set, lang);
	int r;

	if (known && file && ops->add_file)
		add_file(known, file, place);
	if (!is_wanted(rt, set, lang))
		return;
	*to = (struct runtime){ .ops = ops, .lang = lang, .slot = { .lang = lang } };
	r = runtimes_load(rt, lang, ops);
	if (r == 0)
		r = ops->attach(&set->process, file, place, &to->slot, &to->state);
	if (r == -EINPROGRESS || r == -EAGAIN) {
		set->waits_for_program |= r == -EINPROGRESS;
		set->walks_copies |= r == -EINPROGRESS && ops->step;
		set_retry(set, now_ns);
		return;
	}
	if (r < 0) {
		set->refused |= 1u << lang;
		rt->stats.refused++;
		return;
	}
	to->slot.lang = lang;
	set->count++;
	rt->stats.attached++;
	rt->stats.newer += r > 0;
}

/* Runtimes by their files, in the order of the mappings. */
static void attach_files(struct runtimes *rt, struct process *p, struct runtime_set *set, u64 now_ns)
{
	for (u32 i = 0; i < p->maps->count; i++) {
		const struct mapping *m = &p->maps->at[i];
		const struct lang_file *file = m->binary ? modules_file(rt->options.modules, m->binary) : NULL;
		struct lang_place place = { .path = m->path };
		u64 start_va, end_va;

		if (file && file->lang < LANG_MAX && binary_place(m->binary, m, &place.bias, &start_va, &end_va))
			attach_one(rt, set, file->lang, file, &place, now_ns);
	}
}

/* Languages that need no file of their own are asked when there is code that is in no file. */
static void attach_anonymous(struct runtimes *rt, struct process *p, struct runtime_set *set, u64 now_ns)
{
	bool any = false;

	for (u32 i = 0; i < p->maps->count; i++)
		any |= mapping_is_generated(&p->maps->at[i]);
	for (u32 lang = 1; any && lang < LANG_MAX; lang++)
		if (lang_list[lang] && lang_list[lang]->any_code)
			attach_one(rt, set, lang, NULL, NULL, now_ns);
}

static struct runtime_slot *find_slot(const struct tables *tables, u32 slot, u32 lang)
{
	for (u32 i = 0; slot && i < SLOT_CHAIN; i++) {
		struct runtime_slot *at = tables_slot(tables, slot);

		if (at->lang == lang)
			return at;
		slot = at->next;
	}
	return NULL;
}

/* Mappings that are shared have one chain of slots: the memory is the same in all who share them. */
static void fill_slots(struct runtimes *rt, struct process *p, struct runtime_set *set)
{
	for (u32 i = 0; i < set->count; i++) {
		struct runtime *runtime = &set->list[i];
		struct runtime_slot *slot = find_slot(rt->options.tables, p->maps->slot, runtime->lang);
		bool is_changed = runtime->is_changed;
		int number;

		runtime->is_changed = false;
		if (slot && is_changed)
			memcpy(slot->word, runtime->slot.word, sizeof(slot->word));
		if (slot || !runtime->ops->object)
			continue;
		number = tables_take_slot(rt->options.tables, &slot);
		if (number < 0)
			return;
		*slot = runtime->slot;
		slot->next = p->maps->slot;
		p->maps->slot = (u32)number;
	}
}

/* Is there anything that a language might take up? Most processes are native throughout, and have no set. */
static bool has_candidates(const struct runtimes *rt, const struct maps *maps)
{
	for (u32 i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->at[i];

		if (mapping_is_generated(m) || (m->binary && modules_file(rt->options.modules, m->binary)))
			return true;
	}
	return false;
}

bool runtimes_are_due(const struct runtimes *rt, const struct process *p, u64 now_ns)
{
	struct runtime_set *set = p->runtimes;

	if (set && set->retry_ns && now_ns < set->retry_ns)
		return false;
	for (u32 i = 0; i < p->maps->count; i++) {
		const struct mapping *m = &p->maps->at[i];
		const struct lang_file *file = m->binary ? modules_file(rt->options.modules, m->binary) : NULL;

		if (file && is_wanted(rt, set, file->lang))
			return true;
	}
	return false;
}

bool runtimes_attach(struct runtimes *rt, struct process *p, u64 now_ns)
{
	struct runtime_set *set = p->runtimes || has_candidates(rt, p->maps) ? set_of(rt, p) : NULL;
	u32 slot = p->maps->slot;
	u64 before_ns;

	if (!set) {
		find_unread(rt, p);
		return false;
	}
	if (set->retry_ns && now_ns >= set->retry_ns) {
		set->retries += !set->waits_for_program;
		set->waits_for_program = false;
		set->walks_copies = false;
		set->retry_ns = 0;
	}
	if (!set->retry_ns) {
		before_ns = peek_since(rt->options.peek, monotonic_ns());
		attach_files(rt, p, set, now_ns);
		attach_anonymous(rt, p, set, now_ns);
		(void)peek_since(rt->options.peek, before_ns);
	}
	find_unread(rt, p);
	fill_slots(rt, p, set);
	return p->maps->slot != slot;
}

bool runtimes_waits(const struct process *p)
{
	return p->runtimes && p->runtimes->retry_ns && !p->exited_ns;
}

bool runtimes_are_starting(const struct process *p)
{
	return runtimes_waits(p) && p->runtimes->retries < RETRIES_STARTING;
}

bool runtimes_are_loading(const struct process *p)
{
	return runtimes_waits(p) && p->runtimes->walks_copies;
}

bool runtimes_should_retry(const struct process *p, u64 now_ns)
{
	return runtimes_waits(p) && now_ns >= p->runtimes->retry_ns;
}

static struct runtime *owner_of(struct runtime_set *set, u64 start_va, u64 end_va)
{
	for (u32 i = 0; set && i < set->count; i++) {
		struct runtime *r = &set->list[i];

		if (r->ops->owns && r->ops->owns(r->state, &set->process, start_va, end_va))
			return r;
	}
	return NULL;
}

u32 runtimes_owner(const struct process *p, u64 start_va, u64 end_va)
{
	const struct runtime *r = owner_of(p->runtimes, start_va, end_va);

	/* One without a program has nothing to walk with: its code is native, and only its names are asked for. */
	return r && r->ops->object ? r->lang : 0;
}

u64 runtimes_rows_order(const struct process *p, u64 start_va, u64 end_va)
{
	struct runtime_set *set = p->runtimes;
	u64 order = 0;

	if (set)
		set->process.is_gone = p->exited_ns != 0;
	for (u32 i = 0; set && !order && i < set->count; i++)
		if (set->list[i].ops->rows)
			order = set->list[i].ops->rows_order(set->list[i].state, &set->process, start_va, end_va);
	return order;
}

bool runtimes_has_rows(const struct process *p)
{
	return p->runtimes && !p->exited_ns && runtimes_rows_order(p, 0, ~0ull) != p->runtimes->rows_order;
}

void runtimes_take_rows(const struct process *p)
{
	if (p->runtimes)
		p->runtimes->rows_order = runtimes_rows_order(p, 0, ~0ull);
}

int runtimes_rows(const struct process *p, u64 start_va, u64 end_va, u64 base_va, struct rows **ret_rows)
{
	struct runtime_set *set = p->runtimes;
	int r = -ENODATA;

	for (u32 i = 0; set && r == -ENODATA && i < set->count; i++)
		if (set->list[i].ops->rows)
			r = set->list[i].ops->rows(set->list[i].state, &set->process, start_va, end_va, base_va,
						   ret_rows);
	return r;
}

static void meet(struct runtime_set *set, u64 va)
{
	for (u32 i = 0; i < set->count; i++)
		if (set->list[i].ops->meet)
			set->list[i].ops->meet(set->list[i].state, &set->process, va);
}

bool runtimes_meet(struct process *p, const u64 *user, u32 user_count, u8 end)
{
	if (!p->runtimes || p->exited_ns || end == END_COMPLETE || end == END_TRUNCATED || end == END_RUNTIME ||
	    end == END_SPARED)
		return false;
	for (u32 i = user_count > 2 ? user_count - 2 : 0; i < user_count; i++) {
		u64 va = user[i] & FRAME_VA_MASK;

		if (user[i] >> FRAME_KIND_SHIFT == FRAME_VA && !runtimes_owner(p, va, va + 1))
			meet(p->runtimes, va);
	}
	if (!runtimes_has_rows(p))
		return false;
	p->maps_changed = true;
	return true;
}

u32 runtimes_start(const struct process *p)
{
	for (u32 i = 0; p->runtimes && i < p->runtimes->count; i++)
		if (p->runtimes->list[i].ops->starts_walk)
			return p->runtimes->list[i].lang;
	return 0;
}

static void count_dropped(struct runtimes *rt, struct runtime_set *set)
{
	u64 dropped = 0;

	for (u32 i = 0; i < set->count; i++)
		if (set->list[i].ops->dropped)
			dropped += set->list[i].ops->dropped(set->list[i].state);
	rt->stats.dropped += dropped - set->dropped;
	set->dropped = dropped;
}

struct window_frame *runtimes_name(struct runtimes *rt, struct process *p, const u64 frame[2])
{
	struct runtime_set *set = p->runtimes ? set_of(rt, p) : NULL;
	struct window_frame *named;
	struct runtime *r;
	u64 asked, unnamed, evictions;

	if (!set)
		return NULL;
	if (frame[0] >> FRAME_KIND_SHIFT == FRAME_RUNTIME)
		r = set_find(set, frame[0] >> FRAME_LANG_SHIFT & 0xff);
	else
		r = owner_of(set, frame[0] & FRAME_VA_MASK, (frame[0] & FRAME_VA_MASK) + 1);
	if (!r)
		return NULL;
	asked = set->names.asked;
	unnamed = set->names.unnamed;
	evictions = set->names.evictions;
	named = named_find(&set->names, r->ops, r->state, &set->process, frame,
			   (r->ops->generation ? r->ops->generation(r->state, &set->process) : 0) +
			   source_maps_generation(rt->options.source_maps));
	rt->stats.asked += set->names.asked - asked;
	rt->stats.unnamed += set->names.unnamed - unnamed;
	rt->stats.evictions += set->names.evictions - evictions;
	count_dropped(rt, set);
	return named;
}

void runtimes_drop_slots(struct runtimes *rt, struct maps *maps, u64 now_ns)
{
	for (u32 i = 0; maps->slot && i < SLOT_CHAIN; i++) {
		u32 next = tables_slot(rt->options.tables, maps->slot)->next;

		tables_drop_slot(rt->options.tables, maps->slot, now_ns);
		maps->slot = next;
	}
}

void runtimes_forget(struct runtimes *rt, struct process *p)
{
	struct runtime_set *set = p->runtimes;

	if (!set)
		return;
	count_dropped(rt, set);
	for (u32 i = 0; i < set->count; i++)
		if (set->list[i].ops->detach)
			set->list[i].ops->detach(set->list[i].state);
	named_done(&set->names);
	free(set);
	p->runtimes = NULL;
}

void runtimes_count(struct runtimes *rt, const struct process *p)
{
	if (p->maps->unread)
		rt->unread[p->maps->unread - 1].samples++;
}

u32 runtimes_unread(const struct runtimes *rt, const struct unread **ret_unread)
{
	*ret_unread = rt->unread;
	return rt->unread_count;
}

struct runtimes_stats runtimes_stats(const struct runtimes *rt)
{
	return rt->stats;
}
