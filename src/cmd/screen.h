/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `wick top` shows and how keys change it: a state, a function from key
 * to state, a function from state to text. No input or output here.
 */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <stdbool.h>

#include "base/types.h"
#include "cmd/terminal.h"
#include "analysis/summary.h"

struct buf;

#define SCREEN_FILTER_MAX 64

enum screen_key {
	/* below 256: the byte itself */
	KEY_UP = 256,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_ESCAPE,
	KEY_NONE,
};

struct screen {
	enum summary_by by;
	bool paused, help, typing, quit;
	u32 skip;			/* rows scrolled past */
	char filter[SCREEN_FILTER_MAX];
};

/* Takes one key off a piece of input: KEY_NONE if there is none. *at moves on. */
int screen_read_key(const char **at, const char *end);

void screen_press(struct screen *screen, int key, unsigned height);

/* Writes all lines of a terminal of that size; the last has no newline. heading says where the data is from. */
void screen_draw(struct screen *screen, const struct terminal *terminal, const char *heading,
		 const struct summary *summary, struct buf *out);

#endif
