// SPDX-License-Identifier: Apache-2.0
#include "store/shared.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/buf.h"
#include "base/lock.h"

#define STORES_MAX 16

static struct shared {
	char *directory;	/* NULL: it is elsewhere */
	struct store *store;
	u32 users;
	bool is_leaving;	/* no more users, and no fewer than who opened it */
} stores[STORES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fewer = PTHREAD_COND_INITIALIZER;

static bool is_at(const struct shared *shared, const char *directory)
{
	return shared->users && shared->directory && !strcmp(shared->directory, directory);
}

static struct shared *find(const char *directory)
{
	for (u32 i = 0; i < STORES_MAX; i++)
		if (is_at(&stores[i], directory))
			return &stores[i];
	return NULL;
}

static struct shared *find_free(void)
{
	for (u32 i = 0; i < STORES_MAX; i++)
		if (!stores[i].users)
			return &stores[i];
	return NULL;
}

static int open_one(const struct store_options *options, struct shared **ret_shared, struct buf *why,
		    struct buf *notice)
{
	struct shared *free_one = find_free();
	int r;

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

int store_share(struct store *store)
{
	struct shared *free_one;

	LOCKED(&lock);
	free_one = find_free();
	if (!free_one)
		return -EMFILE;
	*free_one = (struct shared){ .store = store, .users = 1 };
	return 0;
}

void store_unshare(struct store *store)
{
	pthread_mutex_lock(&lock);
	for (u32 i = 0; store && i < STORES_MAX; i++) {
		if (!stores[i].users || stores[i].store != store)
			continue;
		stores[i].is_leaving = true;
		while (stores[i].users > 1)
			pthread_cond_wait(&fewer, &lock);
		stores[i] = (struct shared){ 0 };
	}
	pthread_mutex_unlock(&lock);
	store_close(store);
}

/* As one more user of it; NULL if there is none. */
static struct store *borrow(struct shared *shared)
{
	if (!shared || !shared->users || shared->is_leaving)
		return NULL;
	shared->users++;
	return shared->store;
}

struct store *store_borrow(const char *directory)
{
	struct store *store = NULL;

	LOCKED(&lock);
	if (*directory)
		return borrow(find(directory));
	for (u32 i = 0; i < 2 * STORES_MAX && !store; i++) {
		struct shared *shared = &stores[i % STORES_MAX];

		store = shared->directory || i >= STORES_MAX ? borrow(shared) : NULL;
	}
	return store;
}

static struct store *borrow_at(u32 i)
{
	LOCKED(&lock);
	return borrow(&stores[i]);
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
		if (!stores[i].users || stores[i].store != store)
			continue;
		if (--stores[i].users) {
			pthread_cond_broadcast(&fewer);
			continue;
		}
		store_close(TAKE(stores[i].store));
		free(TAKE(stores[i].directory));
	}
}
