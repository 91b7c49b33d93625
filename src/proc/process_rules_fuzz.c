// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "proc/process_rules.h"

/* Whatever comes as rules: it is refused, or can be asked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct process_facts facts = { .service = "shop", .container_id = "0123456789ab",
						    .container_name = "web1", .pod_name = "shop-7d",
						    .pod_uid = "0a1b2c3d", .executable = "/usr/bin/x",
						    .cgroup = "0::/a", .command = { "x -y", 4 }, .pid = 1 };
	struct process_choice *choice = NULL;
	struct buf why;

	buf_init(&why, 1024);
	if (process_choice_read((const char *)data, size, &choice, &why) == 0) {
		(void)process_rules_find(choice->services, &facts);
		(void)process_rules_find(choice->include, &facts);
		(void)process_rules_find(choice->exclude, &facts);
		process_choice_free(choice);
	}
	buf_done(&why);
	return 0;
}
