/* SPDX-License-Identifier: Apache-2.0 */
/* How blocks of places are made, of whatever kind of file tells them (exe/source_map.h). All zeroes is an empty one. */
#ifndef EXE_SOURCE_MAP_BUILDER_H
#define EXE_SOURCE_MAP_BUILDER_H

#include <stdbool.h>

#include "base/types.h"
#include "exe/source_map.h"

struct source_map_builder {
	struct source_map_place *places;
	u32 place_count, place_cap;
	char *text;
	u32 text_bytes, text_cap;
	bool is_unsorted;
	u8 id[SOURCE_MAP_ID_BYTES];
};

void source_map_builder_done(struct source_map_builder *builder);

/* Adds a root and a text behind it, with a slash between them where it lacks, as one: 0, -E2BIG or -ENOMEM. */
int source_map_builder_text(struct source_map_builder *builder, const char *root, const char *text, u32 *ret_offset);

/* One that says nothing new is left out. */
int source_map_builder_place(struct source_map_builder *builder, struct source_map_place place);

/* -ENODATA if there are no places. The block is the caller's to free(). */
int source_map_builder_finish(struct source_map_builder *builder, struct source_map **ret_map);

/* By line and column. */
int source_map_place_compare(const void *a, const void *b);

#endif
