/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles as Pyroscope takes them. It makes a series of every set (OTLP's message Profile), with the attributes of
 * resource, scope and samples for labels; two profiles of one series and time are one to it, so that what has
 * equal labels must be joined before it is sent.
 *
 *  - Labels are those of pyroscope_labels.h; scopes have none; samples have only those that are asked for.
 *  - Resources that are equal then are one, and so are equal samples. Times of single samples go: it does not keep
 *    them.
 *  - Every frame has a name, since it shows no others; every set has a period, without which it finds no name for it;
 *    no sample type has a hyphen in it.
 *  - What is older or newer than it takes is left out, and counted.
 *  - The original of a profile goes, too: nobody reads it there, and each piece would have a copy.
 */
#ifndef EXPORTERS_PYROSCOPE_SHAPE_H
#define EXPORTERS_PYROSCOPE_SHAPE_H

#include "config/fields.h"
#include "exporters/pyroscope_labels.h"

struct profile;

#define PYROSCOPE_SAMPLES_MAX 16000u	/* of one profile; more are refused */
#define PYROSCOPE_BYTES_MAX (1u << 20)	/* of a request: a profile of more than 2 MB never gets past its rate limit */
#define PYROSCOPE_SERIES_MAX 200u	/* of a request: those that fail are told of by a line of text each */

struct pyroscope_shape_options {
	enum pyroscope_service service;
	bool per_process;
	struct config_texts sample_attributes;	/* to keep */
	s64 max_age_ns, max_ahead_ns;		/* 0: any */
};

struct pyroscope_shape_losses {
	u64 old_samples, early_samples;
	u64 attributes;
};

/* 0 and a profile of its own, without samples if none is left; -ENOMEM, -E2BIG. */
int pyroscope_shape(const struct profile *from, const struct pyroscope_shape_options *options, u64 now_unix_ns,
		    struct profile **ret_profile, struct pyroscope_shape_losses *ret_losses);

/* Is there something in it that is too old or too new by now? */
bool pyroscope_is_late(const struct profile *profile, const struct pyroscope_shape_options *options, u64 now_unix_ns);

/* Of those with samples; in the order of the profile, as Pyroscope numbers them. */
u32 pyroscope_series_count(const struct profile *profile);

/* The first of them, NULL if there is none. */
const struct profile_set *pyroscope_first_series(const struct profile *profile);

/* The series whose bit is set in picked (bit i % 8 of byte i / 8), in the same order. */
int pyroscope_pick(const struct profile *from, const u8 *picked, struct profile **ret_profile);

/*
 * Cuts it: each piece has at most so many series and samples. A series that goes on in the next piece begins a little
 * later there: see above. emit() takes over the piece; its error ends it.
 */
int pyroscope_cut(const struct profile *from, u32 series_max, u64 samples_max,
		  int (*emit)(void *arg, struct profile *piece), void *arg);

#endif
