/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets that systemd has opened for this process (sd_listen_fds(3), without its library): taken when it starts,
 * and handed on by the supervisor to each service that it starts.
 */
#ifndef CMD_ACTIVATION_H
#define CMD_ACTIVATION_H

#include "base/types.h"

struct passed;

/*
 * By the environment, which loses these variables; the first descriptor is first_fd. What is none that listens is
 * closed, with a warning.
 */
void activation_claim(struct passed *passed, int first_fd);

/* In a child that is about to be another program: its descriptors from first_fd on, which nothing else may be at. */
int activation_hand_over(const struct passed *passed, int first_fd);

/* A warning for each that no endpoint has taken: who connects there waits for ever. */
void activation_tell_unused(const struct passed *passed);

#endif
