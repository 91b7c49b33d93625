/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text on its way out, gathered in a chunk that is handed on when it is full:
 * however long the text of a profile is, memory stays the same.
 *
 *  - The first failure sticks: later calls do nothing, textout_end() tells.
 *  - What profiles hold is foreign: control characters, what reorders a line and bytes that are not UTF-8
 *    become \xNN or \u{NNNN}, so that a name is never more than a part of its line.
 *
 * One thread owns a textout.
 */
#ifndef EXPORTERS_TEXTOUT_H
#define EXPORTERS_TEXTOUT_H

#include <stddef.h>

#include "profile/profile.h"

#define TEXTOUT_CHUNK (32u << 10)

struct textout {
	int (*write)(void *arg, const char *at, size_t bytes);	/* 0 or -errno */
	void *arg;
	int err;
	size_t len;
	char chunk[TEXTOUT_CHUNK];
};

void textout_init(struct textout *out, int (*write)(void *arg, const char *at, size_t bytes), void *arg);

/* Hands on what is left: 0, or the first error. */
int textout_end(struct textout *out);

void textout_add(struct textout *out, const char *at, size_t len);

/* Our own words and numbers, of at most 255 bytes a call. */
void textout_addf(struct textout *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

void textout_name(struct textout *out, struct str name);
void textout_hex(struct textout *out, const u8 *at, size_t len);

/* A value as the Collector shows it: text as it is, bytes as base64, lists and maps as JSON. */
void textout_any(struct textout *out, const struct any *value);

/* "Str", "Int", ... */
const char *textout_type(const struct any *value);

#endif
