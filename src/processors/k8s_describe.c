// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "proc/container_about.h"

#define OTEL_PREFIX "resource.opentelemetry.io/"

struct rule {
	const struct k8s_extract *extract;
	bool is_label;
	struct pattern *pattern;	/* of keys, or NULL */
};

struct k8s_rules {
	u64 wanted;			/* enum k8s_metadata, a bit each */
	bool otel_annotations;
	struct k8s_lookup lookup;
	struct rule *at;
	u32 count;
	struct pattern **excluded;
	u32 excluded_count;
	struct pattern_scratch scratch;
};

/* ---- Rules -------------------------------------------------------------------------------------------- */

/* Keys match as a whole. */
static int whole_pattern(const char *text, struct pattern **ret_pattern, struct buf *why)
{
	_cleanup_(buf_done) struct buf whole;

	buf_init(&whole, PATTERN_BYTES_MAX);
	buf_addf(&whole, "^(?:%s)$", text);
	return buf_err(&whole) < 0 ? -ENOMEM : pattern_new(whole.data, whole.len, ret_pattern, why);
}

static int add_rules(struct k8s_rules *rules, const struct config_sections *list, bool is_label, struct buf *why)
{
	const struct k8s_extract *extracts = list->at;
	int r = 0;

	for (u32 i = 0; r == 0 && i < list->count; i++) {
		struct rule *rule = &rules->at[rules->count++];

		*rule = (struct rule){ &extracts[i], is_label, NULL };
		if (*extracts[i].key_regex)
			r = whole_pattern(extracts[i].key_regex, &rule->pattern, why);
	}
	return r;
}

int k8s_rules_new(const struct k8s_options *o, const struct k8s_lookup *lookup, struct k8s_rules **ret_rules,
		  struct buf *why)
{
	_cleanup_(k8s_rules_freep) struct k8s_rules *rules = calloc(1, sizeof(*rules));
	const struct k8s_excluded *excluded = o->excluded.at;
	int r;

	if (!rules)
		return -ENOMEM;
	rules->wanted = k8s_wanted(o);
	rules->otel_annotations = o->otel_annotations;
	rules->lookup = *lookup;
	rules->at = calloc(o->labels.count + o->annotations.count + 1, sizeof(*rules->at));
	rules->excluded = calloc(o->excluded.count + 1, sizeof(struct pattern *));
	if (!rules->at || !rules->excluded)
		return -ENOMEM;
	r = add_rules(rules, &o->labels, true, why);
	if (r == 0)
		r = add_rules(rules, &o->annotations, false, why);
	for (u32 i = 0; r == 0 && i < o->excluded.count; i++)
		r = pattern_new(excluded[i].name, strlen(excluded[i].name), &rules->excluded[rules->excluded_count++],
				why);
	if (r < 0)
		return r;
	*ret_rules = TAKE(rules);
	return 0;
}

void k8s_rules_free(struct k8s_rules *rules)
{
	if (!rules)
		return;
	for (u32 i = 0; i < rules->count; i++)
		pattern_free(rules->at[i].pattern);
	for (u32 i = 0; i < rules->excluded_count; i++)
		pattern_free(rules->excluded[i]);
	pattern_scratch_done(&rules->scratch);
	free(rules->at);
	free(rules->excluded);
	free(rules);
}

bool k8s_rules_exclude(struct k8s_rules *rules, const struct k8s_pod *pod)
{
	for (u32 i = 0; i < rules->excluded_count; i++)
		if (pattern_match(rules->excluded[i], &rules->scratch, pod->name.at, pod->name.len, 0, NULL) == 1)
			return true;
	return false;
}

/* ---- Entries -------------------------------------------------------------------------------------------- */

static void add(struct buf *out, char kind, struct str key, struct str value)
{
	size_t key_len = strnlen(key.at, key.len), value_len = value.len ? strnlen(value.at, value.len) : 0;

	if (!value_len)
		return;
	buf_add(out, &kind, 1);
	buf_add(out, key.at, key_len);
	buf_add(out, "", 1);
	buf_add(out, value.at, value_len);
	buf_add(out, "", 1);
}

static bool wants(const struct k8s_rules *rules, enum k8s_metadata what)
{
	return rules->wanted >> what & 1;
}

static void add_wanted(const struct k8s_rules *rules, struct buf *out, enum k8s_metadata what, struct str value)
{
	if (wants(rules, what))
		add(out, what == K8S_IMAGE_TAGS || what == K8S_IMAGE_DIGESTS ? 'a' : 's',
		    str_of(k8s_metadata_names[what]), value);
}

/* ---- Owners -------------------------------------------------------------------------------------------- */

/* What a pod belongs to, as far as it is known. */
struct workload {
	struct k8s_owner direct, above;		/* ReplicaSet and Deployment, Job and CronJob; above may be empty */
};

static const struct k8s_pod *find(const struct k8s_rules *rules, const char *kind, struct str namespace,
				  struct str name)
{
	return rules->lookup.find && name.len ? rules->lookup.find(rules->lookup.arg, kind, namespace, name) : NULL;
}

