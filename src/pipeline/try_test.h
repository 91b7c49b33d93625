/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a processor made from YAML, between a profile and a sink that shows what came. */
#ifndef PROCESSORS_TRY_TEST_H
#define PROCESSORS_TRY_TEST_H

#include "pipeline/component.h"
#include "pipeline/instance.h"
#include "profile/profile.h"

struct try {
	const struct component_ops *ops;
	struct config *config;
	struct config_errors errors;
	void *options;
	struct instance instance;
	struct service *service;
	struct metrics *metrics;
	char why[1024];		/* the first error of the configuration, or why it was not made */
};

/* What the options say, in flow style: "{attributes: [...]}". The result is that of create, or -EINVAL. */
int try_new(struct try *try, const struct component_ops *ops, const char *yaml);
void try_free(struct try *try);

/* Sends a profile through, which is taken over; what consume() returned. */
int try_send(struct try *try, struct profile *profile);

/* What came out last: the profile, borrowed until the next; NULL: nothing came. And how many batches did. */
const struct profile *try_result(void);
unsigned int try_count(void);

/* The value of a counter of the processor. */
long long try_counter(struct try *try, const char *name);

/*
 * "host=a|wick|cpu 50 kind=x: 3 thread=gc, 4": resource, scope, set, samples; sets are separated by "; ".
 * A profile of that shape is made of the same text.
 */
const char *try_shown(const struct profile *profile);

/* Two resources (host a, b) with a set of two samples (thread=t1 and t2) each. */
struct profile *try_profile(void);

#endif
