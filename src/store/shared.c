// SPDX-License-Identifier: Apache-2.0
#include "store/shared.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/lock.h"

#define STORES_MAX 16

static struct shared {
	char *directory;
	struct store *store;
	u32 users;
} stores[STORES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct shared *find(const char *directory)
{
	for (u32 i = 0; i < STORES_MAX; i++)
		if (stores[i].users && !strcmp(stores[i].directory, directory))
			return &stores[i];
	return NULL;
}

static int open_one(const struct store_options *options, struct shared **ret_shared, struct buf *why,
		    struct buf *notice)
{
	struct shared *free_one = NULL;
	int r;

	for (u32 i = 0; i < STORES_MAX && !free_one; i++)
		free_one = stores[i].users ? NULL : &stores[i];
	if (!free_one) {
		buf_addf(why, "more than %d stores are open", STORES_MAX);
		return -EMFILE;
	}
	free_one->directory = strdup(options->directory);
	if (!free_one->directory)
		return -ENOMEM;
	r = store_open(options, &free_one->store, why, notice);
	if (r < 0)
		free(TAKE(free_one->directory));
	else
		*ret_shared = free_one;
	return r;
}

int store_acquire(const struct store_options *options, struct store **ret_store, struct buf *why, struct buf *notice)
{
	struct shared *shared;
	int r = 0;

	LOCKED(&lock);
	shared = find(options->directory);
	if (!shared)
		r = open_one(options, &shared, why, notice);
	if (r == 0) {
		shared->users++;
		*ret_store = shared->store;
	}
	return r;
}

struct store *store_borrow(const char *directory)
{
	struct store *store = NULL;

	LOCKED(&lock);
	for (u32 i = 0; i < STORES_MAX && !store; i++) {
		if (!stores[i].users || (*directory && strcmp(stores[i].directory, directory)))
			continue;
		stores[i].users++;
		store = stores[i].store;
	}
	return store;
}

/* The i-th one, as one more user of it. */
static struct store *borrow_at(u32 i)
{
	struct store *store = NULL;

	LOCKED(&lock);
	if (stores[i].users) {
		stores[i].users++;
		store = stores[i].store;
	}
	return store;
}

int store_each(int (*fn)(void *arg, struct store *store), void *arg)
{
	int result = 0;

	for (u32 i = 0; i < STORES_MAX; i++) {
		struct store *store = borrow_at(i);
		int r = store ? fn(arg, store) : 0;

		store_release(store);
		result = result < 0 ? result : r;
	}
	return result;
}

void store_release(struct store *store)
{
	LOCKED(&lock);
	for (u32 i = 0; store && i < STORES_MAX; i++) {
		if (!stores[i].users || stores[i].store != store || --stores[i].users)
			continue;
		store_close(TAKE(stores[i].store));
		free(TAKE(stores[i].directory));
	}
}
