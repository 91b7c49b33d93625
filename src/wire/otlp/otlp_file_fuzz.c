// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

#include "profile/profile.h"
#include "wire/otlp/otlp_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = NULL;

	if (otlp_file_is_framed(data, size))
		(void)otlp_file_decode_framed(data, size, &profile);
	else
		(void)otlp_file_decode_json(data, size, &profile);
	profile_free(profile);
	return 0;
}
