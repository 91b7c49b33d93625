/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people. Names in profiles come from files and processes that may
 * be hostile: printed as they are they could move the cursor, retitle the
 * window or reorder a line. Everything foreign goes through here.
 */
#ifndef CMD_TEXT_H
#define CMD_TEXT_H

#include <stddef.h>

#include "base/types.h"
#include "kinds/unit.h"

struct buf;

#define TEXT_UNLIMITED ((unsigned)-1)

/*
 * Appends a foreign string, at most columns wide; a longer one ends in "...".
 * Control characters, bytes that are not UTF-8 and the controls that reorder
 * text become \xNN or \u{NNNN}. Returns the columns used.
 */
unsigned text_add(struct buf *out, struct str name, unsigned columns);

/* As text_add(), then blanks up to columns. */
void text_add_padded(struct buf *out, struct str name, unsigned columns);

/* A JSON string with its quotes. What is not UTF-8 becomes U+FFFD. */
void text_add_json(struct buf *out, struct str name);

#define TEXT_VALUE_MAX 32

/* "1234", "1.23 s", "45.0 MiB": returns text. */
const char *text_value(char text[TEXT_VALUE_MAX], s64 value, enum unit unit);

#endif
