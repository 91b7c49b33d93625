/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files that a profile from elsewhere tells of: by build id, or by
 * OpenTelemetry's hash where there is none. A name only says where to look;
 * what is found counts if its id is the one that was asked for, or if it has none and the path is to be trusted:
 *
 *	the vDSO, if this kernel has the same
 *	in the files that run here, if the process ids of the profile are of this machine
 *	below the roots, by the path that the profile has
 *	in the listed directories, by the last part of the name
 *	in directories of debug files, and of files named by their id
 *	at debuginfod, if there are URLs
 *
 * Answers are kept, "nowhere" for FINDER_MISS_NS; at most FINDER_MAX of them, then all are forgotten. One
 * thread owns a finder. It may wait seconds for debuginfod.
 */
#ifndef NAMING_BINARY_FINDER_H
#define NAMING_BINARY_FINDER_H

#include "base/cleanup.h"
#include "config/fields.h"
#include "profile/profile.h"

struct binary;
struct binary_finder;
struct reader;

#define FINDER_MAX 512
#define FINDER_MISS_NS (300ull * 1000000000)
#define FINDER_RETRY_NS (30ull * 1000000000)	/* if debuginfod said "not now" */
#define FINDER_FILES_MAX 65536			/* names in the listed directories */
#define FINDER_NAMES_MAX 16			/* files of one name that are looked at */
#define FINDER_PIDS_MAX 64			/* processes that are looked at for one file */

struct finder_options {
	struct config_texts roots, directories, debug_directories;
	const char *files_by_id;		/* a directory of files that are named by their id, or NULL */
	bool processes;
	bool keeps_programs;			/* a stripped one, too: its debug file is where the symbolizer looks */
	const char *debuginfod_urls, *cache_path;	/* separated by blanks; "": none */
};

/* What is known of a file. */
struct finder_want {
	u8 build_id[20];
	u32 build_id_bytes;		/* 0: none */
	u8 htlhash[16];
	bool has_htlhash;
	struct str name;		/* a path, or its last part */
	bool trusts_path;		/* without an id, the file at the path will do */
	const struct profile *profile;	/* whose resources have paths and process ids */
};

struct finder_stats {
	u64 found, missed, forgotten;
};

int binary_finder_new(const struct finder_options *options, struct reader *reader, struct binary_finder **ret_finder);
void binary_finder_free(struct binary_finder *finder);
DEFINE_CLEANUP(struct binary_finder *, binary_finder_free)

/* A new batch: debuginfod's time is whole again. */
void binary_finder_begin(struct binary_finder *finder);

/* Borrowed until the next binary_finder_begin(), or NULL: nowhere. */
struct binary *binary_finder_get(struct binary_finder *finder, const struct finder_want *want);

struct finder_stats binary_finder_stats(const struct binary_finder *finder);

#endif
