// SPDX-License-Identifier: Apache-2.0
/* Any bytes; what was a request before must be one after. */
#include "wire/otlp/otlp_resources.h"

#include <stdlib.h>

#include "profile/attrs.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(profile_freep) struct profile *resources = NULL, *before = NULL, *after = NULL;
	struct any value = { ANY_INT, 0, .integer = 1 };
	struct otlp_info info;
	bool drop[64] = { [1] = true };
	struct buf out;
	u64 dropped;

	if (otlp_resources_read(data, size, &resources) < 0 || resources->resources.count > 64)
		return 0;
	for (u32 i = 0; i < resources->resources.count; i++) {
		struct attrs attrs = attrs_of_resource(resources, &resources->resources.at[i]);

		attrs_set(&attrs, STR("x"), &value);
	}
	buf_init(&out, (size_t)1 << 24);
	if (otlp_resources_write(data, size, resources, drop, &out, &dropped) == 0 &&
	    otlp_decode(data, size, &info, &before) == 0 && info.numbering == OTLP_1_10 && !info.guessed &&
	    (otlp_decode(out.data, out.len, NULL, &after) < 0 ||
	     after->resources.count != before->resources.count - (before->resources.count > 1)))
		abort();
	buf_done(&out);
	return 0;
}
