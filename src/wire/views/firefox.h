/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Firefox Profiler's processed profile, version 60 (its
 * docs-developer/CHANGELOG-formats.md), the first whose threads share tables:
 * newer viewers upgrade it. Threads with their samples in order of time; of
 * several sample types the default one, and lanes of threads (kinds/lanes) as
 * markers. Only written.
 */
#ifndef WIRE_FIREFOX_H
#define WIRE_FIREFOX_H

#include "base/buf.h"

struct profile;

int firefox_encode(const struct profile *profile, struct buf *out);

#endif
