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

/* Where that is less, wick does with less. */
#define MEMORY_SMALL_BYTES (256ull << 20)

/*
 * On such a host: all threads have one heap, and what is large goes back to the system at once, however often it is
 * taken. Else what was freed by one thread is kept for it, many times what is used. Before there are threads.
 */
void memory_fit_heap(void);

#endif
