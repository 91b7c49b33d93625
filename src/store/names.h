/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late names: frames that came without a name are addresses of a file, and this
 * is what is known of those addresses by now. A profile keeps its numbers; what
 * they are called is looked up when it is asked for.
 *
 *	exe		a file, by its build id
 *	address		of it, seen in a frame without a name
 *	function	what one or more addresses belong to: where it starts, and its name once a symbol is found
 *
 * Addresses are noted by names_want(), once each, and told by names_put() when
 * somebody has found a file that knows them. At most NAMES_ADDRESSES_MAX are
 * kept; what comes past that stays an address, counted.
 *
 * Not thread-safe: the store locks. Pointers are good until the next change.
 */
#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "profile/profile.h"

#define NAMES_EXES_MAX 65536u
#define NAMES_ADDRESSES_MAX (1u << 20)
#define NAMES_BYTES_MAX ((size_t)256 << 20)
#define NAMES_ID_BYTES_MAX 128u		/* of a build id as text */
#define NAMES_TEXT_BYTES_MAX 65536u	/* of a name or a file's name; what is longer is cut */

/* Where a name came from: X(id, text). Numbers are in files: new ones go last. */
#define NAME_SOURCES(X)                                                                                                \
	X(NONE, "none")                                                                                                \
	X(SENT, "sent")		/* with the profile */                                                                 \
	X(LOCAL, "local")		/* a file of this machine */                                                   \
	X(DEBUGINFOD, "debuginfod")                                                                                    \
	X(UPLOADED, "uploaded")

enum name_source {
#define X(id, text) NAME_##id,
	NAME_SOURCES(X)
#undef X
	NAME_SOURCE_COUNT,
};

const char *name_source_text(enum name_source source);

struct name_function {
	u64 start;		/* in the file */
	struct str name, file;	/* name is "" where only its bounds are known */
	enum name_source source;
};

struct names_exe {
	struct str build_id, path;	/* the first path from the root that was told, else the first name */
	u32 addresses;			/* how many were noted */
	u32 newest;			/* of them, a number; 0: none */
	u32 tried;			/* the newest when a file was last looked for */
	u64 tried_ns;			/* CLOCK_MONOTONIC; 0: never */
};

struct names_stats {
	u64 exes, addresses, named;
	u64 left_out;		/* how often an address came that there was no room for */
};

struct names;

struct names *names_new(void);
void names_free(struct names *names);
DEFINE_CLEANUP(struct names *, names_free)

/*
 * Notes an address; nothing is noted without a build id, or past the limits. Returns what a frame is to be kept by:
 * the start of the function if that is known, else the address.
 */
u64 names_want(struct names *names, struct str build_id, struct str path, u64 address);

/* The file with that id is at this path, says somebody: there it can be looked for. */
void names_note_path(struct names *names, struct str build_id, struct str path);

/* What an address, or the start of a function, belongs to; NULL if that is not known. */
const struct name_function *names_find(const struct names *names, struct str build_id, u64 address);

/*
 * An address belongs to a function; strings are copied. What is known is not forgotten for a function without a name;
 * one that starts at the address tells nothing. Bits of NAMES_*, -EINVAL without a build id, -E2BIG past the limits,
 * -ENOMEM.
 */
#define NAMES_NAMED 1	/* the address had no name and has one now */
#define NAMES_NEWS 2	/* the name of the function was not known, or another one */
#define NAMES_PLACED 4	/* the address was not known to be of that function */
int names_put(struct names *names, struct str build_id, u64 address, const struct name_function *function);

/* Executables by number, 0 on; NULL past the last. And the number of one, or -ENOENT. */
struct names_exe *names_exe(struct names *names, u32 number);
s64 names_exe_find(const struct names *names, struct str build_id);

/* Up to max addresses of an executable without a name, from `from` (an exe's newest) until `until`; how many. */
u32 names_unnamed(const struct names *names, u32 from, u32 until, u64 *ret_addresses, u32 max);

struct names_stats names_stats(const struct names *names);

/*
 * Is a frame only a place in its file: does it lack a name and have an address, or has it a name that an agent made of
 * one? Frames of no type are taken for native ones.
 */
bool names_frame_is_place(struct str type, struct str name, struct str path, u64 address, u64 *ret_address);

/* "libfoo.so+0x1230", as wick's agents call a function of /usr/lib/libfoo.so whose name they do not know. */
bool names_is_place(struct str name, struct str path, u64 *ret_address);

#endif
