/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom the service runs as. Started as root it becomes the user `wick`, or a number that nobody has where there is
 * none, and gets its directories (store, queues). Where the configuration names a file that this user could not use,
 * such as a key of root's, it stays root, without any capability, and says so.
 */
#ifndef CMD_SERVICE_USER_H
#define CMD_SERVICE_USER_H

struct buf;
struct confinement;
struct service_paths;

/* Takes what it decides into *c; `notice` gets a sentence if it is not its own user. */
void service_user_choose(const struct service_paths *paths, struct confinement *c, struct buf *notice);

#endif
