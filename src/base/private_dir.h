/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories that hold what only their owner may read, or what is believed when it is read back: the store, queues,
 * caches. They may have been there before, made by somebody else.
 *
 *  - The directory is this user's own, no symbolic link, and 0700 afterwards. One that others could write to must be
 *    empty (volumes of containers come like that): nobody knows who put there what is in it.
 *  - Nobody else can change it from then on, so that its files are looked at by name before they are opened by others,
 *    such as SQLite.
 */
#ifndef BASE_PRIVATE_DIR_H
#define BASE_PRIVATE_DIR_H

#include <stdbool.h>

struct buf;

/*
 * Makes it, if it is not there, below the directory at_fd (or AT_FDCWD); its descriptor, or -EPERM with the reason in
 * `why` (may be NULL), or another error.
 */
int private_dir_open(int at_fd, const char *path, struct buf *why);

/* Nobody else gets into a directory from here on. -EPERM if others may have put there what is in it. */
int private_dir_tighten(int fd, const char *path, struct buf *why);

/*
 * A file in it, which is made if it is not there and is_made: regular, this user's own, of one name, 0600 afterwards.
 * -ENOENT; -EPERM with the reason in `why` (may be NULL).
 */
int private_file_check(int dir_fd, const char *name, bool is_made, struct buf *why);

#endif
