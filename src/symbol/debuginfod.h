/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of debuginfod: debug files by build id over HTTP, kept in a
 * directory. Used only when the user asked for it, since it tells a server what
 * runs here, and never on the sampling path: a request may take seconds.
 *
 *  - What servers said they do not have is not asked for again for an hour.
 *  - Time is bounded by a budget per round (debuginfod_begin()), and after a
 *    request that failed there is none for a while; what has to wait for that
 *    is -EAGAIN.
 *  - The directory holds at most DEBUGINFOD_CACHE_BYTES; the files that were
 *    not used for longest go first.
 *  - What comes back is as foreign as any other file: the reader looks at it.
 *
 * libcurl is not touched before the first request. One thread owns a client.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "base/cleanup.h"
#include "base/types.h"

struct debuginfod;

#define DEBUGINFOD_CACHE_BYTES ((u64)2 << 30)
#define DEBUGINFOD_FILE_BYTES ((u64)512 << 20)
#define DEBUGINFOD_MISS_SECONDS 3600
#define DEBUGINFOD_CONNECT_MS 5000
#define DEBUGINFOD_REQUEST_MS 30000
#define DEBUGINFOD_ROUND_MS 30000
#define DEBUGINFOD_QUIET_MS 60000	/* after a request that failed: the network or a server is down */

struct debuginfod_stats {
	u64 hits, misses, failures;	/* files had; files no server has; requests that failed otherwise */
};

/* urls, up to 8, are separated by spaces; all but http: and https: are skipped. The directory is made when needed. */
int debuginfod_new(const char *urls, const char *directory, struct debuginfod **ret_debuginfod);
void debuginfod_free(struct debuginfod *debuginfod);
DEFINE_CLEANUP(struct debuginfod *, debuginfod_free)

/* A new round: the time budget is whole again. */
void debuginfod_begin(struct debuginfod *debuginfod);

/* The debug file as a descriptor; -ENOENT: there is none; -EAGAIN: not now. */
int debuginfod_get(struct debuginfod *debuginfod, const u8 *build_id, u32 bytes);

struct debuginfod_stats debuginfod_stats(const struct debuginfod *debuginfod);

#endif
