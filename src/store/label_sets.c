// SPDX-License-Identifier: Apache-2.0
#include "store/label_sets.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "lang/lang.h"
#include "wire/pb.h"

#define TEXTS_MAX (1u << 20)
#define TEXT_BYTES_MAX ((size_t)32 << 20)

struct label_numbers {
	u32 key, value;		/* texts */
};

void label_sets_init(struct label_sets *sets)
{
	arena_init(&sets->arena, TEXT_BYTES_MAX);
	interner_init(&sets->texts, &sets->arena, TEXTS_MAX);
	interner_init(&sets->sets, &sets->arena, LABEL_SETS_MAX);
}

void label_sets_done(struct label_sets *sets)
{
	interner_done(&sets->texts);
	interner_done(&sets->sets);
	arena_done(&sets->arena);
}

static int add(struct interner *interner, const void *at, size_t len, u32 *ret_number)
{
	u32 number = interner_add(interner, at, len, NULL);

	if (number == INTERNER_NONE)
		return interner->count >= interner->max_count || arena_err(interner->arena) == -E2BIG ? -E2BIG :
												       -ENOMEM;
	*ret_number = number;
	return 0;
}

static int compare_labels(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return str_compare(x->key, y->key);
}

/* The empty set is there from the first on. */
static int add_numbers(struct label_sets *sets, const struct label_numbers *numbers, u32 count, u32 *ret_number)
{
	int r = sets->sets.count ? 0 : add(&sets->sets, numbers, 0, ret_number);

	return r < 0 ? r : add(&sets->sets, numbers, count * sizeof(*numbers), ret_number);
}

static void sort_labels(const struct label *labels, u32 count, struct label ret_sorted[LABELS_MAX])
{
	for (u32 i = 0; i < count; i++)
		ret_sorted[i] = labels[i];
	qsort(ret_sorted, count, sizeof(*labels), compare_labels);
}

int label_sets_add(struct label_sets *sets, const struct label *labels, u32 count, u32 *ret_number)
{
	struct label_numbers numbers[LABELS_MAX] = { 0 };
	struct label sorted[LABELS_MAX];
	int r = 0;

	if (count > LABELS_MAX)
		return -E2BIG;
	sort_labels(labels, count, sorted);
	for (u32 i = 0; i < count && r == 0; i++) {
		r = add(&sets->texts, sorted[i].key.at, sorted[i].key.len, &numbers[i].key);
		if (r == 0)
			r = add(&sets->texts, sorted[i].value.at, sorted[i].value.len, &numbers[i].value);
	}
	return r < 0 ? r : add_numbers(sets, numbers, count, ret_number);
}

int label_sets_find(const struct label_sets *sets, const struct label *labels, u32 count, u32 *ret_number)
{
	struct label_numbers numbers[LABELS_MAX];
	struct label sorted[LABELS_MAX];
	u32 number;

	if (count > LABELS_MAX)
		return -ENOENT;
	sort_labels(labels, count, sorted);
	for (u32 i = 0; i < count; i++) {
		numbers[i].key = interner_find(&sets->texts, sorted[i].key.at, sorted[i].key.len);
		numbers[i].value = interner_find(&sets->texts, sorted[i].value.at, sorted[i].value.len);
		if (numbers[i].key == INTERNER_NONE || numbers[i].value == INTERNER_NONE)
			return -ENOENT;
	}
	number = interner_find(&sets->sets, numbers, count * sizeof(*numbers));
	if (number == INTERNER_NONE)
		return -ENOENT;
	*ret_number = number;
	return 0;
}

static struct str text_of(const struct label_sets *sets, u32 number)
{
	const struct interner_entry *e = interner_get(&sets->texts, number);

	return (struct str){ e->at, e->len };
}

static const struct label_numbers *numbers_of(const struct label_sets *sets, u32 number, u32 *ret_count)
{
	const struct interner_entry *e = number < sets->sets.count ? interner_get(&sets->sets, number) : NULL;

	*ret_count = e ? (u32)(e->len / sizeof(struct label_numbers)) : 0;
	return e ? e->at : NULL;
}

u32 label_sets_get(const struct label_sets *sets, u32 number, struct label ret_labels[LABELS_MAX])
{
	u32 count;
	const struct label_numbers *at = numbers_of(sets, number, &count);

	for (u32 i = 0; i < count; i++)
		ret_labels[i] = (struct label){ text_of(sets, at[i].key), text_of(sets, at[i].value) };
	return count;
}

struct str label_name(struct str key)
{
	u32 prefix = sizeof(LANG_LABEL_PREFIX) - 1;

