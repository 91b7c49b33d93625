/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace: one stack as it came from the kernel half, checked, not yet named.
 *
 * A frame is one word:
 *
 *	63      60 59    56 55           36 35                 0
 *	| kind (4) | flags  | binary id (20) | address in ELF (36) |     FRAME_EXE
 *	| kind (4) | flags  | address of the process (56)          |     FRAME_VA
 *	| kind (4) | flags  | 0                        | mark (8)  |     FRAME_MARK
 *
 * Kernel frames come apart and are plain addresses. Frames are leaf first. An
 * address that was found as a return address already has 1 subtracted, so it
 * lies inside the call.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "abi.h"

#endif
