/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a window of traces into a profile: names the frames, makes a resource
 * of each process, a set of each kind, a sample of each (stack, thread, CPU).
 */
#ifndef AGENT_BUILD_H
#define AGENT_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/types.h"
#include "kinds/choice.h"
#include "proc/host_identity.h"
#include "proc/thread_labels.h"

struct profile;
struct symbolizer;
struct window;

#define SELF_PIDS_MAX 7

struct build_options {
	struct kind_choices kinds;
	u32 frequency_hz;	/* of kinds that a clock samples */
	pid_t self_pids[SELF_PIDS_MAX];	/* wick's own processes, whose samples are marked; 0: none */
	struct host_identity host;	/* whose profiles these are; "": it is not said */
	char labels[THREAD_LABELS_MAX][THREAD_LABEL_NAME_BYTES];	/* names of those of threads */
	bool without_marks;	/* no frame such as [incomplete] at the root of stacks that are not whole */
};

/* Looks up what is new to the symbolizer. -ENOMEM, -E2BIG. */
int build_profile(const struct window *window, struct symbolizer *symbolizer, const struct build_options *options,
		  struct profile **ret_profile);

#endif
