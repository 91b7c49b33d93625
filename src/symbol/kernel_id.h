/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build ids of the running kernel and of its modules, as sysfs shows them.
 * Any thread may call it.
 */
#ifndef SYMBOL_KERNEL_ID_H
#define SYMBOL_KERNEL_ID_H

#include "exe/reader.h"

/*
 * Reads the build id of a module ("vmlinux": the kernel) from below sysfs, which is "/sys" outside of tests. Returns
 * its length, at most BUILD_ID_MAX, -ENODATA if there is none.
 */
int kernel_build_id(const char *sysfs, const char *module, u8 ret_id[BUILD_ID_MAX]);

#endif
