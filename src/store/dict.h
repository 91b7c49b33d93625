/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of an epoch: what the rows of its blocks refer to by number.
 *
 *	strings		0 is ""
 *	exes		a file: path and build id; 0 is none
 *	frames		a function of a file, or an address of it without a name; 0 is none
 *	nodes		the stack trie: (parent, frame); 0 is the root; a parent's number is below its children's
 *	series		one set of label values
 *
 * It only grows. When it is full (DICT_NODES_MAX, bytes_max) the store begins a new epoch;
 * an old one goes with its last block. What was added since dict_packed() was
 * last called is one chunk on disk; dict_unpack() reads chunks back in order.
 *
 * Not thread-safe: the store locks.
 */
#ifndef STORE_DICT_H
#define STORE_DICT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/interner.h"
#include "base/types.h"
#include "profile/profile.h"
#include "profile/table.h"
#include "store/labels.h"

struct buf;

#define DICT_NODES_MAX (8u << 20)
#define DICT_FRAMES_MAX (2u << 20)
#define DICT_STRINGS_MAX (4u << 20)
#define DICT_SERIES_MAX (1u << 20)
#define DICT_BYTES_MAX ((size_t)1 << 30)

/* All that is said of an exe or frame is its identity: structs without padding that are compared as bytes. */
struct dict_exe {
	u32 path, build_id;		/* strings */
};

struct dict_frame {
	u32 exe;
	u32 name, file;			/* strings; without a name the address tells frames apart */
	u32 type;			/* string: profile.frame.type */
	u32 line;			/* where the function starts, if that is known */
	u32 is_inline;
	u64 address;			/* in the file; 0 where there is a name */
};

struct dict_node {
	u32 parent, frame;
};

struct dict_series {
	u32 label[STORE_SERIES_LABEL_COUNT];	/* strings */
};

struct dict_counts {
	u32 strings, exes, frames, nodes, series;
};

struct dict {
	struct arena arena;
	struct interner strings, exes, frames, series;
	struct table nodes;		/* of struct dict_node */
	struct dict_counts packed;	/* how much of it is on disk */
	size_t bytes_max;		/* past which it is full */
	u32 *paths;			/* by hash of the frames: the node of the path that was last asked for, or 0 */
	int err;			/* -ENOMEM, or -E2BIG: full; sticks */
};

struct dict *dict_new(void);
void dict_free(struct dict *dict);
DEFINE_CLEANUP(struct dict *, dict_free)

/* Adders: equal values get equal numbers; 0 and a sticking error when full. */
u32 dict_add_string(struct dict *dict, const char *at, size_t len);
u32 dict_add_exe(struct dict *dict, const struct dict_exe *exe);
u32 dict_add_frame(struct dict *dict, const struct dict_frame *frame);
u32 dict_add_node(struct dict *dict, u32 parent, u32 frame);
u32 dict_add_series(struct dict *dict, const struct dict_series *series);

/* The node that a way of frames leads to, outermost first. Those that were asked for lately are found at once. */
u32 dict_add_path(struct dict *dict, const u32 *frames, u32 count);

struct str dict_string(const struct dict *dict, u32 number);
const struct dict_exe *dict_exe(const struct dict *dict, u32 number);
const struct dict_frame *dict_frame(const struct dict *dict, u32 number);
const struct dict_series *dict_series(const struct dict *dict, u32 number);

/* All of them, by number; they move when one is added. */
static inline const struct dict_node *dict_nodes(const struct dict *dict)
{
	return dict->nodes.rows;
}

struct dict_counts dict_counts(const struct dict *dict);

/* It is full at so many bytes of memory. */
void dict_limit(struct dict *dict, size_t bytes_max);

/* What it takes of memory. */
size_t dict_bytes(const struct dict *dict);

/* What its entries take, about, without the room that tables have to spare: it grows by what is added. */
size_t dict_content(const struct dict *dict);

/* Is it time for another epoch? */
bool dict_is_full(const struct dict *dict);

/* Appends what is new since the last dict_packed(); nothing if nothing is. */
int dict_pack(const struct dict *dict, struct buf *out);
void dict_packed(struct dict *dict);

/* Adds a chunk. -EBADMSG: it is broken, or not the next; the dictionary is then good for nothing. */
int dict_unpack(struct dict *dict, const void *at, size_t bytes);

#endif
