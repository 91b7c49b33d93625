// SPDX-License-Identifier: Apache-2.0
#include "net/client_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"

static const char *const versions[] = { "", "1.0", "1.1", "1.2", "1.3", NULL };
#define VERSION_1_2 3

const struct config_field tls_client_fields[] = {
	{ "insecure", CONFIG_BOOL, FIELD(struct tls_client_options, insecure),
	  .help = "no TLS for gRPC, unless ca_file or ca_pem is given; HTTP goes by its URL" },
	{ "insecure_skip_verify", CONFIG_BOOL, FIELD(struct tls_client_options, insecure_skip_verify),
	  .help = "do not verify the server's certificate" },
	{ "server_name_override", CONFIG_TEXT, FIELD(struct tls_client_options, server_name_override),
	  .help = "the name that the server is asked for and whose certificate it must have" },
	{ "ca_file", CONFIG_TEXT, FIELD(struct tls_client_options, ca_file),
	  .help = "certificates of the authorities that are trusted, PEM; the system's if not given" },
	{ "ca_pem", CONFIG_SECRET, FIELD(struct tls_client_options, ca_pem), .help = "the same as text" },
	{ "include_system_ca_certs_pool", CONFIG_BOOL, FIELD(struct tls_client_options, include_system_ca_certs_pool),
	  .help = "trust the system's authorities too" },
	{ "cert_file", CONFIG_TEXT, FIELD(struct tls_client_options, cert_file),
	  .help = "the client's certificate, PEM; goes with a key" },
	{ "cert_pem", CONFIG_SECRET, FIELD(struct tls_client_options, cert_pem), .help = "the same as text" },
	{ "key_file", CONFIG_TEXT, FIELD(struct tls_client_options, key_file), .help = "the client's key, PEM" },
	{ "key_pem", CONFIG_SECRET, FIELD(struct tls_client_options, key_pem), .help = "the same as text" },
	{ "min_version", CONFIG_CHOICE, FIELD(struct tls_client_options, min_version), .choices = versions,
	  .help = "the oldest TLS that will do; 1.2 if not given" },
	{ "max_version", CONFIG_CHOICE, FIELD(struct tls_client_options, max_version), .choices = versions,
	  .help = "the newest TLS that will do" },
	{ "cipher_suites", CONFIG_TEXTS, FIELD(struct tls_client_options, cipher_suites),
	  .help = "those of TLS 1.2 that will do, by their names in the standard" },
	{ "curve_preferences", CONFIG_TEXTS, FIELD(struct tls_client_options, curve_preferences),
	  .help = "X25519, P256, P384, P521: the best first" },
	{ "reload_interval", CONFIG_DURATION, FIELD(struct tls_client_options, reload_interval_ns), .max = 1e18,
	  .help = "how often certificate and key files are looked at again; 0: never" },
	{ "tpm", CONFIG_REFUSED, .help = "wick does not use keys in a TPM; give key_file" },
	{ 0 },
};

static bool given(const char *text)
{
	return text && *text;
}

/* ---- Files ----------------------------------------------------------------------- */

