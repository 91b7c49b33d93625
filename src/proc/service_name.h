/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which service a process belongs to: what OpenTelemetry calls service.name,
 * .namespace, .version, .instance.id and deployment.environment.name. Each of
 * them is what the first of these says:
 *
 *	1. what the process publishes of itself, OpenTelemetry's process context (proc/process_context.h)
 *	2. what an APM agent in it says (proc/apm_storage.h)
 *	3. OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
 *	4. DD_SERVICE, DD_ENV, DD_VERSION; PYROSCOPE_APPLICATION_NAME
 *	5. the name of its container, by compose, its engine or its cgroup
 *	6. its unit of systemd
 *	7. the program (proc/program_name.h)
 *
 * Variables are the process's own, and hold secrets. No other is looked at than those listed in service_name.c,
 * and of OTEL_RESOURCE_ATTRIBUTES no other key than these five. No state.
 */
#ifndef PROC_SERVICE_NAME_H
#define PROC_SERVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"
#include "proc/cgroup.h"
#include "proc/program_name.h"

struct apm_storage;
struct buf;

#define SERVICE_TEXT_BYTES 127

/* X(member, attribute) */
#define SERVICE_TEXTS(X)						\
	X(name, "service.name")						\
	X(namespace, "service.namespace")				\
	X(version, "service.version")					\
	X(instance_id, "service.instance.id")				\
	X(environment, "deployment.environment.name")

/* Who said the name. From SERVICE_FROM_CONTAINER on it is a guess, which whoever knows better may replace. */
#define SERVICE_SOURCES(X)						\
	X(NOBODY, "")							\
	X(RULE, "rule")							\
	X(CONTEXT, "process_context")					\
	X(APM, "apm_agent")						\
	X(ENVIRONMENT, "environment")					\
	X(CONTAINER, "container")					\
	X(UNIT, "unit")							\
	X(PROGRAM, "program")

enum service_source {
#define X(id, text) SERVICE_FROM_##id,
	SERVICE_SOURCES(X)
#undef X
};

/* The attribute that tells the source. */
#define SERVICE_SOURCE_ATTRIBUTE "wick.service.source"

struct service_name {
#define X(member, attribute) char member[SERVICE_TEXT_BYTES + 1];	/* "" if unknown */
	SERVICE_TEXTS(X)
#undef X
	enum service_source source;
};

struct service_facts {
	const void *context;		/* the payload that it publishes; NULL: none */
	size_t context_bytes;
	const struct apm_storage *apm;	/* what an APM agent in it says; NULL: there is none */
	const char *environment;	/* as /proc/PID/environ has it, with a NUL behind the last byte */
	size_t environment_bytes;
	const struct cgroup_place *place;
	const char *container_name;	/* if another than the path's; "" */
	struct program program;
};

void service_name_find(const struct service_facts *facts, struct service_name *ret_service);

/* Sets what is empty; others keep what they have. The texts are cut and cleaned. */
void service_name_put(struct service_name *service, const char *attribute, size_t attribute_len, const char *text,
		      size_t len, enum service_source source);

/* "guess" in the sense above. */
bool service_name_is_guess(const char *source, size_t len);

/* KEY=value, each ended by NUL: what is known. */
void service_name_write(const struct service_name *service, struct buf *out);

#endif
