// SPDX-License-Identifier: Apache-2.0
#include "exe/rows_cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/io.h"
#include "base/private_dir.h"
#include "exe/lang_file.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "exe/rows_file.h"

#define CACHE_MAGIC "wickrc1\n"
#define FILES_MAX 65536		/* looked at when room is made */
#define FILE_BYTES_MAX (256u << 20)
#define SUFFIX ".rows"
#define READ_BYTES (64u << 10)

struct rows_cache {
	int dir_fd;
	u64 max_bytes;
	u32 langs;
	u64 used_bytes;		/* as far as we know: other wicks add and remove */
	struct rows_cache_stats stats;
};

/* A file: this, then struct rows. */
struct cache_header {
	char magic[8];
	u32 version;		/* cache_version() */
	u32 rows_bytes;
	u64 checksum;		/* of the rows, XXH3 */
	u64 id_bytes;
	u8 id[ROWS_CACHE_ID_MAX];
};

/* Rows carry the marks of languages: those of a wick that knew fewer of them are stale. */
static u32 cache_version(const struct rows_cache *cache)
{
	return ROWS_COMPILE_VERSION | cache->langs << 16;
}
_Static_assert(sizeof(struct cache_header) == 64, "no padding, which would reach the disk");

struct cache_name {
	char text[2 * ROWS_CACHE_ID_MAX + sizeof(SUFFIX)];
};

struct cache_file {
	struct timespec used;
	u64 bytes;
	char name[96];
};

struct cache_files {
	struct cache_file *at;
	u32 count, cap;
	u64 bytes;
};

static struct cache_name name_of(const u8 *id, size_t id_bytes)
{
	struct cache_name name;

	assert(id_bytes >= 1 && id_bytes <= ROWS_CACHE_ID_MAX);
	for (size_t i = 0; i < id_bytes; i++)
		snprintf(name.text + 2 * i, 3, "%02x", id[i]);
	memcpy(name.text + 2 * id_bytes, SUFFIX, sizeof(SUFFIX));
	return name;
}

