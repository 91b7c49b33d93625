// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/client.h"

static bool given(const char *text)
{
	return text && *text;
}

/* Is there TLS where no scheme says so? With authorities to trust there is, whatever insecure says. */
static bool wants_tls(const struct tls_client_options *tls)
{
	return !tls->insecure || given(tls->ca_file) || given(tls->ca_pem);
}

static bool skip(const char **text, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncasecmp(*text, prefix, len))
		return false;
	*text += len;
	return true;
}

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits <= 5 && !text[digits] && strtoul(text, NULL, 10) <= 65535;
}

/* host:port or [address]:port, and nothing that would change its meaning in a URL. */
static const char *authority_problem(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (strpbrk(text, "/?#@ \t\\"))
		return "it is host:port, without a path";
	if (!colon || colon == text || !is_port(colon + 1))
		return "it needs a host and a port, such as backend:4317";
	if (*text == '[' ? colon[-1] != ']' : memchr(text, ':', colon - text) != NULL)
		return "an IPv6 address stands in brackets, such as [::1]:4317";
	return NULL;
}

static int parse_socket(const char *path, struct otlp_target *endpoint, const char **ret_why)
{
	/* unix:path, unix:/path and unix:///path; // names an authority, which is empty. */
	if (!strncmp(path, "//", 2))
		path += 2;
	if (!*path || strlen(path) >= sizeof(endpoint->unix_socket)) {
		*ret_why = "unix: needs the path of a socket, shorter than 108 bytes";
		return -EINVAL;
	}
	(void)snprintf(endpoint->unix_socket, sizeof(endpoint->unix_socket), "%s", path);
	(void)snprintf(endpoint->authority, sizeof(endpoint->authority), "localhost");
	return 0;
}

int otlp_endpoint_parse(const char *text, const struct tls_client_options *tls, struct otlp_target *ret_endpoint,
			const char **ret_why)
{
	struct otlp_target endpoint = { .tls = wants_tls(tls) };
	const char *problem;

	if (skip(&text, "unix:")) {
		if (parse_socket(text, &endpoint, ret_why) < 0)
			return -EINVAL;
		*ret_endpoint = endpoint;
		return 0;
	}
	if (skip(&text, "https://"))
		endpoint.tls = true;
	else if (!skip(&text, "http://") && !skip(&text, "dns:///") && !skip(&text, "passthrough:///"))
		(void)(skip(&text, "dns:/") || skip(&text, "dns:"));
	problem = authority_problem(text);
	if (!problem && strlen(text) >= sizeof(endpoint.authority))
		problem = "it is too long";
	if (problem) {
		*ret_why = problem;
		return -EINVAL;
	}
	(void)snprintf(endpoint.authority, sizeof(endpoint.authority), "%s", text);
	*ret_endpoint = endpoint;
	return 0;
}

const char *otlp_url_problem(const char *url)
{
	const char *text = url;

	if (!skip(&text, "http://") && !skip(&text, "https://"))
		return "it must begin with http:// or https://";
	if (!*text || strchr("/?#:", *text))
		return "it needs a host";
	if (strpbrk(text, " \t\r\n"))
		return "it has a blank in it";
	return NULL;
}
