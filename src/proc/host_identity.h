/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who this machine is: host.name and host.id of what it sends, so that a fleet does not become one host.
 */
#ifndef PROC_HOST_IDENTITY_H
#define PROC_HOST_IDENTITY_H

struct host_identity {
	char name[256];		/* what hostname prints; "" if it has none */
	char id[64];		/* the machine id (machine-id(5)); "" where there is none, as in most containers */
};

/* root: "/", or another in tests; the name is the kernel's. */
void host_identity_read(const char *root, struct host_identity *ret_identity);

#endif
