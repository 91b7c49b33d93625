/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of files that may go: of those that were used longest ago (by
 * their modification time) as many are removed as is needed. Files being
 * written are named NAME.part-...; those that nobody finished go too.
 *
 * Any thread may call it.
 */
#ifndef SYMBOL_FILE_CACHE_H
#define SYMBOL_FILE_CACHE_H

#include "base/types.h"

#define FILE_CACHE_NAME_MAX 96u		/* files with longer names are left alone */
#define FILE_CACHE_FILES_MAX 2048u	/* that are kept, whatever their size */

/* Until what is left has at most bytes_max; how many were removed. */
u32 file_cache_prune(int dir_fd, u64 bytes_max);

#endif
