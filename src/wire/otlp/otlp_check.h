/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks through an OTLP request without building anything: may its bytes be
 * sent on as they are? A relay with no processor does only this.
 */
#ifndef WIRE_OTLP_CHECK_H
#define WIRE_OTLP_CHECK_H

#include <stddef.h>

#include "base/types.h"

struct buf;

/*
 * 0: of the current numbering, well-formed, every index in range; ret_samples
 * counts its samples. 1: it has to be decoded and encoded again (an older
 * numbering, attributes by reference, tables without their zero entry).
 * -E2BIG: decoded, its messages alone would take more than decoded_max bytes, as far as counting them tells, or there
 * are too many. -EBADMSG: otlp_decode() would refuse it too; `why` gets the reason.
 */
int otlp_check(const void *at, size_t bytes, size_t decoded_max, u64 *ret_samples, struct buf *why);

#endif
