/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel lets this process do beside what its user may. */
#ifndef BASE_CAPABILITIES_H
#define BASE_CAPABILITIES_H

#include "base/types.h"

#define CAPABILITY(bit) (1ull << (bit))

/* Both are to be called before there are other threads. */

/* What is not wanted cannot be had any more by running a program. Without CAP_SETPCAP no_new_privs has to do. */
void capabilities_bound(u64 wanted);

/* Keeps those that are among `wanted`, and never gets others. -errno. */
int capabilities_keep(u64 wanted);

#endif
