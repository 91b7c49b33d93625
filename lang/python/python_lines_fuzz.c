// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_lines.h"

#include "lang/python/python_layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	for (u32 minor = 8; minor <= 15; minor++)
		(void)python_line(PYTHON_VERSION(minor), data + 2, size - 2, data[0], data[1] * 64u);
	return 0;
}
