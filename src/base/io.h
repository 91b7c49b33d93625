/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing as much as was asked for: what is cut short, or interrupted by a signal, goes on. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <sys/types.h>

struct buf;

/* As much as there is until the end, at most max; its length, or -errno. */
ssize_t io_read(int fd, void *to, size_t max);

/* -EBADMSG if the file ends before. */
int io_read_exactly(int fd, void *to, size_t bytes);

/* Adds all until the end; -E2BIG if that is more than the buffer may hold. */
int io_read_whole(int fd, struct buf *out);

/* The beginning of a file, for small ones, with a NUL behind it; its length, or -errno. */
ssize_t io_read_text(const char *path, char *ret_text, size_t cap);

int io_write_all(int fd, const void *from, size_t bytes);

#endif
