// SPDX-License-Identifier: Apache-2.0
#include "tracer/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/tracer.skel.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/interner.h"
#include "base/ranges.h"
#include "exe/rows.h"

#define GRACE_NS 1000000000ull
#define FILE_PAGES_MAX (PAGES_MAX / 2)	/* 2 GiB of text */

enum dropped_kind { DROPPED_MAPS, DROPPED_ROWS, DROPPED_SLOT };

/* What was dropped and waits for its second to pass. */
struct dropped {
	u64 at_ns;
	u32 first, count;
	enum dropped_kind kind;
};

struct chunk {
	struct rows_chunk *memory;
	struct ranges rows;
};

struct tables {
	bool is_private;		/* no kernel half reads them */
	int procs_fd, chunks_fd;
	struct unwind_rule *rules;
	struct page_entry *pages;
	struct map_entry *maptab;
	struct runtime_slot *slots;
	u64 *published;
	struct chunk chunks[CHUNKS_MAX];
	u32 chunk_count, chunk_max;
	struct ranges free_pages, free_maps, free_slots;
	u64 *map_serials, last_serial;	/* of the mappings that begin there */
	struct arena rule_arena;
	struct interner rule_ids;
	struct dropped *dropped;
	u32 dropped_count, dropped_cap;
	struct tables_stats stats;
};

