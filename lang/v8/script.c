// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/script.h"

#include "lang/v8/heap.h"

/* By the table of ends that V8 makes when it first needs one: the lines that end before the position. */
static struct script_place place_by_ends(struct heap *h, u64 ends, s32 position)
{
	u32 low = 0, high = heap_length(h, ends);
	s32 start;

	while (low < high && !h->memory.err) {
		u32 mid = low + (high - low) / 2;

		if (heap_small(heap_element(h, ends, mid)) < position)
			low = mid + 1;
		else
			high = mid;
	}
	start = low && !h->memory.err ? heap_small(heap_element(h, ends, low - 1)) + 1 : 0;
	return (struct script_place){ low, (u32)(position - start) };
}

struct script_place script_place(struct heap *h, u64 script, s32 position)
{
	u64 ends = heap_field(h, script, h->layout.at[V8_SCRIPT_LINE_ENDS]);
	u32 lines, start;

	if (heap_is_pointer(ends) && heap_type(h, ends) == h->layout.at[V8_TYPE_ARRAY] && heap_length(h, ends))
		return place_by_ends(h, ends, position);
	lines = heap_count_lines(h, heap_field(h, script, h->layout.at[V8_SCRIPT_SOURCE]), (u32)position, &start);
	return (struct script_place){ lines, (u32)position - start };
}

u32 script_first_line(struct heap *h, u64 script)
{
	u64 first = heap_field(h, script, h->layout.at[V8_SCRIPT_NAME] + 8);

	return heap_is_small(first) && heap_small(first) > 0 ? (u32)heap_small(first) : 0;
}

void script_path(struct heap *h, u64 script, char path[LANG_TEXT_MAX])
{
	u64 name = heap_field(h, script, h->layout.at[V8_SCRIPT_NAME]);

	path[0] = '\0';
	if (heap_is_pointer(name) && heap_is_string(h, name))
		heap_text(h, name, path, LANG_TEXT_MAX);
}
