/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, loaded when it is first needed. It brings 30 libraries along, which
 * cost 5.5 MB of memory in each of our processes; few of them ever send a
 * request.
 *
 * Any thread may call it; the library stays loaded.
 */
#ifndef SYMBOL_CURL_LIBRARY_H
#define SYMBOL_CURL_LIBRARY_H

#include <curl/curl.h>

struct curl_library {
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *curl);
	CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
	void (*easy_cleanup)(CURL *curl);
};

/* NULL if libcurl is not installed. */
const struct curl_library *curl_library(void);

#endif