/* Memory of a map, or without one (-1) of our own; NULL if there is none. */
static void *map_memory(int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* The map of a chunk, mapped; its file descriptor, or -1 if only we read it. */
static int chunk_init(struct chunk *chunk, bool is_private, int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	_cleanup_(closep) int fd = -1;
	int r;

	if (!is_private) {
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rows", sizeof(u32), sizeof(struct rows_chunk), 1, &options);
		if (fd < 0)
			return -errno;
	}
	chunk->memory = map_memory(fd, sizeof(struct rows_chunk));
	if (!chunk->memory)
		return -errno;
	r = ranges_init(&chunk->rows, CHUNK_ROWS);
	if (r < 0) {
		munmap(chunk->memory, sizeof(struct rows_chunk));
		return r;
	}
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static void chunk_done(struct chunk *chunk)
{
	munmap(chunk->memory, sizeof(struct rows_chunk));
	ranges_done(&chunk->rows);
}

/* The memory of all but the chunks. */
static int tables_map_memory(struct tables *t, struct tracer_bpf *skel)
{
	t->rules = map_memory(skel ? bpf_map__fd(skel->maps.rules) : -1, RULES_MAX * sizeof(*t->rules));
	t->pages = map_memory(skel ? bpf_map__fd(skel->maps.pages) : -1, PAGES_MAX * sizeof(*t->pages));
	t->maptab = map_memory(skel ? bpf_map__fd(skel->maps.maptab) : -1, MAPTAB_MAX * sizeof(*t->maptab));
	t->slots = map_memory(skel ? bpf_map__fd(skel->maps.slots) : -1, SLOTS_MAX * sizeof(*t->slots));
	t->published = map_memory(skel ? bpf_map__fd(skel->maps.published) : -1, sizeof(*t->published));
	return t->rules && t->pages && t->maptab && t->slots && t->published ? 0 : -errno;
}

static int tables_init(struct tables *t, struct tracer_bpf *skel, u32 rows_max_bytes)
{
	static const struct unwind_rule none = { .kind = RULE_NONE };
	int r;

	t->is_private = !skel;
	t->procs_fd = skel ? bpf_map__fd(skel->maps.procs) : -1;
	t->chunks_fd = skel ? bpf_map__fd(skel->maps.chunks) : -1;
	t->chunk_max = rows_max_bytes / sizeof(struct rows_chunk);
	if (t->chunk_max > CHUNKS_MAX)
		t->chunk_max = CHUNKS_MAX;
	r = tables_map_memory(t, skel);
	if (r < 0)
		return r;
	t->map_serials = calloc(MAPTAB_MAX, sizeof(*t->map_serials));
	if (!t->map_serials)
		return -ENOMEM;
	arena_init(&t->rule_arena, RULES_MAX * sizeof(struct unwind_rule));
	interner_init(&t->rule_ids, &t->rule_arena, RULES_MAX);
	if (interner_add(&t->rule_ids, &none, sizeof(none), NULL) == INTERNER_NONE)
		return -ENOMEM;
	r = ranges_init(&t->free_pages, PAGES_MAX);
	if (r == 0)
		r = ranges_init(&t->free_maps, MAPTAB_MAX);
	if (r == 0)
		r = ranges_init(&t->free_slots, SLOTS_MAX);
	/* Number 0 means none. */
	return r < 0 ? r : (int)ranges_take(&t->free_slots, 1);
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	for (u32 i = 0; i < t->chunk_count; i++)
		chunk_done(&t->chunks[i]);
	if (t->rules)
		munmap(t->rules, RULES_MAX * sizeof(*t->rules));
	if (t->pages)
		munmap(t->pages, PAGES_MAX * sizeof(*t->pages));
	if (t->maptab)
		munmap(t->maptab, MAPTAB_MAX * sizeof(*t->maptab));
	if (t->slots)
		munmap(t->slots, SLOTS_MAX * sizeof(*t->slots));
	if (t->published)
		munmap(t->published, sizeof(*t->published));
	interner_done(&t->rule_ids);
	arena_done(&t->rule_arena);
	ranges_done(&t->free_pages);
	ranges_done(&t->free_maps);
	ranges_done(&t->free_slots);
	free(t->map_serials);
	free(t->dropped);
	free(t);
}

/*
 * Puts chunks into place. Each time the kernel waits until no CPU runs a program any more, so that many at once are as
 * fast as one, where it can take many (ARRAY_OF_MAPS in batches: v5.14).
 */
static int tables_place(struct tables *t, u32 *numbers, int *fds, u32 count)
{
	u32 placed = count;

	if (t->is_private)
		return 0;
	if (count > 1 && !bpf_map_update_batch(t->chunks_fd, numbers, fds, &placed, NULL))
		return 0;
	for (u32 i = 0; i < count; i++)
		if (bpf_map_update_elem(t->chunks_fd, &numbers[i], &fds[i], BPF_ANY))
			return -errno;
	return 0;
}

/* More chunks. Their maps live as long as they are in the outer map and mapped here. */
static int tables_add_chunks(struct tables *t, u32 count)
{
	u32 numbers[CHUNKS_MAX], made = 0;
	int fds[CHUNKS_MAX], r = 0;

	if (count > t->chunk_max - t->chunk_count)
		return -ENOSPC;
	for (; made < count; made++) {
		numbers[made] = t->chunk_count + made;
		r = chunk_init(&t->chunks[numbers[made]], t->is_private, &fds[made]);
		if (r < 0)
			break;
	}
	if (r >= 0)
		r = tables_place(t, numbers, fds, made);
	for (u32 i = 0; i < made; i++) {
		closep(&fds[i]);
		if (r < 0)
			chunk_done(&t->chunks[numbers[i]]);
	}
	if (r < 0)
		return r;
	t->chunk_count += made;
	return 0;
}

int tables_new(struct tracer_bpf *skel, u32 rows_max_bytes, struct tables **ret_tables)
{
	_cleanup_(tables_freep) struct tables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = tables_init(t, skel, rows_max_bytes);
	/* The first chunk is there before anything is sampled: a new process need not wait for it. */
	if (r == 0)
		r = tables_add_chunks(t, 1);
	if (r < 0)
		return r;
	*ret_tables = TAKE(t);
	return 0;
}

/* Makes room for that many rows more, as far as the limit allows. */
static void tables_reserve_rows(struct tables *t, u32 count)
{
	u32 left = 0, chunks;

	for (u32 i = 0; i < t->chunk_count; i++)
		left += t->chunks[i].rows.left;
	if (left >= count)
		return;
	chunks = (count - left + CHUNK_ROWS - 1) / CHUNK_ROWS;
	if (chunks > t->chunk_max - t->chunk_count)
		chunks = t->chunk_max - t->chunk_count;
	if (chunks)
		(void)tables_add_chunks(t, chunks);	/* tried again, one by one, when a page finds no room */
}

/* Room for that many rows in one chunk. */
static int tables_take_rows(struct tables *t, u32 count, struct page_entry *ret_page)
{
	int r;

	for (u32 i = 0;; i++) {
		int64_t first;

		if (i == t->chunk_count) {
			r = tables_add_chunks(t, 1);
			if (r < 0)
				return r;
		}
		if (t->chunks[i].rows.left < count)
			continue;
		first = ranges_take(&t->chunks[i].rows, count);
		if (first < 0)
			continue;
		*ret_page = (struct page_entry){ .chunk = (u16)i, .first = (u32)first, .count = (u16)count };
		t->stats.rows_bytes += count * 4ull;
		return 0;
	}
}

static u16 tables_rule_id(struct tables *t, const struct unwind_rule *rule)
{
	bool is_new;
	u32 id = interner_add(&t->rule_ids, rule, sizeof(*rule), &is_new);

	if (id == INTERNER_NONE) {
		t->stats.rules_full++;
		return 0;
	}
	if (is_new)
		t->rules[id] = *rule;
	return (u16)id;
}

static int tables_copy_page(struct tables *t, const struct rows *rows, const struct rows_page *page,
			    const u16 *rule_ids, struct page_entry *ret_entry)
{
	const u16 *low = rows_low(rows) + page->first, *rule = rows_rule(rows) + page->first;
	struct page_entry entry;
	struct rows_chunk *chunk;
	int r = tables_take_rows(t, page->count, &entry);

	if (r < 0)
		return r;
	chunk = t->chunks[entry.chunk].memory;
	memcpy(&chunk->low[entry.first], low, page->count * sizeof(*low));
	for (u32 i = 0; i < page->count; i++)
		chunk->rule[entry.first + i] = rule_ids[rule[i]];
	*ret_entry = entry;
	return 0;
}

static void tables_give_rows(struct tables *t, u32 first, u32 count)
{
	for (u32 i = first; i < first + count; i++) {
		struct page_entry *page = &t->pages[i];

		if (page->count) {
			(void)ranges_give(&t->chunks[page->chunk].rows, page->first, page->count);
			t->stats.rows_bytes -= page->count * 4ull;
		}
		*page = (struct page_entry){ 0 };
	}
	(void)ranges_give(&t->free_pages, first, count);
}

static int tables_copy_pages(struct tables *t, const struct rows *rows, const struct tables_rows *slot)
{
	u16 *rule_ids = malloc((rows->rule_count + 1) * sizeof(*rule_ids));
	int r = rule_ids ? 0 : -ENOMEM;

	for (u32 i = 0; r == 0 && i < rows->rule_count; i++)
		rule_ids[i] = tables_rule_id(t, &rows_rules(rows)[i]);
	for (u32 i = 0; r == 0 && i < rows->page_count; i++) {
		const struct rows_page *page = &rows_pages(rows)[i];
		u32 at = page->number - slot->first_number;

		if (page->number >= slot->first_number && at < slot->count)
			r = tables_copy_page(t, rows, page, rule_ids, &t->pages[slot->first + at]);
	}
	free(rule_ids);
	return r;
}

int tables_add_rows(struct tables *t, const struct rows *rows, u64 start_ea, u64 end_ea, struct tables_rows *ret_rows)
{
	struct tables_rows slot = { .first_number = (u32)(start_ea >> PAGE_ROWS_SHIFT) };
	u64 count = end_ea > start_ea ? ((end_ea - 1) >> PAGE_ROWS_SHIFT) - (start_ea >> PAGE_ROWS_SHIFT) + 1 : 0;
	int64_t first;
	int r;

	if (!count || count > FILE_PAGES_MAX || end_ea > FRAME_EA_MASK)
		return -E2BIG;
	first = ranges_take(&t->free_pages, (u32)count);
	if (first < 0) {
		t->stats.rows_full++;
		return (int)first;
	}
	slot.first = (u32)first;
	slot.count = (u32)count;
	tables_reserve_rows(t, rows->row_count);
	r = tables_copy_pages(t, rows, &slot);
	if (r < 0) {
		/* Never published, so nobody reads it. */
		tables_give_rows(t, slot.first, slot.count);
		t->stats.rows_full++;
		return r;
	}
	*ret_rows = slot;
	return 0;
}

u32 tables_page_base(const struct tables_rows *rows)
{
	return rows->count ? rows->first - rows->first_number : MAP_NO_ROWS;
}

/* What cannot be noted for lack of memory is never given back: counted as full later on, never reused too early. */
static void tables_drop(struct tables *t, struct dropped dropped)
{
	if (!dropped.count)
		return;
	if (array_reserve(&t->dropped, &t->dropped_cap, t->dropped_count + 1, sizeof(*t->dropped)) < 0)
		return;
	t->dropped[t->dropped_count++] = dropped;
}

void tables_drop_rows(struct tables *t, const struct tables_rows *rows, u64 now_ns)
{
	tables_drop(t, (struct dropped){ now_ns, rows->first, rows->count, DROPPED_ROWS });
}

void tables_drop_maps(struct tables *t, u32 first, u32 count, u64 now_ns)
{
	tables_drop(t, (struct dropped){ now_ns, first, count, DROPPED_MAPS });
}

int tables_add_maps(struct tables *t, const struct map_entry *maps, u32 count, u32 *ret_first)
{
	int64_t first = ranges_take(&t->free_maps, count);

	if (first < 0) {
		t->stats.maps_full++;
		return (int)first;
	}
	memcpy(&t->maptab[first], maps, count * sizeof(*maps));
	t->map_serials[first] = ++t->last_serial;
	*ret_first = (u32)first;
	return 0;
}

int tables_take_slot(struct tables *t, struct runtime_slot **ret_slot)
{
	int64_t number = ranges_take(&t->free_slots, 1);

	if (number < 0) {
		t->stats.slots_full++;
		return (int)number;
	}
	t->slots[number] = (struct runtime_slot){ 0 };
	*ret_slot = &t->slots[number];
	return (int)number;
}

struct runtime_slot *tables_slot(const struct tables *t, u32 number)
{
	return number && number < SLOTS_MAX ? &t->slots[number] : NULL;
}

void tables_drop_slot(struct tables *t, u32 number, u64 now_ns)
{
	tables_drop(t, (struct dropped){ now_ns, number, 1, DROPPED_SLOT });
}

/* What programs have copied of the map of processes is looked up again. */
static void tables_announce(struct tables *t)
{
	__atomic_add_fetch(t->published, 1, __ATOMIC_RELEASE);
}

int tables_publish(struct tables *t, u32 pid, const struct proc_entry *entry)
{
	struct proc_entry full = *entry;

	full.maps_serial = entry->map_count ? t->map_serials[entry->map_first] : 0;
	if (bpf_map_update_elem(t->procs_fd, &pid, &full, BPF_ANY)) {
		t->stats.procs_full++;
		return -errno;
	}
	tables_announce(t);
	return 0;
}

void tables_unpublish(struct tables *t, u32 pid, const struct proc_id *id)
{
	struct proc_entry entry;

	if (!bpf_map_lookup_elem(t->procs_fd, &pid, &entry) && entry.id.start_ns == id->start_ns &&
	    entry.id.exec_id == id->exec_id) {
		(void)bpf_map_delete_elem(t->procs_fd, &pid);
		tables_announce(t);
	}
}

void tables_collect(struct tables *t, u64 now_ns)
{
	u32 kept = 0;

	for (u32 i = 0; i < t->dropped_count; i++) {
		struct dropped *d = &t->dropped[i];

		if (now_ns - d->at_ns < GRACE_NS)
			t->dropped[kept++] = *d;
		else if (d->kind == DROPPED_ROWS)
			tables_give_rows(t, d->first, d->count);
		else if (d->kind == DROPPED_SLOT)
			(void)ranges_give(&t->free_slots, d->first, d->count);
		else
			(void)ranges_give(&t->free_maps, d->first, d->count);
	}
	t->dropped_count = kept;
}

const struct map_entry *tables_map(const struct tables *t, u32 index)
{
	return index < MAPTAB_MAX ? &t->maptab[index] : NULL;
}

const struct page_entry *tables_page(const struct tables *t, u32 index)
{
	return index < PAGES_MAX ? &t->pages[index] : NULL;
}

const struct rows_chunk *tables_chunk(const struct tables *t, u32 index)
{
	return index < t->chunk_count ? t->chunks[index].memory : NULL;
}

const struct unwind_rule *tables_rule(const struct tables *t, u32 index)
{
	return index < RULES_MAX ? &t->rules[index] : NULL;
}

struct tables_stats tables_stats(const struct tables *t)
{
	return t->stats;
}
