// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/growth.h"
#include "base/private_dir.h"
#include "profile/profile.h"
#include "store/ingest.h"
#include "store/sqlite.h"
#include "wire/compression.h"

#define BYTES_DEFAULT ((u64)1 << 30)
#define AGE_DEFAULT_NS (7 * 86400 * SECOND_NS)
#define CHUNK_BYTES_MAX ((size_t)512 << 20)

const u64 store_period_ns[DB_LEVELS] = { 60 * SECOND_NS, 60 * SECOND_NS, 600 * SECOND_NS, 3600 * SECOND_NS };

const char *store_rolled_key(u32 level)
{
	static const char *const keys[DB_LEVELS] = { "rolled_0", "rolled_1", "rolled_2", "rolled_3" };

	return keys[level];
}

struct epoch *store_epoch(struct sqlite_store *store, s64 id)
{
	for (u32 i = store->epoch_count; i-- > 0;)
		if (store->epochs[i].id == id)
			return &store->epochs[i];
	return NULL;
}

const char *store_error(struct store *base)
{
	struct sqlite_store *store = sqlite_store(base);
	return db_error(store->db);
}

/* ---- Files ------------------------------------------------------------------------- */

/* Before SQLite opens them by name: none is somebody else's, and none is for others to read. */
static int protect_files(const struct sqlite_store *store, struct buf *why)
{
	static const char *const names[] = { "wick.db", "wick.db-wal", "wick.db-shm" };
	_cleanup_(closep) int dir_fd = private_dir_open(AT_FDCWD, store->base.directory, why);
	int r = dir_fd < 0 ? dir_fd : 0;

	for (u32 i = 0; i < sizeof(names) / sizeof(names[0]) && r == 0; i++) {
		r = private_file_check(dir_fd, names[i], i == 0, why);
		r = r == -ENOENT ? 0 : r;
	}
	if (r < 0 && !why->len)
		buf_addf(why, "%s: %s", store->base.directory, strerror(-r));
	return r;
}

/* ---- Opening ---------------------------------------------------------------------- */

/* One process has a directory; its pid stands in the lock file. */
static int take_lock(struct sqlite_store *store, struct buf *why)
{
	_cleanup_(closep) int dir_fd = private_dir_open(AT_FDCWD, store->base.directory, why);
	int r = dir_fd < 0 ? dir_fd : private_file_check(dir_fd, "lock", true, why);
	char pid[32] = "";
	ssize_t bytes;

	if (r == 0) {
		store->lock_fd = openat(dir_fd, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		r = store->lock_fd < 0 ? -errno : 0;
	}
	if (r < 0 && !why->len)
		buf_addf(why, "cannot use %s: %s", store->base.directory, strerror(-r));
	if (r < 0)
		return r;
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		bytes = pread(store->lock_fd, pid, sizeof(pid) - 1, 0);
		pid[bytes > 0 ? strcspn(pid, "\n") : 0] = '\0';
		buf_addf(why, "the store in %s is in use by process %s; stop it, or choose another directory",
			 store->base.directory, *pid ? pid : "(unknown)");
		return -EBUSY;
	}
	(void)ftruncate(store->lock_fd, 0);
	(void)dprintf(store->lock_fd, "%d\n", getpid());
	return 0;
}

static int note_epoch(void *arg, s64 id, u64 created_ns)
{
	struct sqlite_store *store = arg;
	int r;

	if (store->epoch_count >= EPOCHS_MAX)
		return -E2BIG;
	r = array_reserve(&store->epochs, &store->epoch_cap, store->epoch_count + 1, sizeof(*store->epochs));
	if (r == 0)
		store->epochs[store->epoch_count++] = (struct epoch){ .id = id };
	return r;
}

/* It takes what comes, if it is whole and has room. Others are read when they are asked for. */
static int load_newest(struct sqlite_store *store, struct buf *notice)
{
	const struct dict *dict;
	struct epoch *newest = &store->epochs[store->epoch_count - 1];
	int r = dicts_get(store, store->db, newest, &dict);

	newest->is_written = r == 0;
	if (r == -EBADMSG)
		buf_addf(notice, "the names of a part of %s are broken; that part is left out. ", store->path);
	return r == -EBADMSG || r == -ENOMEM ? 0 : r;
}

