/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request asks for, from the query of its URL:
 *
 *	from, to	seconds since 1970 with a fraction, or now, now-15m, now-2h, now-1d; to=now, from=to-15m
 *	LABEL=VALUE	only that value: host, service, process, pid, thread, cpu, trace, ..., or label.KEY, of samples
 *	where		LABEL=VALUE, LABEL!=VALUE, LABEL~PART; may be repeated
 *	anything else	looked up by name: question_text(), question_number()
 *
 * Everything is bounded; what cannot be understood is a sentence.
 */
#ifndef WEB_QUESTION_H
#define WEB_QUESTION_H

#include "base/types.h"
#include "store/store.h"

struct buf;
struct narrow;

#define QUESTION_BYTES_MAX 16384
#define QUESTION_PAIRS_MAX 64

struct question {
	char text[QUESTION_BYTES_MAX];	/* decoded, cut into pieces */
	struct {
		const char *key, *value;
	} pairs[QUESTION_PAIRS_MAX];
	u32 count;
	struct store_selection selection;
	struct store_selection base;	/* the filters of base_where, which may be none, if there are such */
	struct store_keys keys;		/* that selections and labels refer to: texts of the question's */
	bool has_base_filters;
};

/* -EINVAL and a sentence in `why`. now_ns: CLOCK_REALTIME. The question is not to be moved. */
int question_parse(const char *query, u64 now_ns, struct question *ret_question, struct buf *why);

/* The value of a key, or what is given if there is none. */
const char *question_text(const struct question *question, const char *key, const char *otherwise);

/* A whole number min..max; -EINVAL and a sentence. */
int question_number(const struct question *question, const char *key, u32 min, u32 max, u32 *number, struct buf *why);

/* A time, as from and to have it; stays what it is if there is none. -EINVAL and a sentence. */
int question_time(const struct question *question, const char *key, u64 now_ns, u64 *time_ns, struct buf *why);

/* A label's name; STORE_LABEL_COUNT if the key is missing or empty. -EINVAL and a sentence. */
int question_label(struct question *question, const char *key, enum store_label *ret_label, struct buf *why);

/* What the label is called that was found by a key: label.KEY as it was asked for, those of "auto" by their name. */
const char *question_label_name(const struct question *question, const char *key, enum store_label label);

/* What to compare with: base_from and base_to; the filters of base_where, else the same. -EINVAL and a sentence. */
int question_base(const struct question *question, u64 now_ns, struct store_selection *ret_selection, struct buf *why);

/* focus, ignore and hide, which may be repeated, and collapse; texts are the question's. -EINVAL and a sentence. */
int question_narrow(const struct question *question, struct narrow *ret_narrow, struct buf *why);

#endif
