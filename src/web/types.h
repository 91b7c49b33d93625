/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample types of a selection, whatever type it asks for, with what is known of them (kinds/kind.h): those that
 * wick samples itself first, in the order of their list, then the others, largest first.
 *
 *	[{"type", "unit", "sum": "nanoseconds", "bytes" or "count", "title"}, ...]
 */
#ifndef WEB_TYPES_H
#define WEB_TYPES_H

#include "base/cleanup.h"
#include "kinds/unit.h"
#include "store/store.h"

struct buf;

#define TYPES_MAX 32

struct types {
	struct type {
		char *name, *unit;	/* unit: of the most of its values */
		enum unit sum;		/* what values add up to */
		u32 rank;
	} at[TYPES_MAX];
	u32 count;
};

int types_find(struct store *store, const struct store_selection *selection, struct types *ret_types);
void types_done(struct types *types);

/* The type that a selection asks for; NULL if it does for none. Borrowed from it. */
const char *types_chosen(const struct store_selection *selection);

/*
 * Values of two types do not add up: makes a selection that asks for none ask for the first, if there is one. Its name
 * is kept in `name`, which must live as long.
 */
#define TYPE_BYTES 256
int types_choose(struct store *store, struct store_selection *selection, char name[TYPE_BYTES]);

int types_json(const struct types *types, struct buf *out);

#endif
