/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to others, on libcurl (loaded at first use). A struct client has a
 * curl_multi of its own and belongs to one thread, but client_wake().
 *
 *	client_begin() ... client_wait() -> done callbacks
 *
 * client_get() is for the few who ask once and can wait.
 */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/types.h"
#include "config/fields.h"
#include "net/server.h"		/* struct http_header */

struct client;
struct client_request;

struct tls_client_options {
	bool insecure;			/* no TLS (gRPC) */
	bool insecure_skip_verify;
	const char *server_name_override;	/* instead of the URL's host, in the handshake and in the certificate */
	const char *ca_file, *ca_pem, *cert_file, *cert_pem, *key_file, *key_pem;	/* "" or NULL where not given */
	int min_version, max_version;	/* indices of tls_client_versions; 0: 1.2, and any */
	struct config_texts cipher_suites, curve_preferences;
	bool include_system_ca_certs_pool;
	s64 reload_interval_ns;		/* files are looked at again after that; 0: read once */
};
extern const struct config_field tls_client_fields[];

/* What goes with what, for component_ops.check(). */
void tls_client_check(const struct tls_client_options *options, struct config_place place, const char *path,
		      struct config_errors *errors);

/* All zeros, NULL too, are the defaults. Strings are borrowed. */
struct client_options {
	const struct tls_client_options *tls;	/* NULL: the defaults */
	const char *unix_socket;		/* path, or "" */
	const char *proxy_url;			/* "": as the environment says, but never to loopback */
	const char *user_agent;			/* "": wick/VERSION */
	u32 host_connections_max;		/* 0: no limit */
	u32 idle_connections_max;		/* kept for the next request; 0: 100 */
	s64 idle_timeout_ns;			/* an older idle connection is not used again; 0: 90 s */
	/*
	 * A connection that nothing comes from for `time` is probed, and given up `timeout` later; 0: after 2 h. The
	 * probes are those of TCP: libcurl sends HTTP/2 pings only when it is idle.
	 */
	s64 keepalive_time_ns, keepalive_timeout_ns;
};

struct client_answer {
	int error;			/* 0, or -errno: no whole answer came; status is 0 then */
	char error_text[256];
	int status;			/* of HTTP */
	struct buf body;
	bool too_large;			/* the body was longer than allowed, and is cut */
	/* Headers and trailers, the last of each name; after an error those that came before it. */
	u32 header_count;
	const struct http_header *headers;
};

#define CLIENT_PREFIX_MAX 8

/* All but the body is copied. A "host" header goes out as :authority in HTTP/2. */
struct client_call {
	const char *method;		/* "GET", "POST" */
	const char *url;
	const struct http_header *headers;
	u32 header_count;
	u8 prefix[CLIENT_PREFIX_MAX];	/* sent before the body */
	u32 prefix_bytes;
	const void *body;		/* borrowed until done */
	size_t body_bytes;
	bool http2_only;		/* h2c with prior knowledge, or by ALPN: gRPC */
	bool http1_only;		/* else HTTP/2 if TLS finds that both can */
	s64 timeout_ns;			/* 0: none */
	size_t answer_max;		/* bytes of the body; 0: 64 KiB */
	/* If given, a body that comes with status 200 is handed over piece by piece, not kept; -errno ends it. */
	int (*piece)(void *arg, const void *at, size_t bytes);
	void (*done)(void *arg, const struct client_answer *answer);
	void *arg;
};

/* gRPC: HTTP/2, with a flag and the length of the body, which has to be there already, before it. */
void client_call_set_grpc(struct client_call *call, bool is_compressed);

int client_new(const struct client_options *options, struct client **ret_client, struct buf *why);
void client_free(struct client *client);
DEFINE_CLEANUP(struct client *, client_free)

/* -EINVAL: a URL or header that cannot be sent; -ENOMEM. */
int client_begin(struct client *client, const struct client_call *call, struct client_request **ret_request);
void client_cancel(struct client *client, struct client_request *request);	/* done() is not called */
void client_wait(struct client *client, int timeout_ms);			/* calls done() */
void client_wake(struct client *client);

const char *client_answer_header(const struct client_answer *answer, const char *name);	/* lower case; NULL: none */

/*
 * One GET, waiting: 0 and the answer's status and body, which is at most as long as the buffer's limit; -errno and a
 * sentence in `why`. options may be NULL.
 */
int client_get(const struct client_options *options, const char *url, const struct http_header *headers, u32 count,
	       s64 timeout_ns, struct buf *body, int *ret_status, struct buf *why);

#endif
