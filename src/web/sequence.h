/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples in the order of their times, thread by thread: what a flame chart is drawn from.
 *
 *	{"from", "to", "samples", "left_out", "untimed",
 *	 "threads": [{"host", "process", "pid", "thread", "tid", "samples"}, ...],
 *	 "thread": [...], "end": [...], "length": [...], "node": [...], "tree": {...}}
 *
 * A sample is an entry of each of the four columns: the number of its thread, the microsecond after `from` at which
 * it was taken, how many it stands for before that (0: nobody knows), and its node, by its place in the tree, which is
 * that of flame_json.h.
 *
 * Of a range that is longer than asked for: its end, up to the last sample. Of more samples than asked for: the last.
 */
#ifndef WEB_SEQUENCE_H
#define WEB_SEQUENCE_H

#include "base/types.h"

struct buf;
struct profile;

#define SEQUENCE_SAMPLES_MAX 100000
#define SEQUENCE_READ_MAX (1u << 20)	/* samples with a time that are looked at */

struct sequence_options {
	u64 from_ns, to_ns;
	u64 length_max_ns;
	u32 samples_max;	/* up to SEQUENCE_SAMPLES_MAX */
};

/* -ENOMEM; -E2BIG: there are more than SEQUENCE_READ_MAX, or the answer is too large. */
int sequence_json(const struct profile *profile, const struct sequence_options *options, struct buf *out);

#endif
