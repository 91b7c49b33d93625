/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that somebody looks at without keeping them: a profile in any format that can be read becomes a store in
 * memory, which questions with file=ID ask instead of the page's own.
 *
 *  - At most DROPPED_MAX of them, in an eighth of the memory budget each; what was asked for longest ago goes for a new
 *    one, and whatever was not asked for in DROPPED_AGE_NS goes by itself. One that is being asked stays until then.
 *  - A file is foreign: it is read by the decoders, which take untrusted bytes, within the budget of whoever sends it.
 *    One at a time.
 *  - Its id is random: who may ask the page may ask it, if he knows the id.
 *
 * Any thread may call any of it.
 */
#ifndef WEB_DROPPED_H
#define WEB_DROPPED_H

#include "base/types.h"
#include "web/api.h"

struct buf;
struct component_setup;
struct dropped;
struct store;

#define DROPPED_MAX 8
#define DROPPED_BYTES_MAX ((size_t)64 << 20)	/* as it is sent; four times that unpacked */
#define DROPPED_AGE_NS (3600ull * 1000000000)
#define DROPPED_ID_BYTES 33

/* setup: whose names of frames are looked for in files of this machine; borrowed. NULL: nobody's. */
int dropped_new(const struct component_setup *setup, struct dropped **ret_dropped);
/* Nobody asks any more. Accepts NULL. */
void dropped_free(struct dropped *dropped);

/* Always answers: docs/api.md says how. name: what it is called, for who looks at it. */
void dropped_add(struct dropped *dropped, const char *name, const void *at, size_t bytes, struct api_answer *answer);

/* What there is, as JSON. */
void dropped_list(struct dropped *dropped, struct api_answer *answer);

/* False: there is none. */
bool dropped_forget(struct dropped *dropped, const char *id);

/* It stays until it is returned. NULL: it is gone, or never was. */
struct store *dropped_borrow(struct dropped *dropped, const char *id);
/* False: it is none of these. */
bool dropped_return(struct dropped *dropped, struct store *store);

/* What is too old at a time (CLOCK_MONOTONIC) goes; for tests. */
void dropped_expire(struct dropped *dropped, u64 now_ns);

#endif
