/* SPDX-License-Identifier: Apache-2.0 */
/* A sample as the kernel half sends it (struct trace_record in bpf/abi.h), and what lies behind it. */
#ifndef TRACER_RECORD_H
#define TRACER_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

/* True if it has the length that it says, and says what it may. */
bool record_is_whole(const struct trace_record *record, size_t bytes);

/* Is it no sample, but tells who ended the wait of another thread? */
bool record_is_waker(const struct trace_record *record);

/* Its length with all that lies behind it. */
size_t record_bytes(const struct trace_record *record);

/* Its frames of user code: user_count words. */
const u64 *record_user(const struct trace_record *record);

#endif
