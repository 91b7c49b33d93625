/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where, in a live process, each thread has a variable of its own (exe/tls_variable.h), as the kernel half needs it: by
 * what the dynamic linker has written. All of it is the process's own to write. No state.
 */
#ifndef PROC_THREAD_VARIABLE_H
#define PROC_THREAD_VARIABLE_H

#include <stdbool.h>

#include "abi.h"

struct process_context_reader;
struct tls_variable;

/*
 * bias: of the file in the process, va - ea; is_musl: whose dynamic linker it is, which tells how its tables look.
 * -EAGAIN if nothing is there yet, -EFAULT if it cannot be read.
 */
int thread_variable_place(const struct tls_variable *variable, u64 bias, bool is_musl,
			  const struct process_context_reader *reader, struct variable_place *ret_place);

#endif
