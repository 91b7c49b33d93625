/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions from configurations, by PCRE2, set up to read what the
 * Collector's users write for Go's regexp (RE2):
 *
 *  - The leftmost match counts; $ is the very end; \d, \w and \s are ASCII; classes and dots take UTF-8
 *    characters, and bytes that are no UTF-8 match nothing.
 *  - Group names may hold dots ("(?P<git.sha>\w+)"), as in Go since names become attribute keys.
 *  - More is understood than there: look-around, back-references, possessive repeats.
 *  - RE2 is linear in the input, PCRE2 is not: a match that takes more than PATTERN_STEPS_MAX steps is given
 *    up (-E2BIG), so that no pattern and no input can hang a pipeline.
 *
 * A pattern is immutable and may be used by several threads; each brings its own scratch.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define PATTERN_BYTES_MAX 8192
#define PATTERN_GROUPS_MAX 64		/* with the whole match, which is group 0 */
#define PATTERN_STEPS_MAX 1000000

struct buf;
struct pattern;

struct pattern_scratch {
	void *data;		/* made at first use */
};

/* Where a group matched; from is PATTERN_UNSET if it did not take part. */
#define PATTERN_UNSET SIZE_MAX
struct pattern_span {
	size_t from, to;
};

/* -EINVAL: `why` gets what is wrong and where. -ENOMEM. */
int pattern_new(const char *text, size_t len, struct pattern **ret_pattern, struct buf *why);
void pattern_free(struct pattern *pattern);
DEFINE_CLEANUP(struct pattern *, pattern_free)

void pattern_scratch_done(struct pattern_scratch *scratch);

/*
 * Looks for the first match at or after `start`: 1 or 0; -E2BIG if it takes too long; -ENOMEM. spans (NULL: not
 * wanted) has room for pattern_groups().
 */
int pattern_match(const struct pattern *pattern, struct pattern_scratch *scratch, const char *at, size_t len,
		  size_t start, struct pattern_span *spans);

/* Groups, with the whole match. */
uint32_t pattern_groups(const struct pattern *pattern);

/* The name of a group, "" if it has none. */
const char *pattern_group_name(const struct pattern *pattern, uint32_t group);

/*
 * Appends the text with every match replaced. In the replacement, $1, ${1}, $name and ${name} are groups,
 * $$ is a dollar sign. If edit is given, it makes what is put in of what the replacement says.
 * 1 if something was replaced, else 0; -E2BIG, -ENOMEM, or what edit returned.
 */
struct pattern_edit {
	int (*edit)(void *arg, const char *at, size_t len, struct buf *out);
	void *arg;
};
int pattern_replace(const struct pattern *pattern, struct pattern_scratch *scratch, const char *at, size_t len,
		    const char *replacement, size_t replacement_len, const struct pattern_edit *edit, struct buf *out);

#endif
