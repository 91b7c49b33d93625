// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_owner.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "proc/service_name.h"
#include "profile/any.h"

#define CONTAINER_BYTES_MAX 128
#define VARIABLE "process.environment_variable."

#if defined(__aarch64__)
#define CPU_ARCH "arm64"
#else
#define CPU_ARCH "amd64"
#endif

/* ---- Owners -------------------------------------------------------------------------------- */

static struct str text_of(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

/* The first attribute of a list that is there, else an empty text. */
static struct str find(const struct profile_resource *resource, const char *const *keys)
{
	struct str found = { 0 };

	for (; *keys && !found.len; keys++)
		found = any_text(keyvalue_find(resource->attributes, resource->attribute_count, *keys));
	return found;
}

/* It goes into headers. */
static bool is_container_id(struct str id)
{
	for (u32 i = 0; i < id.len; i++) {
		if (!isalnum((unsigned char)id.at[i]) && !memchr("_.-", id.at[i], 3))
			return false;
	}
	return id.len && id.len <= CONTAINER_BYTES_MAX;
}

static void find_host(const struct datadog_names *names, const struct profile_resource *resource,
		      struct datadog_owner *owner)
{
	static const char *const hosts[] = { "host.name", NULL };

	owner->host = text_of(names->host);
	if (owner->host.len || !*names->this_host)
		return;
	owner->host = find(resource, hosts);
	if (!owner->host.len)
		owner->host = text_of(names->this_host);
}

/* What somebody said, else what is configured, else what was guessed. */
static void find_service(const struct datadog_names *names, const struct profile_resource *resource,
			 struct datadog_owner *owner)
{
	static const char *const services[] = { "service.name", VARIABLE "DD_SERVICE", VARIABLE "OTEL_SERVICE_NAME",
						NULL };
	static const char *const sources[] = { SERVICE_SOURCE_ATTRIBUTE, NULL };
	struct str source = find(resource, sources);
	bool is_guess = service_name_is_guess(source.at, source.len);

	owner->service = find(resource, is_guess ? services + 1 : services);
	if (owner->service.len)
		return;
	if (!owner->version.len)
		owner->version = text_of(names->version);
	owner->is_inferred = !*names->service;
	owner->service = *names->service ? text_of(names->service) : find(resource, services);
	if (!owner->service.len)
		owner->service = text_of(DATADOG_SERVICE);
}

void datadog_owner_of(const struct datadog_names *names, const struct profile_resource *resource,
		      struct datadog_owner *ret_owner)
{
	static const char *const envs[] = { "deployment.environment.name", "deployment.environment", VARIABLE "DD_ENV",
					    NULL };
	static const char *const versions[] = { "service.version", VARIABLE "DD_VERSION", NULL };
	static const char *const containers[] = { "container.id", NULL };
	struct datadog_owner owner = { .env = find(resource, envs), .version = find(resource, versions),
				       .container = find(resource, containers) };

	if (!owner.env.len)
		owner.env = text_of(names->env);
	find_service(names, resource, &owner);
	find_host(names, resource, &owner);
	if (!is_container_id(owner.container))
		owner.container = (struct str){ 0 };
	*ret_owner = owner;
}

void datadog_owner_key(const struct datadog_owner *owner, struct buf *key)
{
	const struct str parts[] = { owner->service, owner->env, owner->version, owner->host, owner->container };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		buf_add(key, &parts[i].len, sizeof(parts[i].len));
		if (parts[i].len)
			buf_add(key, parts[i].at, parts[i].len);
	}
}

/* ---- Tags ---------------------------------------------------------------------------------- */

/* A comma would end it; what is no text has no place in it. Cut between characters. */
static void put_clean(struct buf *out, const char *at, size_t len, size_t room)
{
	while (len) {
		size_t bytes = utf8_next(at, len);
		bool is_clean = bytes && *at != ',' && !iscntrl((unsigned char)*at);

		if (!bytes)
			bytes = 1;
		if ((is_clean ? bytes : 1) > room)
			return;
		room -= is_clean ? bytes : 1;
		buf_add(out, is_clean ? at : "_", is_clean ? bytes : 1);
		at += bytes;
		len -= bytes;
	}
}

static void put_tag(struct buf *out, const char *key, struct str value)
{
	if (!value.len)
		return;
	buf_addf(out, "%s%s:", out->len ? "," : "", key);
	put_clean(out, value.at, value.len, DATADOG_TAG_BYTES_MAX - strlen(key) - 1);
}

u32 datadog_tags_add(struct buf *out, const char *list)
{
	const char *separators = strchr(list, ',') ? "," : " ";
	u32 left_out = 0;

	while (*list) {
		size_t len = strcspn(list, separators), end = len;
		const char *next = list + len + (list[len] != '\0');

		for (; end && *list == ' '; end--)
			list++;
		while (end && list[end - 1] == ' ')
			end--;
		if (end && (*list == ':' || list[end - 1] == ':')) {
			left_out++;
		} else if (end) {
			buf_addf(out, "%s", out->len ? "," : "");
			put_clean(out, list, end, DATADOG_TAG_BYTES_MAX);
		}
		list = next;
	}
	return left_out;
}

void datadog_owner_tags(const struct datadog_owner *owner, const struct datadog_names *names, struct buf *out)
{
	/* Labels of samples that the page offers as filters. */
	static const char *const filters[] = { "process_id", "process_name", "container_id", "container_name",
					       "pod_name", "cpu.logical_number" };

	put_tag(out, "service", owner->service);
	put_tag(out, "service_inferred", owner->is_inferred ? STR("yes") : STR("no"));
	put_tag(out, "env", owner->env);
	put_tag(out, "version", owner->version);
	put_tag(out, "host", owner->host);
	(void)datadog_tags_add(out, names->tags);
	put_tag(out, "runtime", STR("ebpf"));
	put_tag(out, "runtime-id", text_of(names->runtime_id));
	put_tag(out, "profiler_name", STR("wick"));
	put_tag(out, "profiler_version", STR(WICK_VERSION));
	put_tag(out, "cpu_arch", STR(CPU_ARCH));
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		put_tag(out, "ddprof.custom_ctx", text_of(filters[i]));
}
