/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's JSON, https://www.speedscope.app/file-format-schema.json: one
 * sampled profile for each sample type, the stacks added up, processes as
 * their outermost frames. Only written.
 */
#ifndef WIRE_SPEEDSCOPE_H
#define WIRE_SPEEDSCOPE_H

#include "base/buf.h"

struct profile;

int speedscope_encode(const struct profile *profile, struct buf *out);

#endif
