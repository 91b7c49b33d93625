// SPDX-License-Identifier: Apache-2.0
#include "agent/waker.h"

#include "kinds/waits.h"
#include "symbol/symbolizer.h"
#include "trace/window.h"

void waker_read(const struct window *window, struct symbolizer *symbolizer, const struct window_waker *from,
		struct waker *ret_waker)
{
	struct waker w = { .name = from->comm, .is_interrupt = from->stack == INTERNER_NONE };

	if (!w.is_interrupt) {
		w.stack = window_stack(window, from->stack);
		w.kernel_end = w.stack->kernel_count;
	}
	for (u32 i = 0; i < w.kernel_end; i++) {
		const struct symbol_name *name = symbolizer_find_kernel(symbolizer, w.stack->words[i]);
		const char *function = name && name->line_count ? name->lines[name->line_count - 1].function : "";

		if (wait_wakes(function))
			w.kernel_first = i;	/* before it are only the tracepoint's */
		if (wait_is_interrupt(function)) {
			w.kernel_end = i + 1;
			w.is_interrupt = true;
			w.name = "[interrupt]";
		}
	}
	*ret_waker = w;
}
