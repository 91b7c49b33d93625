/* SPDX-License-Identifier: Apache-2.0 */
/* What processors that change profiles have in common. */
#ifndef PROCESSORS_EDIT_H
#define PROCESSORS_EDIT_H

#include "base/types.h"

struct batch;
struct component_setup;
struct metric;
struct profile;
struct profile_resource;
struct prune;

/* A counter with the processor's id as label; name and help are literals. */
struct metric *processor_counter(const struct component_setup *setup, const char *name, const char *help);

/*
 * Changes the profile of a batch, and sends it on; takes over the reference. What
 * change() returns other than 0 ends it: the batch is dropped, that is what the sender is told.
 */
int processor_edit(const struct component_setup *setup, struct batch *batch,
		   int (*change)(void *arg, struct profile *profile), void *arg);

/*
 * The same for changes of resources alone: the profile that change() gets may have resources with nothing in them, for
 * what came as bytes is then changed in the bytes.
 */
int processor_edit_resources(const struct component_setup *setup, struct batch *batch,
			     int (*change)(void *arg, struct profile *profile), void *arg);

/*
 * Leaves out the resources that goes() is 1 for; -errno ends it, and the batch is dropped. Counts the samples in them.
 */
int processor_drop_resources(const struct component_setup *setup, struct batch *batch,
			     int (*goes)(void *arg, struct profile *profile, struct profile_resource *resource),
			     void *arg, struct metric *dropped);

/* Takes out what was planned for the batch's profile, and sends on what is left, if anything; 0 if nothing is. */
int processor_prune(const struct component_setup *setup, struct batch *batch, const struct prune *prune);

#endif
