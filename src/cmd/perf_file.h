/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf.data on the command line: read with what this machine has to add, the
 * names of functions above all. It starts a reader process for foreign files.
 */
#ifndef CMD_PERF_FILE_H
#define CMD_PERF_FILE_H

#include "base/buf.h"
#include "base/types.h"

struct profile;

/*
 * written_unix_ns: when the file was last written, 0: not known. Adds to notes
 * what a user should know of what is missing, a line each. -errno as
 * perfread().
 */
int perf_file_read(const struct buf *bytes, u64 written_unix_ns, struct buf *notes, struct profile **ret_profile);

#endif
