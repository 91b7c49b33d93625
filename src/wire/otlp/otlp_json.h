/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP's ProfilesData as JSON: protobuf's mapping, except that ids are
 * hexadecimal. Keys are lowerCamelCase, unknown ones are skipped; 64-bit
 * numbers are written in quotes and read with or without. As in the protobuf
 * form, attributes that refer to the string table are read and written out in
 * full, and what 1.8 called sample and line is read too.
 */
#ifndef WIRE_OTLP_JSON_H
#define WIRE_OTLP_JSON_H

#include <stddef.h>

#include "base/buf.h"

struct profile;

int otlp_json_decode(const void *at, size_t bytes, struct profile **ret_profile);
int otlp_json_encode(const struct profile *profile, struct buf *out);

#endif
