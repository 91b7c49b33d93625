/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for names that a store lacks, in the background: by build id, in files
 * of this machine, in what was uploaded, and at debuginfod if there are URLs.
 *
 *  - A thread of its own looks every `interval` whether addresses came that nobody looked for; what was not found is
 *    looked for again after LATE_NAMES_RETRY_NS. At most LATE_NAMES_EXES executables a turn.
 *  - The reader process and what it found live while there is something to do, and LATE_NAMES_IDLE_NS longer.
 */
#ifndef EXPORTERS_LATE_NAMES_H
#define EXPORTERS_LATE_NAMES_H

#include <stdbool.h>

#include "config/fields.h"
#include "naming/debuginfod_options.h"

struct buf;
struct component_setup;
struct late_names;
struct store;

#define LATE_NAMES_RETRY_NS (310ull * 1000000000)	/* the finder forgets what it did not find somewhat earlier */
#define LATE_NAMES_IDLE_NS (120ull * 1000000000)
#define LATE_NAMES_EXES 64

struct late_names_options {
	bool enabled;
	s64 interval_ns;
	struct debuginfod_options debuginfod;
};

#define LATE_NAMES_DEFAULTS { .enabled = true, .interval_ns = 10000000000, .debuginfod = DEBUGINFOD_DEFAULTS }
extern const struct config_field late_names_fields[];

/* Both are borrowed until it ends. `why` gets a sentence. */
int late_names_start(const struct component_setup *setup, const struct late_names_options *options, struct store *store,
		     struct late_names **ret_names, struct buf *why);
/* Waits for what it does: mostly nothing, at most what a request to debuginfod may take. Accepts NULL. */
void late_names_stop(struct late_names *names);

/* One turn now, in files of this machine alone, for a store that is looked at for once; nothing is asked of others. */
void late_names_once(const struct component_setup *setup, struct store *store);

#endif
