/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine does beside being sampled: at the end of each window a look at /proc becomes a row in the stores
 * that this process has open (store/series.h). Where none is, nothing is read.
 *
 * One thread owns it.
 */
#ifndef RECEIVERS_MACHINE_H
#define RECEIVERS_MACHINE_H

#include <stdbool.h>

#include "base/cleanup.h"

struct machine;

/* proc: "/proc". NULL without memory. */
struct machine *machine_new(const char *proc);
void machine_free(struct machine *machine);
DEFINE_CLEANUP(struct machine *, machine_free)

/* Does this process have one? Then nobody else tells of this machine. Any thread. */
bool machine_is_sampled(void);

/* 1: a row was kept; 0: there is no store, or nothing to compare with yet; -errno. */
int machine_note(struct machine *machine);

#endif
