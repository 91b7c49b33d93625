/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where `wick top` gets its profiles from: one window after the other. The
 * live source is the tracer; a file is one window that stays.
 */
#ifndef CMD_SOURCE_H
#define CMD_SOURCE_H

struct profile;

struct source {
	void *context;

	/*
	 * Works for at most timeout_ms. 1 with a profile, which the caller frees,
	 * when a window has ended; 0 if it has not; -ENODATA
	 * after the last; -errno.
	 */
	int (*next)(void *context, int timeout_ms, struct profile **ret_profile);

	/* A short text for the heading ("3 lost") or "", borrowed until the next call. NULL: never anything to say. */
	const char *(*status)(void *context);
};

#endif
