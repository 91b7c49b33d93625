/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a language's user half as the tracer does, of a runtime that this process has made up in its own memory. */
#ifndef TEST_RUNTIME_NAMES_H
#define TEST_RUNTIME_NAMES_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lang/lang.h"
#include "lang/named.h"
#include "test.h"

/* With what the file is made out to tell, at that address. */
static inline int runtime_attach(const struct lang_ops *ops, const void *facts, size_t bytes, u64 bias,
				 struct runtime_slot *ret_slot, void **ret_state)
{
	struct lang_process process = { .pid = (u32)getpid() };
	struct lang_place place = { .bias = bias, .path = "" };
	static struct lang_file file;

	memcpy(file.facts, facts, bytes);
	return ops->attach(&process, &file, &place, ret_slot, ret_state);
}

/* What a frame is called: "function file:line"; "?" if it has no name. */
static inline const char *runtime_name(const struct lang_ops *ops, const struct lang_process *process, void *state,
				       const u64 frame[2])
{
	static char text[512];
	const struct window_frame *found;
	struct named names;

	named_init(&names);
	found = named_find(&names, ops, state, process, frame, 0);
	OK(found);
	(void)snprintf(text, sizeof(text), "%s %s:%u", found->lines[0].function, found->lines[0].file,
		       found->lines[0].line);
	if (names.unnamed)
		memcpy(text, "?", 2);
	named_done(&names);
	return text;
}

#endif
