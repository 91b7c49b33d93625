/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as a picture: one SVG file with a script that zooms and
 * searches, and no need of anything else. Frames narrower than a tenth of a
 * point are left out, so that a file has no more than a browser can take.
 * Only written.
 */
#ifndef WIRE_SVG_H
#define WIRE_SVG_H

#include "base/buf.h"

struct profile;

int svg_encode(const struct profile *profile, struct buf *out);

#endif
