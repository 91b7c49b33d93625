// SPDX-License-Identifier: Apache-2.0
#include "web/executables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sums.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/json_write.h"
#include "store/names.h"

/* How many functions of a file have a name, by where it came from. */
struct naming {
	u32 by_source[NAME_SOURCE_COUNT];
};

static struct frame file_key(const struct frame *frame)
{
	return (struct frame){ .exe = frame->exe, .build_id = frame->build_id };
}

static const char *state_of(const struct naming *n, u32 functions)
{
	if (!functions || n->by_source[NAME_NONE] == functions)
		return "none";
	return n->by_source[NAME_NONE] ? "partly" : "named";
}

static void put_sources(struct json_write *j, const struct naming *n)
{
	json_write_key(j, "sources");
	json_write_open(j, '{');
	for (u32 i = NAME_NONE + 1; i < NAME_SOURCE_COUNT; i++) {
		if (!n->by_source[i])
			continue;
		json_write_key(j, name_source_text(i));
		json_write_u32(j, n->by_source[i]);
	}
	json_write_close(j, '}');
}

static void put_text(struct json_write *j, const char *key, struct str text)
{
	json_write_key(j, key);
	json_write_string(j, text.at, text.len);
}

static void put_row(struct json_write *j, const struct frame *frame, const struct sum *sum,
		    const struct naming *n)
{
	const char *state;
	u32 functions = 0;

	for (u32 i = 0; i < NAME_SOURCE_COUNT; i++)
		functions += n->by_source[i];
	state = state_of(n, functions);
	json_write_open(j, '{');
	put_text(j, "path", frame->exe);
	put_text(j, "build_id", frame->build_id);
	put_text(j, "kind", frame->type);
	json_write_key(j, "self");
	json_write_double(j, (double)sum->self);
	json_write_key(j, "total");
	json_write_double(j, (double)sum->total);
	json_write_key(j, "functions");
	json_write_u32(j, functions);
	json_write_key(j, "named");
	json_write_u32(j, functions - n->by_source[NAME_NONE]);
	put_text(j, "state", (struct str){ state, (u32)strlen(state) });
	put_sources(j, n);
	json_write_close(j, '}');
}

/* By group; a root's frame is of no file, nor are labels. */
static struct naming *count_names(const struct sums *sums)
{
	struct naming *names = array_calloc((size_t)sums->count + 1, sizeof(*names));

	for (u32 i = 1; names && i < sums->tree->frames.count; i++)
		names[sums->of_frame[i]].by_source[calltree_frames(sums->tree)[i].source]++;
	return names;
}

int executables_json(const struct calltree *flame, u32 rows_max, struct buf *out)
{
	_cleanup_(sums_done) struct sums sums;
	_cleanup_(freep) struct naming *names = NULL;
	struct json_write j = { .b = out };
	int r = sums_init(&sums, flame, 0, file_key);
	u32 rows = 0;

	if (r == 0)
		names = count_names(&sums);
	if (r < 0 || !names)
		return r < 0 ? r : -ENOMEM;
	qsort(sums.at, sums.count, sizeof(*sums.at), sum_compare);
	json_write_open(&j, '{');
	json_write_key(&j, "total");
	json_write_double(&j, (double)calltree_nodes(flame)[0].total);
	json_write_key(&j, "rows");
	json_write_open(&j, '[');
	for (u32 i = 0; i < sums.count && rows < rows_max; i++) {
		const struct frame *frame = &calltree_frames(flame)[sums.at[i].frame];

		if (!frame->exe.len && !frame->build_id.len)
			continue;
		put_row(&j, frame, &sums.at[i], &names[sums.of_frame[sums.at[i].frame]]);
		rows++;
	}
	json_write_close(&j, ']');
	json_write_close(&j, '}');
	return buf_err(out);
}