static int load_epochs(struct sqlite_store *store, struct buf *notice)
{
	int r = db_each_epoch(store->db, note_epoch, store);

	if (r == 0 && store->epoch_count)
		r = load_newest(store, notice);
	for (u32 level = 1; level < DB_LEVELS; level++)
		store->rolled_ns[level] = (u64)db_get(store->db, store_rolled_key(level), 0);
	return r < 0 ? r : store_load_names(store);
}

/* A broken file is kept for whoever wants to look at it, and does not keep wick from starting. */
static int set_aside(struct sqlite_store *store, struct buf *notice)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char from[4096], to[4200];

	for (u32 i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(from, sizeof(from), "%s%s", store->path, parts[i]);
		snprintf(to, sizeof(to), "%s/broken-%lld.db%s", store->base.directory, (long long)time(NULL), parts[i]);
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
		if (i == 0)
			buf_addf(notice, "the store was broken: it is kept as %s, a new one begins. ", to);
	}
	return 0;
}

static void forget_epochs(struct sqlite_store *store)
{
	for (u32 i = 0; i < store->epoch_count; i++)
		dicts_drop(store, &store->epochs[i]);
	store->epoch_count = 0;
}

/* SQLite would take a file that lost all its bytes for a new one, without a word. */
static void tell_empty(const struct sqlite_store *store, struct buf *notice)
{
	struct stat st;

	if (stat(store->path, &st) == 0 && !st.st_size)
		buf_addf(notice, "%s was empty: what it held is lost. ", store->path);
}

static int open_file(struct sqlite_store *store, struct buf *why, struct buf *notice)
{
	int r;

	tell_empty(store, notice);
	for (int tries = 0; tries < 2; tries++) {
		size_t len = why->len;

		r = protect_files(store, why);
		if (r == 0)
			r = db_open(store->path, false, &store->db, why);
		if (r == 0)
			r = load_epochs(store, notice);
		if (r != -EUCLEAN)
			return r;
		db_close(TAKE(store->db));
		forget_epochs(store);
		why->len = len;
		r = set_aside(store, notice);
		if (r < 0)
			return r;
	}
	return r;
}

/* ---- Adding ------------------------------------------------------------------------ */

static int begin_epoch(struct sqlite_store *store, u64 now_ns)
{
	_cleanup_(dict_freep) struct dict *dict = dict_new();
	s64 id;
	int r;

	if (!dict)
		return -ENOMEM;
	if (store->epoch_count >= EPOCHS_MAX)
		return -E2BIG;
	r = db_add_epoch(store->db, now_ns, &id);
	if (r < 0)
		return r;
	pthread_rwlock_wrlock(&store->lock);
	r = array_reserve(&store->epochs, &store->epoch_cap, store->epoch_count + 1, sizeof(*store->epochs));
	if (r == 0) {
		struct epoch *last = store->epoch_count ? &store->epochs[store->epoch_count - 1] : NULL;

		if (last)
			dicts_end(store, last);
		store->epochs[store->epoch_count] = (struct epoch){ .id = id };
		dicts_begin(store, &store->epochs[store->epoch_count++], TAKE(dict));
	}
	pthread_rwlock_unlock(&store->lock);
	return r;
}

/* The epoch that takes what comes now. */
static struct epoch *current_epoch(struct sqlite_store *store)
{
	struct epoch *last = store->epoch_count ? &store->epochs[store->epoch_count - 1] : NULL;

	return last && last->is_written && !dict_is_full(last->dict) ? last : NULL;
}

static int write_chunk(struct sqlite_store *store, struct epoch *epoch)
{
	_cleanup_(buf_done) struct buf plain, packed;
	int r;

	buf_init(&plain, CHUNK_BYTES_MAX);
	buf_init(&packed, CHUNK_BYTES_MAX);
	r = dict_pack(epoch->dict, &plain);
	if (r < 0 || !plain.len)
		return r;
	r = compression_pack(COMPRESSION_ZSTD, plain.data, plain.len, &packed);
	return r < 0 ? r : db_add_chunk(store->db, epoch->id, epoch->chunk_count, packed.data, packed.len);
}

