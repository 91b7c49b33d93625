/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, loaded when it is first needed. It brings 30 libraries along, which
 * cost 5.5 MB of memory in each of our processes; few of them ever send a
 * request. In the one file that `make dist` makes it is linked in.
 *
 * Any thread may call it; the library stays loaded.
 */
#ifndef BASE_CURL_LIBRARY_H
#define BASE_CURL_LIBRARY_H

#include <curl/curl.h>

/* FUNCTION(result, name without curl_, parameters) */
#define CURL_FUNCTIONS(FUNCTION) \
	FUNCTION(CURLcode, global_init, (long flags)) \
	FUNCTION(curl_version_info_data *, version_info, (CURLversion version)) \
	FUNCTION(CURL *, easy_init, (void)) \
	FUNCTION(CURLcode, easy_setopt, (CURL *curl, CURLoption option, ...)) \
	FUNCTION(CURLcode, easy_perform, (CURL *curl)) \
	FUNCTION(CURLcode, easy_getinfo, (CURL *curl, CURLINFO info, ...)) \
	FUNCTION(const char *, easy_strerror, (CURLcode code)) \
	FUNCTION(void, easy_reset, (CURL *curl)) \
	FUNCTION(void, easy_cleanup, (CURL *curl)) \
	FUNCTION(CURLM *, multi_init, (void)) \
	FUNCTION(CURLMcode, multi_setopt, (CURLM *multi, CURLMoption option, ...)) \
	FUNCTION(CURLMcode, multi_add_handle, (CURLM *multi, CURL *curl)) \
	FUNCTION(CURLMcode, multi_remove_handle, (CURLM *multi, CURL *curl)) \
	FUNCTION(CURLMcode, multi_perform, (CURLM *multi, int *ret_running)) \
	FUNCTION(CURLMcode, multi_poll, (CURLM *multi, struct curl_waitfd *more, unsigned int more_count, \
					 int timeout_ms, int *ret_ready)) \
	FUNCTION(CURLMcode, multi_wakeup, (CURLM *multi)) \
	FUNCTION(CURLMsg *, multi_info_read, (CURLM *multi, int *ret_left)) \
	FUNCTION(CURLMcode, multi_cleanup, (CURLM *multi)) \
	FUNCTION(struct curl_slist *, slist_append, (struct curl_slist *list, const char *text)) \
	FUNCTION(void, slist_free_all, (struct curl_slist *list)) \
	FUNCTION(CURLU *, url, (void)) \
	FUNCTION(CURLUcode, url_set, (CURLU *url, CURLUPart part, const char *text, unsigned int flags)) \
	FUNCTION(CURLUcode, url_get, (const CURLU *url, CURLUPart part, char **ret_text, unsigned int flags)) \
	FUNCTION(void, url_cleanup, (CURLU *url)) \
	FUNCTION(void, free, (void *at))

struct curl_library {
#define CURL_FUNCTION_MEMBER(result, name, parameters) result (*name) parameters;
	CURL_FUNCTIONS(CURL_FUNCTION_MEMBER)
#undef CURL_FUNCTION_MEMBER
};

/* NULL if libcurl is not installed, or is older than 7.85. */
const struct curl_library *curl_library(void);

#endif
