/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `wick doctor` found: a list of statements about this machine, each
 * with a status and, where something is wrong, what to do about it. Printed
 * for people or as JSON. Texts are copied; the list is bounded.
 */
#ifndef CMD_FINDINGS_H
#define CMD_FINDINGS_H

#include <stdbool.h>

#include "cmd/terminal.h"

struct buf;

#define FINDINGS_MAX 128
#define FINDING_TEXT_MAX 320

/* status, what people read */
#define FINDING_STATUSES(X) \
	X(OK, "ok") \
	X(WARN, "warn") /* works, with something missing */ \
	X(BAD, "bad")	/* wick record cannot run */

enum finding_status {
#define X(name, text) FINDING_##name,
	FINDING_STATUSES(X)
#undef X
};

struct finding {
	const char *area;	/* a literal */
	enum finding_status status;
	char text[FINDING_TEXT_MAX];
	const char *advice;	/* a literal, "" if there is nothing to do */
};

struct findings {
	unsigned count;
	unsigned left_out;	/* past FINDINGS_MAX */
	struct finding at[FINDINGS_MAX];
};

void findings_add(struct findings *findings, const char *area, enum finding_status status, const char *advice,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The worst status; FINDING_OK of an empty list. */
enum finding_status findings_worst(const struct findings *findings);

void findings_print(const struct findings *findings, const struct terminal *terminal, struct buf *out);

/* A JSON array. */
void findings_json(const struct findings *findings, struct buf *out);

#endif
