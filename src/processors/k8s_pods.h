/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods that are known, each with the attributes that it gives to resources,
 * made when it came. Bounded: past K8S_PODS_MAX pods are counted, not kept.
 *
 * One that is gone is still found for a while: its last samples are on their
 * way. By its address it is not: addresses are used again.
 *
 * One thread changes it, any may look; a lock is between them.
 */
#ifndef PROCESSORS_K8S_PODS_H
#define PROCESSORS_K8S_PODS_H

#include <stddef.h>

#include "base/cleanup.h"
#include "processors/k8s_options.h"
#include "processors/k8s_pod.h"

struct attrs;
struct buf;
struct k8s_pods;

#define K8S_PODS_MAX 20000

/* What else must be known of a pod: another object, by kind, namespace and name; NULL if it cannot be had. */
struct k8s_lookup {
	void *arg;
	const struct k8s_pod *(*find)(void *arg, const char *kind, struct str namespace, struct str name);
};

int k8s_pods_new(const struct k8s_options *options, const struct k8s_lookup *lookup, struct k8s_pods **ret_pods,
		 struct buf *why);
void k8s_pods_free(struct k8s_pods *pods);
DEFINE_CLEANUP(struct k8s_pods *, k8s_pods_free)

/* A list begins; put() marks what it has; when it ends the others are gone. */
void k8s_pods_begin(struct k8s_pods *pods);
void k8s_pods_end(struct k8s_pods *pods, u64 now_ns);

/* -EBADMSG for what is no pod, -ENOSPC, -ENOMEM. */
int k8s_pods_put(struct k8s_pods *pods, const char *json, size_t bytes, u64 now_ns);
int k8s_pods_drop(struct k8s_pods *pods, const char *json, size_t bytes, u64 now_ns);

/* Forgets those that were gone long enough. */
void k8s_pods_sweep(struct k8s_pods *pods, u64 now_ns);

/* Adds the attributes of its pod to a resource: 1, or 0 if it has none that is known. */
int k8s_pods_apply(struct k8s_pods *pods, struct attrs *attrs);

size_t k8s_pods_count(struct k8s_pods *pods);
size_t k8s_pods_bytes(struct k8s_pods *pods);	/* of memory, roughly */

#endif
