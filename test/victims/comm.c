// SPDX-License-Identifier: Apache-2.0
/* The thread changes its name when half of its time is used. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "victim.h"

static uint64_t half_ns;

void victim_setup(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	half_ns = victim_budget_ns / 2;
	victim_budget_ns = 0;
	prctl(PR_SET_NAME, "before-change");
	victim_main(half_ns);
	prctl(PR_SET_NAME, "after-change");
	victim_main(half_ns);
	printf("{\"threads\": {\"before-change\": %" PRIu64 ", \"after-change\": %" PRIu64 "}}\n", half_ns, half_ns);
}
