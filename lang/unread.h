/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtimes of languages that no folder here reads (yet), known by the names of their files alone: processes that have
 * one show its native frames and none of their own functions, and users are told so instead of being left to wonder.
 */
#ifndef LANG_UNREAD_H
#define LANG_UNREAD_H

/* What people call the runtime whose file that may be; NULL: none that is known. */
const char *unread_runtime(const char *path);

#endif
