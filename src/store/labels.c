// SPDX-License-Identifier: Apache-2.0
#include "store/labels.h"

#include <string.h>

static const struct {
	const char *name, *attribute;
} labels[STORE_LABEL_COUNT] = {
#define X(id, name, attribute) [STORE_##id] = { name, attribute },
	STORE_SERIES_LABELS(X)
	STORE_ROW_LABELS(X)
#undef X
};

const char *store_label_name(enum store_label label)
{
	return labels[label].name;
}

const char *store_label_attribute(enum store_label label)
{
	return labels[label].attribute;
}

struct str store_label_none(enum store_label label)
{
	return label == STORE_WAIT ? STR("(running)") : STR("(none)");
}

enum store_label store_label_find(const char *name)
{
	unsigned i = 0;

	while (i < STORE_LABEL_COUNT && strcmp(labels[i].name, name))
		i++;
	return i;
}
