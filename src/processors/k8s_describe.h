/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod says about resources, written down as entries: a byte for the
 * kind ('s' a string, 'a' a list of one), the key, NUL, the value, NUL. An
 * earlier entry of a key counts. No state but the patterns of rules.
 */
#ifndef PROCESSORS_K8S_DESCRIBE_H
#define PROCESSORS_K8S_DESCRIBE_H

#include "base/cleanup.h"
#include "processors/k8s_pods.h"

struct buf;
struct k8s_rules;

int k8s_rules_new(const struct k8s_options *options, const struct k8s_lookup *lookup, struct k8s_rules **ret_rules,
		  struct buf *why);
void k8s_rules_free(struct k8s_rules *rules);
DEFINE_CLEANUP(struct k8s_rules *, k8s_rules_free)

/* Is it one of those that are not looked at? */
bool k8s_rules_exclude(struct k8s_rules *rules, const struct k8s_pod *pod);

void k8s_describe_pod(struct k8s_rules *rules, const struct k8s_pod *pod, struct buf *out);
void k8s_describe_container(struct k8s_rules *rules, const struct k8s_pod *pod, const struct k8s_container *container,
			    struct buf *out);

#endif
