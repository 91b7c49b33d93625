/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command line knows of the terminal: size, colour, and the raw
 * full-screen mode of `wick top`. A terminal taken over by terminal_enter()
 * is given back by terminal_leave(), by exit(), and by a fatal signal.
 * One per process, one thread.
 */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include <stdbool.h>

struct terminal {
	int fd;
	bool is_terminal;
	bool colour;		/* a terminal that shows colour, and NO_COLOR is not set */
	unsigned width, height;	/* 0 if not a terminal */
};

void terminal_init(struct terminal *terminal, int fd);

/* Asks for the size again. */
void terminal_measure(struct terminal *terminal);

/* Raw keys, second screen, no cursor. -errno if it is no terminal. */
int terminal_enter(struct terminal *terminal);
void terminal_leave(void);

enum terminal_style { STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW, STYLE_REVERSE, STYLE_NONE };

/* The sequence that starts a style (STYLE_NONE ends all), "" without colour. */
const char *terminal_style(const struct terminal *terminal, enum terminal_style style);

#endif
