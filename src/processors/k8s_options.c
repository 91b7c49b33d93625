// SPDX-License-Identifier: Apache-2.0
#include "processors/k8s_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/nearest.h"
#include "base/pattern.h"

#define SECOND 1e9
#define AT(member) FIELD(struct k8s_options, member)

const char *const k8s_metadata_names[K8S_METADATA_COUNT] = {
	"k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid", "k8s.pod.ip", "k8s.pod.hostname", "k8s.pod.start_time",
	"k8s.deployment.name", "k8s.deployment.uid", "k8s.replicaset.name", "k8s.replicaset.uid",
	"k8s.statefulset.name", "k8s.statefulset.uid", "k8s.daemonset.name", "k8s.daemonset.uid",
	"k8s.job.name", "k8s.job.uid", "k8s.cronjob.name", "k8s.cronjob.uid", "k8s.node.name", "k8s.node.uid",
	"k8s.cluster.uid", "k8s.container.name", "container.id", "container.image.name", "container.image.tag",
	"container.image.tags", "container.image.repo_digests", "service.namespace", "service.name", "service.version",
	"service.instance.id",
};

/* What there is unless metadata says otherwise. */
static const char *const default_metadata[] = { "k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid",
						"k8s.pod.start_time",
						"k8s.deployment.name", "k8s.node.name" };

static const char *const auth_types[] = { "serviceAccount", "none", "kubeConfig", "tls", NULL };
static const char *const froms[] = { "pod", "namespace", "node", "deployment", "statefulset", "daemonset", "job",
				     NULL };
static const char *const ops[] = { "equals", "not-equals", "exists", "does-not-exist", NULL };
static const char *const source_kinds[] = { "connection", "resource_attribute", NULL };

static const struct k8s_extract extract_defaults = { "", "", "", K8S_FROM_POD };
static const struct k8s_filter filter_defaults = { "", "", K8S_EQUALS };
static const struct k8s_source source_defaults = { K8S_CONNECTION, "" };

static const struct config_field extract_item_fields[] = {
	{ "tag_name", CONFIG_TEXT, FIELD(struct k8s_extract, tag_name),
	  .help = "the attribute; if not given, k8s.pod.label.KEY and alike. $1 is a group of key_regex" },
	{ "key", CONFIG_TEXT, FIELD(struct k8s_extract, key), .help = "of the label or annotation" },
	{ "key_regex", CONFIG_TEXT, FIELD(struct k8s_extract, key_regex), .help = "all keys that match, as a whole" },
	{ "from", CONFIG_CHOICE, FIELD(struct k8s_extract, from), .choices = froms, .help = "whose it is" },
	{ 0 },
};

static const struct config_field extract_fields[] = {
	{ "metadata", CONFIG_TEXTS, AT(metadata), .help = "attributes to add" },
	{ "labels", CONFIG_SECTIONS, AT(labels), .fields = extract_item_fields,
	  .element_bytes = sizeof(struct k8s_extract),
	  .element_defaults = &extract_defaults, .help = "labels to add as attributes" },
	{ "annotations", CONFIG_SECTIONS, AT(annotations), .fields = extract_item_fields,
	  .element_bytes = sizeof(struct k8s_extract), .element_defaults = &extract_defaults,
	  .help = "annotations to add as attributes" },
	{ "otel_annotations", CONFIG_BOOL, AT(otel_annotations),
	  .help = "annotations resource.opentelemetry.io/NAME of the pod are attributes NAME" },
	{ "deployment_name_from_replicaset", CONFIG_NEEDLESS, .help = "it is taken from there where that is exact" },
	{ 0 },
};

static const struct config_field filter_item_fields[] = {
	{ "key", CONFIG_TEXT, FIELD(struct k8s_filter, key), .required = true, .help = "of the field or label" },
	{ "value", CONFIG_TEXT, FIELD(struct k8s_filter, value), .help = "to compare with" },
	{ "op", CONFIG_CHOICE, FIELD(struct k8s_filter, op), .choices = ops, .help = "how" },
	{ 0 },
};

