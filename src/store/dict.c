// SPDX-License-Identifier: Apache-2.0
#include "store/dict.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "wire/pb.h"

#define EXES_MAX (1u << 20)
#define LABELS_BEFORE_WAIT STORE_WAIT	/* of series, in chunks */
#define PATHS (1u << 17)	/* of stacks that are remembered */

_Static_assert(sizeof(struct dict_frame) == 32, "compared as bytes");
_Static_assert(STORE_WAIT + 1 == STORE_SERIES_LABEL_COUNT, "labels behind it need a place in chunks, too");

static u64 node_hash(const void *row, u64 seed)
{
	const struct dict_node *n = row;

	return hash_mix(seed, (u64)n->parent << 32 | n->frame);
}

static bool node_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct dict_node));
}

static const struct table_type node_type = { sizeof(struct dict_node), node_hash, node_equal, NULL };

struct dict *dict_new(void)
{
	_cleanup_(dict_freep) struct dict *dict = calloc(1, sizeof(*dict));

	if (!dict)
		return NULL;
	dict->bytes_max = DICT_BYTES_MAX;
	arena_init(&dict->arena, DICT_BYTES_MAX);
	interner_init(&dict->strings, &dict->arena, DICT_STRINGS_MAX);
	interner_init(&dict->exes, &dict->arena, EXES_MAX);
	interner_init(&dict->frames, &dict->arena, DICT_FRAMES_MAX);
	table_init(&dict->nodes, &node_type, NULL, 0, DICT_NODES_MAX);
	interner_init(&dict->series, &dict->arena, DICT_SERIES_MAX);
	(void)dict_add_string(dict, "", 0);
	(void)dict_add_exe(dict, &(struct dict_exe){ 0 });
	(void)dict_add_frame(dict, &(struct dict_frame){ 0 });
	(void)dict_add_node(dict, 0, 0);
	if (dict->err)
		return NULL;
	dict->packed = dict_counts(dict);
	return TAKE(dict);
}

void dict_free(struct dict *dict)
{
	if (!dict)
		return;
	free(dict->paths);
	interner_done(&dict->strings);
	interner_done(&dict->exes);
	interner_done(&dict->frames);
	table_done(&dict->nodes);
	interner_done(&dict->series);
	arena_done(&dict->arena);
	free(dict);
}

static size_t interner_bytes(const struct interner *interner)
{
	return interner->cap * sizeof(*interner->entries) + interner->slot_count * sizeof(*interner->slots);
}

size_t dict_bytes(const struct dict *dict)
{
	return sizeof(*dict) + dict->arena.held + (dict->paths ? PATHS * sizeof(*dict->paths) : 0) +
	       interner_bytes(&dict->strings) + interner_bytes(&dict->exes) + interner_bytes(&dict->frames) +
	       interner_bytes(&dict->series) + table_bytes(&dict->nodes);
}

size_t dict_content(const struct dict *dict)
{
	size_t keys = (size_t)dict->strings.count + dict->exes.count + dict->frames.count + dict->series.count;

	/* A slot of a hash is two thirds of one that is used. */
	return dict->arena.used + keys * (sizeof(struct interner_entry) + sizeof(struct interner_slot) * 3 / 2) +
	       dict->nodes.count * (sizeof(struct dict_node) + sizeof(u64) * 3 / 2);
}

void dict_limit(struct dict *dict, size_t bytes_max)
{
	dict->bytes_max = bytes_max;
	dict->arena.max = bytes_max < DICT_BYTES_MAX ? bytes_max : DICT_BYTES_MAX;
}

/* Arrays double: what comes may be as much as what there is. */
static void check_room(struct dict *dict, size_t more_bytes)
{
	if (!dict->err && dict_bytes(dict) + more_bytes > dict->bytes_max)
		dict->err = -E2BIG;
}

static u32 add(struct dict *dict, struct interner *interner, const void *at, size_t len)
{
	u32 number = INTERNER_NONE;

	if (interner->count == interner->cap)
		check_room(dict, interner_bytes(interner));
	if (!dict->err)
		number = interner_add(interner, at, len, NULL);
	if (number != INTERNER_NONE)
		return number;
	if (!dict->err)
		dict->err =
			interner->count >= interner->max_count || arena_err(&dict->arena) == -E2BIG ? -E2BIG : -ENOMEM;
	return 0;
}

u32 dict_add_string(struct dict *dict, const char *at, size_t len)
{
	return add(dict, &dict->strings, at, len);
}

u32 dict_add_exe(struct dict *dict, const struct dict_exe *exe)
{
	return add(dict, &dict->exes, exe, sizeof(*exe));
}

u32 dict_add_frame(struct dict *dict, const struct dict_frame *frame)
{
	return add(dict, &dict->frames, frame, sizeof(*frame));
}

