/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with many requests, as the exporter `file` writes them, ours and the Collector's: JSON a line each, or framed,
 * each with its length before it (4 bytes, big end first), protobuf or JSON, packed by zstd or not. They become one
 * profile (profile/merge.h).
 */
#ifndef WIRE_OTLP_FILE_H
#define WIRE_OTLP_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct profile;

/* Whether it is framed; the bytes may be a first part only. */
bool otlp_file_is_framed(const void *at, size_t bytes);
int otlp_file_decode_framed(const void *at, size_t bytes, struct profile **ret_profile);

/* One text, over several lines or not, or a line each. */
int otlp_file_decode_json(const void *at, size_t bytes, struct profile **ret_profile);

#endif