static const struct config_field filter_fields[] = {
	{ "node", CONFIG_TEXT, AT(node), .help = "only pods of this node" },
	{ "node_from_env_var", CONFIG_TEXT, AT(node_variable),
	  .help = "only pods of the node that this variable names" },
	{ "namespace", CONFIG_TEXT, AT(namespace), .help = "only pods of this namespace" },
	{ "fields", CONFIG_SECTIONS, AT(field_filters), .fields = filter_item_fields,
	  .element_bytes = sizeof(struct k8s_filter), .element_defaults = &filter_defaults,
		  .help = "only pods with these fields" },
	{ "labels", CONFIG_SECTIONS, AT(label_filters), .fields = filter_item_fields,
	  .element_bytes = sizeof(struct k8s_filter), .element_defaults = &filter_defaults,
		  .help = "only pods with these labels" },
	{ 0 },
};

static const struct config_field source_fields[] = {
	{ "from", CONFIG_CHOICE, FIELD(struct k8s_source, from), .choices = source_kinds, .required = true,
	  .help = "what tells the pod" },
	{ "name", CONFIG_TEXT, FIELD(struct k8s_source, name), .help = "of the attribute" },
	{ 0 },
};

static const struct config_field association_fields[] = {
	{ "sources", CONFIG_SECTIONS, FIELD(struct k8s_association, sources), .fields = source_fields,
	  .element_bytes = sizeof(struct k8s_source), .element_defaults = &source_defaults,
	  .help = "all of them must be there and fit, four at most" },
	{ 0 },
};

static const struct config_field excluded_fields[] = {
	{ "name", CONFIG_TEXT, FIELD(struct k8s_excluded, name), .required = true, .help = "a regular expression" },
	{ 0 },
};

static const struct config_field exclude_fields[] = {
	{ "pods", CONFIG_SECTIONS, AT(excluded), .fields = excluded_fields,
	  .element_bytes = sizeof(struct k8s_excluded),
	  .help = "pods that are not looked at" },
	{ 0 },
};

const struct config_field k8s_fields[] = {
	{ "auth_type", CONFIG_CHOICE, AT(auth_type), .choices = auth_types, .help = "how to talk to the API server" },
	{ "context", CONFIG_TEXT, AT(context), .help = "of the kubeconfig file; if not given, its current one" },
	{ "passthrough", CONFIG_BOOL, AT(passthrough), .help = "do not ask the API server: another collector will" },
	{ "wait_for_metadata", CONFIG_BOOL, AT(wait_for_metadata), .help = "start when all pods are known" },
	{ "wait_for_metadata_timeout", CONFIG_DURATION, AT(wait_ns), .min = 1, .max = 3600 * SECOND,
	  .help = "... or fail after that time" },
	{ "watch_sync_period", CONFIG_DURATION, AT(sync_ns), .min = SECOND, .max = 86400 * SECOND,
	  .help = "after that time everything is listed again" },
	{ "pod_delete_grace_period", CONFIG_DURATION, AT(grace_ns), .max = 86400 * SECOND,
	  .help = "pods that are gone are still known for so long" },
	{ "extract", CONFIG_SECTION, 0, .fields = extract_fields, .help = "what becomes attributes" },
	{ "filter", CONFIG_SECTION, 0, .fields = filter_fields, .help = "which pods are looked at" },
	{ "pod_association", CONFIG_SECTIONS, AT(associations), .fields = association_fields,
	  .element_bytes = sizeof(struct k8s_association),
	  .help = "how the pod of a resource is found: the first whose sources are all there; by default k8s.pod.uid, "
		  "container.id, k8s.pod.ip" },
	{ "exclude", CONFIG_SECTION, 0, .fields = exclude_fields, .present = FIELD_PRESENT(struct k8s_options,
											   has_exclude),
	  .help = "pods to leave out; by default jaeger-agent and jaeger-collector" },
	{ "kubelet", CONFIG_REFUSED, .help = "pods are watched at the API server; remove it" },
	{ 0 },
};

static const struct k8s_excluded default_excluded[] = { { "jaeger-agent" }, { "jaeger-collector" } };

const struct k8s_options k8s_defaults = {
	.context = "", .wait_ns = 10000000000, .sync_ns = 300000000000, .grace_ns = 120000000000,
	.metadata = { sizeof(default_metadata) / sizeof(*default_metadata), default_metadata },
	.node = "", .node_variable = "", .namespace = "",
	.excluded = { 2, (void *)default_excluded },
};

