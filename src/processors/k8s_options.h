/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said about the processor `k8s_attributes`. */
#ifndef PROCESSORS_K8S_OPTIONS_H
#define PROCESSORS_K8S_OPTIONS_H

#include <stdbool.h>

#include "config/fields.h"

enum k8s_auth { K8S_AUTH_SERVICE_ACCOUNT, K8S_AUTH_NONE, K8S_AUTH_KUBE_CONFIG, K8S_AUTH_TLS };

/* Attributes that are added. The texts are in k8s_options.c, in this order. */
enum k8s_metadata {
	K8S_NAMESPACE_NAME, K8S_POD_NAME, K8S_POD_UID, K8S_POD_IP, K8S_POD_HOSTNAME, K8S_POD_START_TIME,
	K8S_DEPLOYMENT_NAME, K8S_DEPLOYMENT_UID, K8S_REPLICASET_NAME, K8S_REPLICASET_UID,
	K8S_STATEFULSET_NAME, K8S_STATEFULSET_UID, K8S_DAEMONSET_NAME, K8S_DAEMONSET_UID,
	K8S_JOB_NAME, K8S_JOB_UID, K8S_CRONJOB_NAME, K8S_CRONJOB_UID, K8S_NODE_NAME, K8S_NODE_UID, K8S_CLUSTER_UID,
	K8S_CONTAINER_NAME, K8S_CONTAINER_ID, K8S_IMAGE_NAME, K8S_IMAGE_TAG, K8S_IMAGE_TAGS, K8S_IMAGE_DIGESTS,
	K8S_SERVICE_NAMESPACE, K8S_SERVICE_NAME, K8S_SERVICE_VERSION, K8S_SERVICE_INSTANCE, K8S_METADATA_COUNT,
};
extern const char *const k8s_metadata_names[K8S_METADATA_COUNT];

enum k8s_from { K8S_FROM_POD, K8S_FROM_NAMESPACE, K8S_FROM_NODE, K8S_FROM_DEPLOYMENT, K8S_FROM_STATEFULSET,
		K8S_FROM_DAEMONSET, K8S_FROM_JOB, K8S_FROM_COUNT };

/* A label or annotation that becomes an attribute. */
struct k8s_extract {
	const char *tag_name, *key, *key_regex;		/* "" if not given */
	int from;					/* enum k8s_from */
};

enum k8s_op { K8S_EQUALS, K8S_NOT_EQUALS, K8S_EXISTS, K8S_DOES_NOT_EXIST };

struct k8s_filter {
	const char *key, *value;
	int op;						/* enum k8s_op */
};

enum k8s_source_kind { K8S_CONNECTION, K8S_RESOURCE_ATTRIBUTE };
#define K8S_SOURCES_MAX 4

struct k8s_source {
	int from;					/* enum k8s_source_kind */
	const char *name;
};

struct k8s_association {
	struct config_sections sources;			/* struct k8s_source */
};

struct k8s_excluded {
	const char *name;				/* a regular expression */
};

struct k8s_options {
	int auth_type;					/* enum k8s_auth */
	const char *context;
	bool passthrough, wait_for_metadata;
	s64 wait_ns, sync_ns, grace_ns;
	struct config_texts metadata;
	struct config_sections labels, annotations;	/* struct k8s_extract */
	bool otel_annotations;
	const char *node, *node_variable, *namespace;
	struct config_sections field_filters, label_filters;	/* struct k8s_filter */
	struct config_sections associations;		/* struct k8s_association */
	struct config_sections excluded;		/* struct k8s_excluded */
	bool has_exclude;
};

extern const struct config_field k8s_fields[];
extern const struct k8s_options k8s_defaults;

/* Which of enum k8s_metadata are wanted, a bit each. */
u64 k8s_wanted(const struct k8s_options *options);

/* The node whose pods are wanted, "" for all. */
const char *k8s_node(const struct k8s_options *options);

/* For component_ops.check. */
void k8s_options_check(const void *options, struct config_place place, const char *path, struct config_errors *errors);

#endif
