// SPDX-License-Identifier: Apache-2.0
#include "exe/elf.h"

#include <stdint.h>

#include "exe/identify.h"
#include "exe/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct exe_section section;
	struct exe_info info;

	if (exe_open_mem(data, size, &exe) < 0)
		return 0;
	exe_identify(exe, &info);
	for (u32 i = 0; i < 100 && exe_section(exe, i, &section); i++) {
		struct exe_data contents = { 0 };

		(void)exe_section_data(exe, &section, 1 << 16, &contents);
		exe_data_done(&contents);
	}
	return 0;
}
