// SPDX-License-Identifier: Apache-2.0
#include "cmd/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define WIDTH_MAX 1000
#define HEIGHT_MAX 1000

/* Second screen, hidden cursor, lines cut instead of wrapped; and back. */
#define ENTER_SCREEN "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE_SCREEN "\033[0m\033[?7h\033[?25h\033[?1049l"

/* Signal handlers and atexit() have no argument, so what must be restored is global. */
static struct {
	volatile sig_atomic_t entered;
	int out_fd, in_fd;
	struct termios saved;
} taken;

void terminal_measure(struct terminal *terminal)
{
	struct winsize size = { 0 };

	if (!terminal->is_terminal)
		return;
	if (ioctl(terminal->fd, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	terminal->width = size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
	terminal->height = size.ws_row > HEIGHT_MAX ? HEIGHT_MAX : size.ws_row;
}

void terminal_init(struct terminal *terminal, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	*terminal = (struct terminal){ .fd = fd, .is_terminal = isatty(fd) == 1 };
	terminal->colour = terminal->is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb");
	terminal_measure(terminal);
}

/* Only what is safe in a signal handler. */
void terminal_leave(void)
{
	ssize_t written;

	if (!taken.entered)
		return;
	taken.entered = 0;
	written = write(taken.out_fd, LEAVE_SCREEN, sizeof(LEAVE_SCREEN) - 1);
	(void)written; /* nothing can be done about it */
	(void)tcsetattr(taken.in_fd, TCSAFLUSH, &taken.saved);
}

static void leave_and_die(int signal)
{
	terminal_leave();
	/* SA_RESETHAND put the default back: dying of the signal tells the parent which it was. */
	(void)raise(signal);
}

static void catch_fatal_signals(void)
{
	static const int fatal[] = {
		SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGPIPE
	};
	struct sigaction action = { .sa_handler = leave_and_die, .sa_flags = SA_RESETHAND | SA_NODEFER }, old;

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
		/* A signal that the program handles ends its loop, which ends in terminal_leave(). */
		if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			(void)sigaction(fatal[i], &action, NULL);
	}
}

int terminal_enter(struct terminal *terminal)
{
	static bool registered;
	struct termios raw;
	ssize_t written;

	if (!terminal->is_terminal || tcgetattr(STDIN_FILENO, &taken.saved) < 0)
		return -ENOTTY;
	taken.out_fd = terminal->fd;
	taken.in_fd = STDIN_FILENO;
	if (!registered && atexit(terminal_leave) != 0)
		return -ENOMEM;
	registered = true;
	catch_fatal_signals();
	raw = taken.saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);	/* ISIG stays: Ctrl-C and Ctrl-Z work as anywhere */
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	taken.entered = 1;
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) < 0) {
		int err = -errno;

		taken.entered = 0;
		return err;
	}
	written = write(terminal->fd, ENTER_SCREEN, sizeof(ENTER_SCREEN) - 1);
	return written < 0 ? -errno : 0;
}

const char *terminal_style(const struct terminal *terminal, enum terminal_style style)
{
	static const char *const sequences[] = {
		[STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",	 [STYLE_RED] = "\033[31m",
		[STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m", [STYLE_REVERSE] = "\033[7m",
		[STYLE_NONE] = "\033[0m",
	};

	return terminal->colour ? sequences[style] : "";
}
