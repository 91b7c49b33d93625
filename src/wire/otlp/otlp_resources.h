/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resources of an encoded request, read and changed without decoding the
 * rest: what only looks at attributes of resources need not touch samples,
 * stacks and tables, which are nearly all of a request.
 *
 * The bytes must have passed otlp_check() and be of the current numbering.
 */
#ifndef WIRE_OTLP_RESOURCES_H
#define WIRE_OTLP_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/types.h"

struct profile;

/*
 * A profile that has the resources, in their order, with attributes and schema and nothing in them. -EOPNOTSUPP: they
 * refer to the string table, or are written in an unusual way, and the request must be decoded whole.
 */
int otlp_resources_read(const void *at, size_t bytes, struct profile **ret_resources);

/*
 * The request with its resources replaced by those of the profile, which has as many. Those with drop[i] are left
 * out, with all that is in them (drop may be NULL); how many samples that were goes to ret_dropped.
 */
int otlp_resources_write(const void *at, size_t bytes, const struct profile *resources, const bool *drop,
			 struct buf *out, u64 *ret_dropped);

#endif
