// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_pods.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/lock.h"
#include "processors/k8s_describe.h"
#include "proc/service_name.h"
#include "profile/attrs.h"

#define POD_BYTES_MAX ((size_t)256 << 10)	/* of what is kept of one */
#define READ_BYTES_MAX ((size_t)8 << 20)

/* A part of a pod's text. */
struct span {
	u32 at, len;
};

struct kept_container {
	struct span name, id, last_id, entries;
};

struct kept {
	u64 gone_ns;			/* 0: it is there */
	bool is_seen;			/* by the list that runs */
	bool has_address;		/* of its own */
	char *text;
	u32 text_bytes;
	struct span uid, mirror_uid, name, namespace, ip, hostname, entries;
	u32 container_count;
	struct kept_container *containers;
};

struct k8s_pods {
	struct k8s_rules *rules;
	struct config_sections associations;
	u64 grace_ns;
	struct k8s_pod scratch;		/* the one that is read */

	pthread_mutex_t lock;
	struct kept *at;
	u32 count, cap;
	size_t bytes;
};

int k8s_pods_new(const struct k8s_options *o, const struct k8s_lookup *lookup, struct k8s_pods **ret_pods,
		 struct buf *why)
{
	_cleanup_(k8s_pods_freep) struct k8s_pods *pods = calloc(1, sizeof(*pods));
	int r;

	if (!pods)
		return -ENOMEM;
	pthread_mutex_init(&pods->lock, NULL);
	pods->associations = o->associations;
	pods->grace_ns = (u64)o->grace_ns;
	r = k8s_rules_new(o, lookup, &pods->rules, why);
	if (r < 0)
		return r;
	*ret_pods = TAKE(pods);
	return 0;
}

static void kept_done(struct kept *kept)
{
	free(kept->text);
	free(kept->containers);
}

void k8s_pods_free(struct k8s_pods *pods)
{
	if (!pods)
		return;
	for (u32 i = 0; i < pods->count; i++)
		kept_done(&pods->at[i]);
	free(pods->at);
	k8s_rules_free(pods->rules);
	pthread_mutex_destroy(&pods->lock);
	free(pods);
}

/* ---- Keeping -------------------------------------------------------------------------------------------- */

static struct span put(struct buf *text, struct str s)
{
	struct span span = { (u32)text->len, s.len };

	if (s.len)
		buf_add(text, s.at, s.len);
	return span;
}

static struct str part(const struct kept *kept, struct span span)
{
	return (struct str){ kept->text + span.at, span.len };
}

static void keep_container(struct k8s_pods *pods, const struct k8s_container *from, struct buf *text,
			   struct kept_container *to)
{
	to->name = put(text, from->name);
	to->id = put(text, from->id);
	to->last_id = put(text, from->last_id);
	to->entries.at = (u32)text->len;
	k8s_describe_container(pods->rules, &pods->scratch, from, text);
	to->entries.len = (u32)text->len - to->entries.at;
}

/* A static pod is known to its container engine by the hash of its configuration. */
static struct str mirror_uid(const struct k8s_pod *pod)
{
	return k8s_pairs_find(&pod->annotations, STR("kubernetes.io/config.mirror"));
}

static int keep(struct k8s_pods *pods, struct kept *ret_kept)
{
	const struct k8s_pod *pod = &pods->scratch;
	struct kept kept = { .is_seen = true };
	struct buf text;

	buf_init(&text, POD_BYTES_MAX);
	kept.has_address = !pod->host_network && !str_is(pod->phase, "Succeeded") && !str_is(pod->phase, "Failed");
	kept.uid = put(&text, pod->uid);
	kept.mirror_uid = put(&text, mirror_uid(pod));
	kept.name = put(&text, pod->name);
	kept.namespace = put(&text, pod->namespace);
	kept.ip = put(&text, pod->ip);
	kept.hostname = put(&text, pod->hostname.len ? pod->hostname : pod->name);
	kept.entries.at = (u32)text.len;
	k8s_describe_pod(pods->rules, pod, &text);
	kept.entries.len = (u32)text.len - kept.entries.at;
	kept.containers = calloc(pod->container_count + 1, sizeof(*kept.containers));
	for (u32 i = 0; kept.containers && i < pod->container_count; i++)
		keep_container(pods, &pod->containers[i], &text, &kept.containers[i]);
	kept.container_count = pod->container_count;
	if (buf_err(&text) == 0)
		kept.text = realloc(text.data, text.len + 1);
	if (!kept.text || !kept.containers) {
		if (!kept.text)
			buf_done(&text);
		kept_done(&kept);
		return -ENOMEM;
	}
	kept.text_bytes = (u32)text.len;
	*ret_kept = kept;
	return 0;
}

