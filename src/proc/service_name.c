// SPDX-License-Identifier: Apache-2.0
#include "proc/service_name.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clean_text.h"
#include "base/hex.h"
#include "base/str.h"
#include "proc/apm_storage.h"
#include "proc/process_context.h"

/* All that is ever read of an environment, but for what the user asks for by name (include_env_vars). */
static const struct {
	const char *variable, *attribute;	/* NULL: a list of attributes */
} variables[] = {
	{ "OTEL_SERVICE_NAME", "service.name" },
	{ "OTEL_RESOURCE_ATTRIBUTES", NULL },
	{ "DD_SERVICE", "service.name" },
	{ "DD_ENV", "deployment.environment.name" },
	{ "DD_VERSION", "service.version" },
	{ "PYROSCOPE_APPLICATION_NAME", "service.name" },
};

static const char *const sources[] = {
#define X(id, text) text,
	SERVICE_SOURCES(X)
#undef X
};

static char *member_of(struct service_name *service, struct str attribute)
{
#define X(member, key)					\
	if (str_is(attribute, key))			\
		return service->member;
	SERVICE_TEXTS(X)
#undef X
	/* Its name before 1.27 of the semantic conventions. */
	return str_is(attribute, "deployment.environment") ? service->environment : NULL;
}

void service_name_put(struct service_name *service, const char *attribute, size_t attribute_len, const char *text,
		      size_t len, enum service_source source)
{
	char *member = member_of(service, (struct str){ attribute, (u32)attribute_len });

	len = strnlen(text, len);
	if (!member || *member || !len)
		return;
	(void)snprintf(member, SERVICE_TEXT_BYTES + 1, "%.*s", (int)len, text);
	clean_text(member);
	if (member == service->name)
		service->source = source;
}

static void put_text(struct service_name *service, const char *attribute, const char *text, enum service_source source)
{
	service_name_put(service, attribute, strlen(attribute), text, strlen(text), source);
}

/* ---- The environment --------------------------------------------------------------------- */

/* %2C is a comma, as the SDKs read it. */
static size_t decode_percent(struct str text, char to[SERVICE_TEXT_BYTES + 1])
{
	size_t len = 0;

	for (u32 i = 0; i < text.len && len < SERVICE_TEXT_BYTES; i++) {
		bool is_code = text.at[i] == '%' && i + 2 < text.len && hex_digit(text.at[i + 1]) >= 0 &&
			       hex_digit(text.at[i + 2]) >= 0;

		to[len++] = is_code ? (char)(hex_digit(text.at[i + 1]) << 4 | hex_digit(text.at[i + 2])) : text.at[i];
		i += is_code ? 2 : 0;
	}
	return len;
}

/* service.name=shop,team=x: those that say which service it is. */
static void put_list(struct service_name *service, struct str list)
{
	struct str entry, key;

	while (str_cut(&list, ',', &entry)) {
		char value[SERVICE_TEXT_BYTES + 1];
		size_t len;

		if (!str_cut(&entry, '=', &key))
			continue;
		key = str_trim(key);
		len = decode_percent(str_trim(entry), value);
		service_name_put(service, key.at, key.len, value, len, SERVICE_FROM_ENVIRONMENT);
	}
}

static void put_variable(struct service_name *service, size_t number, struct str value)
{
	struct str name = value;

	/* containerd names its own shims so, by the hash of a container. */
	if (!variables[number].attribute)
		put_list(service, value);
	else if (!str_starts(value, "containerd-shim-")) {
		/* Pyroscope's may have labels behind it: shop{region=x} */
		if (str_starts(str_of(variables[number].variable), "PYROSCOPE"))
			(void)str_cut(&value, '{', &name);
		service_name_put(service, variables[number].attribute, strlen(variables[number].attribute), name.at,
			    name.len, SERVICE_FROM_ENVIRONMENT);
	}
}

/* By the order of the table, not of the environment. */
static void put_environment(struct service_name *service, const char *text, size_t bytes)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		size_t name_len = strlen(variables[i].variable);

		for (size_t at = 0, len; at < bytes; at += len + 1) {
			len = strnlen(text + at, bytes - at);
			if (len <= name_len || text[at + name_len] != '=' ||
			    memcmp(text + at, variables[i].variable, name_len))
				continue;
			put_variable(service, i, (struct str){ text + at + name_len + 1, (u32)(len - name_len - 1) });
			break;
		}
	}
}

/* ---- All of it ----------------------------------------------------------------------------- */

static void put_published(void *arg, struct str key, struct str value)
{
	service_name_put(arg, key.at, key.len, value.at, value.len, SERVICE_FROM_CONTEXT);
}

/* An agent that was told no name says so. */
static void put_agent(struct service_name *service, const struct apm_storage *apm)
{
	if (!str_starts(str_of(apm->service), "unknown_service"))
		put_text(service, "service.name", apm->service, SERVICE_FROM_APM);
	put_text(service, "deployment.environment.name", apm->environment, SERVICE_FROM_APM);
}

void service_name_find(const struct service_facts *facts, struct service_name *ret_service)
{
	char name[PROGRAM_NAME_BYTES + 1];

	*ret_service = (struct service_name){ .source = SERVICE_FROM_NOBODY };
	if (facts->context)
		(void)process_context_decode(facts->context, facts->context_bytes, put_published, ret_service);
	if (facts->apm)
		put_agent(ret_service, facts->apm);
	put_environment(ret_service, facts->environment, facts->environment_bytes);
	put_text(ret_service, "service.name", facts->container_name, SERVICE_FROM_CONTAINER);
	put_text(ret_service, "service.name", facts->place->container_name, SERVICE_FROM_CONTAINER);
	put_text(ret_service, "service.name", facts->place->unit, SERVICE_FROM_UNIT);
	program_name(&facts->program, name);
	put_text(ret_service, "service.name", name, SERVICE_FROM_PROGRAM);
}

bool service_name_is_guess(const char *source, size_t len)
{
	for (u32 i = SERVICE_FROM_CONTAINER; i < sizeof(sources) / sizeof(*sources); i++)
		if (str_is((struct str){ source, (u32)len }, sources[i]))
			return true;
	return false;
}

static void write_one(struct buf *out, const char *key, const char *value)
{
	if (*value) {
		buf_addf(out, "%s=%s", key, value);
		buf_add(out, "", 1);
	}
}

void service_name_write(const struct service_name *service, struct buf *out)
{
#define X(member, attribute) write_one(out, attribute, service->member);
	SERVICE_TEXTS(X)
#undef X
	write_one(out, SERVICE_SOURCE_ATTRIBUTE, sources[service->source]);
}
