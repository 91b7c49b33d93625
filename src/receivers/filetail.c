// SPDX-License-Identifier: Apache-2.0
#include "receivers/filetail.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"

#define CHUNK_BYTES 65536

struct tailed {
	dev_t device;
	ino_t inode;
	int fd;
	off_t offset;		/* of the first line that was not taken */
	off_t skip_from;	/* where a line that is too long goes on; 0: none */
	char *path;		/* as it was found last */
	bool found;		/* at this look */
};

struct filetail {
	struct filetail_options options;
	struct filetail_stats stats;
	struct tailed *files;
	u32 count, cap;
	bool looked;
};

/* What one poll hands on. */
struct poll {
	struct filetail *tail;
	int (*line)(void *arg, const char *path, const char *at, size_t len);
	bool (*stop)(void *arg);
	void *arg;
};

int filetail_new(const struct filetail_options *options, struct filetail **ret_tail)
{
	struct filetail *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->options = *options;
	*ret_tail = t;
	return 0;
}

static void tailed_done(struct tailed *file)
{
	closep(&file->fd);
	free(file->path);
}

void filetail_free(struct filetail *t)
{
	if (!t)
		return;
	for (u32 i = 0; i < t->count; i++)
		tailed_done(&t->files[i]);
	free(t->files);
	free(t);
}

/* ---- Which files ----------------------------------------------------------------- */

static struct tailed *find_file(struct filetail *t, const struct stat *st)
{
	for (u32 i = 0; i < t->count; i++)
		if (t->files[i].inode == st->st_ino && t->files[i].device == st->st_dev)
			return &t->files[i];
	return NULL;
}

static bool is_excluded(const struct filetail *t, const char *path)
{
	for (u32 i = 0; i < t->options.exclude.count; i++)
		if (fnmatch(t->options.exclude.at[i], path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

static bool is_old(const struct filetail *t, const struct stat *st)
{
	s64 changed_ns = (s64)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;

	return t->options.exclude_older_than_ns &&
	       (s64)clock_ns(CLOCK_REALTIME) - changed_ns > t->options.exclude_older_than_ns;
}

/* Known files are only found again: what a name stands for now decides. */
static bool refind(struct filetail *t, const char *path, const struct stat *st)
{
	struct tailed *file = find_file(t, st);
	char *name;

	if (!file)
		return false;
	file->found = true;
	if (strcmp(file->path, path)) {
		name = strdup(path);
		if (name) {
			free(file->path);
			file->path = name;
		}
	}
	return true;
}

static void look_at(struct filetail *t, const char *path)
{
	struct tailed file = { .fd = -1, .found = true };
	struct stat st;

	if (is_excluded(t, path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || is_old(t, &st) ||
	    refind(t, path, &st))
		return;
	if (t->count >= t->options.files_max ||
	    array_reserve(&t->files, &t->cap, t->count + 1, sizeof(*t->files)) < 0) {
		t->stats.files_waiting++;
		return;
	}
	/* O_NONBLOCK: it may have become a pipe meanwhile. */
	file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	file.path = strdup(path);
	if (file.fd < 0 || !file.path || fstat(file.fd, &st) < 0 || !S_ISREG(st.st_mode) || find_file(t, &st)) {
		t->stats.files_unreadable += file.fd < 0;
		tailed_done(&file);
		return;
	}
	file.device = st.st_dev;
	file.inode = st.st_ino;
	file.offset = t->looked || t->options.from_beginning || t->options.replay ? 0 : st.st_size;
	t->files[t->count++] = file;
}

static void look(struct filetail *t)
{
	for (u32 i = 0; i < t->count; i++)
		t->files[i].found = false;
	for (u32 i = 0; i < t->options.include.count; i++) {
		glob_t found = { 0 };

		if (glob(t->options.include.at[i], 0, NULL, &found) == 0)
			for (size_t k = 0; k < found.gl_pathc; k++)
				look_at(t, found.gl_pathv[k]);
		globfree(&found);
	}
	t->looked = true;
}

/* ---- Their lines ------------------------------------------------------------------- */

/* Appends a chunk to what is there of a line: 1, 0 at the end of the file, -errno. */
static int read_chunk(const struct tailed *file, off_t at, struct buf *text)
{
	ssize_t got;

	if (buf_reserve(text, CHUNK_BYTES) < 0)
		return buf_err(text);
	do
		got = pread(file->fd, text->data + text->len, CHUNK_BYTES, at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	text->len += (size_t)got;
	return got > 0;
}

static bool is_blank(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\r", at[i]))
			return false;
	return true;
}

/* All whole lines in text, which starts at the file's offset: how many bytes they are; less if one has to wait. */
static size_t take_lines(const struct poll *p, struct tailed *file, const struct buf *text, bool *ret_wait)
{
	size_t taken = 0;
	const char *end;

	while ((end = memchr(text->data + taken, '\n', text->len - taken))) {
		const char *line = text->data + taken;
		size_t len = (size_t)(end - line);

		if (file->skip_from) {
			file->skip_from = 0;
		} else if (!is_blank(line, len)) {
			*ret_wait = p->line(p->arg, file->path, line, len) == -EAGAIN;
			if (*ret_wait)
				break;
		}
		taken += len + 1;
	}
	return taken;
}

/* The rest of a line that is too long is passed over as it comes. */
static void skip_line(struct filetail *t, struct tailed *file, struct buf *text)
{
	if (!file->skip_from)
		t->stats.lines_too_long++;
	file->offset += (off_t)text->len;
	file->skip_from = file->offset;
	text->len = 0;
}

static bool read_lines(const struct poll *p, struct tailed *file, struct buf *text)
{
	bool wait = false;
	int r;

	for (;;) {
		size_t taken;

		if (p->stop && p->stop(p->arg))
			return false;
		r = read_chunk(file, file->offset + (off_t)text->len, text);
		if (r <= 0)
			break;
		taken = take_lines(p, file, text, &wait);
		file->offset += (off_t)taken;
		text->len -= taken;
		memmove(text->data, text->data + taken, text->len);
		if (wait)
			return false;
		if (file->skip_from || text->len > p->tail->options.line_max)
			skip_line(p->tail, file, text);
	}
	return r == 0 && !text->len;
}

/* True if everything in it was taken. */
static bool read_file(const struct poll *p, struct tailed *file)
{
	struct buf text;
	struct stat st;
	bool all;

	if (fstat(file->fd, &st) < 0)
		return false;
	if (st.st_size < file->offset || (p->tail->options.replay && st.st_size == file->offset)) {
		file->offset = 0;
		file->skip_from = 0;
	}
	if (st.st_size == file->offset)
		return true;
	buf_init(&text, p->tail->options.line_max + 2 * CHUNK_BYTES);
	all = read_lines(p, file, &text);
	buf_done(&text);
	return all;
}

void filetail_poll(struct filetail *t, int (*line)(void *arg, const char *path, const char *at, size_t len),
		   bool (*stop)(void *arg), void *arg)
{
	const struct poll p = { t, line, stop, arg };
	u32 kept = 0;

	look(t);
	for (u32 i = 0; i < t->count; i++) {
		struct tailed *file = &t->files[i];
		bool all = read_file(&p, file);
		bool done = all && (!file->found || t->options.delete_after_read);

		if (done && file->found && file->offset)
			(void)unlink(file->path);	/* one that cannot be deleted is read again */
		if (done && (!file->found || file->offset))
			tailed_done(file);
		else
			t->files[kept++] = *file;
	}
	t->count = kept;
}

struct filetail_stats filetail_stats(const struct filetail *t)
{
	return t->stats;
}
