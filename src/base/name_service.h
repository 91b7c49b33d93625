/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who tells libc of users and hosts. /etc/nsswitch.conf names modules that libc
 * loads; the one file of `make dist` has a libc of its own, which those of the
 * root are not made for: they would end it. It asks what is in it: files and
 * DNS. Elsewhere the root decides.
 */
#ifndef BASE_NAME_SERVICE_H
#define BASE_NAME_SERVICE_H

/* Before the first look-up, and before there are threads. */
void name_service_init(void);

#endif
