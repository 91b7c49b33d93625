/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding out where this runs: detectors put attributes into a detection, the
 * first that has an attribute wins. Each is one struct detector_ops, in the list of detect.c.
 *
 * Detectors run on a thread that may wait for their answers, never on the data path.
 */
#ifndef PROCESSORS_DETECT_H
#define PROCESSORS_DETECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "config/fields.h"
#include "profile/profile.h"

#define DETECTED_MAX 128
#define DETECTOR_ATTRIBUTES_MAX 64

struct detector_attribute {
	const char *name;
	bool off;			/* unless resource_attributes says enabled: true */
};

struct detection;

struct detector_ops {
	const char *name;
	const struct detector_attribute *attributes;	/* ended by a NULL name */
	/* 0; -ENOENT: it is not this; else the failure, and detection.why says what. */
	int (*detect)(struct detection *detection, const struct detector_ops *ops);
	const void *table;		/* its own */
	const char *refused;		/* why there is none; else NULL */
};
extern const struct detector_ops *const detectors[];	/* ended by NULL */

/* By name, or NULL. */
const struct detector_ops *detector_find(const char *name);
u32 detector_number(const struct detector_ops *ops);
#define DETECTORS_MAX 40

/* One round. */
struct detection {
	struct arena arena;
	struct keyvalue at[DETECTED_MAX];
	u32 count;
	u64 enabled;			/* of the attributes of the detector that runs now */
	const struct detector_ops *now;
	const struct config_node *block;	/* its configuration, or NULL */
	u64 deadline_ns;		/* CLOCK_MONOTONIC */
	struct buf why;
};

/* Only if the detector has it enabled, and no earlier one had it; a text that is empty is none. */
void detection_put(struct detection *d, const char *name, const char *text);
void detection_put_any(struct detection *d, const char *name, const struct any *value);	/* copied */

/* Which of the attributes a configuration enables. -EINVAL and a sentence. */
int detector_enabled(const struct detector_ops *ops, const struct config_node *block, u64 *ret_enabled,
		     struct buf *why);

/* ---- The kinds (detect_cloud.c, detect_here.c) ------------------------------------------------- */

extern const struct detector_ops detector_ec2, detector_gcp, detector_azure, detector_hetzner, detector_digitalocean,
	detector_oraclecloud, detector_vultr, detector_scaleway, detector_nova, detector_alibaba_ecs,
		detector_tencent_cvm,
	detector_akamai, detector_upcloud, detector_docker, detector_ecs, detector_aks;
extern const struct detector_ops detector_env, detector_system, detector_lambda, detector_heroku, detector_eks,
	detector_azurecontainerapps;

#endif
