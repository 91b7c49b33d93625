// SPDX-License-Identifier: Apache-2.0
#include "cmd/components.h"

#define RECEIVER(name) extern const struct component_ops receiver_##name;
#define PROCESSOR(name) extern const struct component_ops processor_##name;
#define EXPORTER(name) extern const struct component_ops exporter_##name;
#define CONNECTOR(name) extern const struct component_ops connector_##name;
#define EXTENSION(name) extern const struct component_ops extension_##name;
#include "connectors/list.h"
#include "exporters/list.h"
#include "extensions/list.h"
#include "processors/list.h"
#include "receivers/list.h"
#include "web/list.h"
#undef RECEIVER
#undef PROCESSOR
#undef EXPORTER
#undef CONNECTOR
#undef EXTENSION

#define RECEIVER(name) &receiver_##name,
static const struct component_ops *const receivers[] = {
#include "receivers/list.h"
	NULL,
};

#define PROCESSOR(name) &processor_##name,
static const struct component_ops *const processors[] = {
#include "processors/list.h"
	NULL,
};

#define EXPORTER(name) &exporter_##name,
static const struct component_ops *const exporters[] = {
#include "exporters/list.h"
	NULL,
};

#define CONNECTOR(name) &connector_##name,
static const struct component_ops *const connectors[] = {
#include "connectors/list.h"
	NULL,
};

#define EXTENSION(name) &extension_##name,
static const struct component_ops *const extensions[] = {
#include "extensions/list.h"
#include "web/list.h"
	NULL,
};

const struct component_registry components = {
	.of_kind = {
		[COMPONENT_RECEIVER] = receivers,
		[COMPONENT_PROCESSOR] = processors,
		[COMPONENT_EXPORTER] = exporters,
		[COMPONENT_CONNECTOR] = connectors,
		[COMPONENT_EXTENSION] = extensions,
	},
};
