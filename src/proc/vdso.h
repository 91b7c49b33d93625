/* SPDX-License-Identifier: Apache-2.0 */
/* The vDSO: code of the kernel that it maps into every process, the same in all of them. */
#ifndef PROC_VDSO_H
#define PROC_VDSO_H

/* A copy of ours as a file, for the caller to close. A descriptor, -ENOENT if there is none, or -errno. */
int vdso_open(void);

#endif
