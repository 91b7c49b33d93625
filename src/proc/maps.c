// SPDX-License-Identifier: Apache-2.0
#include "proc/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "proc/binary.h"

#define JOINED_GAP_MIN (64ull << 10)
#define JOINED_GAP_MAX (1ull << 40)

static void mapping_done(struct mapping *mapping)
{
	free(mapping->path);
	binary_unref(mapping->binary);
}

struct maps *maps_new(void)
{
	struct maps *maps = calloc(1, sizeof(*maps));

	if (maps)
		maps->refs = 1;
	return maps;
}

struct maps *maps_ref(struct maps *maps)
{
	maps->refs++;
	return maps;
}

bool maps_unref(struct maps *maps)
{
	return maps && --maps->refs == 0;
}

void maps_free(struct maps *maps)
{
	if (!maps)
		return;
	for (u32 i = 0; i < maps->count; i++)
		mapping_done(&maps->at[i]);
	free(maps->at);
	free(maps->rows);
	free(maps);
}

static int mapping_copy(const struct mapping *from, struct mapping *ret_copy)
{
	char *path = strdup(from->path);

	if (!path)
		return -ENOMEM;
	*ret_copy = *from;
	ret_copy->path = path;
	if (from->binary)
		binary_ref(from->binary);
	return 0;
}

static int maps_reserve(struct maps *maps, u32 count)
{
	u32 cap = maps->cap ? maps->cap : 8;
	void *grown;

	while (cap < count)
		cap *= 2;
	if (cap == maps->cap)
		return 0;
	grown = reallocarray(maps->at, cap, sizeof(*maps->at));
	if (!grown)
		return -ENOMEM;
	maps->at = grown;
	maps->cap = cap;
	return 0;
}

struct maps *maps_copy(const struct maps *maps)
{
	_cleanup_(maps_freep) struct maps *copy = maps_new();

	if (!copy || maps_reserve(copy, maps->count) < 0)
		return NULL;
	for (u32 i = 0; i < maps->count; i++) {
		if (mapping_copy(&maps->at[i], &copy->at[i]) < 0)
			return NULL;
		copy->count++;
	}
	return TAKE(copy);
}

