// SPDX-License-Identifier: Apache-2.0
#include "cmd/feature_gates.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define GATE_NAME_MAX 128

static const struct config_place place = { .file = "--feature-gates" };

enum effect { EFFECT_NONE, EFFECT_ALWAYS_ON, EFFECT_APPEND_LISTS };

/* Those of the Collector 0.159 and of the components that we have. */
static const struct {
	const char *name;
	enum effect effect;
} known[] = {
	{ "service.profilesSupport", EFFECT_ALWAYS_ON },
	{ "otelcol.printInitialConfig", EFFECT_ALWAYS_ON },
	{ "pkg.exporterhelper.queueBatchEnabled", EFFECT_ALWAYS_ON },
	{ "processor.filter.defaultErrorModeIgnore", EFFECT_ALWAYS_ON },
	{ "exporter.file.nativeCompression", EFFECT_ALWAYS_ON },
	{ "confmap.enableMergeAppendOption", EFFECT_APPEND_LISTS },
	{ "ottl.PanicDuplicateName", EFFECT_NONE },
	{ "ottl.contexts.enableOTelColContext", EFFECT_NONE },
	{ "ottl.functions.enableLambda", EFFECT_NONE },
	{ "ottl.set.allowNil", EFFECT_NONE },
	{ "pdata.useProtoPooling", EFFECT_NONE },
	{ "receiverhelper.newReceiverMetrics", EFFECT_NONE },
	{ "service.AllowNoPipelines", EFFECT_NONE },
	{ "service.partialReload", EFFECT_NONE },
	{ "service.partialReloadReceivers", EFFECT_NONE },
	{ "telemetry.newPipelineTelemetry", EFFECT_NONE },
	{ NULL, EFFECT_NONE },
};

int feature_gates_print(const char *name)
{
	static const struct {
		const char *on, *what;
	} says[] = {
		[EFFECT_NONE] = { "false", "has no effect in wick" },
		[EFFECT_ALWAYS_ON] = { "true", "always on in wick" },
		[EFFECT_APPEND_LISTS] = { "false", "lists of later --config are appended to those of earlier ones" },
	};
	bool found = false;

	for (int i = 0; known[i].name; i++) {
		if (name && strcmp(known[i].name, name) != 0)
			continue;
		if (!found)
			printf("%-42s %-8s %s\n", "ID", "Enabled", "Description");
		printf("%-42s %-8s %s\n", known[i].name, says[known[i].effect].on, says[known[i].effect].what);
		found = true;
	}
	return found ? 0 : -ENOENT;
}

static void refuse_unknown(const char *name, struct config_errors *errors)
{
	struct nearest n;

	nearest_init(&n, name);
	for (int i = 0; known[i].name; i++)
		nearest_try(&n, known[i].name);
	if (n.best)
		config_error(errors, place, "", "there is no feature gate %s; did you mean %s?", name, n.best);
	else
		config_error(errors, place, "", "there is no feature gate %s; wick needs none for profiles", name);
}

static void apply(const char *name, bool on, struct feature_gates *gates, struct config_errors *errors)
{
	int i = 0;

	while (known[i].name && strcmp(known[i].name, name) != 0)
		i++;
	if (!known[i].name)
		refuse_unknown(name, errors);
	else if (known[i].effect == EFFECT_APPEND_LISTS)
		gates->append_lists = on;
	else if (known[i].effect == EFFECT_NONE && on)
		config_warning(errors, place, "", "%s has no effect in wick", name);
	else if (known[i].effect == EFFECT_ALWAYS_ON && !on)
		config_warning(errors, place, "", "%s is always on in wick", name);
}

int feature_gates_read(const char *list, struct feature_gates *gates, struct config_errors *errors)
{
	u32 before = errors->error_count;

	for (bool more = *list; more;) {
		size_t len = strcspn(list, ",");
		char name[GATE_NAME_MAX];
		bool sign = *list == '-' || *list == '+';

		if (len == sign)
			config_error(errors, place, "", "a name is missing; write a,+b,-c");
		else {
			snprintf(name, sizeof(name), "%.*s", (int)(len - sign), list + sign);
			apply(name, *list != '-', gates, errors);
		}
		more = list[len] == ',';
		list += len + more;
	}
	return errors->error_count == before ? 0 : -EINVAL;
}
