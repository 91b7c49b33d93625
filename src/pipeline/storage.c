// SPDX-License-Identifier: Apache-2.0
#include "pipeline/storage.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/private_dir.h"
#include "pipeline/batch.h"

#define NAME_BYTES 48
#define DIGITS 16
#define SUFFIX ".rec"
#define PART "new-"
#define LOCK_TRY_NS 10000000

static const char magic[8] = "wickrec1";

struct storage {
	int dir_fd, lock_fd;
	struct storage_options options;
	_Atomic u64 next_id, bytes;
	struct storage_record *left;
	u32 left_count, left_cap;
	u64 damaged;
};

/* ---- Records ------------------------------------------------------------------------------ */

static void put_u64(u8 *out, u64 value)
{
	for (int i = 0; i < 8; i++)
		out[i] = (u8)(value >> 8 * i);
}

static u64 get_u64(const u8 *at)
{
	u64 value = 0;

	for (int i = 7; i >= 0; i--)
		value = value << 8 | at[i];
	return value;
}

/* Of the two numbers before it and the payload after it. */
static u64 sum_of(const u8 *header, const void *payload, size_t bytes)
{
	return XXH64(payload, bytes, XXH64(header + 8, 16, 0));
}

static void fill_header(u8 header[STORAGE_HEADER_BYTES], const void *payload, size_t bytes, u64 samples)
{
	memcpy(header, magic, sizeof(magic));
	put_u64(header + 8, samples);
	put_u64(header + 16, bytes);
	put_u64(header + 24, sum_of(header, payload, bytes));
}

static bool fits(const u8 *header, u64 bytes)
{
	return !memcmp(header, magic, sizeof(magic)) && bytes <= BATCH_BYTES_MAX && get_u64(header + 16) == bytes;
}

int storage_verify(const u8 *header, const void *payload, size_t bytes, u64 *ret_samples)
{
	if (!fits(header, bytes) || get_u64(header + 24) != sum_of(header, payload, bytes))
		return -EBADMSG;
	*ret_samples = get_u64(header + 8);
	return 0;
}

static void name_of(u64 id, char name[NAME_BYTES])
{
	(void)snprintf(name, NAME_BYTES, "%0*llx" SUFFIX, DIGITS, id);
}

/* The id in a name, or 0. */
static u64 id_of(const char *name)
{
	char *end;
	u64 id;

	if (strspn(name, "0123456789abcdef") != DIGITS || strcmp(name + DIGITS, SUFFIX))
		return 0;
	id = strtoull(name, &end, 16);
	return id < UINT64_MAX / 2 ? id : 0;
}

/* ---- Opening ------------------------------------------------------------------------------ */

/* What is at hand of a record without reading all of it: its length has to fit. */
static int peek(struct storage *storage, const char *name, struct storage_record *ret_record)
{
	_cleanup_(closep) int fd = openat(storage->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	u8 header[STORAGE_HEADER_BYTES];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ELOOP ? -EBADMSG : -errno;	/* a symbolic link is none of ours */
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || read(fd, header, sizeof(header)) != sizeof(header) ||
	    !fits(header, (u64)st.st_size - sizeof(header)))
		return -EBADMSG;
	ret_record->samples = get_u64(header + 8);
	ret_record->bytes = get_u64(header + 16);
	return 0;
}

