// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "processors/k8s_api.h"

#define OBJECT_BYTES_MAX ((size_t)1 << 20)
#define ANSWER_MAX ((size_t)4 << 20)
#define GET_NS 5000000000ll
#define PATH_MAX_BYTES 1024

static const struct {
	const char *kind, *group, *plural;	/* group: of the path */
} kinds[] = {
	{ "Namespace", "/api/v1", "namespaces" },
	{ "Node", "/api/v1", "nodes" },
	{ "ReplicaSet", "/apis/apps/v1", "replicasets" },
	{ "Deployment", "/apis/apps/v1", "deployments" },
	{ "StatefulSet", "/apis/apps/v1", "statefulsets" },
	{ "DaemonSet", "/apis/apps/v1", "daemonsets" },
	{ "Job", "/apis/batch/v1", "jobs" },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct object {
	char *path;		/* NULL: no object */
	u64 asked_ns;
	bool is_there;
	struct arena arena;
	struct k8s_pod pod;
};

struct k8s_objects {
	struct k8s_api *api;
	const char *id;
	u64 keep_ns;
	bool has_warned[KINDS];
	struct object at[K8S_OBJECTS_MAX];
};

struct k8s_objects *k8s_objects_new(struct k8s_api *api, const char *id, s64 keep_ns)
{
	struct k8s_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->api = api;
	objects->id = id;
	objects->keep_ns = (u64)keep_ns;
	return objects;
}

static void forget(struct object *object)
{
	free(object->path);
	arena_done(&object->arena);
	*object = (struct object){ 0 };
}

void k8s_objects_free(struct k8s_objects *objects)
{
	if (!objects)
		return;
	for (u32 i = 0; i < K8S_OBJECTS_MAX; i++)
		forget(&objects->at[i]);
	free(objects);
}

/* Names are letters, digits, dashes and dots: nothing else gets into a path. */
static bool is_name(struct str s)
{
	for (u32 i = 0; i < s.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", s.at[i]) || !s.at[i])
			return false;
	return s.len && s.len < 256;
}

/* The object of a path, or the place for it. */
static struct object *place_of(struct k8s_objects *objects, const char *path)
{
	struct object *oldest = &objects->at[0];

	for (u32 i = 0; i < K8S_OBJECTS_MAX; i++) {
		struct object *object = &objects->at[i];

		if (object->path && !strcmp(object->path, path))
			return object;
		if (object->asked_ns < oldest->asked_ns)
			oldest = object;
	}
	forget(oldest);
	return oldest;
}

/* Where it is not there, or may not be seen, that is known for as long. */
static void ask(struct k8s_objects *objects, struct object *object, size_t kind, const char *path)
{
	_cleanup_(buf_done) struct buf body, why;
	struct k8s_answer answer = { 0 };
	int r;

	forget(object);
	object->path = strdup(path);
	object->asked_ns = monotonic_ns();
	arena_init(&object->arena, OBJECT_BYTES_MAX);
	buf_init(&body, ANSWER_MAX);
	buf_init(&why, 1024);
	r = k8s_api_get(objects->api, path, GET_NS, &body, &answer, &why);
	object->is_there = r == 0 && answer.status == 200 && k8s_pod_read(body.data, body.len, &object->arena,
									  &object->pod) == 0;
	if (!object->is_there && answer.status != 404 && !objects->has_warned[kind] &&
	    !k8s_api_is_stopped(objects->api)) {
		objects->has_warned[kind] = true;
		log_warn(objects->id,
			 "%s cannot be read (%s %d): what they say is left out; the service account needs get",
			 kinds[kind].plural, why.len ? why.data : "status", answer.status);
	}
}

const struct k8s_pod *k8s_objects_find(void *arg, const char *kind, struct str namespace, struct str name)
{
	struct k8s_objects *objects = arg;
	char path[PATH_MAX_BYTES];
	struct object *object;
	size_t i = 0;

	while (i < KINDS && strcmp(kinds[i].kind, kind))
		i++;
	if (i == KINDS || !is_name(name) || (namespace.len && !is_name(namespace)))
		return NULL;
	if (namespace.len)
		(void)snprintf(path, sizeof(path), "%s/namespaces/%.*s/%s/%.*s", kinds[i].group, (int)namespace.len,
			       namespace.at,
			       kinds[i].plural, (int)name.len, name.at);
	else
		(void)snprintf(path, sizeof(path), "%s/%s/%.*s", kinds[i].group, kinds[i].plural, (int)name.len,
			       name.at);
	object = place_of(objects, path);
	if (!object->path || monotonic_ns() - object->asked_ns > objects->keep_ns)
		ask(objects, object, i, path);
	return object->is_there ? &object->pod : NULL;
}
