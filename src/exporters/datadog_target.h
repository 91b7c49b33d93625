/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where profiles for Datadog go: to an Agent, which has the API key, or to Datadog itself with a key of ours. The first
 * of these that is given:
 *
 *	option endpoint			an Agent: http://host:8126, unix:///path or /path
 *	option api::key			Datadog itself, at api::site or DD_SITE
 *	DD_TRACE_AGENT_URL		an Agent, as endpoint
 *	DD_AGENT_HOST			an Agent, at DD_TRACE_AGENT_PORT or 8126
 *	DD_API_KEY			Datadog itself
 *	/var/run/datadog/apm.socket	an Agent of this machine, if there is such a socket
 *	nothing				http://localhost:8126
 */
#ifndef EXPORTERS_DATADOG_TARGET_H
#define EXPORTERS_DATADOG_TARGET_H

#include <stdbool.h>

#define DATADOG_AGENT_SOCKET "/var/run/datadog/apm.socket"

struct buf;

/* "" where an option is not given. */
struct datadog_where {
	const char *endpoint, *api_key, *site;
	const char *intake;			/* the whole URL instead of the site's */
	const char *(*variable)(void *arg, const char *name);	/* of the environment; NULL: it is not set */
	bool (*is_socket)(void *arg, const char *path);
	void *arg;
};

struct datadog_target {
	char url[2048];
	char unix_socket[108];			/* "": there is none */
	const char *api_key;			/* borrowed; "": an Agent has it */
};

/* 0, or -EINVAL and a sentence about the option or variable that is wrong. */
int datadog_target_find(const struct datadog_where *where, struct datadog_target *ret_target, struct buf *why);

#endif
