/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of Erlang in a copied stack: what was copied is the stack of the process where generated code was interrupted,
 * and the frame of the scheduler's loop stays as it is. Under C code the stack is known to the kernel half alone.
 */
#ifndef LANG_BEAM_COPY_H
#define LANG_BEAM_COPY_H

#include "lang/lang.h"

int beam_copy_step(struct unwind *u, lang_read_copy *read);

#endif