u64 k8s_wanted(const struct k8s_options *o)
{
	u64 wanted = 0;

	for (u32 i = 0; i < o->metadata.count; i++)
		for (u32 k = 0; k < K8S_METADATA_COUNT; k++)
			if (!strcmp(o->metadata.at[i], k8s_metadata_names[k]))
				wanted |= 1ull << k;
	return wanted;
}

const char *k8s_node(const struct k8s_options *o)
{
	const char *node = *o->node_variable ? getenv(o->node_variable) : NULL;

	return node ? node : o->node;
}

/* ---- What no table can say ------------------------------------------------------------------- */

static void check_metadata(const char *name, struct config_place place, const char *path, struct config_errors *errors)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (u32 i = 0; i < K8S_METADATA_COUNT; i++) {
		if (!strcmp(name, k8s_metadata_names[i]))
			return;
		nearest_try(&nearest, k8s_metadata_names[i]);
	}
	config_error(errors, place, path, "extract::metadata has no %.80s%s%s%s", name, nearest.best ?
		     "; did you mean " : "",
		     nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

static void check_pattern(const char *text, const char *what, struct config_place place, const char *path,
			  struct config_errors *errors)
{
	_cleanup_(pattern_freep) struct pattern *pattern = NULL;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	if (pattern_new(text, strlen(text), &pattern, &why) < 0)
		config_error(errors, place, path, "%s: %s", what, why.len ? why.data : "out of memory");
}

static void check_extracts(const struct config_sections *list, const char *what, struct config_place place,
			   const char *path,
			   struct config_errors *errors)
{
	const struct k8s_extract *at = list->at;

	for (u32 i = 0; i < list->count; i++) {
		if (!*at[i].key == !*at[i].key_regex)
			config_error(errors, place, path, "extract::%s: each has either a key or a key_regex", what);
		else if (*at[i].key_regex)
			check_pattern(at[i].key_regex, what, place, path, errors);
	}
}

static void check_associations(const struct k8s_options *o, struct config_place place, const char *path,
			       struct config_errors *errors)
{
	const struct k8s_association *associations = o->associations.at;

	for (u32 i = 0; i < o->associations.count; i++) {
		const struct k8s_source *sources = associations[i].sources.at;

		if (!associations[i].sources.count || associations[i].sources.count > K8S_SOURCES_MAX)
			config_error(errors, place, path, "pod_association: each has one to %d sources",
				     K8S_SOURCES_MAX);
		for (u32 k = 0; k < associations[i].sources.count; k++) {
			if (sources[k].from == K8S_RESOURCE_ATTRIBUTE && !*sources[k].name)
				config_error(errors, place, path, "pod_association: a resource_attribute needs a name");
			if (sources[k].from == K8S_CONNECTION)
				config_warning(errors, place, path,
					       "pod_association: connection never fits: profiles come from "
					       "this machine, or through others; add container.id");
		}
	}
}

void k8s_options_check(const void *options, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct k8s_options *o = options;
	const struct k8s_excluded *excluded = o->excluded.at;
	const struct k8s_filter *fields = o->field_filters.at;

	for (u32 i = 0; i < o->metadata.count; i++)
		check_metadata(o->metadata.at[i], place, path, errors);
	check_extracts(&o->labels, "labels", place, path, errors);
	check_extracts(&o->annotations, "annotations", place, path, errors);
	check_associations(o, place, path, errors);
	for (u32 i = 0; i < o->excluded.count; i++)
		check_pattern(excluded[i].name, "exclude", place, path, errors);
	for (u32 i = 0; i < o->field_filters.count; i++)
		if (fields[i].op > K8S_NOT_EQUALS)
			config_error(errors, place, path,
				     "filter::fields: a field is compared by equals or not-equals");
	if (o->auth_type == K8S_AUTH_TLS || o->auth_type == K8S_AUTH_KUBE_CONFIG)
		config_error(errors, place, path, "auth_type %s is not supported; use serviceAccount, or none",
			     auth_types[o->auth_type]);
}
