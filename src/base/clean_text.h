/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names come from foreign files and may hold any bytes; profiles hold UTF-8
 * and one name per line.
 */
#ifndef BASE_CLEAN_TEXT_H
#define BASE_CLEAN_TEXT_H

/* Replaces control characters and what is not UTF-8, in place, by '?'. Returns text. */
char *clean_text(char *text);

#endif
