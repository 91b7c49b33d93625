// SPDX-License-Identifier: Apache-2.0
#include "extensions/htpasswd.h"

#include <crypt.h>
#include <dlfcn.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/lock.h"

#define HASH_MAX 512
#define SHA1_BYTES 20
#define MD5_BYTES 16
#define APR1 "$apr1$"
#define APR1_SALT_MAX 8
#define APR1_ROUNDS 1000

DEFINE_CLEANUP(EVP_MD_CTX *, EVP_MD_CTX_free)

/* ---- Hashes ------------------------------------------------------------------ */

static bool equal(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

#ifdef WICK_ONE_FILE

static char *(*load_crypt(void))(const char *, const char *, void **, int *)
{
	return crypt_ra;
}

#else

static char *(*load_crypt(void))(const char *, const char *, void **, int *)
{
	static char *(*function)(const char *, const char *, void **, int *);
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	LOCKED(&lock);
	if (!function) {
		void *library = dlopen("libcrypt.so.1", RTLD_NOW);

		/* crypt_ra() keeps its state where the caller says. */
		if (library)
			*(void **)&function = dlsym(library, "crypt_ra");
	}
	return function;
}

#endif

static bool matches_crypt(const char *hash, const char *password)
{
	char *(*crypt_ra)(const char *, const char *, void **, int *) = load_crypt();
	void *state = NULL;
	const char *made;
	int bytes = 0;
	bool ok;

	if (!crypt_ra)
		return false;
	made = crypt_ra(password, hash, &state, &bytes);
	ok = made && strlen(made) == strlen(hash) && equal(made, hash, strlen(hash));
	if (state)
		OPENSSL_cleanse(state, (size_t)bytes);
	free(state);
	return ok;
}

/* {SHA}: base64 of the digest; {SSHA}: of the digest, then the salt. */
static bool matches_sha1(const char *base64, bool salted, const char *password)
{
	u8 bytes[HASH_MAX], digest[SHA1_BYTES];
	size_t len = strlen(base64), got, salt_len = 0;
	_cleanup_(EVP_MD_CTX_freep) EVP_MD_CTX *md = EVP_MD_CTX_new();
	int decoded;

	if (!md || len % 4 || len / 4 * 3 > sizeof(bytes))
		return false;
	decoded = EVP_DecodeBlock(bytes, (const u8 *)base64, (int)len);
	if (decoded < 0)
		return false;
	got = (size_t)decoded;
	while (len && base64[len - 1] == '=' && got) {
		len--;
		got--;
	}
	if (got < SHA1_BYTES || (!salted && got != SHA1_BYTES))
		return false;
	salt_len = got - SHA1_BYTES;
	if (!EVP_DigestInit_ex(md, EVP_sha1(), NULL) || !EVP_DigestUpdate(md, password, strlen(password)) ||
	    !EVP_DigestUpdate(md, bytes + SHA1_BYTES, salt_len) || !EVP_DigestFinal_ex(md, digest, NULL))
		return false;
	return equal(digest, bytes, SHA1_BYTES);
}

/* Parts of a digest of MD5; the first error sticks. */
struct md5 {
	EVP_MD_CTX *md;
	bool ok;
};

static void md5_begin(struct md5 *m)
{
	m->ok &= EVP_DigestInit_ex(m->md, EVP_md5(), NULL) == 1;
}

static void md5_add(struct md5 *m, const void *at, size_t len)
{
	m->ok &= EVP_DigestUpdate(m->md, at, len) == 1;
}

static void md5_end(struct md5 *m, u8 digest[MD5_BYTES])
{
	m->ok &= EVP_DigestFinal_ex(m->md, digest, NULL) == 1;
}

/* Poul-Henning Kamp's scheme, which is crypt(3)'s $1$, under another name. */
static void apr1_digest(struct md5 *m, const char *password, const char *salt, size_t salt_len, u8 digest[MD5_BYTES])
{
	size_t len = strlen(password);

	md5_begin(m);
	md5_add(m, password, len);
	md5_add(m, salt, salt_len);
	md5_add(m, password, len);
	md5_end(m, digest);
	md5_begin(m);
	md5_add(m, password, len);
	md5_add(m, APR1, strlen(APR1));
	md5_add(m, salt, salt_len);
	for (size_t left = len; left; left -= left < MD5_BYTES ? left : MD5_BYTES)
		md5_add(m, digest, left < MD5_BYTES ? left : MD5_BYTES);
	for (size_t bits = len; bits; bits >>= 1)
		md5_add(m, bits & 1 ? "" : password, 1);
	md5_end(m, digest);
	for (u32 i = 0; i < APR1_ROUNDS; i++) {
		md5_begin(m);
		md5_add(m, i & 1 ? password : (const char *)digest, i & 1 ? len : MD5_BYTES);
		md5_add(m, salt, i % 3 ? salt_len : 0);
		md5_add(m, password, i % 7 ? len : 0);
		md5_add(m, i & 1 ? (const char *)digest : password, i & 1 ? MD5_BYTES : len);
		md5_end(m, digest);
	}
}

static void apr1_text(const u8 digest[MD5_BYTES], char text[23])
{
	static const char letters[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	static const u8 order[][3] = { { 0, 6, 12 }, { 1, 7, 13 }, { 2, 8, 14 }, { 3, 9, 15 }, { 4, 10, 5 } };
	char *at = text;

	for (u32 i = 0; i < 5; i++) {
		u32 bits = (u32)digest[order[i][0]] << 16 | (u32)digest[order[i][1]] << 8 | digest[order[i][2]];

		for (u32 k = 0; k < 4; k++, bits >>= 6)
			*at++ = letters[bits & 63];
	}
	*at++ = letters[digest[11] & 63];
	*at++ = letters[digest[11] >> 6];
	*at = '\0';
}

static bool matches_apr1(const char *hash, const char *password)
{
	_cleanup_(EVP_MD_CTX_freep) EVP_MD_CTX *md = EVP_MD_CTX_new();
	const char *salt = hash + strlen(APR1);
	size_t salt_len = strcspn(salt, "$");
	struct md5 m = { md, md != NULL };
	u8 digest[MD5_BYTES];
	char text[23];

	if (!md || salt[salt_len] != '$' || salt_len > APR1_SALT_MAX)
		return false;
	apr1_digest(&m, password, salt, salt_len, digest);
	apr1_text(digest, text);
	return m.ok && strlen(salt + salt_len + 1) == strlen(text) && equal(salt + salt_len + 1, text, strlen(text));
}

static bool matches_hash(const char *hash, const char *password)
{
	if (!strncmp(hash, APR1, strlen(APR1)))
		return matches_apr1(hash, password);
	if (!strncmp(hash, "{SHA}", 5))
		return matches_sha1(hash + 5, false, password);
	if (!strncmp(hash, "{SSHA}", 6))
		return matches_sha1(hash + 6, true, password);
	if (hash[0] == '$')
		return matches_crypt(hash, password);
	return strlen(hash) == strlen(password) && equal(hash, password, strlen(hash));
}

/* ---- Lines ------------------------------------------------------------------- */

/* The next line that is neither empty nor a comment; its end. NULL after the last. */
static const char *next_line(const char **at, size_t *ret_len)
{
	for (;;) {
		const char *line = *at + strspn(*at, " \t\r\n");

		if (!*line)
			return NULL;
		*ret_len = strcspn(line, "\r\n");
		*at = line + *ret_len;
		if (*line != '#')
			return line;
	}
}

int htpasswd_check(const char *text, struct buf *why)
{
	size_t len;
	int count = 0;

	for (const char *line; (line = next_line(&text, &len)); count++) {
		const char *colon = memchr(line, ':', len);

		if (!colon || colon == line || (size_t)(line + len - colon) > HASH_MAX) {
			buf_addf(why, "line %d of the users is not name:hash", count + 1);
			return -EINVAL;
		}
		if (count == HTPASSWD_LINES_MAX) {
			buf_addf(why, "more than %d users", HTPASSWD_LINES_MAX);
			return -EINVAL;
		}
	}
	return count;
}

bool htpasswd_matches(const char *text, const char *name, const char *password)
{
	size_t len, name_len = strlen(name);

	for (const char *line; (line = next_line(&text, &len));) {
		char hash[HASH_MAX + 1];
		bool ok;

		if (len <= name_len || line[name_len] != ':' || memcmp(line, name, name_len) != 0)
			continue;
		if (len - name_len - 1 > HASH_MAX)
			return false;
		snprintf(hash, sizeof(hash), "%.*s", (int)(len - name_len - 1), line + name_len + 1);
		ok = matches_hash(hash, password);
		OPENSSL_cleanse(hash, sizeof(hash));
		return ok;
	}
	return false;
}

bool htpasswd_split(const char *header, char *ret_name, char *ret_password)
{
	size_t len, text_len;
	char *colon;
	int decoded;

	if (strncasecmp(header, "Basic ", 6))
		return false;
	header += 6 + strspn(header + 6, " ");
	len = strlen(header);
	if (!len || len % 4)
		return false;
	decoded = EVP_DecodeBlock((u8 *)ret_name, (const u8 *)header, (int)len);
	if (decoded < 0)
		return false;
	text_len = (size_t)decoded;
	for (; header[len - 1] == '=' && text_len; len--)
		text_len--;
	ret_name[text_len] = '\0';
	colon = strchr(ret_name, ':');
	/* A NUL inside would make two passwords equal. */
	if (!colon || strlen(ret_name) != text_len)
		return false;
	*colon = '\0';
	memcpy(ret_password, colon + 1, strlen(colon + 1) + 1);
	return true;
}
