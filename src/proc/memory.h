/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory this process has taken, and how much it may. Paths are below root: "" but for tests. */
#ifndef PROC_MEMORY_H
#define PROC_MEMORY_H

#include "base/types.h"

/*
 * Anonymous memory that is resident: what the heap and stacks take, without
 * mapped files, which the kernel can drop. One read of /proc/self/statm. -errno.
 */
int memory_taken(const char *root, u64 *ret_bytes);

/* What the machine has, or less if a control group allows less (both versions). -errno. */
int memory_allowed(const char *root, u64 *ret_bytes);

#endif
