/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes from this process all that it does not need to read files that it is
 * given: privileges, identity, system calls, memory. For good.
 */
#ifndef EXE_CONFINE_H
#define EXE_CONFINE_H

#include <stdbool.h>

/*
 * -errno if privileges could not be given up. ret_seccomp is false where the kernel cannot filter system calls; who
 * started the process decides whether it goes on without.
 */
int confine(bool *ret_seccomp);

#endif
