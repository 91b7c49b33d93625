// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/gdb_jit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "lang/lang.h"

#define VERSION 1

struct descriptor {
	u32 version;
	u32 action;
	u64 changed_va;
	u64 first_va;
};

struct link {
	u64 next_va, previous_va;
	u64 file_va, file_bytes;
};

/* The list as it was found: newest first, as all who make one put new entries in front. */
struct walk {
	struct gdb_jit_entry *at;
	u32 count, cap;
};

void gdb_jit_done(struct gdb_jit *jit)
{
	free(jit->known);
	*jit = (struct gdb_jit){ 0 };
}

void gdb_jit_forget(struct gdb_jit *jit)
{
	jit->known_count = 0;
	memset(jit->seen, 0, sizeof(jit->seen));
}

static int compare_entries(const void *a, const void *b)
{
	const struct gdb_jit_entry *x = a, *y = b;

	if (x->va != y->va)
		return x->va < y->va ? -1 : 1;
	if (x->file_va != y->file_va)
		return x->file_va < y->file_va ? -1 : 1;
	return x->file_bytes < y->file_bytes ? -1 : x->file_bytes > y->file_bytes;
}

/* True if the list may have changed since the last look. */
static bool has_changed(struct gdb_jit *jit, const struct lang_process *process, u64 *ret_first_va)
{
	struct descriptor d;
	struct link first = { 0 };
	u64 now[6];

	if (lang_read(process, jit->descriptor_va, &d, sizeof(d)) < 0 || d.version != VERSION)
		return false;
	if (d.first_va && lang_read(process, d.first_va, &first, sizeof(first)) < 0)
		return false;
	now[0] = (u64)d.version << 32 | d.action;
	now[1] = d.changed_va;
	now[2] = d.first_va;
	now[3] = first.next_va;
	now[4] = first.file_va;
	now[5] = first.file_bytes;
	*ret_first_va = d.first_va;
	if (!memcmp(now, jit->seen, sizeof(now)))
		return false;
	memcpy(jit->seen, now, sizeof(now));
	return true;
}

/* A list that leads in a circle ends at the limit. */
static void walk_list(struct gdb_jit *jit, const struct lang_process *process, u64 first_va, struct walk *walk)
{
	struct link link;

	for (u64 va = first_va; va; va = link.next_va) {
		if (walk->count == GDB_JIT_ENTRIES_MAX || lang_read(process, va, &link, sizeof(link)) < 0 ||
		    array_reserve(&walk->at, &walk->cap, walk->count + 1, sizeof(*walk->at)) < 0) {
			jit->dropped++;
			return;
		}
		walk->at[walk->count++] = (struct gdb_jit_entry){ va, link.file_va, link.file_bytes };
		if (link.next_va == first_va)
			return;
	}
}

static bool is_known(const struct gdb_jit *jit, const struct gdb_jit_entry *entry)
{
	return jit->known_count &&
	       bsearch(entry, jit->known, jit->known_count, sizeof(*entry), compare_entries);
}

static void take_file(struct gdb_jit *jit, const struct lang_process *process, const struct gdb_jit_entry *entry,
		      void (*file)(void *arg, const void *at, size_t bytes), void *arg)
{
	_cleanup_(freep) void *at = NULL;

	if (entry->file_bytes && entry->file_bytes <= GDB_JIT_FILE_BYTES_MAX)
		at = malloc(entry->file_bytes);
	if (at && lang_read(process, entry->file_va, at, entry->file_bytes) == 0)
		file(arg, at, entry->file_bytes);
	else
		jit->dropped++;
}

/* Forgets those of the walk before the one at `left` that are not known yet: they are new next time, too. */
static void leave_new(const struct gdb_jit *jit, struct walk *walk, u32 left)
{
	u32 kept = 0;

	for (u32 i = 0; i < walk->count; i++)
		if (i >= left || is_known(jit, &walk->at[i]))
			walk->at[kept++] = walk->at[i];
	walk->count = kept;
}

/* Takes those that are not known, oldest first. False if some had to be left for the next look. */
static bool take_new(struct gdb_jit *jit, const struct lang_process *process, struct walk *walk,
		     void (*file)(void *arg, const void *at, size_t bytes), void *arg)
{
	u64 bytes = 0, end_ns = monotonic_ns() + GDB_JIT_LOOK_NS;
	u32 left = walk->count;

	for (; left > 0; left--) {
		const struct gdb_jit_entry *entry = &walk->at[left - 1];

		if (is_known(jit, entry))
			continue;
		if (bytes && (bytes >= GDB_JIT_LOOK_BYTES_MAX || monotonic_ns() >= end_ns))
			break;
		bytes += entry->file_bytes < GDB_JIT_FILE_BYTES_MAX ? entry->file_bytes : GDB_JIT_FILE_BYTES_MAX;
		take_file(jit, process, entry, file, arg);
	}
	leave_new(jit, walk, left);
	return !left;
}

void gdb_jit_look(struct gdb_jit *jit, const struct lang_process *process,
		  void (*file)(void *arg, const void *at, size_t bytes), void *arg)
{
	struct walk walk = { 0 };
	bool is_whole;
	u64 first_va;

	if (!has_changed(jit, process, &first_va))
		return;
	walk_list(jit, process, first_va, &walk);
	is_whole = take_new(jit, process, &walk, file, arg);
	if (walk.count)
		qsort(walk.at, walk.count, sizeof(*walk.at), compare_entries);
	free(jit->known);
	jit->known = walk.at;
	jit->known_count = walk.count;
	if (!is_whole)
		memset(jit->seen, 0, sizeof(jit->seen));
}
