/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps: a line for each piece of generated code, `START SIZE name` with
 * hexadecimal numbers, appended by the runtime as it goes.
 */
#ifndef LANG_JIT_PERF_MAP_H
#define LANG_JIT_PERF_MAP_H

#include <stddef.h>

struct code_table;

/* Takes all whole lines; how many bytes that were. A line that is none is passed over. */
size_t perf_map_parse(struct code_table *table, const char *text, size_t bytes);

#endif
