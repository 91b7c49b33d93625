/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server of Kubernetes, as a pod sees it: KUBERNETES_SERVICE_HOST and
 * _PORT, and the files of its service account. Its token is replaced every
 * hour: it is read again each minute, and at once when the server refuses it.
 *
 * One thread owns it, the one that watches.
 */
#ifndef PROCESSORS_K8S_API_H
#define PROCESSORS_K8S_API_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "processors/k8s_options.h"

struct buf;
struct k8s_api;

#define K8S_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define K8S_TOKEN_FILE K8S_ACCOUNT "/token"
#define K8S_CA_FILE K8S_ACCOUNT "/ca.crt"

/* -ENOENT and a sentence where this is no pod. */
int k8s_api_new(enum k8s_auth auth, struct k8s_api **ret_api, struct buf *why);
void k8s_api_free(struct k8s_api *api);
DEFINE_CLEANUP(struct k8s_api *, k8s_api_free)

/* Ends requests that are under way, and those to come: -ECANCELED. Any thread. */
void k8s_api_stop(struct k8s_api *api);
bool k8s_api_is_stopped(struct k8s_api *api);

struct k8s_answer {
	int status;
	s64 retry_after_ns;	/* what the server asks for; 0: nothing */
};

/* GET of a path with its query, within timeout_ns: the body goes into out. -errno, and a sentence in why. */
int k8s_api_get(struct k8s_api *api, const char *path, s64 timeout_ns, struct buf *out, struct k8s_answer *ret_answer,
		struct buf *why);

/*
 * The same, where what comes with status 200 is handed on piece by piece until the end: take() may return -errno to end
 * it. silence_ns without anything ends it, too.
 */
int k8s_api_stream(struct k8s_api *api, const char *path, s64 silence_ns, int (*take)(void *arg, const char *at,
										      size_t len),
		   void *arg, struct k8s_answer *ret_answer, struct buf *why);

/* Waits; false if it was stopped. */
bool k8s_api_pause(struct k8s_api *api, s64 ns);

#endif
