/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a CPU the reader process takes while it works: after each few
 * milliseconds it sleeps so many times as long, in the middle of a file, too.
 * The agent says by a signal how many times (reader_set_rest()), also while a
 * request is under way. So a file of gigabytes costs no more than others,
 * only longer.
 *
 * The reader's side, which has one thread.
 */
#ifndef EXE_READER_REST_H
#define EXE_READER_REST_H

#include <signal.h>

#define READER_REST_SIGNAL (SIGRTMIN + 3)	/* queued with the number */
#define READER_REST_MAX 1000

/* From now on; before the system calls are filtered. */
void reader_rest_init(void);

/*
 * A request begins, and the process is to end if it takes so long without its rests: should the agent be gone while a
 * file keeps us busy, nobody else would end us. 0: it is done.
 */
void reader_rest_set_alarm(unsigned seconds);

#endif
