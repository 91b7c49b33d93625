// SPDX-License-Identifier: Apache-2.0
#include "web/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "proc/root_file.h"

void source_options_check(const struct source_options *options, struct config_place place, const char *path,
			  struct config_errors *errors)
{
	if (options->directories.count > SOURCE_DIRECTORIES_MAX)
		config_error(errors, place, path, "source: more than %d directories", SOURCE_DIRECTORIES_MAX);
	for (u32 i = 0; i < options->directories.count; i++)
		if (!options->directories.at[i][strspn(options->directories.at[i], "/")])
			config_error(errors, place, path, "source: \"%s\" is no directory of sources; name what the "
							  "page may show", options->directories.at[i]);
}

/* ---- Finding it ------------------------------------------------------------------------- */

struct search {
	const struct source_options *options;
	int fds[SOURCE_DIRECTORIES_MAX];
	u32 count;
	int err;		/* that something may not be read, else the first; not that a file is not there */
	const char *err_in, *err_at;	/* a directory, and what was looked for below it */
};

static void note(struct search *s, const char *directory, const char *path, int err)
{
	if (s->err && (s->err == -EACCES || err != -EACCES))
		return;
	s->err = err;
	s->err_in = directory;
	s->err_at = path;
}

static void search_begin(struct search *s, const struct source_options *options)
{
	*s = (struct search){ .options = options };
	for (; s->count < options->directories.count && s->count < SOURCE_DIRECTORIES_MAX; s->count++) {
		const char *directory = options->directories.at[s->count];

		s->fds[s->count] = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (s->fds[s->count] < 0)
			note(s, directory, "", -errno);
	}
}

static void search_done(struct search *s)
{
	for (u32 i = 0; i < s->count; i++)
		closep(&s->fds[i]);
}

static int try(struct search *s, u32 number, const char *path, char *ret_path)
{
	const char *directory = s->options->directories.at[number];
	int fd = s->fds[number] < 0 ? -ENOENT : root_file_open_beneath(s->fds[number], path);

	if (fd >= 0)
		(void)snprintf(ret_path, sizeof(((struct source_text *)0)->path), "%s/%s", directory, path);
	else if (fd != -ENOENT && fd != -ENOTDIR)
		note(s, directory, path, fd);
	return fd;
}

/* As it is, where it is below a directory; else the longest end of it that is there. */
static int search_file(struct search *s, const char *path, char *ret_path)
{
	int fd = -ENOENT;

	for (u32 i = 0; i < s->count && fd < 0; i++) {
		const char *below = source_path_below(path, s->options->directories.at[i]);

		fd = below ? try(s, i, below, ret_path) : fd;
	}
	for (const char *end = *path == '/' ? path + 1 : path; end && fd < 0; end = source_path_shorter(end))
		for (u32 i = 0; i < s->count && fd < 0; i++)
			fd = try(s, i, end, ret_path);
	return fd;
}

/* ---- What is wrong with it ----------------------------------------------------------------- */

static void say_missing(const struct search *s, struct buf *why)
{
	if (s->err == -EACCES)
		buf_addf(why, "%.200s%s%.200s may not be read by user %u, whom wick's service runs as: let that user "
			      "read it; if it was made after wick has started, start wick again",
			 s->err_in, *s->err_at ? "/" : "", s->err_at, geteuid());
	else if (s->err)
		buf_addf(why, "%.200s%s%.200s cannot be opened: %s", s->err_in, *s->err_at ? "/" : "", s->err_at,
			 s->err == -ELOOP ? "a link is on the way, which is not followed" : strerror(-s->err));
	else
		buf_addf(why, "no directory of `source` has it; `source_map` says where files of other places are");
}

static int read_file(int fd, struct source_text *text, struct buf *why)
{
	struct stat st;
	int r = fstat(fd, &st) < 0 ? -errno : st.st_size > (off_t)SOURCE_BYTES_MAX ? -E2BIG : 0;

	if (r == 0)
		r = io_read_whole(fd, &text->bytes);
	if (r == -E2BIG)
		buf_addf(why, "%.400s is larger than %zu bytes", text->path, SOURCE_BYTES_MAX);
	else if (r < 0)
		buf_addf(why, "%.400s cannot be read: %s", text->path, strerror(-r));
	else if (text->bytes.len && memchr(text->bytes.data, '\0', text->bytes.len))
		buf_addf(why, "%.400s is not text", text->path);
	else
		text->changed_ns = (u64)st.st_mtim.tv_sec * SECOND_NS + (u64)st.st_mtim.tv_nsec;
	return r < 0 ? r : why->len ? -EBADMSG : 0;
}

static int find_and_read(const struct source_options *options, const char *path, struct source_text *text,
			 struct buf *why)
{
	_cleanup_(search_done) struct search search;
	_cleanup_(closep) int fd = -1;

	search_begin(&search, options);
	fd = search_file(&search, path, text->path);
	if (fd >= 0)
		return read_file(fd, text, why);
	say_missing(&search, why);
	return search.err ? search.err : fd;
}

int source_text_read(const struct source_options *options, struct str file, struct source_text *ret_text,
		     struct buf *why)
{
	char path[SOURCE_PATH_BYTES];

	ret_text->path[0] = '\0';
	ret_text->changed_ns = 0;
	buf_init(&ret_text->bytes, SOURCE_BYTES_MAX);
	if (!options || !options->directories.count) {
		buf_addf(why, "wick may read no source files here: `source` of the extension page, or --page.source, "
			      "names the directories that have them");
		return -EPERM;
	}
	if (!source_path_clean(file, path) || !source_path_map(path, &options->map)) {
		buf_addf(why, "this is no path of a file");
		return -EINVAL;
	}
	if (!source_path_is_source(path)) {
		buf_addf(why, "only files that end as sources do are shown, such as .c or .py");
		return -EINVAL;
	}
	return find_and_read(options, path, ret_text, why);
}

void source_text_done(struct source_text *text)
{
	buf_done(&text->bytes);
}

/* ---- Lines ------------------------------------------------------------------------------------ */

bool source_text_next(const struct source_text *text, size_t *at, struct str *ret_line)
{
	const char *from = text->bytes.data + *at, *end;
	size_t left = text->bytes.len - *at, len;

	if (!left)
		return false;
	end = memchr(from, '\n', left);
	len = end ? (size_t)(end - from) : left;
	*at += len + (end != NULL);
	len -= len && from[len - 1] == '\r';
	if (len > SOURCE_LINE_BYTES_MAX)
		/* Not within a character. */
		for (len = SOURCE_LINE_BYTES_MAX; len && (from[len] & 0xc0) == 0x80;)
			len--;
	*ret_line = (struct str){ from, (u32)len };
	return true;
}
