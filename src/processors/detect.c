// SPDX-License-Identifier: Apache-2.0
#include "processors/detect.h"

#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "ottl/value.h"
#include "profile/any.h"

/* ---- What there is ------------------------------------------------------------------------------ */

#define REFUSED(id, why) static const struct detector_ops refused_##id = { .name = #id, .refused = why };
REFUSED(elastic_beanstalk, "wick does not read the files of Elastic Beanstalk")
REFUSED(consul, "wick does not ask Consul")
REFUSED(k8s_api, "wick does not ask the Kubernetes API for nodes yet; set k8s.node.name with the resource processor")
REFUSED(k8snode, "wick does not ask the Kubernetes API for nodes yet; set k8s.node.name with the resource processor")
REFUSED(kubeadm, "wick does not ask the Kubernetes API for clusters; set k8s.cluster.name with the resource processor")
REFUSED(openshift, "wick does not ask the OpenShift API; set k8s.cluster.name with the resource processor")
REFUSED(dynatrace, "wick does not read the files of Dynatrace")
REFUSED(ibmcloud_vpc, "wick does not ask IBM Cloud")
REFUSED(ibmcloud_classic, "wick does not ask IBM Cloud")

const struct detector_ops *const detectors[] = {
	&detector_env, &detector_system, &detector_docker, &detector_gcp, &detector_ec2, &detector_ecs, &detector_eks,
	&detector_lambda, &detector_azure, &detector_aks, &detector_azurecontainerapps, &detector_heroku,
	&detector_hetzner, &detector_akamai, &detector_scaleway, &detector_vultr, &detector_oraclecloud,
	&detector_digitalocean, &detector_nova, &detector_upcloud, &detector_alibaba_ecs, &detector_tencent_cvm,
	&refused_elastic_beanstalk, &refused_consul, &refused_k8s_api, &refused_k8snode, &refused_kubeadm,
	&refused_openshift, &refused_dynatrace, &refused_ibmcloud_vpc, &refused_ibmcloud_classic, NULL,
};
_Static_assert(sizeof(detectors) / sizeof(*detectors) <= DETECTORS_MAX, "options have room for each");

const struct detector_ops *detector_find(const char *name)
{
	for (u32 i = 0; detectors[i]; i++)
		if (!strcmp(detectors[i]->name, name))
			return detectors[i];
	return NULL;
}

u32 detector_number(const struct detector_ops *ops)
{
	u32 i = 0;

	while (detectors[i] != ops)
		i++;
	return i;
}

/* ---- Putting --------------------------------------------------------------------------------------- */

void detection_put_any(struct detection *d, const char *name, const struct any *value)
{
	struct str key = { name, (u32)strlen(name) };

	for (u32 i = 0; d->now->attributes && d->now->attributes[i].name; i++)
		if (!strcmp(d->now->attributes[i].name, name) && !(d->enabled >> i & 1))
			return;
	for (u32 i = 0; i < d->count; i++)
		if (str_equal(d->at[i].key, key))
			return;
	if (d->count == DETECTED_MAX)
		return;
	d->at[d->count].key = str_copy(&d->arena, name, key.len);
	d->at[d->count].value = any_copy(&d->arena, value);
	if (!arena_err(&d->arena))
		d->count++;
}

void detection_put(struct detection *d, const char *name, const char *text)
{
	if (text && *text)
		detection_put_any(d, name, &(struct any){ ANY_STRING, 0, .string = { text, (u32)strlen(text) } });
}

/* ---- Configuration ----------------------------------------------------------------------------------- */

static int set_enabled(const struct detector_ops *ops, const struct config_entry *entry, u64 *enabled, struct buf *why)
{
	const struct config_node *value = config_get(entry->value, "enabled");
	struct nearest nearest;

	nearest_init(&nearest, entry->key);
	for (u32 i = 0; ops->attributes && ops->attributes[i].name; i++) {
		nearest_try(&nearest, ops->attributes[i].name);
		if (strcmp(ops->attributes[i].name, entry->key))
			continue;
		if (!value || value->kind != NODE_BOOL) {
			buf_addf(why, "%s: %s is {enabled: true} or {enabled: false}", ops->name, entry->key);
			return -EINVAL;
		}
		*enabled = value->boolean ? *enabled | 1ull << i : *enabled & ~(1ull << i);
		return 0;
	}
	buf_addf(why, "%s does not detect %s%s%s%s", ops->name, entry->key, nearest.best ? "; did you mean " : "",
		 nearest.best ? nearest.best : "", nearest.best ? "?" : "");
	return -EINVAL;
}

int detector_enabled(const struct detector_ops *ops, const struct config_node *block, u64 *ret_enabled, struct buf *why)
{
	const struct config_node *chosen = config_get(block, "resource_attributes");
	u64 enabled = 0;
	int r = 0;

	for (u32 i = 0; ops->attributes && ops->attributes[i].name; i++)
		enabled |= (u64)!ops->attributes[i].off << i;
	for (u32 i = 0; block && block->kind == NODE_MAP && i < block->count; i++) {
		const char *key = block->map[i].key;

		if (!strcmp(key, "resource_attributes") || (ops == &detector_system &&
							    !strcmp(key, "hostname_sources")))
			continue;
		buf_addf(why, "%s: wick does not have the option %s of this detector; remove it", ops->name, key);
		return -EINVAL;
	}
	for (u32 i = 0; r == 0 && chosen && chosen->kind == NODE_MAP && i < chosen->count; i++)
		r = set_enabled(ops, &chosen->map[i], &enabled, why);
	if (r == 0)
		*ret_enabled = enabled;
	return r;
}
