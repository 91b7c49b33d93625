/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose profile it is in Datadog's eyes: service, environment, version, host and container; and the tags that say so.
 * What a resource says goes before what is configured:
 *
 *	service		service.name, DD_SERVICE or OTEL_SERVICE_NAME of the process (include_env_vars); else as
 *			configured; else a service.name that was guessed; else DATADOG_SERVICE
 *	env		deployment.environment.name, deployment.environment, DD_ENV of the process; else as configured
 *	version		service.version, DD_VERSION of the process; as configured only with the configured service
 *	host		as configured; else host.name, else this machine's, but only where no Agent adds it
 *	container	container.id
 *
 * Resources with equal owners go into one profile.
 */
#ifndef EXPORTERS_DATADOG_OWNER_H
#define EXPORTERS_DATADOG_OWNER_H

#include "base/buf.h"
#include "profile/profile.h"

#define DATADOG_SERVICE "wick"
#define DATADOG_TAG_BYTES_MAX 200	/* Datadog cuts longer ones */

/* As configured; "" where it is not. Borrowed. */
struct datadog_names {
	const char *service, *env, *version, *host;
	const char *this_host;		/* "": an Agent adds it */
	const char *tags;		/* of the user: key:value, joined by commas */
	const char *runtime_id;		/* of this run of wick */
};

/* Borrowed from the names and the resource. */
struct datadog_owner {
	struct str service, env, version, host;
	struct str container;		/* empty if there is none, or it is no id that a header could carry */
	bool is_inferred;		/* nobody said what the service is */
};

void datadog_owner_of(const struct datadog_names *names, const struct profile_resource *resource,
		      struct datadog_owner *ret_owner);

/* Equal for equal owners, and for them only. */
void datadog_owner_key(const struct datadog_owner *owner, struct buf *key);

/* The value of tags_profiler. */
void datadog_owner_tags(const struct datadog_owner *owner, const struct datadog_names *names, struct buf *out);

/*
 * Appends the tags of a list that has commas, or else blanks, between them, as DD_TAGS has; how many it left out, since
 * a tag neither begins nor ends with a colon.
 */
u32 datadog_tags_add(struct buf *out, const char *list);

#endif
