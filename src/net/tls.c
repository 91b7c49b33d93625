// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/stat.h>

#define CLIENT_CA_INTERVAL_NS (5 * SECOND_NS)	/* of client_ca_file_reload, which has no interval of its own */

const struct config_field tls_server_fields[] = {
	{ "cert_file", CONFIG_TEXT, FIELD(struct tls_server_options, cert_file),
	  .help = "certificate of this server, with the chain to its authority, in PEM" },
	{ "key_file", CONFIG_TEXT, FIELD(struct tls_server_options, key_file), .help = "its private key, in PEM" },
	{ "cert_pem", CONFIG_SECRET, FIELD(struct tls_server_options, cert_pem),
	  .help = "the certificate itself, instead of a file" },
	{ "key_pem", CONFIG_SECRET, FIELD(struct tls_server_options, key_pem),
	  .help = "the private key itself, instead of a file" },
	{ "client_ca_file", CONFIG_TEXT, FIELD(struct tls_server_options, client_ca_file),
	  .help = "clients must show a certificate of one of these authorities" },
	{ "client_ca_file_reload", CONFIG_BOOL, FIELD(struct tls_server_options, client_ca_file_reload),
	  .help = "read client_ca_file again when it changes" },
	{ "min_version", CONFIG_TEXT, FIELD(struct tls_server_options, min_version),
	  .help = "oldest version of TLS that is spoken: 1.2 or 1.3" },
	{ "max_version", CONFIG_TEXT, FIELD(struct tls_server_options, max_version),
	  .help = "newest version of TLS that is spoken: 1.2 or 1.3" },
	{ "cipher_suites", CONFIG_TEXTS, FIELD(struct tls_server_options, cipher_suites),
	  .help = "ciphers of TLS 1.2 that are spoken, such as TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384" },
	{ "curve_preferences", CONFIG_TEXTS, FIELD(struct tls_server_options, curve_preferences),
	  .help = "key exchanges that are spoken, the best first: X25519, P256, P384, P521" },
	{ "reload_interval", CONFIG_DURATION, FIELD(struct tls_server_options, reload_interval_ns), .min = 0,
	  .max = 9e18, .help = "how often to look whether the files have changed; 0: never" },
	{ "ca_file", CONFIG_NEEDLESS, .help = "a server does not verify with it: client_ca_file is what clients are "
					   "checked by" },
	{ "ca_pem", CONFIG_NEEDLESS, .help = "a server does not verify with it: client_ca_file is what clients are "
					  "checked by" },
	{ "include_system_ca_certs_pool", CONFIG_NEEDLESS,
	  .help = "a server does not verify with it: client_ca_file is what clients are checked by" },
	{ "tpm", CONFIG_REFUSED, .help = "keys in a TPM are not supported; use key_file" },
	{ 0 },
};

enum { FILE_CERT, FILE_KEY, FILE_CLIENT_CA, FILES };

struct tls {
	SSL_CTX *context;
	struct tls_server_options options;	/* all of its strings are ours */
	struct stat seen[FILES];
};

