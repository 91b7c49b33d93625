/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client shows and trusts in TLS. Certificates and keys are read here, not by libcurl: it compares the contents
 * of what it is given, and so opens new connections after a file changed.
 *
 * Belongs to its client's thread.
 */
#ifndef NET_CLIENT_TLS_H
#define NET_CLIENT_TLS_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/curl_library.h"
#include "net/client.h"

#define CLIENT_PEM_BYTES_MAX (4u << 20)

struct client_pem {
	const char *path;		/* "" if it stands in the configuration, or there is none */
	struct buf text;
	struct stat seen;
};

struct client_tls {
	const struct tls_client_options *options;	/* NULL: the defaults */
	struct client_pem ca, cert, key;
	struct buf ciphers, curves;	/* as OpenSSL names them, "" for its own choice */
	u64 reload_ns;			/* when to look at the files again */
};

/* -errno, and a sentence in `why`. The options are borrowed. */
int client_tls_init(struct client_tls *tls, const struct tls_client_options *options, struct buf *why);
void client_tls_done(struct client_tls *tls);

/* Reads files that have changed, when it is time to. One that cannot be read now stays as it was. */
void client_tls_reload(struct client_tls *tls, u64 now_ns);

CURLcode client_tls_apply(const struct client_tls *tls, const struct curl_library *library, CURL *curl);

#endif
