/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes resources, scopes, sets and samples out of a profile, in two steps:
 * prune_plan() asks about each of them and changes nothing, so that a profile
 * that stays whole need not be copied; prune_apply() then takes out of it, or
 * of a copy, what was marked.
 *
 *  - What is inside of something that goes is not asked about.
 *  - A set whose samples all go goes too; so does a scope without sets, a
 *    resource without scopes. Tables stay as they are.
 */
#ifndef PROFILE_PRUNE_H
#define PROFILE_PRUNE_H

#include "base/buf.h"
#include "profile/profile.h"

/* 1: it goes; 0: it stays; -errno ends the plan. NULL: they all stay. */
struct prune_ops {
	int (*resource)(void *arg, const struct profile_resource *resource);
	int (*scope)(void *arg, const struct profile_resource *resource, const struct profile_scope *scope);
	int (*set)(void *arg, const struct profile_resource *resource, const struct profile_scope *scope,
		   const struct profile_set *set);
	int (*sample)(void *arg, const struct profile_resource *resource, const struct profile_scope *scope,
		      const struct profile_set *set, const struct profile_sample *sample);
};

struct prune {
	struct buf marks;	/* a byte for each that was asked about, in order */
	bool has_samples;	/* samples were asked about */
	u64 samples_dropped, samples_kept;
	u64 dropped;		/* of whatever kind */
};

/* prune_done() also after a failure. -ENOMEM, or what was returned. */
int prune_plan(const struct profile *profile, const struct prune_ops *ops, void *arg, struct prune *ret_prune);
void prune_done(struct prune *prune);

/* The profile, or a copy of it. */
void prune_apply(struct profile *profile, const struct prune *prune);

#endif