/* ---- Options ------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int copy_text(const char **to, const char *from)
{
	*to = strdup(or_empty(from));
	return *to ? 0 : -ENOMEM;
}

static int copy_texts(struct config_texts *to, const struct config_texts *from)
{
	const char **at = calloc(from->count + 1, sizeof(*at));
	int r = at ? 0 : -ENOMEM;

	*to = (struct config_texts){ 0, at };
	for (; r == 0 && to->count < from->count; to->count++)
		r = copy_text(&at[to->count], from->at[to->count]);
	return r;
}

static int copy_options(struct tls_server_options *to, const struct tls_server_options *from)
{
	int r = 0;

	*to = (struct tls_server_options){ .reload_interval_ns = from->reload_interval_ns,
					   .client_ca_file_reload = from->client_ca_file_reload };
	r = r ? r : copy_text(&to->cert_file, from->cert_file);
	r = r ? r : copy_text(&to->key_file, from->key_file);
	r = r ? r : copy_text(&to->cert_pem, from->cert_pem);
	r = r ? r : copy_text(&to->key_pem, from->key_pem);
	r = r ? r : copy_text(&to->client_ca_file, from->client_ca_file);
	r = r ? r : copy_text(&to->min_version, from->min_version);
	r = r ? r : copy_text(&to->max_version, from->max_version);
	r = r ? r : copy_texts(&to->cipher_suites, &from->cipher_suites);
	r = r ? r : copy_texts(&to->curve_preferences, &from->curve_preferences);
	return r;
}

static void free_texts(struct config_texts *texts)
{
	for (u32 i = 0; i < texts->count; i++)
		free((char *)texts->at[i]);
	free((void *)texts->at);
}

static void free_options(struct tls_server_options *options)
{
	const char *texts[] = { options->cert_file, options->key_file, options->cert_pem, options->key_pem,
				options->client_ca_file, options->min_version, options->max_version };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free((char *)texts[i]);
	free_texts(&options->cipher_suites);
	free_texts(&options->curve_preferences);
}

static bool texts_equal(const struct config_texts *a, const struct config_texts *b)
{
	bool equal = a->count == b->count;

	for (u32 i = 0; equal && i < a->count; i++)
		equal = !strcmp(a->at[i], b->at[i]);
	return equal;
}

bool tls_equal(const struct tls *a, const struct tls *b)
{
	const struct tls_server_options *x, *y;

	if (!a || !b)
		return a == b;
	x = &a->options;
	y = &b->options;
	return !strcmp(x->cert_file, y->cert_file) && !strcmp(x->key_file, y->key_file) &&
	       !strcmp(x->cert_pem, y->cert_pem) && !strcmp(x->key_pem, y->key_pem) &&
	       !strcmp(x->client_ca_file, y->client_ca_file) && !strcmp(x->min_version, y->min_version) &&
	       !strcmp(x->max_version, y->max_version) && texts_equal(&x->cipher_suites, &y->cipher_suites) &&
	       texts_equal(&x->curve_preferences, &y->curve_preferences) &&
	       x->reload_interval_ns == y->reload_interval_ns && x->client_ca_file_reload == y->client_ca_file_reload;
}

/* ---- Certificates --------------------------------------------------------------------------- */

/* What OpenSSL says last is nearest to the cause. */
static int tell(struct buf *why, const char *what, const char *where)
{
	unsigned long error = ERR_peek_last_error();
	const char *reason = ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error)) : ERR_reason_error_string(error);

	buf_addf(why, "tls: %s %s: %s", what, where, reason ? reason : "it is not in PEM form");
	ERR_clear_error();
	return -EINVAL;
}

/* PEM from the text or from the file, whichever is given. */
static BIO *open_pem(const char *text, const char *file)
{
	return *text ? BIO_new_mem_buf(text, -1) : BIO_new_file(file, "r");
}

static int use_chain(SSL_CTX *context, BIO *pem)
{
	X509 *certificate = PEM_read_bio_X509_AUX(pem, NULL, NULL, NULL);
	int ok = certificate && SSL_CTX_use_certificate(context, certificate) == 1;

	X509_free(certificate);
	while (ok && (certificate = PEM_read_bio_X509(pem, NULL, NULL, NULL)))
		if (SSL_CTX_add0_chain_cert(context, certificate) != 1) {
			X509_free(certificate);
			ok = 0;
		}
	return ok;
}

static int use_certificate(SSL_CTX *context, const struct tls_server_options *options, struct buf *why)
{
	const char *where = *options->cert_pem ? "of cert_pem" : options->cert_file;
	BIO *pem;
	int ok;

	if (!*options->cert_pem && !*options->cert_file) {
		buf_addf(why, "tls: a server needs cert_file and key_file");
		return -EINVAL;
	}
	pem = open_pem(options->cert_pem, options->cert_file);
	ok = pem && use_chain(context, pem);
	BIO_free(pem);
	return ok ? (ERR_clear_error(), 0) : tell(why, "cannot read the certificate", where);
}

/* There is nobody to ask for a passphrase. */
static int no_passphrase(char *to, int size, int rwflag, void *arg)
{
	return -1;
}

