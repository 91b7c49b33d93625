// SPDX-License-Identifier: Apache-2.0
#include "processors/error_mode.h"

#include <errno.h>
#include <stddef.h>

#include "base/log.h"
#include "base/metrics.h"

const char *const error_modes[] = { "ignore", "silent", "propagate", NULL };

int error_mode_failed(enum error_mode mode, struct metric *failures, const char *id, const char *text, const char *why)
{
	metric_add(failures, 1);
	if (mode == ERROR_IGNORE)
		log_warn(id, "%s: %s", text, why);
	else if (mode == ERROR_PROPAGATE)
		log_error(id, "%s: %s; the batch is dropped", text, why);
	return mode == ERROR_PROPAGATE ? -EBADMSG : 0;
}
