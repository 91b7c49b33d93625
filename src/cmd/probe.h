/* SPDX-License-Identifier: Apache-2.0 */
/* What `wick doctor` can find out about a machine without sampling it: kernel, features, privileges, limits. */
#ifndef CMD_PROBE_H
#define CMD_PROBE_H

#include <stdbool.h>
#include <stddef.h>

struct findings;

/* Adds everything there is to say. Needs no privilege; with more it can say more. */
void probe_machine(struct findings *findings);

/* The word in brackets of "none [integrity] confidentiality"; false if there is none. */
bool probe_bracketed(const char *text, char *ret_word, size_t bytes);

#endif
