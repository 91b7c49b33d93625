/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Numbers of a fixed width, by their short names; in the kernel half, too. */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#endif
