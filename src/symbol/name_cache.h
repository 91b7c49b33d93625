/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names by address, in two generations. New names go into the young one. When
 * that is full it becomes the old one, and what was old is freed at once. A
 * name that is wanted and found old is copied to the young generation; so
 * what is in use stays, and what is not goes, without a list to keep in order.
 *
 *  - Strings, chains and names are shared: the addresses of one function that
 *    have the same lines cost 50 bytes each.
 *  - A generation ends at a quarter of max_bytes, and takes no more than half
 *    of it within one round, give or take one step of growth.
 *  - Binaries are known by their id, which is never given twice, so that the
 *    names of a binary do not keep its file open.
 *
 * One thread owns a cache. Names are borrowed until name_cache_turn().
 */
#ifndef SYMBOL_NAME_CACHE_H
#define SYMBOL_NAME_CACHE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/interner.h"
#include "symbol/symbolizer.h"

#define NAME_CACHE_KERNEL 0u	/* in place of the id of a binary */

struct name_generation {
	struct arena arena;
	struct interner strings, chains, names, keys;
	const struct symbol_name **of_key;	/* by number of key; NULL: asked for, not named */
	u32 of_key_cap;
};

struct name_cache {
	struct name_generation young, old;
	size_t max_bytes;
	u64 evictions;		/* names that went with their generation */
	u64 dropped;		/* names for which there was no room */
};

void name_cache_init(struct name_cache *cache, size_t max_bytes);
void name_cache_done(struct name_cache *cache);

/* To be called before a round of new names; frees the old generation if the young one is full. */
void name_cache_turn(struct name_cache *cache);

/* NULL if the address has no name here. */
const struct symbol_name *name_cache_find(const struct name_cache *cache, u32 binary, u64 ea);

/* As name_cache_find(), for a name that must outlive the next turn. */
const struct symbol_name *name_cache_keep(struct name_cache *cache, u32 binary, u64 ea);

/* A copy of the text to build a name with, or NULL if there is no room. */
const char *name_cache_text(struct name_cache *cache, const char *text);

/* Copies the name, its lines and strings, of which one may be NULL for want of room. False, and counted: no room. */
bool name_cache_put(struct name_cache *cache, u32 binary, u64 ea, const struct symbol_name *name);

/* Names of this range have changed. */
void name_cache_forget(struct name_cache *cache, u32 binary, u64 from_ea, u64 bytes);

/* Whether room for this round is running out: what can be left out should be. */
bool name_cache_is_tight(const struct name_cache *cache);

size_t name_cache_bytes(const struct name_cache *cache);

#endif
