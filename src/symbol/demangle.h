/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readable names from mangled ones: C++ (Itanium), Rust (legacy and v0).
 * Without parameters, return types and Rust's hashes, as perf prints them.
 *
 * Names come from the files of others: longer ones than DEMANGLE_NAME_MAX are
 * left as they are, and so is what would grow past DEMANGLE_MAX (a few hundred
 * bytes can stand for 2^40). Takes up to 1 MiB of stack.
 *
 * Any thread may call it.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stddef.h>

#define DEMANGLE_NAME_MAX 4096
#define DEMANGLE_MAX 16384

/*
 * Writes the readable form into at[], which has room for DEMANGLE_MAX bytes, ended by NUL. Returns its length,
 * 0 if the name is not a mangled one, or not one that we would read.
 */
size_t demangle(const char *name, char *at);

#endif
