/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for what a store has of an executable without: asked of the symbolizer,
 * some thousand addresses at a time, and told to the store. Who has found the
 * file calls it; it takes as long as the reader needs.
 */
#ifndef STORE_LATE_H
#define STORE_LATE_H

#include "store/store.h"

struct binary;
struct symbolizer;

/* How many addresses have a name that had none; -ENOMEM, or what store_put_names() has. */
int late_name(struct store *store, struct symbolizer *symbolizer, struct binary *binary,
	      const struct store_unnamed *unnamed, enum name_source source);

#endif
