/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of a process, sorted by address, not overlapping.
 * A forked child shares its parent's until one of the two changes them:
 * counted, and copied before a write if shared.
 *
 * The tracer's thread owns them.
 */
#ifndef PROC_MAPS_H
#define PROC_MAPS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/types.h"

struct binary;

enum mapping_kind { MAPPING_FILE, MAPPING_ANON, MAPPING_VDSO };

struct mapping {
	u64 start_va, end_va;
	u64 file_offset;
	u64 inode;
	u32 dev_major, dev_minor;
	enum mapping_kind kind;
	bool looked_for;		/* the binary was looked for, in vain if it is NULL */
	char *path;			/* owned; "" for anonymous memory */
	struct binary *binary;		/* a reference, or NULL */
};

/* Where the tracer has put the unwind rows of generated code that was in that memory then. */
struct maps_rows {
	u64 start_va, end_va;
	u64 order;			/* tells them from those of other code in the same place */
	u32 first, count, first_number;
};

struct maps {
	u32 refs;
	u32 count, cap;
	u32 dropped_count;		/* mappings past PROC_MAPS_MAX */
	struct mapping *at;
	/* Where the tracer has put them in the kernel's tables; installed_count 0: nowhere. */
	u32 installed_first, installed_count;
	struct maps_rows *rows;
	u32 rows_count;
	u32 rows_left_out;		/* mappings that have some which it had no room for */
	u32 slot;			/* what it knows of runtimes there: the first of a chain, or 0 */
	u32 unread;			/* the number of a runtime there that nobody reads; 0: none */
};

struct maps *maps_new(void);
struct maps *maps_ref(struct maps *maps);

/* True if this was the last reference: what is installed is the caller's to take back, before maps_free(). */
bool maps_unref(struct maps *maps);
void maps_free(struct maps *maps);
DEFINE_CLEANUP(struct maps *, maps_free)

/* The same mappings, installed nowhere. */
struct maps *maps_copy(const struct maps *maps);

/*
 * Adds a copy of a mapping; what it overlaps is cut or gone. At PROC_MAPS_MAX neighbours that are anonymous memory
 * become one; -E2BIG if there are too many others.
 */
int maps_add(struct maps *maps, const struct mapping *mapping);

/* Removes all. */
void maps_clear_all(struct maps *maps);

const struct mapping *maps_find(const struct maps *maps, u64 va);

/*
 * Parses a line of /proc/PID/maps, which it changes. 1 if it is an executable mapping, 0 if not,
 * -EBADMSG if it is not such a line. The path points into the line.
 */
int maps_parse_line(char *line, struct mapping *ret_mapping);

/* Adds the executable mappings of an open /proc/PID/maps. */
int maps_read(struct maps *maps, FILE *file);

/* Code that comes from no file: anonymous memory, or a file that is none of code, as a memfd that a JIT writes. */
bool mapping_is_generated(const struct mapping *mapping);

/* Is a file of that name one of Windows' format, which only a runtime loads (.NET's)? */
bool mapping_is_image(const char *path);

/* What the name that the kernel gives a mapping says of it. */
enum mapping_kind mapping_kind_of(const char *path);

#endif