static int compare_used(const void *a_arg, const void *b_arg)
{
	const struct cache_file *a = a_arg, *b = b_arg;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

static bool add_file(struct cache_files *files, const char *name, const struct stat *st)
{
	u32 cap = files->cap ? 2 * files->cap : 64;
	struct cache_file *grown;

	if (files->count == FILES_MAX)
		return false;
	if (files->count == files->cap) {
		grown = reallocarray(files->at, cap, sizeof(*grown));
		if (!grown)
			return false;
		files->at = grown;
		files->cap = cap;
	}
	files->at[files->count] = (struct cache_file){ .used = st->st_mtim, .bytes = st->st_size };
	snprintf(files->at[files->count++].name, sizeof(files->at->name), "%s", name);
	files->bytes += st->st_size;
	return true;
}

/* Adds what is in the directory, half-written files included, so that those left by a wick that died go too. */
static int list_files(const struct rows_cache *cache, struct cache_files *files)
{
	int fd = openat(cache->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		int r = -errno;

		closep(&fd);
		return r;
	}
	while ((entry = readdir(dir))) {
		if (strlen(entry->d_name) >= sizeof(files->at->name) ||
		    fstatat(cache->dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (!add_file(files, entry->d_name, &st))
			break;
	}
	closedir(dir);
	return 0;
}

/* Takes a fresh look at what is used; past the limit removes what was used least lately, down to 3/4 of it. */
static void make_room(struct rows_cache *cache)
{
	struct cache_files files = { 0 };

	if (list_files(cache, &files) < 0) {
		cache->stats.failed++;
		return;
	}
	if (files.count)
		qsort(files.at, files.count, sizeof(*files.at), compare_used);
	cache->used_bytes = files.bytes;
	if (files.bytes > cache->max_bytes)
		for (u32 i = 0; i < files.count && cache->used_bytes > cache->max_bytes / 4 * 3; i++) {
			if (unlinkat(cache->dir_fd, files.at[i].name, 0) < 0 && errno != ENOENT)
				continue;
			cache->used_bytes -= files.at[i].bytes;
			cache->stats.evicted++;
		}
	free(files.at);
}

int rows_cache_open(const char *path, u64 max_bytes, u32 langs, struct rows_cache **ret_cache)
{
	_cleanup_(rows_cache_freep) struct rows_cache *cache = calloc(1, sizeof(*cache));
	int fd;

	if (!cache)
		return -ENOMEM;
	cache->dir_fd = -1;
	fd = private_dir_open(AT_FDCWD, path, NULL);
	if (fd < 0)
		return fd;
	cache->dir_fd = fd;
	cache->max_bytes = max_bytes;
	cache->langs = langs;
	make_room(cache);
	*ret_cache = TAKE(cache);
	return 0;
}

void rows_cache_free(struct rows_cache *cache)
{
	if (!cache)
		return;
	closep(&cache->dir_fd);
	free(cache);
}

struct rows_cache_stats rows_cache_stats(const struct rows_cache *cache)
{
	return cache ? cache->stats : (struct rows_cache_stats){ 0 };
}

/* -EBADMSG if it is not what we wrote under that id, -ESTALE if another version did. */
static int read_header(const struct rows_cache *cache, int fd, const u8 *id, size_t id_bytes,
		       struct cache_header *ret_header)
{
	u8 padded_id[ROWS_CACHE_ID_MAX] = { 0 };
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EBADMSG;
	r = io_read_exactly(fd, ret_header, sizeof(*ret_header));
	if (r < 0)
		return r;
	if (memcmp(ret_header->magic, CACHE_MAGIC, sizeof(ret_header->magic)))
		return -EBADMSG;
	if (ret_header->version != cache_version(cache))
		return -ESTALE;
	memcpy(padded_id, id, id_bytes);
	if (ret_header->id_bytes != id_bytes || memcmp(ret_header->id, padded_id, sizeof(padded_id)) ||
	    ret_header->rows_bytes > FILE_BYTES_MAX ||
	    st.st_size != (off_t)sizeof(*ret_header) + ret_header->rows_bytes)
		return -EBADMSG;
	return 0;
}

/* Not read as a whole: files of some programs have tens of megabytes of them. */
static int check_rows(int fd, const struct cache_header *header)
{
	_cleanup_(freep) u8 *part = malloc(READ_BYTES);
	XXH3_state_t *state = XXH3_createState();
	u32 left = header->rows_bytes;
	int r = part && state ? 0 : -ENOMEM;

	if (r == 0)
		(void)XXH3_64bits_reset(state);
	while (r == 0 && left) {
		u32 bytes = left < READ_BYTES ? left : READ_BYTES;

		r = io_read_exactly(fd, part, bytes);
		if (r == 0)
			(void)XXH3_64bits_update(state, part, bytes);
		left -= bytes;
	}
	if (r == 0 && XXH3_64bits_digest(state) != header->checksum)
		r = -EBADMSG;
	XXH3_freeState(state);
	return r;
}

static int read_file(const struct rows_cache *cache, int *fd, const u8 *id, size_t id_bytes,
		     struct rows_file **ret_file)
{
	struct cache_header header;
	/* Whatever else sits there, such as a symbolic link, is not ours. */
	int r = *fd < 0 ? -EBADMSG : read_header(cache, *fd, id, id_bytes, &header);

	if (r == 0)
		r = check_rows(*fd, &header);
	if (r == 0)
		r = rows_file_new(*fd, sizeof(header), ret_file);
	if (r < 0)
		return r;
	(void)futimens(*fd, NULL);	/* its last use; without it, it only goes sooner */
	*fd = -1;
	return rows_file_head(*ret_file)->bytes == header.rows_bytes ? 0 : -EBADMSG;
}

int rows_cache_get(struct rows_cache *cache, const u8 *id, size_t id_bytes, struct rows_file **ret_file)
{
	_cleanup_(rows_file_freep) struct rows_file *file = NULL;
	_cleanup_(closep) int fd = -1;
	struct cache_name name;
	int r;

	if (!cache)
		return -ENOENT;
	name = name_of(id, id_bytes);
	fd = openat(cache->dir_fd, name.text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		cache->stats.misses++;
		return -ENOENT;
	}
	r = read_file(cache, &fd, id, id_bytes, &file);
	if (r == 0) {
		cache->stats.hits++;
		*ret_file = TAKE(file);
		return 0;
	}
	cache->stats.corrupt += r == -EBADMSG;
	cache->stats.stale += r == -ESTALE;
	cache->stats.failed += r != -EBADMSG && r != -ESTALE;
	if (r == -EBADMSG || r == -ESTALE)
		(void)unlinkat(cache->dir_fd, name.text, 0);
	return -ENOENT;
}

static int write_file(int dir_fd, const char *name, const struct cache_header *header, const struct rows *rows)
{
	_cleanup_(closep) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, header, sizeof(*header));
	return r < 0 ? r : io_write_all(fd, rows, rows->bytes);
}

/* Written aside and renamed, so that nobody reads half of it. Not synced: a torn file fails its checksum. */
static int store(struct rows_cache *cache, const struct cache_name *name, const struct cache_header *header,
		 const struct rows *rows)
{
	char aside[32];
	u64 random;
	int r;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return -EAGAIN;
	snprintf(aside, sizeof(aside), "%016llx.tmp", random);
	r = write_file(cache->dir_fd, aside, header, rows);
	if (r == 0 && renameat(cache->dir_fd, aside, cache->dir_fd, name->text) < 0)
		r = -errno;
	if (r < 0 && r != -EEXIST)
		(void)unlinkat(cache->dir_fd, aside, 0);
	return r;
}

int rows_cache_put(struct rows_cache *cache, const u8 *id, size_t id_bytes, const struct rows *rows)
{
	struct cache_header header = { .magic = CACHE_MAGIC };
	struct cache_name name;
	int r;

	if (!cache)
		return 0;
	header.version = cache_version(cache);
	name = name_of(id, id_bytes);
	if (rows->bytes > FILE_BYTES_MAX || sizeof(header) + rows->bytes > cache->max_bytes)
		return -E2BIG;
	header.rows_bytes = rows->bytes;
	header.checksum = XXH3_64bits(rows, rows->bytes);
	header.id_bytes = id_bytes;
	memcpy(header.id, id, id_bytes);
	r = store(cache, &name, &header, rows);
	if (r < 0) {
		cache->stats.failed++;
		return r;
	}
	cache->stats.stored++;
	cache->used_bytes += sizeof(header) + rows->bytes;
	if (cache->used_bytes > cache->max_bytes)
		make_room(cache);
	return 0;
}

int rows_cache_aside(struct rows_cache *cache, const struct rows *rows, struct rows_file **ret_file)
{
	_cleanup_(closep) int fd = -1;
	int r;

	if (cache)
		fd = openat(cache->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = memfd_create("rows", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = io_write_all(fd, rows, rows->bytes);
	if (r == 0)
		r = rows_file_new(fd, 0, ret_file);
	if (r == 0)
		fd = -1;
	return r;
}
