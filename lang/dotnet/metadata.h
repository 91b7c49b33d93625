/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of a .NET module in a process's memory (ECMA-335, II.22 to II.24): tables of types and methods, and the
 * heap of their names. Rows are read where they are needed; what is kept is where each table lies.
 */
#ifndef LANG_DOTNET_METADATA_H
#define LANG_DOTNET_METADATA_H

#include "base/types.h"

struct buf;
struct memory;

#define METADATA_SIGNATURE 0x424a5342u	/* BSJB: what it begins with */
#define METADATA_TABLES 0x2d	/* those that the standard has */
#define METADATA_NAME_MAX 512	/* bytes of one name */

struct metadata {
	u64 root_va;
	u64 strings_va;
	u32 strings_bytes;
	u8 heap_bits;			/* which heaps are indexed by four bytes */
	u32 rows[64];
	u32 row_bytes[METADATA_TABLES];
	u64 table_va[METADATA_TABLES];
};

/* 0, or -EBADMSG if there is none at that address; the memory's error if it cannot be read. */
int metadata_open(struct memory *memory, u64 root_va, struct metadata *ret_metadata);

/* Finds the metadata whose heap of names has that address: 0, or -ENOENT. */
int metadata_find(struct memory *memory, u64 string_va, struct metadata *ret_metadata);

/* The type (by number of its row, from 1) that has that method, or 0. */
u32 metadata_type_of(struct memory *memory, const struct metadata *metadata, u32 method);

/* Namespace.Type.Method, as text; nothing if there is no such method. */
void metadata_method_name(struct memory *memory, const struct metadata *metadata, u32 method, struct buf *text);

#endif
