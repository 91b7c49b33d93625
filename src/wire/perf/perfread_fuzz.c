// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "wire/perf/perfread.h"
#include "wire/perf/perfread_events.h"

static u32 unwind_nothing_new(void *arg, const struct perfread_about *about, const struct perfread_system *system,
			      const struct perfread_sample *sample, u64 ret_va[PERFREAD_UNWOUND_MAX])
{
	ret_va[0] = sample->pid;
	ret_va[1] = (u64)sample->pid << 12;
	return sample->pid % 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfread_options options = { .unwind = unwind_nothing_new, .written_unix_ns = size };
	struct perfread_about about;
	struct profile *profile;

	if (perfread(data, size, &options, &about, &profile) < 0)
		return 0;
	if (profile_check(profile) < 0)
		abort();
	profile_free(profile);
	return 0;
}
