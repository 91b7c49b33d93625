// SPDX-License-Identifier: Apache-2.0
#include "extensions/http_endpoint.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "pipeline/authorize.h"
#include "pipeline/service.h"

#define TEXT_MAX 4096

const char *const http_endpoint_transports[] = { "tcp", NULL };

const struct config_field http_endpoint_auth_fields[] = {
	{ "authenticator", CONFIG_TEXT, FIELD(struct http_endpoint_options, authenticator), .required = true,
	  .extension = true, .help = "id of an extension (bearertokenauth, basicauth) that requests must satisfy" },
	{ "request_params", CONFIG_REFUSED,
	  .help = "no authenticator here looks at parameters of the request; remove it" },
	{ 0 },
};

static int find_authenticator(struct http_endpoint *endpoint, struct service *service, const char *id, struct buf *why)
{
	const struct component_ops *ops = service_extension(service, id, &endpoint->authenticator_self);

	if (!ops || !ops->authenticator || !ops->authenticator->accept) {
		buf_addf(why, "%s is no extension of service::extensions that tells who may ask", id);
		return -EINVAL;
	}
	endpoint->authenticator = ops->authenticator;
	return 0;
}

int http_endpoint_open(struct http_endpoint *endpoint, struct service *service,
		       const struct http_endpoint_options *options, void *arg, struct buf *why)
{
	const struct listen_options listen = {
		.endpoint = options->endpoint,
		.hosts = options->hosts,
		.tls = options->has_tls ? &options->tls : NULL,
		.request_timeout_ns = options->read_timeout_ns,
		.head_timeout_ns = options->read_header_timeout_ns,
		.write_timeout_ns = options->write_timeout_ns,
		.idle_timeout_ns = options->idle_timeout_ns,
		.close_after_request = !options->keep_alives,
	};
	int r = 0;

	endpoint->arg = arg;
	if (*options->authenticator)
		r = find_authenticator(endpoint, service, options->authenticator, why);
	return r < 0 ? r : server_listen(service_server(service), &listen, &endpoint->listener, why);
}

static void reply_unauthorized(struct exchange *exchange)
{
	static const struct http_header headers[] = { { "www-authenticate", "Basic, Bearer" } };
	struct buf body;

	buf_init(&body, TEXT_MAX);
	buf_addf(&body, "missing or wrong credentials\n");
	exchange_reply(exchange, 401, CONTENT_TEXT, headers, 1, &body);
}

static void serve(void *arg, struct exchange *exchange)
{
	const struct http_endpoint_route *route = arg;
	const struct http_endpoint *endpoint = route->endpoint;

	if (is_authorized(endpoint->authenticator, endpoint->authenticator_self, exchange))
		route->handle(endpoint->arg, exchange);
	else
		reply_unauthorized(exchange);
}

int http_endpoint_route(struct http_endpoint *endpoint, const char *method, const char *path,
			void (*handle)(void *arg, struct exchange *exchange), struct buf *why)
{
	return http_endpoint_route_body(endpoint, method, path, 0, handle, why);
}

int http_endpoint_route_body(struct http_endpoint *endpoint, const char *method, const char *path, size_t body_max,
			     void (*handle)(void *arg, struct exchange *exchange), struct buf *why)
{
	struct http_endpoint_route *at = &endpoint->routes[endpoint->route_count];
	const struct route route = { .method = method, .path = path, .is_question = true, .body_max = body_max,
				     .handle = serve, .arg = at };
	int r;

	assert(endpoint->route_count < HTTP_ENDPOINT_ROUTES_MAX);
	*at = (struct http_endpoint_route){ endpoint, handle };
	r = listener_route(endpoint->listener, &route);
	if (r == -EEXIST)
		buf_addf(why, "somebody else serves %s on %s already; choose another endpoint", path,
			 listener_address(endpoint->listener));
	endpoint->route_count += r == 0;
	return r;
}

/* The listener is gone with its last route; one that has none goes when anybody leaves. */
void http_endpoint_close(struct http_endpoint *endpoint, u64 deadline_ns)
{
	for (u32 i = 0; i < endpoint->route_count; i++)
		listener_leave(endpoint->listener, &endpoint->routes[i], deadline_ns);
	if (endpoint->listener && !endpoint->route_count)
		listener_leave(endpoint->listener, endpoint, deadline_ns);
	endpoint->listener = NULL;
	endpoint->route_count = 0;
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
