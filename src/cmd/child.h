/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command of `wick record -- CMD`: forked at once, so that its process
 * id is known, and run when tracing has started, so that nothing of it is
 * missed. It dies with wick only if it was never let go.
 */
#ifndef CMD_CHILD_H
#define CMD_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;	/* 0 once it was waited for */
	int go_fd;	/* writing a byte here starts it */
	int fail_fd;	/* the errno of a failed exec comes out here */
	int status;	/* exit status as of a shell, once it ended */
};

#define CHILD_NONE ((struct child){ .go_fd = -1, .fail_fd = -1 })

/* argv ends with NULL. -errno if no process can be made. */
int child_start(char **argv, struct child *ret_child);

/* Lets it run. 0, or the -errno of exec. */
int child_go(struct child *child);

/* True once it has ended; then status is set. Does not wait. */
bool child_ended(struct child *child);

/* Waits for it to end: its status. */
int child_wait(struct child *child);

/* Passes a signal on. */
void child_signal(const struct child *child, int signal);

/* Ends one that was not let go; waits for one that was signalled. Accepts CHILD_NONE. */
void child_done(struct child *child);

#endif