int store_put_rows(struct sqlite_store *store, u32 level, s64 epoch, u64 start_ns, u64 end_ns, struct block_rows *rows)
{
	_cleanup_(buf_done) struct buf data, details;
	struct db_block block = { .level = level, .epoch = epoch, .start_ns = start_ns, .end_ns = end_ns };
	int r;

	buf_init(&data, BLOCK_BYTES_MAX);
	buf_init(&details, BLOCK_BYTES_MAX);
	block_rows_fold(rows, level > 0);
	r = block_pack(rows, level > 0, &data, &details);
	if (r < 0)
		return r;
	block.rows = rows->count;
	block.data = data.data;
	block.data_bytes = data.len;
	block.details = details.data;
	block.detail_bytes = details.len;
	return db_add_block(store->db, &block);
}

static int copy_rows(const struct block_rows *from, u32 first, u32 end, struct block_rows *ret_rows)
{
	block_rows_init(ret_rows);
	for (u32 i = first; i < end; i++)
		if (block_rows_add(ret_rows, &from->rows[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* Rows that come after their minute was rolled up get a roll-up of their own. */
static int put_late(struct sqlite_store *store, s64 epoch, const struct block_rows *rows, u32 first, u32 end)
{
	u64 time_ns = rows->rows[first].time_ns;
	int r = 0;

	for (u32 level = 1; level < DB_LEVELS && time_ns < store->rolled_ns[level] && r == 0; level++) {
		_cleanup_(block_rows_done) struct block_rows copy;

		r = copy_rows(rows, first, end, &copy);
		copy.labels = rows->labels;
		if (r == 0)
			r = store_put_rows(store, level, epoch, period_start(time_ns, level), time_ns, &copy);
		copy.labels = (struct label_sets){ 0 };
	}
	return r;
}

static int compare_times(const void *a, const void *b)
{
	const struct block_row *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* One block for each minute that the rows are of, mostly one. */
static int put_minutes(struct sqlite_store *store, s64 epoch, struct block_rows *rows)
{
	int r = 0;

	qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_times);
	for (u32 first = 0, end; first < rows->count && r == 0; first = end) {
		u64 minute = period_start(rows->rows[first].time_ns, 0);
		_cleanup_(block_rows_done) struct block_rows part;

		for (end = first + 1; end < rows->count && period_start(rows->rows[end].time_ns, 0) == minute;)
			end++;
		r = copy_rows(rows, first, end, &part);
		if (r == 0)
			r = budget_check();
		if (r < 0)
			return r;
		part.threads = rows->threads;
		part.links = rows->links;
		part.labels = rows->labels;
		r = store_put_rows(store, 0, epoch, rows->rows[first].time_ns, rows->rows[end - 1].time_ns, &part);
		/* They are those of all parts. */
		part.threads = part.links = (struct table){ 0 };
		part.labels = (struct label_sets){ 0 };
		if (r == 0)
			r = put_late(store, epoch, rows, first, end);
	}
	return r;
}

static int write_rows(struct sqlite_store *store, struct epoch *epoch, struct block_rows *rows)
{
	struct dict_counts now = dict_counts(epoch->dict);
	int r = db_begin(store->db);

	if (r == 0)
		r = write_chunk(store, epoch);
	if (r == 0)
		r = put_minutes(store, epoch->id, rows);
	if (r == 0)
		r = db_commit(store->db);
	if (r < 0) {
		db_rollback(store->db);
		return r;
	}
	pthread_rwlock_wrlock(&store->lock);
	if (memcmp(&now, &epoch->dict->packed, sizeof(now)))
		epoch->chunk_count++;
	dict_packed(epoch->dict);
	pthread_rwlock_unlock(&store->lock);
	return 0;
}

/* The rows of a host, in an epoch that has room for them. */
static int take_rows(struct sqlite_store *store, const struct profile *profile, struct str host,
		     const struct store_ingest_options *options, struct block_rows *rows, struct epoch **ret_epoch,
		     u64 *grown)
{
	struct ingest_result result = { 0 };
	size_t before;
	int r = 0;

	for (int tries = 0; tries < 2; tries++) {
		struct epoch *epoch = current_epoch(store);

		r = epoch ? 0 : begin_epoch(store, options->now_ns);
		if (r < 0)
			return r;
		epoch = &store->epochs[store->epoch_count - 1];
		pthread_rwlock_wrlock(&store->lock);
		before = dict_content(epoch->dict);
		r = ingest_rows(profile, host, options, epoch->dict, store->names, rows, &result);
		*grown += dict_content(epoch->dict) - before;
		pthread_rwlock_unlock(&store->lock);
		*ret_epoch = epoch;
		if (r == 0 || !epoch->dict->err)
			break;
		block_rows_done(rows);
	}
	if (r == 0) {
		atomic_fetch_add(&store->times_wrong, result.times_wrong);
		atomic_fetch_add(&store->labels_past_limit, result.labels_past_limit);
	}
	return r;
}

static int add_host(struct sqlite_store *store, const struct profile *profile, struct str host,
		    const struct store_ingest_options *options, u64 *grown)
{
	_cleanup_(block_rows_done) struct block_rows rows;
	struct epoch *epoch;
	int r;

	block_rows_init(&rows);
	r = take_rows(store, profile, host, options, &rows, &epoch, grown);
	if (r == 0)
		dicts_weigh(store, epoch);
	if (r < 0 || !rows.count)
		return r;
	return write_rows(store, epoch, &rows);
}

int store_add(struct store *base, const struct profile *profile, u64 sender, u64 now_ns)
{
	struct sqlite_store *store = sqlite_store(base);
	struct store_ingest_options options = { now_ns, store->age_max_ns, &store->labels };
	_cleanup_(freep) struct str *hosts = reallocarray(NULL, INGEST_HOSTS_MAX, sizeof(*hosts));
	u64 grown = 0;
	u32 count;
	int r = 0;

	if (!hosts)
		return -ENOMEM;
	count = ingest_hosts(profile, hosts);
	pthread_mutex_lock(&store->write_lock);
	for (u32 i = 0; i < count && r == 0; i++)
		r = add_host(store, profile, hosts[i], &options, &grown);
	pthread_mutex_unlock(&store->write_lock);
	growth_note(sender, grown, monotonic_ns());
	atomic_fetch_add(&store->generation, 1);
	return r;
}

/* ---- Numbers ------------------------------------------------------------------------- */

static u64 sqlite_generation(struct store *base)
{
	return atomic_load(&sqlite_store(base)->generation);
}

static int sqlite_stats(struct store *base, struct store_stats *ret_stats)
{
	struct sqlite_store *store = sqlite_store(base);
	_cleanup_(db_closep) struct db *db = NULL;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 256);
	*ret_stats = (struct store_stats){ .bytes_max = store->bytes_max };
	if (db_open(store->path, true, &db, &why) == 0) {
		for (u32 i = 0; i < DB_LEVELS; i++)
			(void)db_level(db, i, &ret_stats->levels[i]);
		(void)db_bytes(db, &ret_stats->bytes);
	}
	pthread_rwlock_rdlock(&store->lock);
	pthread_mutex_lock(&store->dict_lock);
	ret_stats->epochs = store->epoch_count;
	for (u32 i = 0; i < store->epoch_count; i++) {
		struct dict_counts counts = store->epochs[i].counts;

		if (store->epochs[i].dict)
			counts = dict_counts(store->epochs[i].dict);
		ret_stats->nodes += counts.nodes;
		ret_stats->frames += counts.frames;
		ret_stats->series += counts.series;
	}
	pthread_mutex_unlock(&store->dict_lock);
	ret_stats->names = names_stats(store->names);
	pthread_rwlock_unlock(&store->lock);
	ret_stats->blocks_broken = atomic_load(&store->blocks_broken);
	ret_stats->times_wrong = atomic_load(&store->times_wrong);
	ret_stats->labels_past_limit = atomic_load(&store->labels_past_limit);
	ret_stats->labels_rolled_up = atomic_load(&store->labels_rolled_up);
	ret_stats->generation = sqlite_generation(base);
	return 0;
}

/* ---- Life ----------------------------------------------------------------------------- */

static void sqlite_free(struct sqlite_store *store)
{
	if (!store)
		return;
	forget_epochs(store);
	free(store->epochs);
	db_close(store->series_db);
	db_close(store->db);
	pthread_mutex_destroy(&store->series_lock);
	pthread_mutex_destroy(&store->dict_lock);
	names_free(store->names);
	pthread_rwlock_destroy(&store->lock);
	pthread_mutex_destroy(&store->write_lock);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	label_rules_done(&store->labels);
	free(store->base.directory);
	free(store->path);
	free(store->base.host);
	free(store);
}
DEFINE_CLEANUP(struct sqlite_store *, sqlite_free)

static void sqlite_close(struct store *base)
{
	sqlite_free(sqlite_store(base));
}

static const struct store_ops sqlite_ops = {
	.name = "sqlite",
	.narrows = true,
	.has_labels = true,
	.flame = sqlite_flame,
	.profile = sqlite_profile,
	.chart = sqlite_chart,
	.heat = sqlite_heat,
	.lanes = sqlite_lanes,
	.values = sqlite_values,
	.traces = sqlite_traces,
	.series = sqlite_series,
	.add_series = sqlite_add_series,
	.add_note = sqlite_add_note,
	.drop_note = sqlite_drop_note,
	.each_note = sqlite_each_note,
	.stats = sqlite_stats,
	.generation = sqlite_generation,
	.free = sqlite_close,
};

struct sqlite_store *sqlite_store(struct store *base)
{
	assert(base->ops == &sqlite_ops);
	return (struct sqlite_store *)base;
}

/* Nothing is opened yet. */
static struct sqlite_store *sqlite_new(const struct store_options *options)
{
	struct sqlite_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	if (label_rules_copy(&options->labels, &store->labels) < 0) {
		label_rules_done(&store->labels);
		free(store);
		return NULL;
	}
	/* From the time of day on: what was asked of an earlier process is not taken for the same. */
	atomic_init(&store->generation, clock_ns(CLOCK_REALTIME) / 1000000);
	store->base.ops = &sqlite_ops;
	store->lock_fd = -1;
	pthread_rwlock_init(&store->lock, NULL);
	pthread_mutex_init(&store->series_lock, NULL);
	pthread_mutex_init(&store->dict_lock, NULL);
	pthread_mutex_init(&store->write_lock, NULL);
	store->bytes_max = options->bytes_max ? options->bytes_max : BYTES_DEFAULT;
	store->age_max_ns = options->age_max_ns ? options->age_max_ns : AGE_DEFAULT_NS;
	store->base.host = strdup(options->host);
	return store;
}

int store_open(const struct store_options *options, struct store **ret_store, struct buf *why, struct buf *notice)
{
	_cleanup_(sqlite_freep) struct sqlite_store *store = sqlite_new(options);
	int r;

	if (!store)
		return -ENOMEM;
	store->base.directory = strdup(options->directory);
	if (!store->base.directory || !store->base.host ||
	    asprintf(&store->path, "%s/wick.db", options->directory) < 0) {
		store->path = NULL;
		return -ENOMEM;
	}
	r = take_lock(store, why);
	if (r == 0)
		r = open_file(store, why, notice);
	if (r < 0)
		return r;
	*ret_store = &TAKE(store)->base;
	return 0;
}

/* Half of the memory is for what SQLite has, half for the dictionaries. */
static int open_memory(struct sqlite_store *store, u64 bytes_max, struct buf *why)
{
	static _Atomic u32 number;
	int r;

	store->memory_max = bytes_max / 2;
	if (!store->base.host ||
	    asprintf(&store->path, DB_MEMORY "%u?vfs=memdb", atomic_fetch_add(&number, 1)) < 0) {
		store->path = NULL;
		return -ENOMEM;
	}
	r = db_open(store->path, false, &store->db, why);
	if (r == 0)
		r = db_limit(store->db, bytes_max / 2);
	return r < 0 ? r : load_epochs(store, why);
}

int store_of_profile(const struct profile *profile, const char *host, u64 now_ns, u64 bytes_max,
		     struct store **ret_store, struct store_span *ret_span)
{
	/* A time that is 0 is none. */
	struct store_options options = { .host = host, .age_max_ns = now_ns - 1 };
	_cleanup_(sqlite_freep) struct sqlite_store *store = sqlite_new(&options);
	_cleanup_(buf_done) struct buf why;
	struct store_span span = { 0 };
	int r;

	buf_init(&why, 512);
	r = store ? open_memory(store, bytes_max, &why) : -ENOMEM;
	if (r == 0)
		r = store_add(&store->base, profile, GROWTH_LOCAL, now_ns);
	if (r == 0)
		r = db_span(store->db, 0, &span.first_ns, &span.last_ns);
	if (r == 0)
		r = db_bytes(store->db, &span.bytes);
	if (r < 0)
		return r;
	*ret_store = &TAKE(store)->base;
	*ret_span = span;
	return 0;
}
