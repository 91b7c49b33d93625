/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads perf.data: what `perf record` writes, to a file or a pipe, becomes a
 * profile. Frames have addresses but no names, unless the file has them:
 * whoever has files and symbols adds those.
 *
 *  - A frame's address counts from the start of its file, and its mapping says so: start and offset are the same.
 *    Of the kernel, of a runtime's code and of what is in no mapping it is the address itself.
 *  - All but the innermost frame are return addresses; they are kept less one, which is in the call.
 *  - A process is a resource, once more for each program that it executes.
 *  - An event is a sample type of its name, in units of count; those that count CPU time are `samples`, with
 *    their period in nanoseconds, or `cpu` in nanoseconds if it changes.
 */
#ifndef WIRE_PERFREAD_H
#define WIRE_PERFREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define PERFREAD_TICKS_MAX (16u << 20)		/* times of samples that are kept; past that there are sums only */
#define PERFREAD_UNWOUND_MAX 1024
#define PERFREAD_HOST_TEXT 256

struct perfread_about;
struct perfread_sample;
struct perfread_system;
struct profile;

struct perfread_options {
	/*
	 * The user frames of a sample that has registers and a copied stack: innermost first, those of callers less
	 * one. How many, 0: it cannot be unwound. NULL: nobody can. about is what is known so far.
	 */
	u32 (*unwind)(void *arg, const struct perfread_about *about, const struct perfread_system *system,
		      const struct perfread_sample *sample, u64 ret_va[PERFREAD_UNWOUND_MAX]);
	void *arg;
	const char *arch;		/* whose registers unwind() knows, as uname(2) has it; NULL: all */
	u64 written_unix_ns;		/* when the file's last sample was taken, if it does not tell; 0: not known */
};

/* What the file says of itself, and what was left out. */
struct perfread_about {
	char host[PERFREAD_HOST_TEXT], release[PERFREAD_HOST_TEXT], arch[PERFREAD_HOST_TEXT];
	u64 samples;
	u64 lost;			/* by perf: it could not keep up */
	u64 not_unwound;		/* stacks that were copied, of which only the innermost frame is known */
	u64 not_understood;		/* samples of events that are not there, or shorter than they should be */
	u64 deferred;			/* stacks whose user part should have come later */
	u64 mappings_left_out;		/* too many */
	u64 trace_bytes;		/* of hardware traces */
	bool is_cut;			/* the file ends too early */
	bool has_wall_clock;		/* it tells when its samples were taken */
	bool times_left_out;		/* too many */
};

/* By its first bytes; also what is not understood for its age or its order of bytes. */
bool perfread_is_perfdata(const void *at, size_t bytes);

/* -EBADMSG: not perf.data; -EPROTONOSUPPORT: of a machine with another order of bytes; -ENOMEM, -E2BIG. */
int perfread(const void *at, size_t bytes, const struct perfread_options *options,
		    struct perfread_about *ret_about, struct profile **ret_profile);

#endif
