/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text inside XML and HTML: markup is escaped; what is not UTF-8, and control
 * characters, which XML refuses, become U+FFFD.
 */
#ifndef WIRE_XMLTEXT_H
#define WIRE_XMLTEXT_H

#include <stddef.h>

#include "base/buf.h"

void xmltext_put(struct buf *b, const char *at, size_t len);

#endif
