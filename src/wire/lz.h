/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads snappy, in blocks and framed, and LZ4 frames: what the OpenTelemetry Collector can send beside gzip and zstd.
 * Both consist of bytes to take over and copies of what came before.
 *
 * What comes out never exceeds the limit of the buffer it goes to. -EBADMSG for what is broken or cut, also by its
 * checksums; -E2BIG past the limit; -ENOMEM.
 */
#ifndef WIRE_LZ_H
#define WIRE_LZ_H

#include <stdbool.h>

#include "base/buf.h"

/* Whether it is snappy with frames, by its first bytes. */
bool lz_is_snappy_framed(const void *at, size_t bytes);

/* One block, or with frames: senders call both snappy. */
int lz_unpack_snappy(const void *at, size_t bytes, struct buf *out);

/* Frames, one after another; without a dictionary. */
int lz_unpack_lz4(const void *at, size_t bytes, struct buf *out);

#endif
