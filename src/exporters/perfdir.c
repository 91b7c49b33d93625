// SPDX-License-Identifier: Apache-2.0
#include "exporters/perfdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/buf.h"
#include "exporters/filegroup.h"
#include "exporters/rotation.h"

#define UNFINISHED ".perf.data.unfinished"
#define FILE_MODE 0600
#define DIRECTORY_MODE 0755
#define PREFIX "perf-"
#define SUFFIX ".data"

/* "20261115-141503" */
#define STAMP_LEN 15
#define SAME_SECOND_MAX 1000

/* Of files that retention looks at; those past it stay until there are fewer. */
#define FILES_MAX 65536

struct perfdir {
	const char *path;
	const struct perfdir_options *options;
	int fd;			/* the directory, locked */
	int file_fd;		/* between begin and commit or abort, else -1 */
	u64 removed;
};

/* ---- Names ------------------------------------------------------------------------------- */

static int write_stamp(const struct perfdir *dir, u64 unix_ns, char ret_stamp[STAMP_LEN + 1])
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	struct tm tm;

	if (!(dir->options->local_time ? localtime_r(&seconds, &tm) : gmtime_r(&seconds, &tm)) ||
	    strftime(ret_stamp, STAMP_LEN + 1, "%Y%m%d-%H%M%S", &tm) != STAMP_LEN)
		return -ERANGE;
	return 0;
}

