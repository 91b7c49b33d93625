/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who ended a wait, as it shows: the part of its stack that has to do with it, and its name. All is the window's and
 * the symbolizer's, which has named all of the window; whoever builds a profile calls it.
 */
#ifndef AGENT_WAKER_H
#define AGENT_WAKER_H

#include <stdbool.h>

#include "base/types.h"

struct symbolizer;
struct window;
struct window_stack;
struct window_waker;

struct waker {
	const char *name;		/* of the thread; "[interrupt]" */
	bool is_interrupt;		/* no thread did: it has neither a process nor user code */
	const struct window_stack *stack;	/* NULL: not known */
	u32 kernel_first, kernel_end;	/* of its kernel frames, those that show */
};

void waker_read(const struct window *window, struct symbolizer *symbolizer, const struct window_waker *from,
		struct waker *ret_waker);

#endif
