/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which series of a request Pyroscope (2.2 and later, and by push) did not take. It tries each by itself, keeps those
 * that are good and answers with one status for all; its text names the others:
 *
 *	2 errors: push series with index 0 and id ... failed: ...; push series with index 7 and id ... failed: ...
 */
#ifndef EXPORTERS_PYROSCOPE_ANSWER_H
#define EXPORTERS_PYROSCOPE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"
#include "exporters/pyroscope_shape.h"

struct pyroscope_answer {
	u8 refused[(PYROSCOPE_SERIES_MAX + 7) / 8];	/* a bit for each */
	u8 limited[(PYROSCOPE_SERIES_MAX + 7) / 8];	/* only for now: its rate limit, or it is not well */
	u32 refused_count, limited_count;
};

/*
 * False if the text does not say which of so many there were. is_fault: the status says that something is wrong with
 * the server; then a series is only refused if the text says that it is invalid.
 */
bool pyroscope_answer_parse(const char *text, size_t bytes, u32 series, bool is_fault,
			    struct pyroscope_answer *ret_answer);

#endif
