// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_check.h"

static uint64_t count_samples(const struct profile *profile)
{
	uint64_t count = 0;

	for (u32 r = 0; r < profile->resources.count; r++)
		for (u32 s = 0; s < profile->resources.at[r].scope_count; s++)
			for (u32 i = 0; i < profile->resources.at[r].scopes[s].set_count; i++)
				count += profile->resources.at[r].scopes[s].sets[i].sample_count;
	return count;
}

/* What is encoded from a request that may be sent on as it is, is what is encoded from that again. */
static void expect_settled(const struct profile *profile)
{
	struct profile *again;
	struct buf first, second, why;
	u64 samples;

	buf_init(&first, (size_t)256 << 20);
	buf_init(&second, (size_t)256 << 20);
	buf_init(&why, 4096);
	if (otlp_encode(profile, &first) < 0 || otlp_check(first.data, first.len, SIZE_MAX, &samples, &why) != 0 ||
	    otlp_decode(first.data, first.len, NULL, &again) < 0 || otlp_encode(again, &second) < 0)
		abort();
	if (first.len != second.len || memcmp(first.data, second.data, first.len) ||
	    samples != count_samples(profile))
		abort();
	profile_free(again);
	buf_done(&first);
	buf_done(&second);
	buf_done(&why);
}

/* Both say the same of every request. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = NULL;
	struct otlp_info info;
	struct buf why;
	u64 samples = 0;
	int check, decode;

	buf_init(&why, 4096);
	check = otlp_check(data, size, SIZE_MAX, &samples, &why);
	decode = otlp_decode(data, size, &info, &profile);
	if (decode == -EBADMSG ? check != -EBADMSG || !why.len : check < 0)
		abort();
	if (decode == 0) {
		if (samples != count_samples(profile) || why.len)
			abort();
		if (check == 0 && info.numbering != OTLP_1_10)
			abort();
		expect_settled(profile);
		profile_free(profile);
	}
	buf_done(&why);
	return 0;
}
