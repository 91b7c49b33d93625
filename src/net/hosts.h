/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a Host header (HTTP/2: :authority) means this machine. A browser that was sent here by a name whose owner
 * points it at this machine (DNS rebinding) says that name: so names that strangers can choose are not believed.
 */
#ifndef NET_HOSTS_H
#define NET_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#define HOSTS_NAME_MAX 256

/* The name in "name:port", "[::1]:port", without brackets; false if it is too long to be one. */
bool hosts_name(const char *header, char ret_name[HOSTS_NAME_MAX]);

/* An address, localhost, or the machine's own name. */
bool hosts_is_own(const char *name, const char *machine);

/* Whether a file like /etc/hosts has the name: its owner is this machine's. */
bool hosts_file_has(const char *path, const char *name);

#endif
