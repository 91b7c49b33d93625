/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles of this machine for those who want them for a while, as they come: GET /debug/pprof/profile. The
 * receiver that samples offers each window; what is wanted of it is added to each tap that is open. A window ends early
 * where a tap does, so that nobody waits for the rest of it.
 *
 * At most TAPS_MAX, each of at most TAP_BYTES_MAX. Any thread.
 */
#ifndef PIPELINE_TAPS_H
#define PIPELINE_TAPS_H

#include "base/cleanup.h"
#include "base/types.h"

struct counter_value;
struct profile;
struct tap;
struct taps;

#define TAPS_MAX 4
#define TAP_BYTES_MAX ((size_t)64 << 20)

/* NULL without memory. */
struct taps *taps_new(void);
void taps_free(struct taps *taps);
DEFINE_CLEANUP(struct taps *, taps_free)

/* ---- For who samples. taps may be NULL: nobody wants anything. ----------------- */

void taps_join(struct taps *taps, u32 frequency_hz);
void taps_leave(struct taps *taps);

/* What is counted of sampling; copied. */
void taps_tell(struct taps *taps, const struct counter_value *values, size_t count);

/* When a window should end for somebody who waits for it, CLOCK_MONOTONIC; UINT64_MAX: nobody does. Never waits. */
u64 taps_wanted_ns(struct taps *taps);

/* A window, until end_ns (CLOCK_MONOTONIC). profile may be NULL: there was nothing in it. */
void taps_offer(struct taps *taps, const struct profile *profile, u64 end_ns);

/* ---- For who wants ---------------------------------------------------------------- */

/* What was told last of what is counted: count_max of them at most; their number. */
size_t taps_counters(struct taps *taps, struct counter_value *ret_values, size_t count_max);

/* How often a second this machine is sampled; 0: it is not. */
u32 taps_frequency(struct taps *taps);

/* From now on, for so long; pid 0: all processes. -ENODEV: nobody samples; -EBUSY: too many are open; -ENOMEM. */
int tap_open(struct taps *taps, u64 duration_ns, s64 pid, struct tap **ret_tap);
void tap_close(struct tap *tap);
DEFINE_CLEANUP(struct tap *, tap_close)

/* Waits up to timeout_ms for its end: 1; 0: not yet; -E2BIG, -ENOMEM: it failed; -ENODEV: nobody samples any more. */
int tap_wait(struct tap *tap, int timeout_ms);

/* What came so far, and the names that belong to it, the caller's to free; once. -ENOMEM, -E2BIG. */
int tap_take(struct tap *tap, struct profile **ret_profile);

#endif
