// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "cmd/command.h"
#include "cmd/feature_gates.h"

static int run(const void *values, int count, char **operands)
{
	if (feature_gates_print(count ? operands[0] : NULL) == 0)
		return 0;
	return command_fail(&command_featuregate, "there is no feature gate %s; wick featuregate lists them",
			    operands[0]);
}

const struct command command_featuregate = {
	.name = "featuregate",
	.help = "list what --feature-gates takes, and what it does here",
	.operands = "[GATE]",
	.operands_max = 1,
	.about = "As the Collector's command of that name does: one gate, or all that it takes.\n"
		 "Profiles need none: service.profilesSupport is always on.\n",
	.examples = "  wick featuregate\n"
		    "  wick featuregate confmap.enableMergeAppendOption\n",
	.options = { .entries = (const struct option_entry[]){ { 0 } } },
	.values_bytes = 1,
	.run = run,
};
