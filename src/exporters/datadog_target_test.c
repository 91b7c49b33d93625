// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_target.h"

#include <errno.h>

#include "base/buf.h"
#include "test.h"

struct machine {
	const char *variables[8];	/* NAME=value, up to NULL */
	bool has_socket;
};

static const char *variable(void *arg, const char *name)
{
	const struct machine *machine = arg;
	size_t len = strlen(name);

	for (const char *const *v = machine->variables; *v; v++)
		if (!strncmp(*v, name, len) && (*v)[len] == '=')
			return *v + len + 1;
	return NULL;
}

static bool is_socket(void *arg, const char *path)
{
	return ((const struct machine *)arg)->has_socket && !strcmp(path, DATADOG_AGENT_SOCKET);
}

struct expectation {
	struct datadog_where where;
	struct machine machine;
	const char *url, *socket, *key;
	const char *problem;		/* instead, a part of the sentence */
};

static void judge(const struct expectation *e)
{
	struct datadog_where where = e->where;
	struct machine machine = e->machine;
	struct datadog_target target;
	struct buf why;
	int r;

	where.endpoint = where.endpoint ? where.endpoint : "";
	where.api_key = where.api_key ? where.api_key : "";
	where.site = where.site ? where.site : "";
	where.intake = where.intake ? where.intake : "";
	where.variable = variable;
	where.is_socket = is_socket;
	where.arg = &machine;
	buf_init(&why, 4096);
	r = datadog_target_find(&where, &target, &why);
	if (e->problem) {
		EQ(r, -EINVAL);
		if (!strstr(why.data, e->problem))
			FAIL("%s is not in %s", e->problem, why.data);
	} else {
		EQ(r, 0);
		STREQ(target.url, e->url);
		STREQ(target.unix_socket, e->socket ? e->socket : "");
		STREQ(target.api_key, e->key ? e->key : "");
	}
	buf_done(&why);
}

#define AT(base) .url = base "/profiling/v1/input"
#define INTAKE(site) .url = "https://intake.profile." site "/api/v2/profile"

TEST(datadog_target_is_the_first_that_is_given)
{
	static const struct expectation all[] = {
		{ AT("http://localhost:8126") },
		{ .machine = { .has_socket = true }, AT("http://localhost"), .socket = DATADOG_AGENT_SOCKET },
		{ .machine = { { "DD_TRACE_AGENT_PORT=9126" } }, AT("http://localhost:9126") },
		{ .machine = { { "DD_AGENT_HOST=agent", "DD_API_KEY=abc" }, true }, AT("http://agent:8126") },
		{ .machine = { { "DD_AGENT_HOST=fd00::1", "DD_TRACE_AGENT_PORT=1" } }, AT("http://[fd00::1]:1") },
		{ .machine = { { "DD_AGENT_HOST=agent", "DD_TRACE_AGENT_URL=unix:///run/dd.sock" } },
		  AT("http://localhost"), .socket = "/run/dd.sock" },
		{ .machine = { { "DD_AGENT_HOST=", "DD_TRACE_AGENT_URL=https://gate/dd/" } }, AT("https://gate/dd") },
		{ .machine = { { "DD_API_KEY=abc" }, true }, INTAKE("datadoghq.com"), .key = "abc" },
		{ .machine = { { "DD_API_KEY=abc", "DD_SITE=us5.datadoghq.com" } }, INTAKE("us5.datadoghq.com"),
		  .key = "abc" },
		{ .where = { .api_key = "k1", .site = "datadoghq.eu" },
		  .machine = { { "DD_AGENT_HOST=agent", "DD_SITE=us3.datadoghq.com" } }, INTAKE("datadoghq.eu"),
		  .key = "k1" },
		{ .where = { .api_key = "k1", .intake = "http://127.0.0.1:1/x" }, .url = "http://127.0.0.1:1/x",
		  .key = "k1" },
		{ .where = { .endpoint = "/run/a.sock" }, .machine = { { "DD_TRACE_AGENT_URL=http://b:1" } },
		  AT("http://localhost"), .socket = "/run/a.sock" },
		{ .where = { .endpoint = "unix:/run/a.sock" }, AT("http://localhost"), .socket = "/run/a.sock" },
		{ .where = { .endpoint = "http://10.0.0.1:8126" }, AT("http://10.0.0.1:8126") },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		judge(&all[i]);
}

TEST(datadog_target_says_what_is_wrong)
{
	static const struct expectation all[] = {
		{ .where = { .endpoint = "agent:8126" }, .problem = "agent:8126: it must begin with http://" },
		{ .where = { .endpoint = "unix://relative" }, .problem = "absolute path" },
		{ .where = { .endpoint = "http://a:1?x=1" }, .problem = "more than a path" },
		{ .where = { .api_key = "k", .site = "https://app.datadoghq.eu" }, .problem = "no site" },
		{ .where = { .api_key = "k\n" }, .problem = "api::key: it has characters" },
		{ .where = { .api_key = "k", .intake = "intake" }, .problem = "profiles::endpoint: intake" },
		{ .machine = { { "DD_AGENT_HOST=http://agent" } }, .problem = "DD_TRACE_AGENT_URL" },
		{ .machine = { { "DD_TRACE_AGENT_PORT=http" } }, .problem = "DD_TRACE_AGENT_PORT: http is no port" },
		{ .machine = { { "DD_TRACE_AGENT_URL=ftp://x" } }, .problem = "DD_TRACE_AGENT_URL: ftp://x" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		judge(&all[i]);
}
