// SPDX-License-Identifier: Apache-2.0
#include "tracer/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/tracer.skel.h"
#include "base/array.h"
#include "base/ranges.h"

#define GRACE_NS 1000000000ull
#define OWNERS 256			/* those that meet share one */
#define RESERVE (MAPTAB_MAX / 4)	/* for owners who have less than OWNER_MAX */
#define OWNER_MAX (MAPTAB_MAX / 8)

enum dropped_kind { DROPPED_MAPS, DROPPED_ROWS, DROPPED_SLOT };

/* What was dropped and waits for its second to pass. */
struct dropped {
	u64 at_ns;
	u32 first, count;
	enum dropped_kind kind;
};

struct tables {
	int procs_fd;
	struct row_pages *rows;
	struct map_entry *maptab;
	struct runtime_slot *slots;
	u64 *published, *rules_number;
	int verdicts_fd;
	struct ranges free_maps, free_slots;
	u64 *map_serials, last_serial;	/* of the mappings that begin there */
	u8 *map_owners;			/* ... and whose they are */
	u32 owned[OWNERS];		/* by owner: how many mappings, without those that were dropped */
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

/* The memory of all but the rows. */
static int tables_map_memory(struct tables *t, struct tracer_bpf *skel)
{
	t->maptab = map_memory(skel ? bpf_map__fd(skel->maps.maptab) : -1, MAPTAB_MAX * sizeof(*t->maptab));
	t->slots = map_memory(skel ? bpf_map__fd(skel->maps.slots) : -1, SLOTS_MAX * sizeof(*t->slots));
	t->published = map_memory(skel ? bpf_map__fd(skel->maps.published) : -1, sizeof(*t->published));
	t->rules_number = map_memory(skel ? bpf_map__fd(skel->maps.rules_number) : -1, sizeof(*t->rules_number));
	t->verdicts_fd = skel ? bpf_map__fd(skel->maps.verdicts) : -1;
	return t->maptab && t->slots && t->published && t->rules_number ? 0 : -errno;
}

static int tables_init(struct tables *t, struct tracer_bpf *skel, u32 rows_max_bytes)
{
	int r;

	t->procs_fd = skel ? bpf_map__fd(skel->maps.procs) : -1;
	r = tables_map_memory(t, skel);
	if (r == 0)
		r = row_pages_new(skel, rows_max_bytes, &t->rows);
	if (r < 0)
		return r;
	t->map_serials = calloc(MAPTAB_MAX, sizeof(*t->map_serials));
	t->map_owners = calloc(MAPTAB_MAX, sizeof(*t->map_owners));
	if (!t->map_serials || !t->map_owners)
		return -ENOMEM;
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
	row_pages_free(t->rows);
	if (t->maptab)
		munmap(t->maptab, MAPTAB_MAX * sizeof(*t->maptab));
	if (t->slots)
		munmap(t->slots, SLOTS_MAX * sizeof(*t->slots));
	if (t->published)
		munmap(t->published, sizeof(*t->published));
	if (t->rules_number)
		munmap(t->rules_number, sizeof(*t->rules_number));
	ranges_done(&t->free_maps);
	ranges_done(&t->free_slots);
	free(t->map_serials);
	free(t->map_owners);
	free(t->dropped);
	free(t);
}

int tables_new(struct tracer_bpf *skel, u32 rows_max_bytes, struct tables **ret_tables)
{
	_cleanup_(tables_freep) struct tables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = tables_init(t, skel, rows_max_bytes);
	if (r < 0)
		return r;
	*ret_tables = TAKE(t);
	return 0;
}

int tables_add_rows(struct tables *t, struct rows_file *file, u64 start_ea, u64 end_ea,
		    struct row_pages_range *ret_rows)
{
	return row_pages_add(t->rows, file, start_ea, end_ea, ret_rows);
}

enum row_part tables_want_part(struct tables *t, const struct row_pages_range *rows, u64 ea,
			       struct rows_part *ret_part)
{
	return rows->count ? row_pages_want_part(t->rows, rows->first, ea, ret_part) : ROW_PART_NONE;
}

void tables_put_part(struct tables *t, const struct row_pages_range *rows, u64 number, const struct rows_file *swept)
{
	if (rows->count)
		row_pages_put_part(t->rows, rows->first, number, swept);
}

bool tables_part_is_coming(const struct tables *t, u32 index)
{
	return row_pages_part_is_coming(t->rows, index);
}

u32 tables_page_base(const struct row_pages_range *rows)
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

void tables_drop_rows(struct tables *t, const struct row_pages_range *rows, u64 now_ns)
{
	tables_drop(t, (struct dropped){ now_ns, rows->first, rows->count, DROPPED_ROWS });
}

void tables_drop_maps(struct tables *t, u32 first, u32 count, u64 now_ns)
{
	if (count)
		t->owned[t->map_owners[first]] -= count;
	tables_drop(t, (struct dropped){ now_ns, first, count, DROPPED_MAPS });
}

/* Of mappings, what was dropped included. */
static u32 maps_left(const struct tables *t)
{
	u32 left = t->free_maps.left;

	for (u32 i = 0; i < t->dropped_count; i++)
		left += t->dropped[i].kind == DROPPED_MAPS ? t->dropped[i].count : 0;
	return left;
}

bool tables_maps_are_scarce(const struct tables *t)
{
	return maps_left(t) < MAPTAB_MAX / 4;
}

static bool has_share(const struct tables *t, u8 owner, u32 count)
{
	return t->owned[owner] + count <= OWNER_MAX || maps_left(t) >= count + RESERVE;
}

int tables_add_maps(struct tables *t, u64 owner, const struct map_entry *maps, u32 count, u32 *ret_first)
{
	u8 slot = (u8)((owner * 0x9e3779b97f4a7c15) >> 56);
	int64_t first = has_share(t, slot, count) ? ranges_take(&t->free_maps, count) : -ENOSPC;

	if (first < 0) {
		t->stats.maps_shares += !has_share(t, slot, count);
		t->stats.maps_full++;
		return (int)first;
	}
	if (count) {
		t->map_owners[first] = slot;
		t->owned[slot] += count;
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

void tables_set_rules(struct tables *t, u64 number, bool has_clocks)
{
	__atomic_store_n(t->rules_number, number | (has_clocks ? RULES_HAVE_CLOCKS : 0), __ATOMIC_RELEASE);
}

void tables_judge(struct tables *t, u32 pid, const struct proc_id *id, u32 every, u32 clock_hz)
{
	const struct verdict verdict = { *id, *t->rules_number & ~RULES_HAVE_CLOCKS, every, clock_hz };

	/* Without it samples of it are left out here, or all are taken. */
	if (t->verdicts_fd >= 0)
		(void)bpf_map_update_elem(t->verdicts_fd, &pid, &verdict, BPF_ANY);
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
			row_pages_give(t->rows, d->first);
		else if (d->kind == DROPPED_SLOT)
			(void)ranges_give(&t->free_slots, d->first, d->count);
		else
			(void)ranges_give(&t->free_maps, d->first, d->count);
	}
	t->dropped_count = kept;
	row_pages_collect(t->rows, now_ns);
}

const struct map_entry *tables_map(const struct tables *t, u32 index)
{
	return index < MAPTAB_MAX ? &t->maptab[index] : NULL;
}

const struct page_entry *tables_page(const struct tables *t, u32 index)
{
	return row_pages_at(t->rows, index);
}

struct page_entry *tables_need_page(struct tables *t, u32 index)
{
	return row_pages_need(t->rows, index);
}

const struct rows_chunk *tables_chunk(const struct tables *t, u32 index)
{
	return row_pages_chunk(t->rows, index);
}

const struct unwind_rule *tables_rule(const struct tables *t, u32 index)
{
	return row_pages_rule(t->rows, index);
}

struct tables_stats tables_stats(const struct tables *t)
{
	struct tables_stats stats = t->stats;

	stats.rows = row_pages_stats(t->rows);
	return stats;
}