static int read_pem(struct client_pem *pem)
{
	_cleanup_(closep) int fd = open(pem->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(buf_done) struct buf text;
	struct buf old = pem->text;
	struct stat seen;
	int r;

	buf_init(&text, CLIENT_PEM_BYTES_MAX);
	if (fd < 0 || fstat(fd, &seen) < 0)
		return -errno;
	r = io_read_whole(fd, &text);
	if (r == 0 && !text.len)
		r = -ENODATA;
	if (r < 0)
		return r;
	pem->text = text;
	pem->seen = seen;
	text = old;
	return 0;
}

static int load_pem(struct client_pem *pem, const char *path, const char *text, const char *what, struct buf *why)
{
	int r;

	buf_init(&pem->text, CLIENT_PEM_BYTES_MAX);
	pem->path = given(path) ? path : "";
	if (given(text))
		buf_add(&pem->text, text, strlen(text));
	if (!*pem->path)
		return buf_err(&pem->text);
	r = read_pem(pem);
	if (r < 0)
		buf_addf(why, "cannot read %s %s: %s", what, path, strerror(-r));
	return r;
}

static bool has_changed(const struct client_pem *pem)
{
	struct stat now;

	return *pem->path && stat(pem->path, &now) == 0 &&
	       (now.st_mtim.tv_sec != pem->seen.st_mtim.tv_sec || now.st_mtim.tv_nsec != pem->seen.st_mtim.tv_nsec ||
		now.st_ino != pem->seen.st_ino || now.st_dev != pem->seen.st_dev || now.st_size != pem->seen.st_size);
}

void client_tls_reload(struct client_tls *tls, u64 now_ns)
{
	struct client_pem *all[] = { &tls->ca, &tls->cert, &tls->key };

	if (!tls->options || tls->options->reload_interval_ns <= 0 || now_ns < tls->reload_ns)
		return;
	tls->reload_ns = now_ns + tls->options->reload_interval_ns;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (has_changed(all[i]))
			(void)read_pem(all[i]);		/* what was read before still stands */
	}
}

/* ---- Names ----------------------------------------------------------------------- */

/* The Collector has the standard's names, OpenSSL its own; those of TLS 1.3 are always on, as in the Collector. */
static int add_cipher(struct client_tls *tls, STACK_OF(SSL_CIPHER) *known, const char *name, struct buf *why)
{
	for (int i = 0; i < sk_SSL_CIPHER_num(known); i++) {
		const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(known, i);

		if (!SSL_CIPHER_standard_name(cipher) || strcmp(SSL_CIPHER_standard_name(cipher), name))
			continue;
		if (strcmp(SSL_CIPHER_get_version(cipher), "TLSv1.3"))
			buf_addf(&tls->ciphers, "%s%s", tls->ciphers.len ? ":" : "", SSL_CIPHER_get_name(cipher));
		return buf_err(&tls->ciphers);
	}
	buf_addf(why, "cipher_suites: there is no %s; names are like TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", name);
	return -EINVAL;
}

static int add_ciphers(struct client_tls *tls, const struct config_texts *names, struct buf *why)
{
	SSL_CTX *ctx = names->count ? SSL_CTX_new(TLS_client_method()) : NULL;
	int r = 0;

	if (!names->count)
		return 0;
	if (!ctx || !SSL_CTX_set_cipher_list(ctx, "ALL"))
		r = -ENOMEM;
	for (u32 i = 0; r == 0 && i < names->count; i++)
		r = add_cipher(tls, SSL_CTX_get_ciphers(ctx), names->at[i], why);
	SSL_CTX_free(ctx);
	return r;
}

static int add_curves(struct client_tls *tls, const struct config_texts *names, struct buf *why)
{
	static const char *const known[][2] = {
		{ "X25519", "X25519" }, { "P256", "P-256" }, { "P384", "P-384" }, { "P521", "P-521" },
	};
	u32 k;

	for (u32 i = 0; i < names->count; i++) {
		for (k = 0; k < 4 && strcmp(known[k][0], names->at[i]); k++)
			;
		if (k == 4) {
			buf_addf(why, "curve_preferences: there is no %s; known are X25519, P256, P384, P521",
				 names->at[i]);
			return -EINVAL;
		}
		buf_addf(&tls->curves, "%s%s", tls->curves.len ? ":" : "", known[k][1]);
	}
	return buf_err(&tls->curves);
}

/* ---- Life ------------------------------------------------------------------------ */

int client_tls_init(struct client_tls *tls, const struct tls_client_options *options, struct buf *why)
{
	int r;

	*tls = (struct client_tls){ .options = options };
	buf_init(&tls->ciphers, 4096);
	buf_init(&tls->curves, 256);
	if (!options)
		return 0;
	r = load_pem(&tls->ca, options->ca_file, options->ca_pem, "ca_file", why);
	if (r == 0)
		r = load_pem(&tls->cert, options->cert_file, options->cert_pem, "cert_file", why);
	if (r == 0)
		r = load_pem(&tls->key, options->key_file, options->key_pem, "key_file", why);
	if (r == 0)
		r = add_ciphers(tls, &options->cipher_suites, why);
	if (r == 0)
		r = add_curves(tls, &options->curve_preferences, why);
	if (options->reload_interval_ns > 0)
		tls->reload_ns = monotonic_ns() + options->reload_interval_ns;
	return r;
}

