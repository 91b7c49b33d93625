/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, images and labels of containers, as their engines tell over their sockets. Who asks gets what is known by
 * then, at once; an engine is asked by a thread of its own, once for each container, which has ENGINE_TIME_NS for it.
 * An engine that is silent or talks nonsense is left alone for a minute.
 *
 *  - At most CONTAINERS_KEPT are kept, in sets: a new one drives out the oldest of its set.
 *  - The thread is there from the first question on.
 *
 * One thread owns it.
 */
#ifndef PROC_CONTAINERS_H
#define PROC_CONTAINERS_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/types.h"
#include "proc/container_about.h"

struct buf;
struct cgroup_place;
struct containers;

#define CONTAINERS_KEPT 512
#define CONTAINERS_WAITING 64		/* to be asked for */
#define CONTAINER_SOCKETS_MAX 16
#define ENGINE_TIME_NS 1000000000ull

struct containers_options {
	/* docker:/PATH (its HTTP API: Docker, podman) or cri:/PATH (gRPC: containerd, CRI-O); 0: the usual ones. */
	const char *const *sockets;
	u32 socket_count;
	struct container_labels labels;
	bool is_off;
};

struct containers_stats {
	u64 asked;		/* containers */
	u64 found;		/* ... that an engine knew */
	u64 failed;		/* questions that an engine did not answer, or not in a way that is understood */
	u64 late;		/* times that one could not be asked for yet: too many were waiting */
};

/* -EINVAL with a sentence in `why`: a socket that is none. Texts are copied; NULL if nobody is to be asked. */
int containers_new(const struct containers_options *options, struct containers **ret_containers, struct buf *why);
void containers_free(struct containers *containers);
DEFINE_CLEANUP(struct containers *, containers_free)

/*
 * 1: that is it; 0: nobody knows it; -EAGAIN: it is being asked for; -EBUSY: whom it was asked did not answer, and is
 * asked again in a minute. containers may be NULL.
 */
int containers_find(struct containers *containers, const struct cgroup_place *place,
		    struct container_about *ret_about);

struct containers_stats containers_stats(struct containers *containers);

/* Of options alone; 0 or -EINVAL with a sentence. */
int containers_check(const struct containers_options *options, struct buf *why);

#endif
