// SPDX-License-Identifier: Apache-2.0
#include "exporters/filewriter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "exporters/rotation.h"
#include "exporters/slowwrite.h"

#define FILE_MODE 0644
#define LENGTH_BYTES 4

struct filewriter {
	const struct filewriter_options *options;
	char *path;
	int fd;
	bool is_regular;
	bool is_torn;		/* a part of a record is behind size; it has to go first */
	u64 size;		/* of the whole records */
};

const char *filewriter_path(const struct filewriter *writer)
{
	return writer->path;
}

void filewriter_free(struct filewriter *writer)
{
	if (!writer)
		return;
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->path);
	free(writer);
}

static u32 get_length(const u8 at[LENGTH_BYTES])
{
	return (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];
}

static void put_length(u8 at[LENGTH_BYTES], u32 length)
{
	for (int i = 0; i < LENGTH_BYTES; i++)
		at[i] = (u8)(length >> (24 - 8 * i));
}

/* ---- A file that is there already --------------------------------------------- */

/* Ends a line that was not; who reads it says that it is broken, and goes on. */
static int mend_lines(struct filewriter *writer)
{
	char last;

	if (pread(writer->fd, &last, 1, (off_t)writer->size - 1) != 1)
		return -EIO;
	if (last == '\n')
		return 0;
	if (pwrite(writer->fd, "\n", 1, (off_t)writer->size) != 1)
		return errno ? -errno : -EIO;
	writer->size++;
	return 0;
}

/* Walks from length to length, and cuts off what is less than it says. */
static int mend_frames(struct filewriter *writer)
{
	u64 at = 0;

	while (writer->size - at >= LENGTH_BYTES) {
		u8 length[LENGTH_BYTES];

		if (pread(writer->fd, length, sizeof(length), (off_t)at) != LENGTH_BYTES)
			return -EIO;
		if (get_length(length) > writer->options->record_max)
			return -EBADMSG;
		if (writer->size - at - LENGTH_BYTES < get_length(length))
			break;
		at += LENGTH_BYTES + get_length(length);
	}
	if (at == writer->size)
		return 0;
	writer->size = at;
	return ftruncate(writer->fd, (off_t)at) < 0 ? -errno : 0;
}

/* ---- Opening ------------------------------------------------------------------- */

static int open_file(struct filewriter *writer)
{
	bool goes_on = writer->options->append || writer->options->rotate;
	struct stat st;

	writer->fd = open(writer->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | (goes_on ? 0 : O_TRUNC), FILE_MODE);
	if (writer->fd < 0 && (errno == ENXIO || errno == EACCES || errno == EINVAL))
		writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, FILE_MODE);
	if (writer->fd < 0 || fstat(writer->fd, &st) < 0)
		return -errno;
	writer->is_regular = S_ISREG(st.st_mode);
	writer->is_torn = false;
	writer->size = writer->is_regular ? (u64)st.st_size : 0;
	if (!writer->size)
		return 0;
	return writer->options->lines ? mend_lines(writer) : mend_frames(writer);
}

static void explain(const char *path, int error, struct buf *why)
{
	if (error == -EBADMSG)
		buf_addf(why, "%s holds something else than length-framed records; move it away or choose another path",
			 path);
	else if (error == -ENOENT)
		buf_addf(why, "cannot open %s: its directory does not exist; make it, or set create_directory: true",
			 path);
	else
		buf_addf(why, "cannot open %s: %s", path, strerror(-error));
}

int filewriter_open(const char *path, const struct filewriter_options *options, struct filewriter **ret_writer,
		    struct buf *why)
{
	_cleanup_(filewriter_freep) struct filewriter *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->fd = -1;
	writer->options = options;
	writer->path = strdup(path);
	if (!writer->path)
		return -ENOMEM;
	r = open_file(writer);
	if (r < 0) {
		explain(path, r, why);
		return r;
	}
	*ret_writer = TAKE(writer);
	return 0;
}

/* ---- Writing ------------------------------------------------------------------- */

/* -errno when it ends early, with *ret_done of it there. */
static int write_part(struct filewriter *writer, u64 offset, const void *at, size_t bytes, size_t *ret_done)
{
	size_t done = 0;
	int r = 0;

	if (!writer->is_regular)
		return slowwrite(writer->fd, at, bytes, SLOWWRITE_TIMEOUT_MS, ret_done);
	while (done < bytes && r == 0) {
		ssize_t n = pwrite(writer->fd, (const char *)at + done, bytes - done, (off_t)(offset + done));

		if (n > 0)
			done += (size_t)n;
		else
			r = n < 0 && errno == EINTR ? 0 : n < 0 ? -errno : -EIO;
	}
	*ret_done = done;
	return r;
}

/* Takes back what a failed write left behind; where that is not possible a line can still be ended. */
static int untear(struct filewriter *writer)
{
	size_t done;
	int r;

	if (!writer->is_torn)
		return 0;
	if (writer->is_regular)
		r = ftruncate(writer->fd, (off_t)writer->size) < 0 ? -errno : 0;
	else
		r = writer->options->lines ? write_part(writer, 0, "\n", 1, &done) : -EPIPE;
	writer->is_torn = r < 0;
	return r;
}

/* Old files that cannot be removed keep nobody from writing new ones. */
static int rotate(struct filewriter *writer, u64 unix_ns)
{
	const struct filewriter_options *options = writer->options;
	int r = rotation_rename(writer->path, unix_ns, options->local_time), fd = writer->fd;

	/* Somebody moved it away, or the new one could not be made the last time. */
	if (r < 0 && r != -ENOENT)
		return r;
	r = open_file(writer);
	if (r < 0) {
		if (writer->fd >= 0)
			close(writer->fd);
		writer->fd = fd;
		return r;
	}
	close(fd);
	(void)rotation_prune(writer->path, options->max_backups, options->max_days, unix_ns, options->local_time);
	return 0;
}

/* The frame, then the record, then what ends it. */
static int write_record(struct filewriter *writer, const void *at, size_t bytes)
{
	bool lines = writer->options->lines;
	u8 length[LENGTH_BYTES];
	const struct { const void *at; size_t bytes; } parts[] = {
		{ length, lines ? 0 : sizeof(length) }, { at, bytes }, { "\n", lines ? 1 : 0 },
	};
	u64 end = writer->size;
	int r = 0;

	put_length(length, (u32)bytes);
	for (int i = 0; i < 3 && r == 0; i++) {
		size_t done = 0;

		r = write_part(writer, end, parts[i].at, parts[i].bytes, &done);
		end += done;
	}
	if (r == 0)
		writer->size = end;
	else
		writer->is_torn = end > writer->size;
	return r;
}

int filewriter_write(struct filewriter *writer, const void *at, size_t bytes, u64 unix_ns)
{
	u64 total = bytes + (writer->options->lines ? 1 : LENGTH_BYTES);
	int r = untear(writer);

	if (r == 0 && bytes > writer->options->record_max)
		r = -E2BIG;
	if (r == 0 && writer->options->rotate && writer->is_regular && writer->size &&
	    writer->size + total > writer->options->max_bytes)
		r = rotate(writer, unix_ns);
	if (r == 0)
		r = write_record(writer, at, bytes);
	if (r < 0)
		(void)untear(writer);	/* or before the next record */
	return r;
}
