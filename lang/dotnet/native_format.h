/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packed tables of ReadyToRun images: a sparse array from methods to numbers, and a hash table of instances of
 * generic methods, by signature (src/coreclr/vm/nativeformatreader.h and readytoruninfo.cpp of dotnet/runtime v8.0.0).
 */
#ifndef LANG_DOTNET_NATIVE_FORMAT_H
#define LANG_DOTNET_NATIVE_FORMAT_H

#include "base/types.h"

struct memory;

/* A method, by its row, and what the table has for it. Less than 0: enough. */
typedef int native_entry(void *arg, u32 method, u32 id);

/* All entries of an array in `bytes` of memory: 0, -EBADMSG, or what entry() said. */
int native_array_read(struct memory *memory, u64 va, u32 bytes, native_entry *entry, void *arg);

/* Where one element of an array is, or 0. */
u64 native_array_find(struct memory *memory, u64 va, u32 bytes, u32 index);

/* An element may say that it is as another before it: where that begins, or what follows here. */
u64 native_format_shared(struct memory *memory, u64 va);

/* All entries of a table of instances; those of methods that are defined in other modules are left out. */
int native_instances_read(struct memory *memory, u64 va, u32 bytes, native_entry *entry, void *arg);

#endif
