/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS settings of a listener, as OpenSSL holds them, read again when
 * their files change. The loop's thread, once made.
 */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "net/core.h"
#include "net/server.h"

struct tls;

/* -errno with a sentence in `why`. The options are copied. */
int tls_new(const struct tls_server_options *options, struct tls **ret_tls, struct buf *why);
void tls_free(struct tls *tls);
DEFINE_CLEANUP(struct tls *, tls_free)

bool tls_equal(const struct tls *a, const struct tls *b);	/* either may be NULL */

/* For a new connection; NULL: out of memory. */
SSL *tls_accept(struct tls *tls);

/* 1: a file had changed and was read; 0: nothing changed; -errno with `why`: what there was stays. */
int tls_reload(struct tls *tls, struct buf *why);

/* How often to call that; 0: never. */
u64 tls_reload_interval_ns(const struct tls *tls);

#endif
