// SPDX-License-Identifier: Apache-2.0
#include "extensions/http_endpoint.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "pipeline/service.h"

#define TEXT_MAX 4096

int http_endpoint_open(struct http_endpoint *endpoint, struct service *service,
		       const struct http_endpoint_options *options, void *arg, struct buf *why)
{
	const struct listen_options listen = {
		.endpoint = options->endpoint,
		.tls = options->has_tls ? &options->tls : NULL,
		.request_timeout_ns = options->read_timeout_ns,
		.head_timeout_ns = options->read_header_timeout_ns,
		.write_timeout_ns = options->write_timeout_ns,
		.idle_timeout_ns = options->idle_timeout_ns,
		.close_after_request = !options->keep_alives,
	};

	endpoint->arg = arg;
	return server_listen(service_server(service), &listen, &endpoint->listener, why);
}

int http_endpoint_route(struct http_endpoint *endpoint, const char *method, const char *path,
			void (*handle)(void *arg, struct exchange *exchange), struct buf *why)
{
	const struct route route = { .method = method, .path = path, .handle = handle, .arg = endpoint->arg };
	int r = listener_route(endpoint->listener, &route);

	if (r == -EEXIST)
		buf_addf(why, "somebody else serves %s on %s already; choose another endpoint", path,
			 listener_address(endpoint->listener));
	return r;
}

void http_endpoint_close(struct http_endpoint *endpoint, u64 deadline_ns)
{
	if (endpoint->listener)
		listener_leave(endpoint->listener, endpoint->arg, deadline_ns);
	endpoint->listener = NULL;
}

void http_reply(struct exchange *exchange, int status, const char *content_type, struct buf *body)
{
	static const struct http_header headers[] = { { "cache-control", "no-store" } };

	if (buf_err(body)) {
		buf_done(body);
		status = 500;
	}
	exchange_reply(exchange, status, content_type, headers, 1, body);
}

void http_reply_text(struct exchange *exchange, int status, const char *text)
{
	struct buf body;

	buf_init(&body, TEXT_MAX);
	buf_addf(&body, "%s\n", text);
	http_reply(exchange, status, CONTENT_TEXT, &body);
}