static size_t bytes_of(const struct kept *kept)
{
	return kept->text_bytes + kept->container_count * sizeof(*kept->containers) + sizeof(*kept);
}

static struct kept *find_uid(struct k8s_pods *pods, struct str uid)
{
	for (u32 i = 0; i < pods->count; i++)
		if (str_equal(part(&pods->at[i], pods->at[i].uid), uid))
			return &pods->at[i];
	return NULL;
}

static int replace(struct k8s_pods *pods, struct kept *kept)
{
	struct kept *place;

	LOCKED(&pods->lock);
	place = find_uid(pods, part(kept, kept->uid));
	if (!place) {
		if (pods->count >= K8S_PODS_MAX)
			return -ENOSPC;
		if (array_reserve(&pods->at, &pods->cap, pods->count + 1, sizeof(*pods->at)) < 0)
			return -ENOMEM;
		place = &pods->at[pods->count++];
		*place = (struct kept){ 0 };
	} else {
		pods->bytes -= bytes_of(place);
		kept_done(place);
	}
	*place = *kept;
	pods->bytes += bytes_of(place);
	return 0;
}

static int read_pod(struct k8s_pods *pods, const char *json, size_t bytes, struct arena *arena)
{
	arena_init(arena, READ_BYTES_MAX);
	return k8s_pod_read(json, bytes, arena, &pods->scratch);
}

int k8s_pods_put(struct k8s_pods *pods, const char *json, size_t bytes, u64 now_ns)
{
	_cleanup_(arena_done) struct arena arena;
	struct kept kept;
	int r = read_pod(pods, json, bytes, &arena);

	if (r < 0 || k8s_rules_exclude(pods->rules, &pods->scratch))
		return r;
	r = keep(pods, &kept);
	if (r < 0)
		return r;
	r = replace(pods, &kept);
	if (r < 0)
		kept_done(&kept);
	return r;
}

int k8s_pods_drop(struct k8s_pods *pods, const char *json, size_t bytes, u64 now_ns)
{
	_cleanup_(arena_done) struct arena arena;
	struct kept *kept;
	int r = read_pod(pods, json, bytes, &arena);

	if (r < 0)
		return r;
	LOCKED(&pods->lock);
	kept = find_uid(pods, pods->scratch.uid);
	if (kept && !kept->gone_ns)
		kept->gone_ns = now_ns;
	return 0;
}

void k8s_pods_begin(struct k8s_pods *pods)
{
	LOCKED(&pods->lock);
	for (u32 i = 0; i < pods->count; i++)
		pods->at[i].is_seen = false;
}

void k8s_pods_end(struct k8s_pods *pods, u64 now_ns)
{
	LOCKED(&pods->lock);
	for (u32 i = 0; i < pods->count; i++)
		if (!pods->at[i].is_seen && !pods->at[i].gone_ns)
			pods->at[i].gone_ns = now_ns;
}

void k8s_pods_sweep(struct k8s_pods *pods, u64 now_ns)
{
	LOCKED(&pods->lock);
	for (u32 i = 0; i < pods->count;) {
		if (!pods->at[i].gone_ns || now_ns < pods->at[i].gone_ns + pods->grace_ns) {
			i++;
			continue;
		}
		pods->bytes -= bytes_of(&pods->at[i]);
		kept_done(&pods->at[i]);
		pods->at[i] = pods->at[--pods->count];
	}
}

/* ---- Looking --------------------------------------------------------------------------------------------- */

static struct str text_of(const struct attrs *attrs, const char *key)
{
	const struct any *value = attrs_find(attrs, str_of(key));

	return value && value->kind == ANY_STRING ? value->string : (struct str){ "", 0 };
}

static const struct kept_container *container_of(const struct kept *kept, struct str id)
{
	for (u32 i = 0; id.len && i < kept->container_count; i++)
		if (str_equal(part(kept, kept->containers[i].id), id) || str_equal(part(kept,
											kept->containers[i].last_id),
												id))
			return &kept->containers[i];
	return NULL;
}

static bool fits(const struct kept *kept, const char *name, struct str value)
{
	if (!strcmp(name, "container.id"))
		return container_of(kept, value);
	if (!strcmp(name, "k8s.pod.uid"))
		return str_equal(part(kept, kept->uid), value) || str_equal(part(kept, kept->mirror_uid), value);
	if (!strcmp(name, "k8s.pod.ip") || !strcmp(name, "ip"))
		return kept->has_address && !kept->gone_ns && str_equal(part(kept, kept->ip), value);
	if (!strcmp(name, "k8s.pod.name"))
		return str_equal(part(kept, kept->name), value);
	if (!strcmp(name, "k8s.namespace.name"))
		return str_equal(part(kept, kept->namespace), value);
	if (!strcmp(name, "k8s.pod.hostname") || !strcmp(name, "host.name"))
		return !kept->gone_ns && str_equal(part(kept, kept->hostname), value);
	return false;
}

