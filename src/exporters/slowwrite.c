// SPDX-License-Identifier: Apache-2.0
#include "exporters/slowwrite.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static bool never_blocks(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* A pipe that poll() calls writable takes PIPE_BUF bytes without blocking; more it may not. */
static int write_piece(int fd, const char *at, size_t bytes, int timeout_ms, size_t *ret_taken)
{
	struct pollfd ready = { fd, POLLOUT, 0 };
	int r = poll(&ready, 1, timeout_ms);
	ssize_t n;

	*ret_taken = 0;
	if (r <= 0)
		return r == 0 ? -ETIMEDOUT : errno == EINTR ? 0 : -errno;
	n = write(fd, at, bytes < PIPE_BUF ? bytes : PIPE_BUF);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	*ret_taken = (size_t)n;
	return 0;
}

int slowwrite(int fd, const void *at, size_t bytes, int timeout_ms, size_t *ret_done)
{
	bool whole = never_blocks(fd);
	size_t done = 0;
	int r = 0;

	while (done < bytes && r == 0) {
		size_t taken = 0;

		if (whole) {
			ssize_t n = write(fd, (const char *)at + done, bytes - done);

			taken = n > 0 ? (size_t)n : 0;
			r = n > 0 || (n < 0 && errno == EINTR) ? 0 : n < 0 ? -errno : -EIO;
		} else {
			r = write_piece(fd, (const char *)at + done, bytes - done, timeout_ms, &taken);
		}
		done += taken;
	}
	*ret_done = done;
	return r;
}