u32 dict_add_node(struct dict *dict, u32 parent, u32 frame)
{
	s64 number;

	if (dict->nodes.count == dict->nodes.cap)
		check_room(dict, table_bytes(&dict->nodes));
	number = dict->err ? dict->err : table_add(&dict->nodes, &(struct dict_node){ parent, frame });

	if (number >= 0)
		return (u32)number;
	dict->err = (int)number;
	return 0;
}

u32 dict_add_series(struct dict *dict, const struct dict_series *series)
{
	return add(dict, &dict->series, series, sizeof(*series));
}

/* A path was mostly added at once: its nodes are neighbours. */
static bool is_path(const struct dict *dict, u32 node, const u32 *frames, u32 count)
{
	const struct dict_node *nodes = dict_nodes(dict);

	while (count && node && nodes[node].frame == frames[count - 1]) {
		node = nodes[node].parent;
		count--;
	}
	return !count && !node;
}

u32 dict_add_path(struct dict *dict, const u32 *frames, u32 count)
{
	u32 *found, node = 0;

	if (!dict->paths)
		dict->paths = calloc(PATHS, sizeof(*dict->paths));
	if (!dict->paths) {
		dict->err = dict->err ? dict->err : -ENOMEM;
		return 0;
	}
	found = &dict->paths[hash_bytes(0, frames, count * sizeof(*frames)) % PATHS];
	if (is_path(dict, *found, frames, count))
		return *found;
	for (u32 i = 0; i < count; i++)
		node = dict_add_node(dict, node, frames[i]);
	*found = node;
	return node;
}

struct str dict_string(const struct dict *dict, u32 number)
{
	const struct interner_entry *e = interner_get(&dict->strings, number);

	return (struct str){ e->at, e->len };
}

const struct dict_exe *dict_exe(const struct dict *dict, u32 number)
{
	return interner_get(&dict->exes, number)->at;
}

const struct dict_frame *dict_frame(const struct dict *dict, u32 number)
{
	return interner_get(&dict->frames, number)->at;
}

const struct dict_series *dict_series(const struct dict *dict, u32 number)
{
	return interner_get(&dict->series, number)->at;
}

struct dict_counts dict_counts(const struct dict *dict)
{
	return (struct dict_counts){ dict->strings.count, dict->exes.count, dict->frames.count, dict->nodes.count,
				     dict->series.count };
}

bool dict_is_full(const struct dict *dict)
{
	return dict->err || dict->nodes.count > DICT_NODES_MAX / 8 * 7 ||
	       dict->frames.count > DICT_FRAMES_MAX / 8 * 7 || dict->strings.count > DICT_STRINGS_MAX / 8 * 7 ||
	       dict->series.count > DICT_SERIES_MAX / 8 * 7 || dict_bytes(dict) > dict->bytes_max / 8 * 7;
}

/* ---- On disk ----------------------------------------------------------------- */

/*
 * A chunk: five counts, then the entries as varints. Numbers refer to what came
 * before, in this chunk or an earlier one.
 */
static void pack_words(struct buf *out, const struct interner *table, u32 from, u32 words)
{
	for (u32 i = from; i < table->count; i++) {
		const u32 *at = interner_get(table, i)->at;

		for (u32 w = 0; w < words; w++)
			pb_put_raw_varint(out, at[w]);
	}
}

static void pack_strings(struct buf *out, const struct dict *dict)
{
	for (u32 i = dict->packed.strings; i < dict->strings.count; i++) {
		struct str s = dict_string(dict, i);

		pb_put_raw_varint(out, s.len);
		buf_add(out, s.at, s.len);
	}
}

static void pack_frames(struct buf *out, const struct dict *dict)
{
	for (u32 i = dict->packed.frames; i < dict->frames.count; i++) {
		const struct dict_frame *f = dict_frame(dict, i);
		const u64 words[] = { f->exe, f->name, f->file, f->type, f->line, f->is_inline, f->address };

		for (u32 w = 0; w < sizeof(words) / sizeof(words[0]); w++)
			pb_put_raw_varint(out, words[w]);
	}
}

/* Parents are mostly near. */
static void pack_nodes(struct buf *out, const struct dict *dict)
{
	for (u32 i = dict->packed.nodes; i < dict->nodes.count; i++) {
		const struct dict_node *n = &dict_nodes(dict)[i];

		pb_put_raw_varint(out, i - n->parent);
		pb_put_raw_varint(out, n->frame);
	}
}

/* Behind all else, where any waits: chunks that were written before there were reasons end here, and are still read. */
static void pack_waits(struct buf *out, const struct dict *dict)
{
	u32 any = 0;

	for (u32 i = dict->packed.series; i < dict->series.count; i++)
		any |= dict_series(dict, i)->label[STORE_WAIT];
	for (u32 i = dict->packed.series; any && i < dict->series.count; i++)
		pb_put_raw_varint(out, dict_series(dict, i)->label[STORE_WAIT]);
}