static bool is_stamp(const char *text)
{
	for (int i = 0; i < STAMP_LEN; i++)
		if (i == 8 ? text[i] != '-' : text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

/* One of ours? ret_again tells apart those of one second. */
static bool parse_name(const char *name, char ret_stamp[STAMP_LEN + 1], u32 *ret_again)
{
	const char *at = name + strlen(PREFIX);
	u32 again = 0;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(at) < STAMP_LEN || !is_stamp(at))
		return false;
	memcpy(ret_stamp, at, STAMP_LEN);
	ret_stamp[STAMP_LEN] = '\0';
	at += STAMP_LEN;
	if (*at == '-' && at[1] != '.')
		for (at++; *at >= '0' && *at <= '9' && again < SAME_SECOND_MAX; at++)
			again = again * 10 + (u32)(*at - '0');
	*ret_again = again;
	return !strcmp(at, SUFFIX);
}

/* ---- Opening ------------------------------------------------------------------------------- */

static void explain(const char *path, int error, struct buf *why)
{
	if (error == -EBUSY)
		buf_addf(why, "another wick, or another perfdata exporter, writes to %s; give each a path of its own",
			 path);
	else
		buf_addf(why, "cannot write to %s: %s", path, strerror(-error));
}

static int open_directory(struct perfdir *dir)
{
	_cleanup_(closep) int fd = -1;
	char inside[PATH_MAX];
	int r;

	if ((size_t)snprintf(inside, sizeof(inside), "%s/x", dir->path) >= sizeof(inside))
		return -ENAMETOOLONG;
	r = filegroup_make_directories(inside, DIRECTORY_MODE);
	if (r < 0)
		return r;
	fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (faccessat(fd, ".", W_OK, AT_EACCESS) < 0 || (unlinkat(fd, UNFINISHED, 0) < 0 && errno != ENOENT))
		return -errno;
	if (dir->fd >= 0)
		close(dir->fd);
	dir->fd = fd;
	fd = -1;
	return 0;
}

void perfdir_free(struct perfdir *dir)
{
	if (!dir)
		return;
	if (dir->file_fd >= 0)
		perfdir_abort(dir);
	if (dir->fd >= 0)
		close(dir->fd);
	free(dir);
}

int perfdir_open(const char *path, const struct perfdir_options *options, struct perfdir **ret_dir, struct buf *why)
{
	_cleanup_(perfdir_freep) struct perfdir *dir = calloc(1, sizeof(*dir));
	int r;

	if (!dir)
		return -ENOMEM;
	*dir = (struct perfdir){ .path = path, .options = options, .fd = -1, .file_fd = -1 };
	r = open_directory(dir);
	if (r < 0) {
		explain(path, r, why);
		return r;
	}
	*ret_dir = TAKE(dir);
	return 0;
}

u64 perfdir_removed(const struct perfdir *dir)
{
	return dir->removed;
}

/* ---- Retention ------------------------------------------------------------------------------ */

struct file {
	char stamp[STAMP_LEN + 1];
	u32 again;
	u64 bytes;
	bool is_ahead;		/* of the clock */
};

struct files {
	struct file *at;
	u32 count, cap;
};

static void files_done(struct files *files)
{
	free(files->at);
}

static void write_name(const struct file *file, char ret_name[PERFDIR_NAME_MAX])
{
	if (file->again)
		(void)snprintf(ret_name, PERFDIR_NAME_MAX, PREFIX "%s-%u" SUFFIX, file->stamp, file->again);
	else
		(void)snprintf(ret_name, PERFDIR_NAME_MAX, PREFIX "%s" SUFFIX, file->stamp);
}

static int newest_first(const void *left, const void *right)
{
	const struct file *a = left, *b = right;
	int r = strcmp(b->stamp, a->stamp);

	if (a->is_ahead != b->is_ahead)
		return a->is_ahead ? 1 : -1;
	return r ? r : (a->again < b->again) - (a->again > b->again);
}

static int find_files(DIR *directory, const char *now, struct files *files)
{
	const struct dirent *entry;
	struct stat st;

	while ((entry = readdir(directory)) && files->count < FILES_MAX) {
		struct file file = { 0 };

		if (!parse_name(entry->d_name, file.stamp, &file.again) ||
		    fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (array_reserve(&files->at, &files->cap, files->count + 1, sizeof(*files->at)) < 0)
			return -ENOMEM;
		file.bytes = (u64)st.st_size;
		file.is_ahead = strcmp(file.stamp, now) > 0;
		files->at[files->count++] = file;
	}
	qsort(files->at, files->count, sizeof(*files->at), newest_first);
	return 0;
}

static int prune(struct perfdir *dir, u64 unix_ns)
{
	const struct perfdir_options *o = dir->options;
	_cleanup_(files_done) struct files files = { 0 };
	char now[STAMP_LEN + 1], oldest[STAMP_LEN + 1] = "", name[PERFDIR_NAME_MAX];
	u64 bytes = 0;
	DIR *directory;
	int r = write_stamp(dir, unix_ns, now), fd;

	if (r == 0 && o->max_age_ns)
		r = write_stamp(dir, unix_ns > o->max_age_ns ? unix_ns - o->max_age_ns : 0, oldest);
	fd = r < 0 ? -1 : openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	directory = fd < 0 ? NULL : fdopendir(fd);
	if (!directory) {
		r = r < 0 ? r : -errno;
		closep(&fd);
		return r;
	}
	r = find_files(directory, now, &files);
	for (u32 i = 0; i < files.count && r == 0; i++) {
		const struct file *file = &files.at[i];

		bytes += file->bytes;
		if (!i || (!(o->max_files && i >= o->max_files) && !(o->max_bytes && bytes > o->max_bytes) &&
			   strcmp(file->stamp, oldest) >= 0))
			continue;
		write_name(file, name);
		if (unlinkat(dir->fd, name, 0) == 0)
			dir->removed++;
	}
	closedir(directory);
	return r;
}

/* ---- Writing -------------------------------------------------------------------------------- */

int perfdir_begin(struct perfdir *dir, int *ret_fd)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, r;

	dir->file_fd = openat(dir->fd, UNFINISHED, flags, FILE_MODE);
	/* Somebody removed the directory. */
	if (dir->file_fd < 0 && errno == ENOENT) {
		r = open_directory(dir);
		if (r < 0)
			return r;
		dir->file_fd = openat(dir->fd, UNFINISHED, flags, FILE_MODE);
	}
	if (dir->file_fd < 0)
		return -errno;
	*ret_fd = dir->file_fd;
	return 0;
}

void perfdir_abort(struct perfdir *dir)
{
	close(dir->file_fd);
	dir->file_fd = -1;
	(void)unlinkat(dir->fd, UNFINISHED, 0);		/* or when it is next written */
}

int perfdir_commit(struct perfdir *dir, u64 unix_ns, char ret_name[PERFDIR_NAME_MAX])
{
	struct file file = { 0 };
	int r = write_stamp(dir, unix_ns, file.stamp);

	if (r == 0 && fdatasync(dir->file_fd) < 0)
		r = -errno;
	if (r == 0)
		r = -EEXIST;
	for (; file.again < SAME_SECOND_MAX && r == -EEXIST; file.again += r == -EEXIST) {
		write_name(&file, ret_name);
		r = rotation_move(dir->fd, UNFINISHED, ret_name);
	}
	if (r < 0) {
		perfdir_abort(dir);
		return r;
	}
	close(dir->file_fd);
	dir->file_fd = -1;
	/* Old files that cannot be removed keep nobody from writing new ones. */
	(void)prune(dir, unix_ns);
	return 0;
}