	if (key.len > prefix && str_starts(key, LANG_LABEL_PREFIX))
		return (struct str){ key.at + prefix, key.len - prefix };
	return key;
}

struct str label_sets_value(const struct label_sets *sets, u32 number, struct str name)
{
	u32 count;
	const struct label_numbers *at = numbers_of(sets, number, &count);

	for (u32 i = 0; i < count; i++) {
		struct str key = text_of(sets, at[i].key);

		if (str_equal(key, name) || str_equal(label_name(key), name))
			return text_of(sets, at[i].value);
	}
	return (struct str){ "", 0 };
}

/* ---- On disk ------------------------------------------------------------------------------- */

/*
 *	how many texts; each: length, bytes
 *	how many sets; each: how many labels; each: numbers of its key and value among the texts
 *
 * Only what the sets need: texts are numbered anew, in the order of their use.
 */
struct packing {
	struct buf texts, sets;
	u32 *numbers;		/* by text, + 1; 0: not written yet */
	u32 count;
};

static u32 pack_text(const struct label_sets *sets, u32 number, struct packing *p)
{
	struct str text = text_of(sets, number);

	if (!p->numbers[number]) {
		p->numbers[number] = ++p->count;
		pb_put_raw_varint(&p->texts, text.len);
		buf_add(&p->texts, text.at, text.len);
	}
	return p->numbers[number] - 1;
}

static void pack_set(const struct label_sets *sets, u32 number, struct packing *p)
{
	u32 count;
	const struct label_numbers *at = numbers_of(sets, number, &count);

	pb_put_raw_varint(&p->sets, count);
	for (u32 i = 0; i < count; i++) {
		pb_put_raw_varint(&p->sets, pack_text(sets, at[i].key, p));
		pb_put_raw_varint(&p->sets, pack_text(sets, at[i].value, p));
	}
}

int label_sets_pack(const struct label_sets *sets, const u32 *numbers, u32 count, struct buf *plain)
{
	struct packing p = { .numbers = array_calloc((size_t)sets->texts.count + 1, sizeof(*p.numbers)) };
	int r;

	if (!p.numbers)
		return -ENOMEM;
	buf_init(&p.texts, 2 * TEXT_BYTES_MAX);
	buf_init(&p.sets, 2 * TEXT_BYTES_MAX);
	for (u32 i = 0; i < count; i++)
		pack_set(sets, numbers[i], &p);
	pb_put_raw_varint(plain, p.count);
	buf_add(plain, p.texts.data, p.texts.len);
	pb_put_raw_varint(plain, count);
	buf_add(plain, p.sets.data, p.sets.len);
	r = buf_err(&p.texts) ? buf_err(&p.texts) : buf_err(&p.sets);
	buf_done(&p.texts);
	buf_done(&p.sets);
	free(p.numbers);
	return r < 0 ? r : buf_err(plain);
}

static int unpack_texts(struct label_sets *sets, struct pb *r)
{
	u64 count = pb_varint(r);
	u32 number = 0;
	int result = count > TEXTS_MAX ? -EBADMSG : 0;

	for (u64 i = 0; i < count && result == 0; i++) {
		u64 len = pb_varint(r);

		if (r->err || len > pb_left(r) || len > LABEL_VALUE_BYTES_MAX)
			return -EBADMSG;
		result = add(&sets->texts, r->at, len, &number);
		r->at += len;
		/* One that was there already would shift the numbers of what follows. */
		if (result == 0 && number != i)
			return -EBADMSG;
	}
	return result;
}

static int unpack_set(struct label_sets *sets, struct pb *r, u64 expected)
{
	struct label_numbers numbers[LABELS_MAX];
	u64 count = pb_varint(r);
	u32 number = 0;
	int result;

	if (r->err || count > LABELS_MAX)
		return -EBADMSG;
	for (u64 i = 0; i < count; i++) {
		u64 key = pb_varint(r), value = pb_varint(r);

		if (r->err || key >= sets->texts.count || value >= sets->texts.count)
			return -EBADMSG;
		numbers[i] = (struct label_numbers){ (u32)key, (u32)value };
	}
	result = add_numbers(sets, numbers, (u32)count, &number);
	return result == 0 && number != expected ? -EBADMSG : result;
}

int label_sets_unpack(struct label_sets *sets, struct pb *r)
{
	u64 count;
	int result;

	label_sets_done(sets);
	label_sets_init(sets);
	result = unpack_texts(sets, r);
	count = pb_varint(r);
	if (result == 0 && (r->err || count >= LABEL_SETS_MAX))
		result = -EBADMSG;
	for (u64 i = 0; i < count && result == 0; i++)
		result = unpack_set(sets, r, i + 1);
	return result == -E2BIG ? -EBADMSG : result;
}
