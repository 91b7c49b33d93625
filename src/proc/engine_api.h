/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What engines of containers are asked over their sockets, and what they answer, as bytes: Docker and podman by
 * HTTP, those of Kubernetes (CRI) and containerd by gRPC. Each question is about one container, by its id. An answer
 * may say anything. No state.
 */
#ifndef PROC_ENGINE_API_H
#define PROC_ENGINE_API_H

#include <stdbool.h>
#include <stddef.h>

#include "proc/container_about.h"

struct buf;

enum engine_api {
	ENGINE_DOCKER,		/* GET /containers/json, with a filter: what it says has no environment in it */
	ENGINE_CRI,		/* runtime.v1.RuntimeService/ListContainers, with a filter */
	ENGINE_CONTAINERD,	/* containerd.services.containers.v1.Containers/Get, in a namespace */
};

#define ENGINE_ANSWER_MAX ((size_t)256 << 10)

/* id and name_space (of containerd) are letters and digits, - _ and . */
void engine_api_ask(enum engine_api api, const char *id, const char *name_space, struct buf *out);

static inline bool engine_api_is_grpc(enum engine_api api)
{
	return api != ENGINE_DOCKER;
}

/* 1: that is it; 0: it does not know the container; -errno: what came is no answer. */
int engine_api_read(enum engine_api api, const char *id, const struct container_labels *labels, const void *at,
		    size_t bytes, struct container_about *ret_about);

#endif