/* A replica set is named after its deployment and the hash that its pods have as a label. */
static struct str deployment_by_hash(const struct k8s_pod *pod)
{
	struct str hash = k8s_pairs_find(&pod->labels, STR("pod-template-hash")), name = pod->owner.name;

	if (!hash.len || name.len < hash.len + 2 || name.at[name.len - hash.len - 1] != '-' ||
	    memcmp(name.at + name.len - hash.len, hash.at, hash.len) != 0)
		return (struct str){ "", 0 };
	return (struct str){ name.at, name.len - hash.len - 1 };
}

/* A cron job's jobs are named after it and the minute. */
static struct str cron_job_by_name(struct str name)
{
	u32 digits = 0;

	while (digits < name.len && name.at[name.len - digits - 1] >= '0' && name.at[name.len - digits - 1] <= '9')
		digits++;
	if (digits < 8 || name.len < digits + 2 || name.at[name.len - digits - 1] != '-')
		return (struct str){ "", 0 };
	return (struct str){ name.at, name.len - digits - 1 };
}

static bool has_rule_from(const struct k8s_rules *rules, enum k8s_from from)
{
	for (u32 i = 0; i < rules->count; i++)
		if (rules->at[i].extract->from == (int)from)
			return true;
	return false;
}

/* The API server is only asked for what is wanted, and cannot be told otherwise. */
static struct workload workload_of(const struct k8s_rules *rules, const struct k8s_pod *pod)
{
	struct workload w = { .direct = pod->owner };
	bool is_set = str_is(pod->owner.kind, "ReplicaSet"), is_job = str_is(pod->owner.kind, "Job");
	const struct k8s_pod *owner = NULL;

	w.above.name = is_set ? deployment_by_hash(pod) : is_job ? cron_job_by_name(pod->owner.name) :
		(struct str){ "", 0 };
	w.above.kind = w.above.name.len ? str_of(is_set ? "Deployment" : "CronJob") : (struct str){ "", 0 };
	if ((is_set && (wants(rules, K8S_DEPLOYMENT_UID) || (!w.above.name.len && (wants(rules, K8S_DEPLOYMENT_NAME) ||
							      has_rule_from(rules, K8S_FROM_DEPLOYMENT))))) ||
	    (is_job && (wants(rules, K8S_CRONJOB_UID) || wants(rules, K8S_CRONJOB_NAME))))
		owner = find(rules, is_set ? "ReplicaSet" : "Job", pod->namespace, pod->owner.name);
	if (owner)
		w.above = owner->owner;
	return w;
}

static void add_owner(const struct k8s_rules *rules, const struct k8s_owner *owner, struct buf *out)
{
	static const struct {
		const char *kind;
		enum k8s_metadata name, uid;
	} kinds[] = {
		{ "Deployment", K8S_DEPLOYMENT_NAME, K8S_DEPLOYMENT_UID }, { "ReplicaSet", K8S_REPLICASET_NAME,
									     K8S_REPLICASET_UID },
		{ "StatefulSet", K8S_STATEFULSET_NAME, K8S_STATEFULSET_UID }, { "DaemonSet", K8S_DAEMONSET_NAME,
										K8S_DAEMONSET_UID },
		{ "Job", K8S_JOB_NAME, K8S_JOB_UID }, { "CronJob", K8S_CRONJOB_NAME, K8S_CRONJOB_UID },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (!str_is(owner->kind, kinds[i].kind))
			continue;
		add_wanted(rules, out, kinds[i].name, owner->name);
		add_wanted(rules, out, kinds[i].uid, owner->uid);
	}
}

/* ---- Labels and annotations ------------------------------------------------------------------------------ */

static const char *const from_names[] = { "pod", "namespace", "node", "deployment", "statefulset", "daemonset", "job" };

static void add_pair(struct k8s_rules *rules, const struct rule *rule, const struct k8s_pair *pair, struct buf *out)
{
	_cleanup_(buf_done) struct buf key;

	buf_init(&key, 1024);
	if (*rule->extract->tag_name && rule->pattern)
		(void)pattern_replace(rule->pattern, &rules->scratch, pair->key.at, pair->key.len,
				      rule->extract->tag_name,
				      strlen(rule->extract->tag_name), NULL, &key);
	else if (*rule->extract->tag_name)
		buf_addf(&key, "%s", rule->extract->tag_name);
	else
		buf_addf(&key, "k8s.%s.%s.%.*s", from_names[rule->extract->from], rule->is_label ? "label" :
			 "annotation",
			 (int)pair->key.len, pair->key.at);
	if (buf_err(&key) == 0 && key.len)
		add(out, 's', (struct str){ key.data, (u32)key.len }, pair->value);
}

static void apply_rule(struct k8s_rules *rules, const struct rule *rule, const struct k8s_pod *object, struct buf *out)
{
	const struct k8s_pairs *pairs = rule->is_label ? &object->labels : &object->annotations;

	for (u32 i = 0; i < pairs->count; i++) {
		bool fits = rule->pattern ? pattern_match(rule->pattern, &rules->scratch, pairs->at[i].key.at,
							  pairs->at[i].key.len,
							  0, NULL) == 1 :
					    str_is(pairs->at[i].key, rule->extract->key);

		if (fits)
			add_pair(rules, rule, &pairs->at[i], out);
	}
}

