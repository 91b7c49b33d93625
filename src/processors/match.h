/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The include and exclude blocks of the attributes processor: what they say
 * about the resource, the scope, and the profile or sample itself. Of each
 * list of services and libraries one must match, of resources and attributes all.
 *
 * Immutable once made: several threads may ask.
 */
#ifndef PROCESSORS_MATCH_H
#define PROCESSORS_MATCH_H

#include "base/cleanup.h"
#include "base/pattern.h"
#include "config/fields.h"
#include "profile/attrs.h"

struct buf;
struct match;

struct match_options {
	int match_type;		/* -1: not given */
	struct config_texts services;
	struct config_sections resources, attributes, libraries;
	bool present;
};
extern const struct config_field match_fields[];

/* -EINVAL and a sentence in `why`; -ENOMEM. */
int match_new(const struct match_options *options, struct match **ret_match, struct buf *why);
void match_free(struct match *match);
DEFINE_CLEANUP(struct match *, match_free)

/* The part that is the same for all that is in a scope, and the rest. */
bool match_scope(const struct match *match, struct pattern_scratch *scratch, const struct profile_resource *resource,
		 const struct profile_scope *scope);
bool match_attributes(const struct match *match, struct pattern_scratch *scratch, const struct attrs *attrs);

#endif
