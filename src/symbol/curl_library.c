// SPDX-License-Identifier: Apache-2.0
#include "symbol/curl_library.h"

#include <dlfcn.h>
#include <pthread.h>

static struct curl_library library;
static int is_loaded;

static void load(void)
{
	void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return;
	library.easy_init = dlsym(handle, "curl_easy_init");
	library.easy_setopt = dlsym(handle, "curl_easy_setopt");
	library.easy_perform = dlsym(handle, "curl_easy_perform");
	library.easy_getinfo = dlsym(handle, "curl_easy_getinfo");
	library.easy_cleanup = dlsym(handle, "curl_easy_cleanup");
	is_loaded = library.easy_init && library.easy_setopt && library.easy_perform && library.easy_getinfo &&
		    library.easy_cleanup;
}

const struct curl_library *curl_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, load);
	return is_loaded ? &library : NULL;
}