/* The object that a rule is about. */
static const struct k8s_pod *object_of(const struct k8s_rules *rules, const struct k8s_pod *pod,
				       const struct workload *w,
				       enum k8s_from from)
{
	static const char *const kinds[] = { "", "Namespace", "Node", "Deployment", "StatefulSet", "DaemonSet", "Job" };
	struct str none = { "", 0 };

	if (from == K8S_FROM_POD)
		return pod;
	if (from == K8S_FROM_NAMESPACE)
		return find(rules, kinds[from], none, pod->namespace);
	if (from == K8S_FROM_NODE)
		return find(rules, kinds[from], none, pod->node);
	if (str_is(w->direct.kind, kinds[from]))
		return find(rules, kinds[from], pod->namespace, w->direct.name);
	return str_is(w->above.kind, kinds[from]) ? find(rules, kinds[from], pod->namespace, w->above.name) : NULL;
}

static void add_labels(struct k8s_rules *rules, const struct k8s_pod *pod, const struct workload *w, struct buf *out)
{
	for (u32 i = 0; i < rules->count; i++) {
		const struct k8s_pod *object = object_of(rules, pod, w, (enum k8s_from)rules->at[i].extract->from);

		if (object)
			apply_rule(rules, &rules->at[i], object, out);
	}
	for (u32 i = 0; rules->otel_annotations && i < pod->annotations.count; i++) {
		struct str key = pod->annotations.at[i].key;

		if (str_starts(key, OTEL_PREFIX) && key.len > strlen(OTEL_PREFIX))
			add(out, 's', (struct str){ key.at + strlen(OTEL_PREFIX), key.len - (u32)strlen(OTEL_PREFIX) },
			    pod->annotations.at[i].value);
	}
}

/* ---- All of it -------------------------------------------------------------------------------------------- */

void k8s_describe_pod(struct k8s_rules *rules, const struct k8s_pod *pod, struct buf *out)
{
	static const struct str none = { "", 0 };
	struct workload w = workload_of(rules, pod);
	const struct k8s_pod *other;

	add_labels(rules, pod, &w, out);
	add_wanted(rules, out, K8S_NAMESPACE_NAME, pod->namespace);
	add_wanted(rules, out, K8S_POD_NAME, pod->name);
	add_wanted(rules, out, K8S_POD_UID, pod->uid);
	add_wanted(rules, out, K8S_POD_IP, pod->ip);
	add_wanted(rules, out, K8S_POD_HOSTNAME, pod->hostname.len ? pod->hostname : pod->name);
	add_wanted(rules, out, K8S_POD_START_TIME, pod->start_time);
	add_wanted(rules, out, K8S_NODE_NAME, pod->node);
	add_owner(rules, &w.direct, out);
	add_owner(rules, &w.above, out);
	if (wants(rules, K8S_NODE_UID) && (other = find(rules, "Node", none, pod->node)))
		add_wanted(rules, out, K8S_NODE_UID, other->uid);
	if (wants(rules, K8S_CLUSTER_UID) && (other = find(rules, "Namespace", none, STR("kube-system"))))
		add_wanted(rules, out, K8S_CLUSTER_UID, other->uid);
	add_wanted(rules, out, K8S_SERVICE_NAMESPACE, pod->namespace);
	add_wanted(rules, out, K8S_SERVICE_NAME, w.above.name.len ? w.above.name : w.direct.name.len ? w.direct.name :
		   pod->name);
}

void k8s_describe_container(struct k8s_rules *rules, const struct k8s_pod *pod, const struct k8s_container *c,
			    struct buf *out)
{
	struct str name, tag, digest, ignored, repo_digest;
	char version[512] = "", instance[1024];

	container_image_split(c->image, &name, &tag, &digest);
	container_image_split(c->image_id, &ignored, &ignored, &repo_digest);
	add_wanted(rules, out, K8S_CONTAINER_NAME, c->name);
	add_wanted(rules, out, K8S_CONTAINER_ID, c->id);
	add_wanted(rules, out, K8S_IMAGE_NAME, name);
	add_wanted(rules, out, K8S_IMAGE_TAG, tag);
	add_wanted(rules, out, K8S_IMAGE_TAGS, tag);
	if (repo_digest.len)
		add_wanted(rules, out, K8S_IMAGE_DIGESTS, c->image_id);
	(void)snprintf(version, sizeof(version), "%.*s%s%.*s", (int)tag.len, tag.at, tag.len && digest.len ? "@" : "",
		       (int)digest.len, digest.at);
	add_wanted(rules, out, K8S_SERVICE_VERSION, str_of(version));
	(void)snprintf(instance, sizeof(instance), "%.*s.%.*s.%.*s", (int)pod->namespace.len, pod->namespace.at,
		       (int)pod->name.len,
		       pod->name.at, (int)c->name.len, c->name.at);
	add_wanted(rules, out, K8S_SERVICE_INSTANCE, str_of(instance));
}