/* Index of the first mapping that ends after an address. */
static u32 maps_search(const struct maps *maps, u64 va)
{
	u32 lo = 0, hi = maps->count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (maps->at[mid].end_va <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct mapping *maps_find(const struct maps *maps, u64 va)
{
	u32 i = maps_search(maps, va);

	return i < maps->count && maps->at[i].start_va <= va ? &maps->at[i] : NULL;
}

static void maps_insert_at(struct maps *maps, u32 i, const struct mapping *mapping)
{
	memmove(&maps->at[i + 1], &maps->at[i], (maps->count - i) * sizeof(*maps->at));
	maps->at[i] = *mapping;
	maps->count++;
}

static void maps_remove_at(struct maps *maps, u32 i)
{
	mapping_done(&maps->at[i]);
	maps->count--;
	memmove(&maps->at[i], &maps->at[i + 1], (maps->count - i) * sizeof(*maps->at));
}

static void mapping_cut_start(struct mapping *mapping, u64 va)
{
	mapping->file_offset += va - mapping->start_va;
	mapping->start_va = va;
}

/* Makes [start, end) free. Room for two more must be there. */
static int maps_clear(struct maps *maps, u64 start_va, u64 end_va)
{
	u32 i = maps_search(maps, start_va);

	if (i < maps->count && maps->at[i].start_va < start_va) {
		if (maps->at[i].end_va > end_va) {
			struct mapping tail;

			if (mapping_copy(&maps->at[i], &tail) < 0)
				return -ENOMEM;
			mapping_cut_start(&tail, end_va);
			maps_insert_at(maps, i + 1, &tail);
		}
		maps->at[i++].end_va = start_va;
	}
	while (i < maps->count && maps->at[i].end_va <= end_va)
		maps_remove_at(maps, i);
	if (i < maps->count && maps->at[i].start_va < end_va)
		mapping_cut_start(&maps->at[i], end_va);
	return 0;
}

static bool is_plain(const struct mapping *mapping)
{
	return mapping->kind == MAPPING_ANON;
}

/* Makes one of neighbours that are anonymous memory, with no more than that between them. */
static void maps_join(struct maps *maps, u64 gap_bytes)
{
	u32 kept = 0;

	for (u32 i = 1; i < maps->count; i++) {
		struct mapping *last = &maps->at[kept], *next = &maps->at[i];

		if (is_plain(last) && is_plain(next) && next->start_va - last->end_va <= gap_bytes) {
			last->end_va = next->end_va;
			mapping_done(next);
		} else {
			maps->at[++kept] = *next;
		}
	}
	maps->count = maps->count ? kept + 1 : 0;
}

/*
 * Past the limit, pieces of generated code that lie near each other become one: what lies between them is taken for
 * code, too, but nothing has to be left out. Down to half, so that it is not done often.
 */
static void maps_make_room(struct maps *maps)
{
	for (u64 gap = JOINED_GAP_MIN; gap <= JOINED_GAP_MAX && maps->count > PROC_MAPS_MAX / 2; gap <<= 4)
		maps_join(maps, gap);
}

int maps_add(struct maps *maps, const struct mapping *mapping)
{
	struct mapping copy;
	int r;

	if (mapping->start_va >= mapping->end_va)
		return -EINVAL;
	r = maps_reserve(maps, maps->count + 2);
	if (r < 0)
		return r;
	r = maps_clear(maps, mapping->start_va, mapping->end_va);
	if (r < 0)
		return r;
	if (maps->count >= PROC_MAPS_MAX)
		maps_make_room(maps);
	if (maps->count >= PROC_MAPS_MAX) {
		maps->dropped_count++;
		return -E2BIG;
	}
	r = mapping_copy(mapping, &copy);
	if (r < 0)
		return r;
	maps_insert_at(maps, maps_search(maps, mapping->start_va), &copy);
	return 0;
}

void maps_clear_all(struct maps *maps)
{
	while (maps->count)
		maps_remove_at(maps, maps->count - 1);
}

bool mapping_is_generated(const struct mapping *m)
{
	return m->kind == MAPPING_ANON || (m->kind == MAPPING_FILE && m->looked_for && !m->binary);
}

bool mapping_is_image(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".dll");
}

enum mapping_kind mapping_kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return MAPPING_VDSO;
	/* //anon is what perf calls it, /dev/zero what shared anonymous memory looks like. */
	if (path[0] == '/' && strcmp(path, "//anon") && strncmp(path, "/dev/zero", 9))
		return MAPPING_FILE;
	return MAPPING_ANON;
}

int maps_parse_line(char *line, struct mapping *ret_mapping)
{
	struct mapping m = { 0 };
	unsigned long long start, end, offset, inode;
	char permissions[5];
	int at = 0;

	/* 7f0a-7f0b r-xp 00026000 08:01 1835   /usr/lib/libc.so.6 */
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, permissions, &offset, &m.dev_major,
		   &m.dev_minor, &inode, &at) < 7)
		return -EBADMSG;
	if (permissions[2] != 'x')
		return 0;
	line[strcspn(line, "\n")] = '\0';
	m.start_va = start;
	m.end_va = end;
	m.file_offset = offset;
	m.inode = inode;
	m.path = at ? line + at : "";
	/* The kernel's own, of probes: the return addresses there stand for others (bpf/walk.h). */
	if (!strcmp(m.path, "[uprobes]"))
		return 0;
	m.kind = mapping_kind_of(m.path);
	*ret_mapping = m;
	return 1;
}

int maps_read(struct maps *maps, FILE *file)
{
	char line[4096 + 256];
	struct mapping m;
	int r = 0;

	while (fgets(line, sizeof(line), file)) {
		if (maps_parse_line(line, &m) != 1)
			continue;
		r = maps_add(maps, &m);
		if (r < 0 && r != -E2BIG)
			return r;
	}
	return ferror(file) ? -EIO : 0;
}
