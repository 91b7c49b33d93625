// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "wire/views/folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile, *again;
	struct buf out;

	if (folded_decode(data, size, &profile) < 0)
		return 0;
	buf_init(&out, (size_t)256 << 20);
	if (profile_check(profile) < 0 || folded_encode(profile, &out) < 0)
		abort();
	/* A sum of counts may have overflowed into a minus sign, which cannot be read. */
	if (folded_decode(out.data, out.len, &again) == 0)
		profile_free(again);
	profile_free(profile);
	buf_done(&out);
	return 0;
}
