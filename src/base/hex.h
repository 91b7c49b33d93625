/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as hexadecimal digits. No state. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

#include <stddef.h>

/* What a digit stands for, in either case; -1 if it is none. */
int hex_digit(char c);

/* Two digits in lower case for each byte; no NUL behind them. */
void hex_write(const void *at, size_t bytes, char *ret_text);

#endif
