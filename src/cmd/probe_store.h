/* SPDX-License-Identifier: Apache-2.0 */
/* What `wick doctor` can tell of a store: how large it is and how far back each of its levels reaches. */
#ifndef CMD_PROBE_STORE_H
#define CMD_PROBE_STORE_H

#include "base/types.h"

struct findings;

/* Only reads, also while a wick has the store open. now_ns: CLOCK_REALTIME. */
void probe_store(const char *directory, u64 now_ns, struct findings *findings);

#endif
