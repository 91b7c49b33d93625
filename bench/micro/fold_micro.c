// SPDX-License-Identifier: Apache-2.0
/* What a sample costs when its stack is folded into the window: 10,000 samples of 200 stacks, 20 frames deep. */
#include <stdio.h>

#include "micro.h"
#include "trace/window.h"

#define SAMPLES 10000
#define STACKS 200
#define FRAMES 20

static struct binary *no_binary(void *arg, u32 id)
{
	return NULL;
}

static bool fold(void)
{
	static const struct window_process process = { .pid = 42, .comm = "load", .exe_path = "/usr/bin/load",
						       .command_line = "" };
	_cleanup_(window_freep) struct window *window = window_new(1);
	struct trace_record trace = { .pid = 42, .tid = 42, .comm = "load", .user_count = FRAMES };
	u64 frames[FRAMES];
	u32 index;

	if (!window)
		return false;
	index = window_process(window, 1, &process);
	for (u32 i = 0; i < SAMPLES; i++) {
		for (u32 f = 0; f < FRAMES; f++)
			frames[f] = (u64)FRAME_VA << FRAME_KIND_SHIFT | (i * 7919 % STACKS * 64 + f * 4096);
		trace.time_ns = i;
		trace.cpu = i & 1;
		window_add(window, index, &trace, NULL, frames, FRAMES, END_COMPLETE, no_binary, NULL);
	}
	return !window->lost;
}

int main(void)
{
	bool ok = true;
	struct micro m;

	for (m = micro_start(); ok && micro_more(&m);)
		ok = fold();
	micro_report(&m, "fold a sample", SAMPLES, "samples", 0);
	return !ok;
}
