/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jitdump files (tools/perf/Documentation/jitdump-specification.txt in the
 * kernel's source): records of generated code with its name, of where it was
 * moved to, and of its source lines. The machine's own byte order only.
 */
#ifndef LANG_JIT_JITDUMP_H
#define LANG_JIT_JITDUMP_H

#include <stddef.h>

struct code_table;

/* The header: its length, or -EBADMSG if it is none. */
int jitdump_header(const void *at, size_t bytes);

/* Takes all whole records; how many bytes that were, or -EBADMSG: nothing behind makes sense. */
long jitdump_parse(struct code_table *table, const void *at, size_t bytes);

#endif
