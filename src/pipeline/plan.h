/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration, checked and resolved: which components with which options,
 * which pipelines lead from where to where, and in which order they start.
 * Nothing runs. The Collector's rules:
 *
 *  - at least one receiver, exporter and pipeline; each pipeline has a receiver and an exporter
 *  - whatever a pipeline or service.extensions names is configured; what is configured and not named
 *    is checked too, and a warning
 *  - a processor at most once in a pipeline
 *  - a connector is the exporter of some pipeline and the receiver of another, without circles; its id
 *    is no receiver's and no exporter's
 *
 * The config must outlive the plan.
 */
#ifndef PIPELINE_PLAN_H
#define PIPELINE_PLAN_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/types.h"
#include "config/config.h"
#include "pipeline/registry.h"
#include "pipeline/telemetry.h"

#define PLAN_COMPONENTS_MAX 1024
#define PLAN_PIPELINES_MAX 256

struct plan_component {
	enum component_kind kind;
	const char *id;
	const struct component_ops *ops;	/* NULL if the type is not known */
	void *options;
	struct config_place place;
	const struct config_node *node;		/* what options were read from */
	bool used;
};

/* Of what a pipeline or service.extensions names. */
struct plan_list {
	struct plan_component **at;
	u32 count;
};

struct plan_pipeline {
	const char *id;
	struct config_place place;
	const struct config_node *receiver_ids, *processor_ids, *exporter_ids;	/* as written; may be NULL */
	struct plan_list receivers, processors, exporters;	/* connectors among the first and last */
};

struct plan {
	struct arena arena;
	struct plan_component *components;
	u32 component_count;
	struct plan_list extensions;
	struct plan_pipeline *pipelines;
	u32 pipeline_count;
	u32 *order;			/* pipelines, those first that nothing leads on from */
	struct telemetry_options telemetry;
};

/* -EINVAL with errors; -ENOMEM. Warnings may come with success. */
int plan_make(const struct component_registry *registry, const struct config *config, struct config_errors *errors,
	      struct plan **ret_plan);
void plan_free(struct plan *plan);
DEFINE_CLEANUP(struct plan *, plan_free)

bool plan_list_has(struct plan_list list, const struct plan_component *component);

/* Options that are ids of extensions, in plan_extensions.c: service.extensions names them. */
void plan_check_extensions(const struct plan *plan, struct config_errors *errors);

/* The second half, in plan_connect.c: connectors are used on both sides; *order is filled unless there is a circle. */
int plan_connect(struct plan *plan, struct config_errors *errors);

#endif
