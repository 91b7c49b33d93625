/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rows of a piece of generated code: by the call frame information that
 * the runtime has for it and, on x86-64, where it has none, by the code itself
 * (exe/sweep.h). Made by writing an ELF file of both, at the addresses that
 * they have in the process, and compiling that as any other.
 */
#ifndef LANG_JIT_CODE_IMAGE_H
#define LANG_JIT_CODE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct code_place;
struct code_table;
struct lang_process;
struct rows;

#define CODE_IMAGE_FRAMES_MAX (4u << 20)	/* bytes of call frame information */

/* Call frame information of the piece. */
struct code_frames {
	const void *at;		/* NULL: it is read from where the piece says it is */
	size_t bytes;
	u64 va;
	bool is_debug;		/* .debug_frame, not .eh_frame */
};

/* The rows, the caller's to free(). -ENODATA if there are none. */
int code_image_rows(const struct lang_process *process, struct code_table *names, const struct code_place *place,
		    const struct code_frames *frames, struct rows **ret_rows);

#endif
