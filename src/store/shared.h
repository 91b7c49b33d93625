/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stores that this process has open: who writes and who asks
 * share one. Those of this machine are known by their directory. Any thread may call it.
 */
#ifndef STORE_SHARED_H
#define STORE_SHARED_H

#include "store/store.h"

/* As store_open(), or one more user of a store that is open; options count for the first. */
int store_acquire(const struct store_options *options, struct store **ret_store, struct buf *why, struct buf *notice);

/*
 * Others may use a store that is elsewhere, too, until it is unshared, which waits for them and closes it; accepts
 * NULL. -EMFILE: too many are open.
 */
int store_share(struct store *store);
void store_unshare(struct store *store);

/* One more user of a store that is open already, "": of any, rather one of this machine; NULL if there is none. */
struct store *store_borrow(const char *directory);

/* Calls fn for each one that is open, all of them; the first error. */
int store_each(int (*fn)(void *arg, struct store *store), void *arg);

/* The last one closes it; accepts NULL. */
void store_release(struct store *store);
DEFINE_CLEANUP(struct store *, store_release)

#endif