static int use_key(SSL_CTX *context, const struct tls_server_options *options, struct buf *why)
{
	const char *where = *options->key_pem ? "of key_pem" : options->key_file;
	EVP_PKEY *key = NULL;
	BIO *pem;
	int ok;

	if (!*options->key_pem && !*options->key_file) {
		buf_addf(why, "tls: a server needs key_file beside its certificate");
		return -EINVAL;
	}
	pem = open_pem(options->key_pem, options->key_file);
	if (pem)
		key = PEM_read_bio_PrivateKey(pem, NULL, no_passphrase, NULL);
	BIO_free(pem);
	if (!key)
		return tell(why, "cannot read the private key", where);
	ok = SSL_CTX_use_PrivateKey(context, key) == 1;
	EVP_PKEY_free(key);
	return ok ? 0 : tell(why, "the private key does not belong to the certificate:", where);
}

static int use_client_ca(SSL_CTX *context, const struct tls_server_options *options, struct buf *why)
{
	STACK_OF(X509_NAME) *authorities;

	if (!*options->client_ca_file)
		return 0;
	authorities = SSL_load_client_CA_file(options->client_ca_file);
	if (!authorities || SSL_CTX_load_verify_file(context, options->client_ca_file) != 1) {
		sk_X509_NAME_pop_free(authorities, X509_NAME_free);
		return tell(why, "cannot read the authorities of clients", options->client_ca_file);
	}
	SSL_CTX_set_client_CA_list(context, authorities);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return 0;
}

/* ---- What is spoken ---------------------------------------------------------------------------- */

static int parse_version(const char *text, int unset, const char *option, int *ret_version, struct buf *why)
{
	if (!*text)
		*ret_version = unset;
	else if (!strcmp(text, "1.2"))
		*ret_version = TLS1_2_VERSION;
	else if (!strcmp(text, "1.3"))
		*ret_version = TLS1_3_VERSION;
	else {
		buf_addf(why, "tls: %s is 1.2 or 1.3, not %s%s", option, text,
			 !strcmp(text, "1.0") || !strcmp(text, "1.1") ? ", which is broken" : "");
		return -EINVAL;
	}
	return 0;
}

static int use_versions(SSL_CTX *context, const struct tls_server_options *options, struct buf *why)
{
	int least, most;
	int r = parse_version(options->min_version, TLS1_2_VERSION, "min_version", &least, why);

	if (r == 0)
		r = parse_version(options->max_version, 0, "max_version", &most, why);
	if (r < 0)
		return r;
	if (most && most < least) {
		buf_addf(why, "tls: max_version is older than min_version");
		return -EINVAL;
	}
	SSL_CTX_set_min_proto_version(context, least);
	SSL_CTX_set_max_proto_version(context, most);
	return 0;
}

/* OpenSSL's name of what IANA and Go call a cipher, or NULL. */
static const char *find_cipher(SSL_CTX *context, const char *name)
{
	STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(context);

	for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++) {
		const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(ciphers, i);
		const char *standard = SSL_CIPHER_standard_name(cipher);
		size_t len = standard ? strlen(standard) : 0;

		/* Go leaves the hash of ChaCha20's out. */
		if (standard && (!strcmp(standard, name) ||
				 (!strncmp(standard, name, strlen(name)) && len == strlen(name) + 7 &&
				  !strcmp(standard + len - 7, "_SHA256"))))
			return SSL_CIPHER_get_name(cipher);
	}
	return NULL;
}

static int use_ciphers(SSL_CTX *context, const struct tls_server_options *options, struct buf *why)
{
	struct buf list;
	int r = 0;

	buf_init(&list, 8192);
	for (u32 i = 0; r == 0 && i < options->cipher_suites.count; i++) {
		const char *name = find_cipher(context, options->cipher_suites.at[i]);

		if (!name) {
			buf_addf(why, "tls: the cipher %s is not known, or not safe; see cipher_suites",
				 options->cipher_suites.at[i]);
			r = -EINVAL;
		} else if (strncmp(name, "TLS_", 4)) {	/* those of TLS 1.3 are not chosen, as in Go */
			buf_addf(&list, "%s%s", list.len ? ":" : "", name);
		}
	}
	r = r ? r : buf_err(&list);
	if (r == 0 && list.len && SSL_CTX_set_cipher_list(context, list.data) != 1)
		r = tell(why, "cannot use the ciphers", list.data);
	buf_done(&list);
	return r;
}

