// SPDX-License-Identifier: Apache-2.0
#include "cmd/watch.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/notify.h"

/* Half of the watchdog's time, the whole of it for one that is still starting. */
static bool is_stuck(const struct notify *notify, const struct watch_state *state, const struct watch_part *part)
{
	u64 most_ns = part->is_ready ? notify->watchdog_ns / 2 : notify->watchdog_ns;

	if (state->is_reloading)
		most_ns += state->patience_ns;
	return notify->watchdog_ns && part->alive_ns && !part->failure && state->now_ns > part->alive_ns + most_ns;
}

static const struct watch_part *find_stuck(const struct notify *notify, const struct watch_state *state)
{
	for (u32 i = 0; i < state->part_count; i++)
		if (is_stuck(notify, state, &state->parts[i]))
			return &state->parts[i];
	return NULL;
}

static void describe(const struct watch_state *state, const struct watch_part *stuck, char *text, size_t bytes)
{
	const struct watch_part *part = NULL;

	for (u32 i = 0; i < state->part_count && !part; i++)
		if (!state->parts[i].is_ready || state->parts[i].failure)
			part = &state->parts[i];
	if (state->is_stopping)
		snprintf(text, bytes, "stops: what is under way is sent");
	else if (state->is_reloading)
		snprintf(text, bytes, "loads the configuration again");
	else if (stuck)
		snprintf(text, bytes, "%s does not go on; the watchdog is not told otherwise", stuck->name);
	else if (part && part->failure)
		snprintf(text, bytes, "%s cannot start: %s", part->name, part->failure);
	else if (part && state->is_ready)
		snprintf(text, bytes, "%s is started again", part->name);
	else if (!state->is_ready)
		snprintf(text, bytes, "starts");
	else
		snprintf(text, bytes, "samples this machine%s", state->is_stale ?
			 "; the newest configuration was refused, the one before goes on" : "");
}

/* What changes for systemd comes with the words, once. */
static void say(struct notify *notify, const struct watch_state *state, const char *text)
{
	bool is_ready = state->is_ready && !state->is_reloading;

	if (state->is_stopping && !notify->is_stopping)
		notify_say(notify, "STOPPING=1", text);
	else if (!state->is_stopping && state->is_reloading && !notify->is_reloading)
		notify_reloading(notify, text);
	else if (!state->is_stopping && is_ready && (!notify->is_ready || notify->is_reloading))
		notify_say(notify, "READY=1", text);
	else if (strcmp(text, notify->status))
		notify_say(notify, "", text);
	notify->is_stopping = state->is_stopping;
	notify->is_reloading = state->is_reloading;
	notify->is_ready |= is_ready;
	(void)snprintf(notify->status, sizeof(notify->status), "%s", text);
}

void watch_tell(struct notify *notify, const struct watch_state *state)
{
	const struct watch_part *stuck = find_stuck(notify, state);
	char text[NOTIFY_STATUS_MAX];

	if (notify->fd < 0)
		return;
	describe(state, stuck, text, sizeof(text));
	say(notify, state, text);
	if (!notify->watchdog_ns || state->now_ns < notify->due_ns)
		return;
	notify->due_ns = state->now_ns + notify_beat_ns(notify);
	if (!stuck)
		notify_watchdog(notify);
}

u64 watch_due_ns(const struct notify *notify)
{
	return notify->fd >= 0 && notify->watchdog_ns ? notify->due_ns : UINT64_MAX;
}