int dict_pack(const struct dict *dict, struct buf *out)
{
	struct dict_counts now = dict_counts(dict), old = dict->packed;

	if (!memcmp(&now, &old, sizeof(now)))
		return 0;
	pb_put_raw_varint(out, now.strings - old.strings);
	pb_put_raw_varint(out, now.exes - old.exes);
	pb_put_raw_varint(out, now.frames - old.frames);
	pb_put_raw_varint(out, now.nodes - old.nodes);
	pb_put_raw_varint(out, now.series - old.series);
	pack_strings(out, dict);
	pack_words(out, &dict->exes, old.exes, 2);
	pack_frames(out, dict);
	pack_nodes(out, dict);
	pack_words(out, &dict->series, old.series, LABELS_BEFORE_WAIT);
	pack_waits(out, dict);
	return buf_err(out);
}

void dict_packed(struct dict *dict)
{
	dict->packed = dict_counts(dict);
}

/* A number below a limit. */
static u32 below(struct pb *r, u32 limit)
{
	u64 value = pb_varint(r);

	if (value >= limit && !r->err)
		r->err = -EBADMSG;
	return r->err ? 0 : (u32)value;
}

/* What is read must be new: numbers would shift otherwise. */
static void expect_new(struct pb *r, u32 count_before, u32 count)
{
	if (count_before + 1 != count && !r->err)
		r->err = -EBADMSG;
}

static void unpack_strings(struct dict *dict, struct pb *r, u32 count)
{
	for (u32 i = 0; i < count && !r->err; i++) {
		u64 len = pb_varint(r);
		u32 before = dict->strings.count;

		if (r->err || len > pb_left(r)) {
			r->err = -EBADMSG;
			return;
		}
		(void)dict_add_string(dict, (const char *)r->at, len);
		expect_new(r, before, dict->strings.count);
		r->at += len;
	}
}

static void unpack_exes(struct dict *dict, struct pb *r, u32 count)
{
	for (u32 i = 0; i < count && !r->err; i++) {
		struct dict_exe exe;
		u32 before = dict->exes.count;

		exe.path = below(r, dict->strings.count);
		exe.build_id = below(r, dict->strings.count);
		(void)dict_add_exe(dict, &exe);
		expect_new(r, before, dict->exes.count);
	}
}

static void unpack_frames(struct dict *dict, struct pb *r, u32 count)
{
	for (u32 i = 0; i < count && !r->err; i++) {
		struct dict_frame f;
		u32 before = dict->frames.count;

		f.exe = below(r, dict->exes.count);
		f.name = below(r, dict->strings.count);
		f.file = below(r, dict->strings.count);
		f.type = below(r, dict->strings.count);
		f.line = below(r, UINT32_MAX);
		f.is_inline = below(r, 2);
		f.address = pb_varint(r);
		(void)dict_add_frame(dict, &f);
		expect_new(r, before, dict->frames.count);
	}
}

static void unpack_nodes(struct dict *dict, struct pb *r, u32 count)
{
	for (u32 i = 0; i < count && !r->err; i++) {
		u32 before = dict->nodes.count, back = below(r, before + 1), frame = below(r, dict->frames.count);

		if (!back || r->err) {
			r->err = -EBADMSG;
			return;
		}
		(void)dict_add_node(dict, before - back, frame);
		expect_new(r, before, dict->nodes.count);
	}
}

static void unpack_series(struct dict *dict, struct pb *r, u32 count)
{
	_cleanup_(freep) struct dict_series *series = NULL;
	bool has_waits;

	if (count > pb_left(r) / LABELS_BEFORE_WAIT && !r->err)
		r->err = -EBADMSG;
	series = r->err ? NULL : array_calloc((size_t)count + 1, sizeof(*series));
	if (!series) {
		r->err = r->err ? r->err : -ENOMEM;
		return;
	}
	for (u32 i = 0; i < count; i++)
		for (u32 l = 0; l < LABELS_BEFORE_WAIT; l++)
			series[i].label[l] = below(r, dict->strings.count);
	has_waits = pb_left(r);
	for (u32 i = 0; has_waits && i < count; i++)
		series[i].label[STORE_WAIT] = below(r, dict->strings.count);
	for (u32 i = 0; i < count && !r->err; i++) {
		u32 before = dict->series.count;

		(void)dict_add_series(dict, &series[i]);
		expect_new(r, before, dict->series.count);
	}
}

int dict_unpack(struct dict *dict, const void *at, size_t bytes)
{
	struct pb r = pb_from(at, bytes);
	u32 strings = below(&r, DICT_STRINGS_MAX), exes = below(&r, EXES_MAX), frames = below(&r, DICT_FRAMES_MAX);
	u32 nodes = below(&r, DICT_NODES_MAX), series = below(&r, DICT_SERIES_MAX);

	unpack_strings(dict, &r, strings);
	unpack_exes(dict, &r, exes);
	unpack_frames(dict, &r, frames);
	unpack_nodes(dict, &r, nodes);
	unpack_series(dict, &r, series);
	if (!r.err && pb_left(&r))
		r.err = -EBADMSG;
	if (r.err)
		return dict->err ? dict->err : r.err;
	dict_packed(dict);
	return 0;
}
