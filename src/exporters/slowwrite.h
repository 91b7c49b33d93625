/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing to who may not be reading: a pipe, a terminal, a socket. A write
 * that never returns would keep its thread from ending, and setting O_NONBLOCK
 * on standard output would change it for everybody who has it.
 */
#ifndef EXPORTERS_SLOWWRITE_H
#define EXPORTERS_SLOWWRITE_H

#include <stddef.h>

/* How long nobody may take a byte. */
#define SLOWWRITE_TIMEOUT_MS 5000

/* 0, or -errno, -ETIMEDOUT if nothing moved for timeout_ms; *ret_done bytes were taken. SIGPIPE is to be ignored. */
int slowwrite(int fd, const void *at, size_t bytes, int timeout_ms, size_t *ret_done);

#endif
