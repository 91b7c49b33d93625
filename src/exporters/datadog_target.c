// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "exporters/otlp_endpoint.h"

#define AGENT_PATH "/profiling/v1/input"
#define AGENT_PORT "8126"
#define INTAKE_PATH "/api/v2/profile"
#define SITE "datadoghq.com"

/* An empty variable is as good as none. */
static const char *variable(const struct datadog_where *where, const char *name)
{
	const char *value = where->variable(where->arg, name);

	return value ? value : "";
}

static int set_url(struct datadog_target *target, const char *name, struct buf *why, const char *base, const char *path)
{
	size_t len = strlen(base);
	int n;

	while (len && *path && base[len - 1] == '/')
		len--;
	n = snprintf(target->url, sizeof(target->url), "%.*s%s", (int)(len < 4096 ? len : 4096), base, path);
	if (n >= 0 && (size_t)n < sizeof(target->url))
		return 0;
	buf_addf(why, "%s: it is too long", name);
	return -EINVAL;
}

/* ---- Agents -------------------------------------------------------------------------------- */

static int set_socket(struct datadog_target *target, const char *name, const char *path, struct buf *why)
{
	if (*path != '/' || strlen(path) >= sizeof(target->unix_socket)) {
		buf_addf(why, "%s: a socket is an absolute path shorter than 108 bytes, such as unix://%s", name,
			 DATADOG_AGENT_SOCKET);
		return -EINVAL;
	}
	(void)snprintf(target->unix_socket, sizeof(target->unix_socket), "%s", path);
	return set_url(target, name, why, "http://localhost", AGENT_PATH);
}

static int set_agent(struct datadog_target *target, const char *name, const char *text, struct buf *why)
{
	const char *problem;

	if (*text == '/')
		return set_socket(target, name, text, why);
	if (!strncmp(text, "unix:", 5))
		return set_socket(target, name, strncmp(text + 5, "//", 2) ? text + 5 : text + 7, why);
	problem = otlp_url_problem(text);
	if (problem || strpbrk(text, "?#")) {
		buf_addf(why, "%s: %s: %s", name, text, problem ? problem : "it has more than a path");
		buf_addf(why, "; give http://HOST:" AGENT_PORT " or unix:///PATH");
		return -EINVAL;
	}
	return set_url(target, name, why, text, AGENT_PATH);
}

static bool is_host(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%")];
}

static int set_agent_host(struct datadog_target *target, const struct datadog_where *where, const char *host,
			  struct buf *why)
{
	const char *port = variable(where, "DD_TRACE_AGENT_PORT");
	bool bare_v6 = strchr(host, ':') && *host != '[';
	char base[512];

	if (!*port)
		port = AGENT_PORT;
	if (strspn(port, "0123456789") != strlen(port) || strlen(port) > 5) {
		buf_addf(why, "DD_TRACE_AGENT_PORT: %s is no port", port);
		return -EINVAL;
	}
	if (!is_host(host) || strlen(host) > 256) {
		buf_addf(why, "DD_AGENT_HOST: %s is no host; a URL goes into DD_TRACE_AGENT_URL", host);
		return -EINVAL;
	}
	(void)snprintf(base, sizeof(base), "http://%s%s%s:%s", bare_v6 ? "[" : "", host, bare_v6 ? "]" : "", port);
	return set_url(target, "DD_AGENT_HOST", why, base, AGENT_PATH);
}

/* ---- Datadog itself ------------------------------------------------------------------------ */

static int set_intake(struct datadog_target *target, const struct datadog_where *where, const char *name,
		      const char *key, struct buf *why)
{
	const char *site = *where->site ? where->site : variable(where, "DD_SITE"), *problem;
	char base[512];

	if (strspn(key, "0123456789abcdefABCDEFghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ_-") != strlen(key)) {
		buf_addf(why, "%s: it has characters that no API key has", name);
		return -EINVAL;
	}
	target->api_key = key;
	if (*where->intake) {
		problem = otlp_url_problem(where->intake);
		if (!problem)
			return set_url(target, "profiles::endpoint", why, where->intake, "");
		buf_addf(why, "profiles::endpoint: %s: %s", where->intake, problem);
		return -EINVAL;
	}
	if (!*site)
		site = SITE;
	if (!is_host(site) || strchr(site, ':') || strlen(site) > 200) {
		buf_addf(why, "api::site: %s is no site; it is such as " SITE " or datadoghq.eu", site);
		return -EINVAL;
	}
	(void)snprintf(base, sizeof(base), "https://intake.profile.%s", site);
	return set_url(target, "api::site", why, base, INTAKE_PATH);
}

static int find(const struct datadog_where *where, struct datadog_target *target, struct buf *why)
{
	const char *text;

	if (*where->endpoint)
		return set_agent(target, "endpoint", where->endpoint, why);
	if (*where->api_key)
		return set_intake(target, where, "api::key", where->api_key, why);
	text = variable(where, "DD_TRACE_AGENT_URL");
	if (*text)
		return set_agent(target, "DD_TRACE_AGENT_URL", text, why);
	text = variable(where, "DD_AGENT_HOST");
	if (*text)
		return set_agent_host(target, where, text, why);
	text = variable(where, "DD_API_KEY");
	if (*text)
		return set_intake(target, where, "DD_API_KEY", text, why);
	if (where->is_socket(where->arg, DATADOG_AGENT_SOCKET))
		return set_socket(target, "endpoint", DATADOG_AGENT_SOCKET, why);
	return set_agent_host(target, where, "localhost", why);
}

int datadog_target_find(const struct datadog_where *where, struct datadog_target *ret_target, struct buf *why)
{
	struct datadog_target target = { .api_key = "" };
	int r = find(where, &target, why);

	if (r == 0)
		*ret_target = target;
	return r;
}
