// SPDX-License-Identifier: Apache-2.0
#include "store/late.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/symbolizer.h"

#define BATCH 4096u	/* addresses that the reader is asked for at once */

/* What the symbolizer says of an address: the function that has the code. False if it knows nothing of it. */
static bool read_name(struct symbolizer *symbolizer, const struct binary *binary, u64 address,
		      enum name_source source, struct store_name *ret_name)
{
	const struct symbol_name *name = symbolizer_find(symbolizer, binary, address);
	const struct symbol_line *line = name ? &name->lines[name->line_count - 1] : NULL;
	bool has_name = name && (name->source == SYMBOL_TABLE || name->source == SYMBOL_DWARF);

	if (!name || (!has_name && name->source != SYMBOL_FDE))
		return false;
	*ret_name = (struct store_name){
		.address = address,
		.start = name->function_ea,
		.function = has_name ? line->function : "",
		.file = has_name && line->file ? line->file : "",
		.source = source,
	};
	return true;
}

/* A file of this machine may get its debug file from elsewhere: then hits grew. */
static enum name_source true_source(const struct symbolizer *symbolizer, u64 hits, enum name_source source)
{
	return symbolizer_stats(symbolizer).debuginfod_hits > hits ? NAME_DEBUGINFOD : source;
}

static int name_batch(struct store *store, struct symbolizer *symbolizer, struct binary *binary,
		      const struct store_unnamed *unnamed, u32 first, u32 count, u64 hits, enum name_source source)
{
	_cleanup_(freep) struct store_name *names = calloc(count, sizeof(*names));
	u32 found = 0;
	int r;

	if (!names)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++)
		symbolizer_want(symbolizer, binary, unnamed->addresses[first + i]);
	r = symbolizer_run(symbolizer);
	if (r < 0)
		return r;
	source = true_source(symbolizer, hits, source);
	for (u32 i = 0; i < count; i++)
		found += read_name(symbolizer, binary, unnamed->addresses[first + i], source, &names[found]);
	return found ? store_put_names(store, unnamed->build_id, names, found) : 0;
}

int late_name(struct store *store, struct symbolizer *symbolizer, struct binary *binary,
	      const struct store_unnamed *unnamed, enum name_source source)
{
	u64 hits = symbolizer_stats(symbolizer).debuginfod_hits;
	int named = 0;

	for (u32 at = 0; at < unnamed->count; at += BATCH) {
		u32 some = unnamed->count - at < BATCH ? unnamed->count - at : BATCH;
		int r = name_batch(store, symbolizer, binary, unnamed, at, some, hits, source);

		if (r < 0)
			return r;
		named += r;
	}
	return named;
}
