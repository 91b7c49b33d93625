/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A portable PDB: which line of which file the code of a .NET method comes from (dotnet/runtime has it in
 * docs/design/specs/PortablePdb-Metadata.md). The reader process makes of it what it makes of source maps
 * (exe/source_map.h): the line of a place is the method, by the number of its row, the column the offset in its IL;
 * lines of the source count from 0. What the compiler says comes from no line belongs to what stands before it, as in
 * .NET's own stack traces.
 */
#ifndef EXE_PORTABLE_PDB_H
#define EXE_PORTABLE_PDB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct source_map;

/* Are they one, or a PE file, which may have one in it? */
bool portable_pdb_may_be(const void *at, size_t bytes);

/* -EBADMSG if it is none, -ENODATA if it has no lines, -E2BIG if it is too large. The block is to be free()d. */
int portable_pdb_build(const void *at, size_t bytes, struct source_map **ret_map);

#endif
