/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod, as the API server's JSON has it: what attributes are made of, and
 * nothing else. Whoever may make pods writes their names, labels and images:
 * all is bounded, what is past a limit is left out.
 *
 * It is read into an arena, lives as long as that, and is then made into
 * attributes (processors/k8s_pods.h).
 */
#ifndef PROCESSORS_K8S_POD_H
#define PROCESSORS_K8S_POD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "base/types.h"

struct arena;

#define K8S_CONTAINERS_MAX 64
#define K8S_LABELS_MAX 128
#define K8S_TEXT_MAX 4096	/* of one value; a longer one is left out */

struct k8s_pair {
	struct str key, value;
};

struct k8s_pairs {
	struct k8s_pair *at;
	u32 count, cap;
};

struct k8s_owner {
	struct str kind, name, uid;	/* empty: none */
};

struct k8s_container {
	struct str name, image;		/* as it was asked for */
	struct str id, last_id;		/* without containerd://; the one before the last restart */
	struct str image_id;
};

/* Also any other object, of which only the metadata count. */
struct k8s_pod {
	struct str name, namespace, uid, node, ip, hostname, start_time, phase;
	bool host_network;
	struct k8s_owner owner;		/* the one that controls it */
	struct k8s_pairs labels, annotations;
	struct k8s_container *containers;
	u32 container_count, container_cap;
};

/* -EBADMSG, -ENOMEM, -E2BIG (the arena). */
int k8s_pod_read(const char *json, size_t bytes, struct arena *arena, struct k8s_pod *ret_pod);

/* The value of a key, empty if there is none. */
struct str k8s_pairs_find(const struct k8s_pairs *pairs, struct str key);

#endif
