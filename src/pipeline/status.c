// SPDX-License-Identifier: Apache-2.0
#include "pipeline/status.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"

void status_init(struct component_status *status, const char *id)
{
	*status = (struct component_status){ .id = id, .health = HEALTH_STARTING };
	pthread_mutex_init(&status->lock, NULL);
}

void status_done(struct component_status *status)
{
	pthread_mutex_destroy(&status->lock);
}

void status_read(struct component_status *status, struct status_view *ret_view)
{
	LOCKED(&status->lock);
	ret_view->health = status->health;
	ret_view->last_error_unix_ns = status->last_error_unix_ns;
	memcpy(ret_view->last_error, status->last_error, sizeof(ret_view->last_error));
}

const char *health_name(enum health health)
{
	static const char *const names[] = { "starting", "ok", "recoverable error", "permanent error", "stopped" };

	return names[health];
}

static bool is_error(enum health health)
{
	return health == HEALTH_RECOVERABLE || health == HEALTH_PERMANENT;
}

static void log_change(const char *id, enum health before, enum health now, const char *text)
{
	if (now == HEALTH_PERMANENT)
		log_error(id, "%s", text);
	else if (now == HEALTH_RECOVERABLE)
		log_warn(id, "%s", text);
	else if (is_error(before) && now == HEALTH_OK)
		log_info(id, "works again");
}

void component_report(struct component_status *status, enum health health, const char *text)
{
	enum health before;

	if (!status)
		return;
	pthread_mutex_lock(&status->lock);
	before = status->health;
	status->health = health;
	if (is_error(health)) {
		(void)snprintf(status->last_error, sizeof(status->last_error), "%s", text);
		status->last_error_unix_ns = clock_ns(CLOCK_REALTIME);
	}
	pthread_mutex_unlock(&status->lock);
	if (before != health)
		log_change(status->id, before, health, text);
}