/* The pod that all of some attributes of a resource fit; those that are still there come first. */
static const struct kept *find_fit(const struct k8s_pods *pods, const struct attrs *attrs,
				   const struct k8s_source *sources,
				   u32 count)
{
	struct str values[K8S_SOURCES_MAX];
	const struct kept *found = NULL;

	for (u32 i = 0; i < count; i++) {
		values[i] = sources[i].from == K8S_RESOURCE_ATTRIBUTE ? text_of(attrs, sources[i].name) :
			(struct str){ "", 0 };
		if (!values[i].len)
			return NULL;
	}
	for (u32 p = 0; p < pods->count && (!found || found->gone_ns); p++) {
		bool is_fit = true;

		for (u32 i = 0; is_fit && i < count; i++)
			is_fit = fits(&pods->at[p], sources[i].name, values[i]);
		if (is_fit)
			found = &pods->at[p];
	}
	return found;
}

static const struct kept *find_pod(const struct k8s_pods *pods, const struct attrs *attrs)
{
	static const struct k8s_source standard[] = { { K8S_RESOURCE_ATTRIBUTE, "container.id" },
						      { K8S_RESOURCE_ATTRIBUTE, "k8s.pod.uid" },
						      { K8S_RESOURCE_ATTRIBUTE, "k8s.pod.ip" } };
	const struct k8s_association *associations = pods->associations.at;
	const struct kept *found = NULL;

	for (u32 i = 0; !found && i < pods->associations.count; i++)
		found = find_fit(pods, attrs, associations[i].sources.at, associations[i].sources.count);
	for (u32 i = 0; !found && !pods->associations.count && i < 3; i++)
		found = find_fit(pods, attrs, &standard[i], 1);
	return found;
}

/* By name, then by id; the only one there is otherwise. */
static const struct kept_container *find_container(const struct kept *kept, const struct attrs *attrs)
{
	struct str name = text_of(attrs, "k8s.container.name");
	const struct kept_container *found = NULL;

	for (u32 i = 0; name.len && i < kept->container_count; i++)
		if (str_equal(part(kept, kept->containers[i].name), name))
			found = &kept->containers[i];
	if (!found)
		found = container_of(kept, text_of(attrs, "container.id"));
	return found || kept->container_count != 1 ? found : &kept->containers[0];
}

/* What somebody said stays; what was guessed here does not. */
static bool may_set(const struct attrs *attrs, struct str key)
{
	const struct any *there = attrs_find(attrs, key);
	struct str source;

	if (!there || (there->kind == ANY_STRING && !there->string.len))
		return true;
	source = text_of(attrs, SERVICE_SOURCE_ATTRIBUTE);
	return str_is(key, "service.name") && service_name_is_guess(source.at, source.len);
}

static void set_one(struct attrs *attrs, char kind, struct str key, struct str value)
{
	struct any text = { .kind = ANY_STRING, .string = value };
	struct any list = { .kind = ANY_ARRAY, .count = 1, .array = &text };
	struct any source = { .kind = ANY_STRING, .string = STR("kubernetes") };

	if (!may_set(attrs, key))
		return;
	attrs_set(attrs, key, kind == 'a' ? &list : &text);
	if (str_is(key, "service.name") && attrs_find(attrs, str_of(SERVICE_SOURCE_ATTRIBUTE)))
		attrs_set(attrs, str_of(SERVICE_SOURCE_ATTRIBUTE), &source);
}

static void set_entries(struct attrs *attrs, struct str entries)
{
	for (u32 at = 0; at < entries.len;) {
		char kind = entries.at[at++];
		struct str key = str_of(entries.at + at), value;

		at += key.len + 1;
		value = str_of(entries.at + at);
		at += value.len + 1;
		set_one(attrs, kind, key, value);
	}
}

int k8s_pods_apply(struct k8s_pods *pods, struct attrs *attrs)
{
	const struct kept_container *container;
	const struct kept *kept;

	LOCKED(&pods->lock);
	kept = find_pod(pods, attrs);
	if (!kept)
		return 0;
	container = find_container(kept, attrs);
	set_entries(attrs, part(kept, kept->entries));
	if (container)
		set_entries(attrs, part(kept, container->entries));
	return 1;
}

size_t k8s_pods_count(struct k8s_pods *pods)
{
	LOCKED(&pods->lock);
	return pods->count;
}

size_t k8s_pods_bytes(struct k8s_pods *pods)
{
	LOCKED(&pods->lock);
	return pods->bytes + pods->cap * sizeof(*pods->at);
}
