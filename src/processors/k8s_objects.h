/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that pods refer to, such as their namespaces and the owners of their
 * owners: each is asked for when the first pod needs it, and kept for a while.
 * So memory is that of what one node's pods need, however large the cluster is,
 * and get is the only right that it takes. Bounded: the oldest is replaced.
 *
 * The thread that watches owns it, and waits for answers.
 */
#ifndef PROCESSORS_K8S_OBJECTS_H
#define PROCESSORS_K8S_OBJECTS_H

#include "base/cleanup.h"
#include "processors/k8s_pods.h"

struct k8s_api;
struct k8s_objects;

#define K8S_OBJECTS_MAX 512

/* Kept for keep_ns. id is who says what goes wrong, once for each kind. */
struct k8s_objects *k8s_objects_new(struct k8s_api *api, const char *id, s64 keep_ns);
void k8s_objects_free(struct k8s_objects *objects);
DEFINE_CLEANUP(struct k8s_objects *, k8s_objects_free)

/* For struct k8s_lookup; borrowed until the next call. */
const struct k8s_pod *k8s_objects_find(void *objects, const char *kind, struct str namespace, struct str name);

#endif
