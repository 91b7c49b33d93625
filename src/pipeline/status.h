/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a component is: what component_report() said last. The service keeps
 * one for each, components report from any thread, the status page and health_check read.
 */
#ifndef PIPELINE_STATUS_H
#define PIPELINE_STATUS_H

#include <pthread.h>

#include "base/types.h"
#include "pipeline/component.h"

#define STATUS_TEXT_MAX 256

struct component_status {
	pthread_mutex_t lock;
	const char *id;			/* borrowed */
	enum health health;
	char last_error[STATUS_TEXT_MAX];	/* "" if there was none */
	u64 last_error_unix_ns;
};

void status_init(struct component_status *status, const char *id);
void status_done(struct component_status *status);

struct status_view {
	enum health health;
	char last_error[STATUS_TEXT_MAX];
	u64 last_error_unix_ns;
};

/* As it is now; any thread. */
void status_read(struct component_status *status, struct status_view *ret_view);

const char *health_name(enum health health);	/* "ok", ... */

#endif
