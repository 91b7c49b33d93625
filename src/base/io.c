// SPDX-License-Identifier: Apache-2.0
#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define STEP_MIN 4096u
#define STEP_MAX (1u << 20)

ssize_t io_read(int fd, void *to, size_t max)
{
	size_t got = 0;

	while (got < max) {
		ssize_t n = read(fd, (char *)to + got, max - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int io_read_exactly(int fd, void *to, size_t bytes)
{
	ssize_t n = io_read(fd, to, bytes);

	return n < 0 ? (int)n : (size_t)n < bytes ? -EBADMSG : 0;
}

/* Steps grow with what there is: a small file costs little, a large one few calls. */
static size_t next_step(const struct buf *out)
{
	size_t step = out->len < STEP_MIN ? STEP_MIN : out->len < STEP_MAX ? out->len : STEP_MAX;

	return step < out->max - out->len ? step : out->max - out->len;
}

int io_read_whole(int fd, struct buf *out)
{
	for (;;) {
		size_t step = next_step(out);
		char more;
		ssize_t n;

		if (buf_reserve(out, step) < 0)
			return buf_err(out);
		n = step ? io_read(fd, out->data + out->len, step) : io_read(fd, &more, 1);
		if (n < 0)
			return (int)n;
		if (!step)
			return n ? -E2BIG : 0;
		out->len += (size_t)n;
		if ((size_t)n < step)
			return 0;
	}
}

ssize_t io_read_text(const char *path, char *ret_text, size_t cap)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert(cap > 0);
	n = fd < 0 ? -errno : io_read(fd, ret_text, cap - 1);
	if (n >= 0)
		ret_text[n] = '\0';
	return n;
}

int io_write_all(int fd, const void *from, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(fd, (const char *)from + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}
