// SPDX-License-Identifier: Apache-2.0
#include "store/dicts.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/lock.h"
#include "store/sqlite.h"
#include "wire/compression.h"

#define CHUNK_BYTES_MAX ((size_t)512 << 20)

static u64 most(const struct sqlite_store *store)
{
	u64 limit = budget_limit();

	if (store->memory_max)
		return store->memory_max;
	return limit == UINT64_MAX ? limit : limit / 2;
}

size_t dicts_epoch_most(const struct sqlite_store *store)
{
	u64 half = most(store) / 2;

	return half < DICT_BYTES_MAX ? (size_t)half : DICT_BYTES_MAX;
}

static u64 in_memory(const struct sqlite_store *store)
{
	u64 bytes = 0;

	for (u32 i = 0; i < store->epoch_count; i++)
		bytes += store->epochs[i].charge.bytes;
	return bytes;
}

static void forget(struct epoch *epoch)
{
	epoch->counts = dict_counts(epoch->dict);
	dict_free(TAKE(epoch->dict));
	budget_hold(&epoch->charge, 0);
}

/* Makes room for so many bytes of what nobody uses, the oldest first. False: there is none. */
static bool make_room(struct sqlite_store *store, u64 bytes)
{
	while (in_memory(store) + bytes > most(store)) {
		struct epoch *oldest = NULL;

		for (u32 i = 0; i < store->epoch_count; i++) {
			struct epoch *epoch = &store->epochs[i];

			if (epoch->dict && !epoch->users && (!oldest || epoch->used < oldest->used))
				oldest = epoch;
		}
		if (!oldest)
			return false;
		forget(oldest);
	}
	return true;
}

/* ---- From disk ----------------------------------------------------------------------------- */

struct load {
	struct dict *dict;
	u32 chunk_count;
};

static int load_chunk(void *arg, u32 number, const void *data, size_t bytes)
{
	struct load *load = arg;
	_cleanup_(buf_done) struct buf plain;
	int r;

	buf_init(&plain, CHUNK_BYTES_MAX);
	if (number != load->chunk_count)
		return -EBADMSG;
	r = compression_unpack(COMPRESSION_ZSTD, data, bytes, &plain);
	if (r == 0)
		r = dict_unpack(load->dict, plain.data, plain.len);
	load->chunk_count += r == 0;
	return r;
}

/* What is on disk was within the limits of its time; one that took more than there is now is not brought to memory. */
static int load(struct sqlite_store *store, struct db *db, struct epoch *epoch)
{
	_cleanup_(dict_freep) struct dict *dict = dict_new();
	struct load into = { .dict = dict };
	int r;

	if (!dict)
		return -ENOMEM;
	dict_limit(dict, most(store) < DICT_BYTES_MAX ? (size_t)most(store) : DICT_BYTES_MAX);
	r = db_each_chunk(db, epoch->id, load_chunk, &into);
	if (r < 0)
		return r == -E2BIG && most(store) < DICT_BYTES_MAX ? -ENOMEM : r;
	dict_limit(dict, dicts_epoch_most(store));
	epoch->dict = TAKE(dict);
	epoch->chunk_count = into.chunk_count;
	return 0;
}

static int bring(struct sqlite_store *store, struct db *db, struct epoch *epoch)
{
	int r;

	if (epoch->is_broken)
		return -EBADMSG;
	if (!make_room(store, most(store) == UINT64_MAX ? 0 : dicts_epoch_most(store)))
		return -ENOMEM;
	r = load(store, db, epoch);
	epoch->is_broken = r == -EBADMSG || r == -E2BIG;
	if (r == 0)
		budget_hold(&epoch->charge, dict_bytes(epoch->dict));
	return epoch->is_broken ? -EBADMSG : r;
}

/* ---- For all ---------------------------------------------------------------------------------- */

int dicts_get(struct sqlite_store *store, struct db *db, struct epoch *epoch, const struct dict **ret_dict)
{
	struct budget_scope scope;
	int r = 0;

	LOCKED(&store->dict_lock);
	/* It stays when the question is answered that wanted it: it is not charged to that. */
	budget_begin(&scope, BUDGET_NOBODY);
	if (!epoch->dict)
		r = bring(store, db, epoch);
	budget_end(&scope);
	if (r < 0)
		return r;
	epoch->users++;
	epoch->used = ++store->dict_uses;
	*ret_dict = epoch->dict;
	return 0;
}

void dicts_put(struct sqlite_store *store, struct epoch *epoch)
{
	LOCKED(&store->dict_lock);
	epoch->users--;
}

void dicts_begin(struct sqlite_store *store, struct epoch *epoch, struct dict *dict)
{
	LOCKED(&store->dict_lock);
	dict_limit(dict, dicts_epoch_most(store));
	epoch->dict = dict;
	epoch->users = 1;
	epoch->is_written = true;
	epoch->used = ++store->dict_uses;
	budget_hold(&epoch->charge, dict_bytes(dict));
	(void)make_room(store, 0);
}

void dicts_end(struct sqlite_store *store, struct epoch *epoch)
{
	if (!epoch->is_written)
		return;
	epoch->is_written = false;
	dicts_put(store, epoch);
}

void dicts_weigh(struct sqlite_store *store, struct epoch *epoch)
{
	LOCKED(&store->dict_lock);
	budget_hold(&epoch->charge, dict_bytes(epoch->dict));
	(void)make_room(store, 0);
}

void dicts_drop(struct sqlite_store *store, struct epoch *epoch)
{
	LOCKED(&store->dict_lock);
	if (epoch->dict)
		forget(epoch);
}
