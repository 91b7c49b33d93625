/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of one thing (a resource, a scope, a set, a sample), read and
 * changed by key. They are kept in two ways: as an array of their own
 * (resources, scopes), or as indices into the profile's attribute table (sets,
 * samples), whose rows are shared and never changed: a new value is a new row.
 *
 *  - Changes go into the profile's arena; what they replace stays there until the profile dies.
 *    Out of memory sticks in the profile (profile_err()).
 *  - A key that is there twice counts by its first; writing and removing take all of them.
 *  - The unit of a row in the table is kept as long as its value is not changed.
 */
#ifndef PROFILE_ATTRS_H
#define PROFILE_ATTRS_H

#include "profile/profile.h"

struct attrs {
	struct profile *profile;
	const struct keyvalue **at;	/* resources and scopes; NULL else */
	u32 *count;
	struct indices *indices;	/* sets and samples; NULL else */
};

struct attrs attrs_of_resource(struct profile *profile, struct profile_resource *resource);
struct attrs attrs_of_scope(struct profile *profile, struct profile_scope *scope);
struct attrs attrs_of_set(struct profile *profile, struct profile_set *set);
struct attrs attrs_of_sample(struct profile *profile, struct profile_sample *sample);

u32 attrs_count(const struct attrs *attrs);
struct keyvalue attrs_get(const struct attrs *attrs, u32 i);		/* borrowed; i below attrs_count() */
const struct any *attrs_find(const struct attrs *attrs, struct str key);	/* NULL: none */

void attrs_set(struct attrs *attrs, struct str key, const struct any *value);
bool attrs_remove(struct attrs *attrs, struct str key);		/* false: it was not there */

/* Removes those that the caller picks. Returns how many. */
u32 attrs_remove_if(struct attrs *attrs, bool (*pick)(void *arg, struct str key, const struct any *value), void *arg);

/* These, and none else. What they point to is copied. */
void attrs_replace(struct attrs *attrs, const struct keyvalue *map, u32 count);

#endif
