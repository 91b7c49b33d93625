// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "wire/otlp/otlp_json.h"

/* What can be read must be consistent, and readable again after writing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile, *again;
	struct buf out;

	if (otlp_json_decode(data, size, &profile) < 0)
		return 0;
	buf_init(&out, (size_t)256 << 20);
	if (profile_check(profile) < 0 || otlp_json_encode(profile, &out) < 0 ||
	    otlp_json_decode(out.data, out.len, &again) < 0)
		abort();
	profile_free(again);
	profile_free(profile);
	buf_done(&out);
	return 0;
}
