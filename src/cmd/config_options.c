// SPDX-License-Identifier: Apache-2.0
#include "cmd/config_options.h"

#include <errno.h>

#include "cmd/components.h"
#include "pipeline/service.h"

int config_options_load(const struct config_options *options, struct config **ret_config,
			struct config_errors *errors)
{
	const struct config_request request = {
		.sources = options->configs.at,
		.source_count = options->configs.count,
		.sets = options->sets.at,
		.set_count = options->sets.count,
	};
	_cleanup_(config_freep) struct config *config = NULL;
	int r;

	if (!request.source_count) {
		config_error(errors, (struct config_place){ "", 0, 0 }, "",
			     "there is no configuration; give one with --config=FILE");
		return -EINVAL;
	}
	r = config_load(&request, &config, errors);
	if (r < 0)
		return r;
	r = service_check(&components, config, errors);
	if (r < 0)
		return r;
	*ret_config = TAKE(config);
	return 0;
}
