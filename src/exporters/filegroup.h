/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files by the value of a resource attribute: the path of each is the
 * pattern's with the value in place of its *.
 *
 *  - A value cannot lead out of the directory: empty, "." and ".." parts of it are left out.
 *  - At most max_open_files are open, the one that was not written to for longest is closed first.
 *  - A file is emptied when it is first opened (unless it is to go on), not when it is opened again.
 *
 * One thread owns it.
 */
#ifndef EXPORTERS_FILEGROUP_H
#define EXPORTERS_FILEGROUP_H

#include <sys/types.h>

#include "base/cleanup.h"
#include "exporters/filewriter.h"
#include "profile/profile.h"

struct filegroup;

struct filegroup_options {
	const char *pattern;		/* with one * */
	u32 max_open_files;
	mode_t directory_mode;
	struct filewriter_options file;
};

/* NULL without memory; options are borrowed. */
struct filegroup *filegroup_new(const struct filegroup_options *options);
void filegroup_free(struct filegroup *group);
DEFINE_CLEANUP(struct filegroup *, filegroup_free)

/* The file for a value, opened if need be; borrowed until the next call. -EINVAL: the value makes no name. */
int filegroup_get(struct filegroup *group, struct str value, struct filewriter **ret_writer, struct buf *why);

/* Makes the directories that a path needs, as mkdir -p does. -errno. */
int filegroup_make_directories(const char *path, mode_t mode);

#endif
