/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as a page: one HTML file with all the data, which zooms,
 * searches and lists functions, and asks nobody for anything. Only written.
 */
#ifndef WIRE_HTML_H
#define WIRE_HTML_H

#include "base/buf.h"

struct profile;

int html_encode(const struct profile *profile, struct buf *out);

#endif
