// SPDX-License-Identifier: Apache-2.0
#include "receivers/profiling_probes.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "config/node.h"
#include "kinds/choice.h"

static const char *text_of(const struct config_node *map, const char *key)
{
	const struct config_node *node = config_get(map, key);

	return node && node->kind != NODE_LIST && node->kind != NODE_MAP && node->text ? node->text : "";
}

/* The OpenTelemetry profiler's: type says which of its modules it is, mode what is set where. */
static int put_event(const struct config_node *map, struct buf *text, struct buf *why)
{
	const char *event = text_of(map, "event"), *type = text_of(map, "type"), *mode = text_of(map, "mode");
	const char *symbol = text_of(map, "symbol"), *target = text_of(map, "target");

	if (*event) {
		buf_addf(text, "%s", event);
		return 0;
	}
	mode = *mode ? mode : type;
	if (!*type || !*symbol) {
		buf_addf(why, "a probe has an event, as {event: \"tracepoint:sched:sched_process_exec\"}, or a type "
			      "and a symbol, as {type: kprobe, mode: uprobe, symbol: read, target: /bin/x}");
		return -EINVAL;
	}
	buf_addf(text, "%s:%s%s%s", mode, target, *target ? ":" : "", symbol);
	return 0;
}

static bool is_of_event(const char *key)
{
	return !strcmp(key, "event") || !strcmp(key, "type") || !strcmp(key, "mode") || !strcmp(key, "symbol") ||
	       !strcmp(key, "target");
}

/* What else there is are options, which the parser of texts knows. */
static int put_map(const struct config_node *map, struct buf *text, struct buf *why)
{
	int r = put_event(map, text, why);
	char before = '{';

	for (u32 i = 0; r == 0 && i < map->count; i++) {
		const char *key = map->map[i].key, *value = text_of(map, key);

		if (is_of_event(key))
			continue;
		if (!*value || strpbrk(value, ",{}")) {
			buf_addf(why, "%.40s of a probe is a text without commas and braces", key);
			return -EINVAL;
		}
		buf_addf(text, "%c%s=%s", before, key, value);
		before = ',';
	}
	if (before == ',')
		buf_addf(text, "}");
	return r;
}

static int add(const struct config_node *node, struct kind_choices *kinds, struct buf *why)
{
	_cleanup_(buf_done) struct buf text;
	int r = 0;

	buf_init(&text, 8192);
	if (node->kind == NODE_MAP)
		r = put_map(node, &text, why);
	else if (node->kind != NODE_LIST && node->text)
		buf_addf(&text, "%s", node->text);
	if (r == 0)
		r = buf_err(&text);
	return r < 0 ? r : kind_choices_add_word(kinds, (struct str){ text.data, (u32)text.len }, why);
}

int profiling_probes_add(const struct config_node *node, struct kind_choices *kinds, struct buf *why)
{
	bool is_list = node && node->kind == NODE_LIST;
	u32 count = is_list ? node->count : node && (node->kind == NODE_MAP || (node->text && *node->text));
	int r = 0;

	/* Beside what is sampled anyway. */
	if (count && !kinds->count)
		r = kind_choices_add(kinds, "cpu", why);
	for (u32 i = 0; r == 0 && i < count; i++)
		r = add(is_list ? node->list[i] : node, kinds, why);
	return r;
}