static int add_left(struct storage *storage, const char *name)
{
	struct storage_record record = { .id = id_of(name) };
	int r = record.id ? peek(storage, name, &record) : -EBADMSG;

	if (r == -EBADMSG) {
		storage->damaged += !!strncmp(name, PART, strlen(PART));
		(void)unlinkat(storage->dir_fd, name, 0);	/* if it stays, it is looked at again next time */
		return 0;
	}
	if (r < 0)
		return r;
	if (storage->left_count == STORAGE_RECORDS_MAX)
		return -E2BIG;
	r = array_reserve(&storage->left, &storage->left_cap, storage->left_count + 1, sizeof(record));
	if (r < 0)
		return r;
	storage->left[storage->left_count++] = record;
	storage->bytes += STORAGE_HEADER_BYTES + record.bytes;
	if (record.id >= storage->next_id)
		storage->next_id = record.id + 1;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct storage_record *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int read_directory(struct storage *storage)
{
	int fd = openat(storage->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (!dir) {
		r = -errno;
		closep(&fd);
		return r;
	}
	while (r == 0 && (errno = 0, entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && strcmp(entry->d_name, "lock"))
			r = add_left(storage, entry->d_name);
	}
	if (r == 0 && errno)
		r = -errno;
	closedir(dir);
	if (storage->left_count)
		qsort(storage->left, storage->left_count, sizeof(*storage->left), by_id);
	return r;
}

static int take_lock(struct storage *storage)
{
	const struct timespec pause = { .tv_nsec = LOCK_TRY_NS };
	u64 end = monotonic_ns() + (u64)storage->options.lock_timeout_ns;

	storage->lock_fd = openat(storage->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (storage->lock_fd < 0)
		return -errno;
	while (flock(storage->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (monotonic_ns() >= end)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* Letters, digits, points and dashes stay; the rest becomes _ and two hexadecimal digits. */
static void escape(const char *owner, struct buf *out)
{
	for (const unsigned char *c = (const unsigned char *)owner; *c; c++) {
		if (isalnum(*c) || *c == '-' || (*c == '.' && c != (const unsigned char *)owner))
			buf_addf(out, "%c", *c);
		else
			buf_addf(out, "_%02x", *c);
	}
}

static int open_directory(struct storage *storage, const char *directory, const char *owner, struct buf *why)
{
	_cleanup_(closep) int parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(buf_done) struct buf name;

	buf_init(&name, NAME_MAX + 1);
	escape(owner, &name);
	if (parent < 0)
		return -errno;
	if (buf_err(&name) < 0)
		return buf_err(&name);
	storage->dir_fd = private_dir_open(parent, name.data, why);
	if (storage->dir_fd < 0)
		return storage->dir_fd;
	return storage->options.sync && fsync(parent) < 0 ? -errno : 0;
}

int storage_open(const char *directory, const char *owner, const struct storage_options *options,
		 struct storage **ret_storage, struct buf *why)
{
	_cleanup_(storage_closep) struct storage *storage = calloc(1, sizeof(*storage));
	int r;

	if (!storage)
		return -ENOMEM;
	storage->dir_fd = storage->lock_fd = -1;
	storage->options = *options;
	storage->next_id = 1;
	r = open_directory(storage, directory, owner, why);
	if (r == 0)
		r = take_lock(storage);
	if (r == -EBUSY) {
		buf_addf(why, "another process keeps the queue of %s in %s; give each its own directory", owner,
			 directory);
		return r;
	}
	if (r == 0)
		r = read_directory(storage);
	if (r < 0) {
		buf_addf(why, "%scannot keep the queue of %s in %s: %s", why->len ? ": " : "", owner, directory,
			 strerror(-r));
		return r;
	}
	*ret_storage = TAKE(storage);
	return 0;
}

void storage_close(struct storage *storage)
{
	if (!storage)
		return;
	closep(&storage->dir_fd);
	closep(&storage->lock_fd);
	free(storage->left);
	free(storage);
}

u32 storage_left_behind(const struct storage *storage, const struct storage_record **ret_records)
{
	*ret_records = storage->left;
	return storage->left_count;
}

u64 storage_damaged_count(const struct storage *storage)
{
	return storage->damaged;
}

/* ---- Use ---------------------------------------------------------------------------------- */

static int write_record(struct storage *storage, const char *part, const void *payload, size_t bytes, u64 samples)
{
	u8 header[STORAGE_HEADER_BYTES];
	int fd = openat(storage->dir_fd, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	fill_header(header, payload, bytes, samples);
	r = io_write_all(fd, header, sizeof(header));
	if (r == 0)
		r = io_write_all(fd, payload, bytes);
	if (r == 0 && storage->options.sync && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

int storage_put(struct storage *storage, const void *payload, size_t bytes, u64 samples, u64 *ret_id)
{
	u64 size = STORAGE_HEADER_BYTES + bytes, id = atomic_fetch_add(&storage->next_id, 1);
	char part[NAME_BYTES], name[NAME_BYTES];
	int r;

	if (atomic_fetch_add(&storage->bytes, size) + size > storage->options.bytes_max && storage->options.bytes_max) {
		atomic_fetch_sub(&storage->bytes, size);
		return -EDQUOT;
	}
	(void)snprintf(part, sizeof(part), PART "%d-%llx", (int)getpid(), id);
	name_of(id, name);
	r = write_record(storage, part, payload, bytes, samples);
	if (r == 0 && renameat(storage->dir_fd, part, storage->dir_fd, name) < 0)
		r = -errno;
	if (r == 0 && storage->options.sync && fsync(storage->dir_fd) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(storage->dir_fd, part, 0);
		(void)unlinkat(storage->dir_fd, name, 0);
		atomic_fetch_sub(&storage->bytes, size);
		return r;
	}
	*ret_id = id;
	return 0;
}

int storage_get(struct storage *storage, u64 id, struct buf *payload, u64 *ret_samples)
{
	_cleanup_(closep) int fd = -1;
	u8 header[STORAGE_HEADER_BYTES];
	char name[NAME_BYTES];
	size_t old = payload->len, bytes;
	struct stat st;
	int r;

	name_of(id, name);
	fd = openat(storage->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || read(fd, header, sizeof(header)) != sizeof(header))
		return -EBADMSG;
	bytes = (size_t)st.st_size - sizeof(header);
	if (!fits(header, bytes))
		return -EBADMSG;
	r = buf_reserve(payload, bytes) < 0 ? buf_err(payload) : io_read_exactly(fd, payload->data + old, bytes);
	if (r == 0)
		r = storage_verify(header, payload->data + old, bytes, ret_samples);
	if (r == 0)
		payload->len += bytes;
	return r;
}

/* Not synced: a record that comes back after a power failure is sent twice, which is allowed. */
void storage_remove(struct storage *storage, u64 id, size_t bytes)
{
	char name[NAME_BYTES];

	name_of(id, name);
	(void)unlinkat(storage->dir_fd, name, 0);
	atomic_fetch_sub(&storage->bytes, STORAGE_HEADER_BYTES + bytes);
}
