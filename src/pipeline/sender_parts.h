/* SPDX-License-Identifier: Apache-2.0 */
/* What a sender needs of the service it is part of: for tests, which have none. */
#ifndef PIPELINE_SENDER_PARTS_H
#define PIPELINE_SENDER_PARTS_H

#include "pipeline/sender.h"

struct metrics;
struct storage_ops;

struct sender_parts {
	const char *id;
	struct component_status *status;	/* may be NULL */
	struct metrics *metrics;
	const struct storage_ops *storage;	/* NULL: the queue is in memory */
	void *storage_self;
};

int sender_make(const struct sender_parts *parts, const struct sender_options *options, const struct sender_ops *ops,
		void *self, struct sender **ret_sender);

#endif
