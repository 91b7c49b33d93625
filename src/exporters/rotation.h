/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were rotated away: data.json becomes data-2022-09-14T05-02-14.173.json beside it. The name holds the
 * time, so that age and order need no clock of the file system.
 */
#ifndef EXPORTERS_ROTATION_H
#define EXPORTERS_ROTATION_H

#include <stdbool.h>

#include "base/types.h"

/* Renames, in one directory, but never over a file that is there: -EEXIST. -errno. */
int rotation_move(int directory_fd, const char *from, const char *to);

/* Renames the file; one millisecond later if there is a file of that name. -errno. */
int rotation_rename(const char *path, u64 unix_ns, bool local_time);

/* Removes all but the newest max_backups, and those older than max_days; 0 is no limit. -errno. */
int rotation_prune(const char *path, u32 max_backups, u32 max_days, u64 unix_ns, bool local_time);

#endif
