// SPDX-License-Identifier: Apache-2.0
#include "lang/go/labels.h"

#include <errno.h>
#include <string.h>

#include "lang/named.h"

#define LOOP_NO_UNROLL

typedef const struct lang_process *go_reader;

static int go_read(go_reader process, void *to, u32 bytes, u64 va)
{
	return lang_read(process, va, to, bytes);
}

#include "lang/go/signature.h"

#define BUCKETS_LOG2_MAX 4
#define OVERFLOWS_MAX 4		/* buckets that one leads to */
#define BUCKET_OVERFLOW (GO_BUCKET_VALUES + GO_BUCKET_PAIRS * 16)
#define TOPHASH_FIRST 5		/* less: the place is empty, or was moved (runtime/map.go) */

/* A string, cut at `max`. */
static int read_text(const struct lang_process *process, const struct go_string *string, char *to, size_t max)
{
	size_t bytes = string->bytes < max ? string->bytes : max;

	to[bytes] = 0;
	return bytes ? lang_read(process, string->va, to, bytes) : 0;
}

static int add_pair(const struct lang_process *process, const struct go_room *room, struct lang_names *names)
{
	char key[LANG_TEXT_MAX + 1] = LANG_LABEL_PREFIX, value[LANG_TEXT_MAX + 1];
	size_t prefix = strlen(key);
	int r = read_text(process, &room->key, key + prefix, LANG_TEXT_MAX - prefix);

	if (r == 0)
		r = read_text(process, &room->value, value, LANG_TEXT_MAX);
	if (r == 0)
		lang_names_label(names, key, value);
	return r;
}

static int add_slice(const struct lang_process *process, const struct go_set *set, struct lang_names *names)
{
	struct go_room room;
	int r = 0;

	for (u64 i = 0; r == 0 && i < set->count && i < NAMED_LABELS_MAX; i++) {
		r = go_read_pair(process, GO_SLICE, set->pairs_va, i, &room);
		if (r == 0)
			r = add_pair(process, &room, names);
	}
	return r;
}

static int add_bucket(const struct lang_process *process, u64 va, struct lang_names *names)
{
	u8 tophash[GO_BUCKET_PAIRS];
	struct go_room room;
	int r = lang_read(process, va, tophash, sizeof(tophash));

	for (u64 i = 0; r == 0 && i < GO_BUCKET_PAIRS && names->label_count < NAMED_LABELS_MAX; i++) {
		if (tophash[i] < TOPHASH_FIRST)
			continue;
		r = go_read_pair(process, GO_MAP, va, i, &room);
		if (r == 0)
			r = add_pair(process, &room, names);
	}
	return r;
}

static int add_map(const struct lang_process *process, const struct go_set *set, struct lang_names *names)
{
	u64 log2 = set->seed & 0xff, buckets = 1ull << (log2 < BUCKETS_LOG2_MAX ? log2 : BUCKETS_LOG2_MAX);
	int r = 0;

	for (u64 b = 0; r == 0 && b < buckets && names->label_count < NAMED_LABELS_MAX; b++) {
		u64 va = set->pairs_va + b * (BUCKET_OVERFLOW + 8);

		for (u32 i = 0; r == 0 && va && i <= OVERFLOWS_MAX; i++) {
			r = add_bucket(process, va, names);
			va = lang_read_word(process, va + BUCKET_OVERFLOW);
		}
	}
	return r;
}

int go_labels_read(const struct lang_process *process, u64 kind, u64 labels_va, u64 signature,
		   struct lang_names *names)
{
	u64 how = signature & (GO_BY_TEXT | GO_WITH_TEXT);
	struct go_room room;
	struct go_set set;
	int r;

	if (go_find_set(process, kind, labels_va, &set))
		return -EFAULT;
	r = kind == GO_MAP ? add_map(process, &set, names) : add_slice(process, &set, names);
	if (r < 0)
		return r;
	/* Now, not before: what was read is what was signed only if it still is. */
	return go_sign(process, kind, labels_va, how, &room) == signature ? 0 : -ESTALE;
}
