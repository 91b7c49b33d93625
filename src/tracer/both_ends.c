// SPDX-License-Identifier: Apache-2.0
#include "tracer/both_ends.h"

#include <string.h>

_Static_assert(GAP_STEP < LEAF_FRAMES_MAX, "some frames of the leaf's part stay");
_Static_assert((ROOT_FRAMES_MAX & (ROOT_FRAMES_MAX - 1)) == 0, "numbers of frames wrap around with it");

static u32 words_of(u64 word)
{
	return word >> FRAME_KIND_SHIFT == FRAME_RUNTIME ? 2 : 1;
}

/* How many words the first so many frames have. */
static u32 leaf_words(const u64 *words, u32 word_count, u32 frame_count)
{
	u32 at = 0;

	for (u32 i = 0; i < frame_count && at < word_count; i++)
		at += words_of(words[at]);
	return at < word_count ? at : word_count;
}

/* The frames of the root's part from that number on, to the end of ordered; how many words. */
static u32 root_part(const u64 *root, u32 from, u32 to, u64 *ordered)
{
	u32 count = 0;

	for (u32 number = from; number < to; number++) {
		const u64 *frame = root + 2 * (number % ROOT_FRAMES_MAX);

		ordered[count++] = frame[0];
		if (words_of(frame[0]) == 2)
			ordered[count++] = frame[1];
	}
	return count;
}

u32 both_ends(const struct trace_record *trace, const u64 *words, u64 ordered[BOTH_ENDS_WORDS_MAX],
	      const u64 **ret_words)
{
	u32 number = trace->frame_count - LEAF_FRAMES_MAX, lost = trace->frames_lost;
	u32 root_words = 2 * (number < ROOT_FRAMES_MAX ? number : ROOT_FRAMES_MAX), given_up = (u32)-lost % GAP_STEP;
	u32 leaf, count;

	*ret_words = words;
	if (trace->frame_count <= LEAF_FRAMES_MAX)
		return trace->user_count;
	leaf = leaf_words(words, trace->user_count, LEAF_FRAMES_MAX);
	if (leaf + root_words != trace->user_count || lost > number || number - lost > ROOT_FRAMES_MAX ||
	    (lost && trace->end == END_TRUNCATED))
		return leaf;
	*ret_words = ordered;
	count = leaf_words(words, leaf, LEAF_FRAMES_MAX - given_up);
	memcpy(ordered, words, count * sizeof(*words));
	if (lost)
		ordered[count++] = (u64)FRAME_GAP << FRAME_KIND_SHIFT | (lost + given_up);
	return count + root_part(words + leaf, lost, number, ordered + count);
}
