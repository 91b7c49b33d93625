// SPDX-License-Identifier: Apache-2.0
#include "base/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static struct curl_library library;
static bool is_loaded;

#ifdef WICK_ONE_FILE

/* Each distribution keeps the certificates of the world elsewhere, and one file runs on all of them. */
static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",			/* Debian, Alpine */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",	/* Fedora, RHEL */
	"/etc/pki/tls/certs/ca-bundle.crt",			/* older ones */
	"/etc/ssl/ca-bundle.pem",				/* SUSE */
	"/etc/ssl/cert.pem",
};

static void trust_world(CURL *curl)
{
	const char *path = secure_getenv("SSL_CERT_FILE");

	for (size_t i = 0; !path && i < sizeof(bundles) / sizeof(bundles[0]); i++)
		path = access(bundles[i], R_OK) == 0 ? bundles[i] : NULL;
	if (curl && path)
		(void)curl_easy_setopt(curl, CURLOPT_CAINFO, path);
	if (curl && access("/etc/ssl/certs", X_OK) == 0)
		(void)curl_easy_setopt(curl, CURLOPT_CAPATH, "/etc/ssl/certs");
}

static CURL *easy_init(void)
{
	CURL *curl = curl_easy_init();

	trust_world(curl);
	return curl;
}

static void easy_reset(CURL *curl)
{
	curl_easy_reset(curl);
	trust_world(curl);
}

static void load(void)
{
#define CURL_FUNCTION_TAKE(result, name, parameters) library.name = (result (*) parameters)(curl_##name);
	CURL_FUNCTIONS(CURL_FUNCTION_TAKE)
#undef CURL_FUNCTION_TAKE
	library.easy_init = easy_init;
	library.easy_reset = easy_reset;
	is_loaded = library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

#else

static void load(void)
{
	void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	bool all = handle;

	if (!handle)
		return;
#define CURL_FUNCTION_LOAD(result, name, parameters) \
	library.name = dlsym(handle, "curl_" #name); \
	all = all && library.name;
	CURL_FUNCTIONS(CURL_FUNCTION_LOAD)
#undef CURL_FUNCTION_LOAD
	is_loaded = all && library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

#endif

const struct curl_library *curl_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, load);
	return is_loaded ? &library : NULL;
}
