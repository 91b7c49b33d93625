/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where gRPC goes: what the option endpoint says, as the Collector and grpc-go read it.
 *
 *	host:4317  http://host:4317  https://host:4317  dns:///host:4317  unix:///run/x.sock  unix:x.sock
 *
 * http:// is only a prefix: whether there is TLS is said by tls::insecure. https:// turns it on.
 */
#ifndef EXPORTERS_OTLP_ENDPOINT_H
#define EXPORTERS_OTLP_ENDPOINT_H

#include <stdbool.h>

struct tls_client_options;

struct otlp_target {
	bool tls;
	char authority[300];		/* host:port; "localhost" for a socket */
	char unix_socket[108];		/* path, or "" */
};

/* 0, or -EINVAL and what is wrong with it in *ret_why, a literal. */
int otlp_endpoint_parse(const char *text, const struct tls_client_options *tls, struct otlp_target *ret_endpoint,
			const char **ret_why);

/* NULL, or what is wrong with it as the URL of an HTTP endpoint: a literal. */
const char *otlp_url_problem(const char *url);

#endif