static int use_curves(SSL_CTX *context, const struct tls_server_options *options, struct buf *why)
{
	struct buf list;
	int r;

	buf_init(&list, 1024);
	for (u32 i = 0; i < options->curve_preferences.count; i++) {
		const char *name = options->curve_preferences.at[i];

		if (name[0] == 'P' && name[1] != '-')
			buf_addf(&list, "%sP-%s", list.len ? ":" : "", name + 1);
		else
			buf_addf(&list, "%s%s", list.len ? ":" : "", name);
	}
	r = buf_err(&list);
	if (r == 0 && list.len && SSL_CTX_set1_groups_list(context, list.data) != 1) {
		ERR_clear_error();
		buf_addf(why, "tls: curve_preferences has one that is not known: %s; use X25519, P256, P384 or P521",
			 list.data);
		r = -EINVAL;
	}
	buf_done(&list);
	return r;
}

/* HTTP/2 if the client has it. A client that asks for something else altogether gets what the first bytes tell. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
		       unsigned in_len, void *arg)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";

	return SSL_select_next_proto((unsigned char **)out, out_len, ours, sizeof(ours) - 1, in, in_len) ==
	       OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/* ---- Life ------------------------------------------------------------------------------------------ */

DEFINE_CLEANUP(SSL_CTX *, SSL_CTX_free)

static int make_context(const struct tls_server_options *options, SSL_CTX **ret_context, struct buf *why)
{
	_cleanup_(SSL_CTX_freep) SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	int r;

	if (!context)
		return -ENOMEM;
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF |
				     SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* Sessions are resumed by tickets, which clients keep. */
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_session_id_context(context, (const unsigned char *)"wick", 4);
	SSL_CTX_set_alpn_select_cb(context, choose_alpn, NULL);
	ERR_clear_error();
	r = use_versions(context, options, why);
	r = r ? r : use_ciphers(context, options, why);
	r = r ? r : use_curves(context, options, why);
	r = r ? r : use_certificate(context, options, why);
	r = r ? r : use_key(context, options, why);
	r = r ? r : use_client_ca(context, options, why);
	if (r < 0)
		return r;
	*ret_context = TAKE(context);
	return 0;
}

/* Notes what the files are now; whether that is something else than before. */
static bool look(struct tls *tls)
{
	const struct tls_server_options *options = &tls->options;
	const char *paths[FILES] = { options->cert_file, options->key_file,
				     options->client_ca_file_reload ? options->client_ca_file : "" };
	bool changed = false;

	for (int i = 0; i < FILES; i++) {
		struct stat now = { 0 };

		if (!*paths[i] || stat(paths[i], &now) < 0)
			continue;
		changed |= now.st_ino != tls->seen[i].st_ino || now.st_size != tls->seen[i].st_size ||
			   now.st_mtim.tv_sec != tls->seen[i].st_mtim.tv_sec ||
			   now.st_mtim.tv_nsec != tls->seen[i].st_mtim.tv_nsec;
		tls->seen[i] = now;
	}
	return changed;
}

int tls_new(const struct tls_server_options *options, struct tls **ret_tls, struct buf *why)
{
	_cleanup_(tls_freep) struct tls *tls = calloc(1, sizeof(*tls));
	int r;

	if (!tls)
		return -ENOMEM;
	r = copy_options(&tls->options, options);
	if (r < 0)
		return r;
	(void)look(tls);
	r = make_context(&tls->options, &tls->context, why);
	if (r < 0)
		return r;
	*ret_tls = TAKE(tls);
	return 0;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	free_options(&tls->options);
	free(tls);
}

SSL *tls_accept(struct tls *tls)
{
	SSL *ssl = SSL_new(tls->context);

	if (ssl)
		SSL_set_accept_state(ssl);
	ERR_clear_error();
	return ssl;
}

u64 tls_reload_interval_ns(const struct tls *tls)
{
	if (tls->options.reload_interval_ns > 0)
		return (u64)tls->options.reload_interval_ns;
	return tls->options.client_ca_file_reload ? CLIENT_CA_INTERVAL_NS : 0;
}

int tls_reload(struct tls *tls, struct buf *why)
{
	SSL_CTX *context;
	int r;

	if (!look(tls))
		return 0;
	r = make_context(&tls->options, &context, why);
	if (r < 0)
		return r;
	SSL_CTX_free(tls->context);
	tls->context = context;
	return 1;
}
