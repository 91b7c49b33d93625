/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has the ports that the service is going to listen on, asked while that can be seen: rules of files
 * (cmd/service_files.h) hide it. For the sentence that says why it cannot start.
 */
#ifndef CMD_PORT_OWNERS_H
#define CMD_PORT_OWNERS_H

#include "base/types.h"

struct buf;
struct service_paths;

#define PORT_OWNERS_MAX 8

struct port_owners {
	u32 count;
	struct {
		u32 port;
		char text[160];
	} at[PORT_OWNERS_MAX];
};

void port_owners_find(struct port_owners *owners, const struct service_paths *paths);

/* To a sentence that ends in "…:4318: the address is in use". */
void port_owners_tell(const struct port_owners *owners, struct buf *why);

#endif