void client_tls_done(struct client_tls *tls)
{
	buf_done(&tls->ca.text);
	buf_done(&tls->cert.text);
	buf_done(&tls->key.text);
	buf_done(&tls->ciphers);
	buf_done(&tls->curves);
}

void tls_client_check(const struct tls_client_options *options, struct config_place place, const char *path,
		      struct config_errors *errors)
{
	bool cert = given(options->cert_file) || given(options->cert_pem);
	bool key = given(options->key_file) || given(options->key_pem);
	int min = options->min_version ? options->min_version : VERSION_1_2;

	if (given(options->ca_file) && given(options->ca_pem))
		config_error(errors, place, path, "tls: give ca_file or ca_pem, not both");
	if (given(options->cert_file) && given(options->cert_pem))
		config_error(errors, place, path, "tls: give cert_file or cert_pem, not both");
	if (given(options->key_file) && given(options->key_pem))
		config_error(errors, place, path, "tls: give key_file or key_pem, not both");
	if (cert != key)
		config_error(errors, place, path, "tls: a certificate needs its key, and a key its certificate");
	if (options->max_version && options->max_version < min)
		config_error(errors, place, path, "tls: max_version is below min_version");
}

/* ---- Use ------------------------------------------------------------------------- */

static CURLcode set_blob(const struct curl_library *library, CURL *curl, CURLoption option, const struct buf *text)
{
	struct curl_blob blob = { text->data, text->len, CURL_BLOB_COPY };

	return text->len ? library->easy_setopt(curl, option, &blob) : CURLE_OK;
}

static long version_range(const struct tls_client_options *options)
{
	static const long min[] = {
		CURL_SSLVERSION_TLSv1_2, CURL_SSLVERSION_TLSv1_0, CURL_SSLVERSION_TLSv1_1, CURL_SSLVERSION_TLSv1_2,
		CURL_SSLVERSION_TLSv1_3,
	};
	static const long max[] = {
		CURL_SSLVERSION_MAX_DEFAULT, CURL_SSLVERSION_MAX_TLSv1_0, CURL_SSLVERSION_MAX_TLSv1_1,
		CURL_SSLVERSION_MAX_TLSv1_2, CURL_SSLVERSION_MAX_TLSv1_3,
	};

	return options ? min[options->min_version] | max[options->max_version] : min[0] | max[0];
}

CURLcode client_tls_apply(const struct client_tls *tls, const struct curl_library *library, CURL *curl)
{
	const struct tls_client_options *options = tls->options;
	CURLcode code = library->easy_setopt(curl, CURLOPT_SSLVERSION, version_range(options));

	if (!options)
		return code;
	if (options->insecure_skip_verify) {
		code |= library->easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		code |= library->easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	code |= set_blob(library, curl, CURLOPT_CAINFO_BLOB, &tls->ca.text);
	if (tls->ca.text.len && !options->include_system_ca_certs_pool)
		code |= library->easy_setopt(curl, CURLOPT_CAPATH, NULL);
	if (tls->cert.text.len) {
		code |= library->easy_setopt(curl, CURLOPT_SSLCERTTYPE, "PEM");
		code |= set_blob(library, curl, CURLOPT_SSLCERT_BLOB, &tls->cert.text);
		code |= set_blob(library, curl, CURLOPT_SSLKEY_BLOB, &tls->key.text);
	}
	if (tls->ciphers.len)
		code |= library->easy_setopt(curl, CURLOPT_SSL_CIPHER_LIST, tls->ciphers.data);
	if (tls->curves.len)
		code |= library->easy_setopt(curl, CURLOPT_SSL_EC_CURVES, tls->curves.data);
	return code;
}
