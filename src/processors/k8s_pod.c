// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_pod.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/json_read.h"

struct reading {
	struct json_read j;
	struct arena *arena;
	struct k8s_pod *pod;
};

static struct str text(struct reading *r)
{
	struct str s = json_read_string(&r->j);
	const char *copy = s.len && s.len <= K8S_TEXT_MAX ? arena_strndup(r->arena, s.at, s.len) : NULL;

	return copy ? (struct str){ copy, s.len } : (struct str){ "", 0 };
}

/* containerd://ID, docker-pullable://IMAGE */
static struct str after_scheme(struct str s)
{
	const char *at = s.len ? memmem(s.at, s.len, "://", 3) : NULL;

	return at ? (struct str){ at + 3, s.len - (u32)(at + 3 - s.at) } : s;
}

/* Room for one more, as an array of the arena that doubles; NULL if there are max. */
static void *one_more(struct arena *arena, void **at, u32 *count, u32 *cap, u32 max, size_t bytes)
{
	if (*count == max)
		return NULL;
	if (*count == *cap) {
		u32 more = *cap ? *cap * 2 : 8;
		void *larger = arena_alloc(arena, more * bytes);

		if (!larger)
			return NULL;
		if (*count)
			memcpy(larger, *at, *count * bytes);
		*at = larger;
		*cap = more;
	}
	return memset((char *)*at + (*count)++ * bytes, 0, bytes);
}

static void read_pairs(struct reading *r, struct k8s_pairs *pairs)
{
	struct str key;

	json_read_object(&r->j);
	while (json_read_member(&r->j, &key)) {
		const char *copy = key.len <= K8S_TEXT_MAX ? arena_strndup(r->arena, key.at, key.len) : NULL;
		struct str kept = { copy, key.len };
		struct k8s_pair *pair = copy ? one_more(r->arena, (void **)&pairs->at, &pairs->count, &pairs->cap,
							K8S_LABELS_MAX, sizeof(*pair)) : NULL;

		if (!pair) {
			json_read_skip(&r->j);
			continue;
		}
		pair->key = kept;
		pair->value = text(r);
	}
}

static void read_owners(struct reading *r)
{
	struct str key;

	json_read_list(&r->j);
	while (json_read_item(&r->j)) {
		struct k8s_owner owner = { 0 };
		bool controls = false;

		json_read_object(&r->j);
		while (json_read_member(&r->j, &key)) {
			if (str_is(key, "kind"))
				owner.kind = text(r);
			else if (str_is(key, "name"))
				owner.name = text(r);
			else if (str_is(key, "uid"))
				owner.uid = text(r);
			else if (str_is(key, "controller"))
				controls = json_read_bool(&r->j);
			else
				json_read_skip(&r->j);
		}
		if (controls || !r->pod->owner.kind.len)
			r->pod->owner = owner;
	}
}

static void read_metadata(struct reading *r)
{
	struct str key;

	json_read_object(&r->j);
	while (json_read_member(&r->j, &key)) {
		if (str_is(key, "name"))
			r->pod->name = text(r);
		else if (str_is(key, "namespace"))
			r->pod->namespace = text(r);
		else if (str_is(key, "uid"))
			r->pod->uid = text(r);
		else if (str_is(key, "labels"))
			read_pairs(r, &r->pod->labels);
		else if (str_is(key, "annotations"))
			read_pairs(r, &r->pod->annotations);
		else if (str_is(key, "ownerReferences"))
			read_owners(r);
		else
			json_read_skip(&r->j);
	}
}

/* By its name: spec and status may come in any order. */
static struct k8s_container *container_named(struct reading *r, struct str name)
{
	struct k8s_pod *pod = r->pod;
	struct k8s_container *added;

	for (u32 i = 0; i < pod->container_count; i++)
		if (str_equal(pod->containers[i].name, name))
			return &pod->containers[i];
	if (!name.len)
		return NULL;
	added = one_more(r->arena, (void **)&pod->containers, &pod->container_count, &pod->container_cap,
			 K8S_CONTAINERS_MAX, sizeof(*added));
	if (added)
		added->name = name;
	return added;
}

