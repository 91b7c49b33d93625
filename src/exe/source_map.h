/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source map (ECMA-426): which line of which source a place in a generated script came from, and what a name there
 * was. The reader process builds it from the bytes of a file, as one flat block; the agent checks the block and asks
 * it. Portable PDBs become such a block, too (exe/portable_pdb.h).
 */
#ifndef EXE_SOURCE_MAP_H
#define EXE_SOURCE_MAP_H

#include <stddef.h>

#include "base/types.h"

#define SOURCE_MAP_FILE_MAX (64u << 20)		/* bytes: most of a large one is copies of the sources */
#define SOURCE_MAP_PLACES_MAX (1u << 20)
#define SOURCE_MAP_TEXT_MAX (8u << 20)
#define SOURCE_MAP_STRINGS_MAX (1u << 20)	/* sources, and names */
#define SOURCE_MAP_ID_BYTES 20

/* From there on in its line of the script. Lines and columns count from 0, columns in units of UTF-16. */
struct source_map_place {
	u32 line, column;
	u32 source_line;
	u32 source;		/* offset in the text; 0: this part comes from no source */
	u32 name;		/* ... 0: it has none */
};

struct source_map {
	u32 bytes;		/* of the whole block */
	u32 place_count;
	u32 text_bytes;
	u8 id[SOURCE_MAP_ID_BYTES];	/* of what it was built with, if it says so */
	/* then places, in order, and the text: strings that end in NUL, the first of them empty */
	struct source_map_place places[];
};

/*
 * The bytes are JSON, or a data: URI that holds it. -EBADMSG if they are no source map, -ENODATA if it maps nothing,
 * -E2BIG if it is too large. The block is the caller's to free().
 */
int source_map_build(const char *at, size_t bytes, struct source_map **ret_map);

/* 0, or -EBADMSG if a block of that length is not what source_map_build() makes. */
int source_map_check(const struct source_map *map, size_t bytes);

/* What covers a place, or NULL. */
const struct source_map_place *source_map_find(const struct source_map *map, u32 line, u32 column);

const char *source_map_text(const struct source_map *map, u32 offset);

#endif
