// SPDX-License-Identifier: Apache-2.0
#include "pipeline/registry.h"

#include <string.h>

#include "base/nearest.h"

static bool is_called(const struct component_ops *ops, const char *type)
{
	if (!strcmp(ops->type, type))
		return true;
	for (const char *const *alias = ops->aliases; alias && *alias; alias++) {
		if (!strcmp(*alias, type))
			return true;
	}
	return false;
}

const struct component_ops *component_find(const struct component_registry *registry, enum component_kind kind,
					   const char *type)
{
	for (const struct component_ops *const *ops = registry->of_kind[kind]; ops && *ops; ops++) {
		if (is_called(*ops, type))
			return *ops;
	}
	return NULL;
}

const char *component_nearest(const struct component_registry *registry, enum component_kind kind, const char *type)
{
	struct nearest nearest;

	nearest_init(&nearest, type);
	for (const struct component_ops *const *ops = registry->of_kind[kind]; ops && *ops; ops++) {
		nearest_try(&nearest, (*ops)->type);
		for (const char *const *alias = (*ops)->aliases; alias && *alias; alias++)
			nearest_try(&nearest, *alias);
	}
	return nearest.best;
}

#define SEND_ON "send profiles by otlp_grpc to an OTel Collector that has it"

const char *component_advice(enum component_kind kind, const char *type)
{
	static const struct {
		enum component_kind kind;
		const char *type, *advice;
	} absent[] = {
		{ COMPONENT_PROCESSOR, "queue_batch", "use batch, or sending_queue::batch of the exporter" },
		{ COMPONENT_PROCESSOR, "queuebatch", "use batch, or sending_queue::batch of the exporter" },
		{ COMPONENT_EXPORTER, "coralogix", SEND_ON },
		{ COMPONENT_EXPORTER, "elasticsearch", SEND_ON },
		{ COMPONENT_EXPORTER, "httprest", SEND_ON },
		{ COMPONENT_EXPORTER, "kafka", SEND_ON },
		{ COMPONENT_EXPORTER, "load_balancing", SEND_ON },
		{ COMPONENT_EXPORTER, "loadbalancing", SEND_ON },
		{ COMPONENT_EXPORTER, "splunk_hec", SEND_ON },
		{ COMPONENT_RECEIVER, "kafka", "let an OTel Collector read it and send profiles here by OTLP" },
		{ COMPONENT_RECEIVER, "profilingextension", "the profiling receiver does what it did" },
		{ COMPONENT_EXTENSION, "opamp", "wick is not managed by OpAMP; remove it" },
	};

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		if (absent[i].kind == kind && !strcmp(absent[i].type, type))
			return absent[i].advice;
	}
	return NULL;
}

static const struct {
	const char *one, *many;
} names[COMPONENT_KINDS] = {
	[COMPONENT_RECEIVER] = { "receiver", "receivers" },
	[COMPONENT_PROCESSOR] = { "processor", "processors" },
	[COMPONENT_EXPORTER] = { "exporter", "exporters" },
	[COMPONENT_CONNECTOR] = { "connector", "connectors" },
	[COMPONENT_EXTENSION] = { "extension", "extensions" },
};

const char *component_kind_name(enum component_kind kind)
{
	return names[kind].one;
}

const char *component_section_name(enum component_kind kind)
{
	return names[kind].many;
}
