// SPDX-License-Identifier: Apache-2.0
#include "base/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static struct curl_library library;
static bool is_loaded;

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

const struct curl_library *curl_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, load);
	return is_loaded ? &library : NULL;
}