/* lastState: {terminated: {containerID}} */
static struct str read_last_id(struct reading *r)
{
	struct str key, id = { "", 0 };

	json_read_object(&r->j);
	while (json_read_member(&r->j, &key)) {
		if (!str_is(key, "terminated")) {
			json_read_skip(&r->j);
			continue;
		}
		json_read_object(&r->j);
		while (json_read_member(&r->j, &key)) {
			if (str_is(key, "containerID"))
				id = after_scheme(text(r));
			else
				json_read_skip(&r->j);
		}
	}
	return id;
}

static void read_container(struct reading *r, bool is_status)
{
	struct k8s_container got = { 0 }, *to;
	struct str key;

	json_read_object(&r->j);
	while (json_read_member(&r->j, &key)) {
		if (str_is(key, "name"))
			got.name = text(r);
		else if (str_is(key, "image") && !is_status)
			got.image = text(r);
		else if (str_is(key, "containerID"))
			got.id = after_scheme(text(r));
		else if (str_is(key, "imageID"))
			got.image_id = after_scheme(text(r));
		else if (str_is(key, "lastState"))
			got.last_id = read_last_id(r);
		else
			json_read_skip(&r->j);
	}
	to = container_named(r, got.name);
	if (!to)
		return;
	if (!is_status) {
		to->image = got.image;
		return;
	}
	to->id = got.id;
	to->image_id = got.image_id;
	to->last_id = got.last_id;
}

static void read_containers(struct reading *r, bool is_status)
{
	json_read_list(&r->j);
	while (json_read_item(&r->j))
		read_container(r, is_status);
}

static void read_spec(struct reading *r)
{
	struct str key;

	json_read_object(&r->j);
	while (json_read_member(&r->j, &key)) {
		if (str_is(key, "nodeName"))
			r->pod->node = text(r);
		else if (str_is(key, "hostname"))
			r->pod->hostname = text(r);
		else if (str_is(key, "hostNetwork"))
			r->pod->host_network = json_read_bool(&r->j);
		else if (str_is(key, "containers") || str_is(key, "initContainers") || str_is(key,
											      "ephemeralContainers"))
			read_containers(r, false);
		else
			json_read_skip(&r->j);
	}
}

static void read_status(struct reading *r)
{
	struct str key;

	json_read_object(&r->j);
	while (json_read_member(&r->j, &key)) {
		if (str_is(key, "podIP"))
			r->pod->ip = text(r);
		else if (str_is(key, "startTime"))
			r->pod->start_time = text(r);
		else if (str_is(key, "phase"))
			r->pod->phase = text(r);
		else if (str_is(key, "containerStatuses") || str_is(key, "initContainerStatuses") ||
			 str_is(key, "ephemeralContainerStatuses"))
			read_containers(r, true);
		else
			json_read_skip(&r->j);
	}
}

int k8s_pod_read(const char *json, size_t bytes, struct arena *arena, struct k8s_pod *ret_pod)
{
	struct reading r = { .arena = arena, .pod = ret_pod };
	struct str key;
	int err;

	memset(ret_pod, 0, sizeof(*ret_pod));
	json_read_init(&r.j, json, bytes);
	json_read_object(&r.j);
	while (json_read_member(&r.j, &key)) {
		if (str_is(key, "metadata"))
			read_metadata(&r);
		else if (str_is(key, "spec"))
			read_spec(&r);
		else if (str_is(key, "status"))
			read_status(&r);
		else
			json_read_skip(&r.j);
	}
	err = json_read_end(&r.j);
	json_read_done(&r.j);
	if (err == 0)
		err = arena_err(arena);
	return err < 0 ? err : ret_pod->name.len && ret_pod->uid.len ? 0 : -EBADMSG;
}

struct str k8s_pairs_find(const struct k8s_pairs *pairs, struct str key)
{
	for (u32 i = 0; i < pairs->count; i++)
		if (str_equal(pairs->at[i].key, key))
			return pairs->at[i].value;
	return (struct str){ "", 0 };
}
