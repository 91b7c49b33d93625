// SPDX-License-Identifier: Apache-2.0
#include "symbol/program_scan.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "symbol/kernel_programs.h"

#define FUNCTIONS_MAX 256u	/* of a program: BPF_MAX_SUBPROGS */

struct functions {
	u64 va[FUNCTIONS_MAX];
	u32 bytes[FUNCTIONS_MAX];
};

/* Takes the sizes of one program's functions. */
static int scan_program(struct kernel_programs *programs, u32 id, struct functions *functions)
{
	_cleanup_(closep) int fd = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = {
		.nr_jited_ksyms = FUNCTIONS_MAX,
		.jited_ksyms = (u64)(uintptr_t)functions->va,
		.nr_jited_func_lens = FUNCTIONS_MAX,
		.jited_func_lens = (u64)(uintptr_t)functions->bytes,
	};
	u32 info_bytes = sizeof(info);
	int found = 0;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &info_bytes) < 0)
		return 0;
	for (u32 i = 0; i < info.nr_jited_ksyms && i < info.nr_jited_func_lens && i < FUNCTIONS_MAX; i++)
		found += kernel_programs_set_bytes(programs, functions->va[i], functions->bytes[i]);
	return found;
}

int program_scan(struct kernel_programs *programs)
{
	_cleanup_(freep) struct functions *functions = calloc(1, sizeof(*functions));
	int found = 0;
	u32 id = 0;

	if (!functions)
		return -ENOMEM;
	for (u32 n = 0; n < PROGRAM_SCAN_MAX && bpf_prog_get_next_id(id, &id) == 0; n++)
		found += scan_program(programs, id, functions);
	return found;
}
