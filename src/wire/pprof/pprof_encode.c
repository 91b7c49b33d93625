// SPDX-License-Identifier: Apache-2.0
/*
 * Table indices are pprof's ids and string indices as they are: index 0 is
 * "none" in both. Strings that our string table lacks follow after it. Labels
 * are encoded once per attribute and resource, then copied into samples.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "base/interner.h"
#include "base/str.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "wire/pb.h"
#include "wire/pprof/pprof.h"

/* Sample types in one file: each costs every sample a value. Sets of them are bits of a u64. */
#define COLUMNS_MAX 64
#define SCRATCH_BYTES_MAX ((size_t)1 << 30)
#define STRINGS_MAX (64u << 20)

/* Where the values of one set go. */
struct set_columns {
	u32 value;
	u32 time;		/* value times period, or NO_COLUMN */
};
#define NO_COLUMN UINT32_MAX

/* What a mapping's locations have, see pprof_flag_names. */
struct mapping_flags {
	bool used, lacks[PPROF_MAPPING_FLAGS], inlined;
};

struct encoder {
	const struct profile *p;
	const struct pprof_dialect *dialect;
	struct buf *out;
	struct arena arena;
	struct interner extra;			/* strings that follow ours */
	struct buf labels;			/* encoded labels: of all attributes, then of the present resource */
	u32 *label_ends;			/* of attribute i: label_ends[i - 1] to label_ends[i] */
	struct profile_type columns[COLUMNS_MAX];
	u32 column_count;
	struct mapping_flags *flags;
	u32 *stack;				/* scratch for a stack without null locations */
	u32 stack_cap;
	int err;
};

static void encoder_init(struct encoder *e, const struct profile *profile, const struct pprof_dialect *dialect,
			 struct buf *out)
{
	*e = (struct encoder){ .p = profile, .dialect = dialect, .out = out };
	arena_init(&e->arena, SCRATCH_BYTES_MAX);
	interner_init(&e->extra, &e->arena, STRINGS_MAX);
	buf_init(&e->labels, SCRATCH_BYTES_MAX);
}

static void encoder_done(struct encoder *e)
{
	interner_done(&e->extra);
	arena_done(&e->arena);
	buf_done(&e->labels);
	free(e->label_ends);
	free(e->flags);
	free(e->stack);
}

static void fail(struct encoder *e, int err)
{
	if (!e->err)
		e->err = err;
}

static u64 extra_string(struct encoder *e, const char *at, size_t len)
{
	u32 number;

	if (!len)
		return 0;
	number = interner_add(&e->extra, at, len, NULL);
	if (number == INTERNER_NONE) {
		fail(e, arena_err(&e->arena) ? arena_err(&e->arena) : -ENOMEM);
		return 0;
	}
	return (u64)e->p->strings.count + number;
}

static struct str string_of(const struct encoder *e, u32 index)
{
	return e->p->strings.at[index];
}

/* ---- Labels ---------------------------------------------------------------- */

/* What a list calls it, or NULL. */
static const char *other_name(const struct pprof_name *names, struct str name)
{
	for (const struct pprof_name *n = names; n && n->attribute; n++)
		if (str_is(name, n->attribute))
			return n->label;
	return NULL;
}

static const char *other_type(const struct encoder *e, struct str type)
{
	return e->dialect->type_name ? e->dialect->type_name(type) : NULL;
}

static u64 label_key(struct encoder *e, struct str key)
{
	const char *other = other_name(e->dialect->labels, key);

	return other ? extra_string(e, other, strlen(other)) : extra_string(e, key.at, key.len);
}

static bool is_number(const struct encoder *e, const struct any *value)
{
	return value->kind == ANY_INT && !e->dialect->text_only;
}

/* The id that 16 hexadecimal digits spell; false if they are not. */
static bool read_id(const struct any *value, unsigned long long *ret_id)
{
	*ret_id = 0;
	for (u32 i = 0; value->kind == ANY_STRING && i < value->string.len; i++) {
		int digit = hex_digit(value->string.at[i]);

		if (digit < 0)
			return false;
		*ret_id = *ret_id << 4 | (u32)digit;
	}
	return value->kind == ANY_STRING && value->string.len == 16;
}

/* What is neither text nor number becomes JSON. */
static u64 label_text(struct encoder *e, struct str key, const struct any *value)
{
	_cleanup_(buf_done) struct buf text = { 0 };
	unsigned long long id;
	char decimal[24];

	if (e->dialect->id_attribute && str_is(key, e->dialect->id_attribute) && read_id(value, &id))
		return extra_string(e, decimal, (size_t)snprintf(decimal, sizeof(decimal), "%llu", id));
	if (value->kind == ANY_STRING)
		return extra_string(e, value->string.at, value->string.len);
	buf_init(&text, SCRATCH_BYTES_MAX);
	if (value->kind == ANY_INT)
		buf_addf(&text, "%lld", (long long)value->integer);
	else
		any_put_json(&text, value);
	if (buf_err(&text))
		fail(e, buf_err(&text));
	return extra_string(e, text.data, text.len);
}

/*
 * Readers drop a number that is 0 and has no unit. They take the key for the
 * unit of numbers without one, so we may say so.
 */
static void put_label(struct encoder *e, struct str key, const struct any *value, u32 unit)
{
	u64 key_index, text;
	size_t mark;

	/* An empty text has the number of no text at all. */
	if (value->kind == ANY_NONE || (value->kind == ANY_STRING && !value->string.len))
		return;
	key_index = label_key(e, key);
	text = is_number(e, value) ? 0 : label_text(e, key, value);
	mark = pb_begin(&e->labels, 3);
	pb_put_varint_nonzero(&e->labels, 1, key_index);
	pb_put_varint_nonzero(&e->labels, 2, text);
	if (is_number(e, value)) {
		pb_put_varint_nonzero(&e->labels, 3, (u64)value->integer);
		pb_put_varint_nonzero(&e->labels, 4, !unit && !value->integer ? key_index : unit);
	}
	pb_end(&e->labels, mark);
}

static int put_attribute_labels(struct encoder *e)
{
	const struct profile *p = e->p;

	e->label_ends = calloc(p->attributes.count, sizeof(*e->label_ends));
	if (!e->label_ends)
		return -ENOMEM;
	for (u32 i = 1; i < p->attributes.count; i++) {
		put_label(e, string_of(e, p->attributes.at[i].key), &p->attributes.at[i].value,
			  p->attributes.at[i].unit);
		e->label_ends[i] = (u32)e->labels.len;
	}
	return buf_err(&e->labels) ? buf_err(&e->labels) : e->err;
}

static void put_text_label(struct encoder *e, const char *key, const char *text, size_t len)
{
	size_t mark = pb_begin(e->out, 3);

	pb_put_varint_nonzero(e->out, 1, extra_string(e, key, strlen(key)));
	pb_put_varint_nonzero(e->out, 2, extra_string(e, text, len));
	pb_end(e->out, mark);
}

static void put_hex_label(struct encoder *e, const char *key, const u8 *id, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * sizeof(((struct profile_link *)0)->trace_id)];

	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[id[i] >> 4];
		hex[2 * i + 1] = digits[id[i] & 15];
	}
	put_text_label(e, key, hex, 2 * len);
}

static void put_link(struct encoder *e, const struct profile_link *link)
{
	unsigned long long id = 0;
	char decimal[24];

	put_hex_label(e, PPROF_TRACE_ID, link->trace_id, sizeof(link->trace_id));
	if (!e->dialect->span_label) {
		put_hex_label(e, PPROF_SPAN_ID, link->span_id, sizeof(link->span_id));
		return;
	}
	for (size_t i = 0; i < sizeof(link->span_id); i++)
		id = id << 8 | link->span_id[i];
	put_text_label(e, e->dialect->span_label, decimal, (size_t)snprintf(decimal, sizeof(decimal), "%llu", id));
}

/* ---- Sample types ---------------------------------------------------------- */

static bool type_equal(const struct encoder *e, struct profile_type a, struct profile_type b)
{
	return str_equal(string_of(e, a.type), string_of(e, b.type)) &&
	       str_equal(string_of(e, a.unit), string_of(e, b.unit));
}

static u32 column_of(struct encoder *e, struct profile_type type)
{
	for (u32 i = 0; i < e->column_count; i++)
		if (type_equal(e, e->columns[i], type))
			return i;
	if (e->column_count == COLUMNS_MAX) {
		fail(e, -E2BIG);
		return 0;
	}
	e->columns[e->column_count] = type;
	return e->column_count++;
}

/* The columns that sets of a scope have for themselves, as bits. */
static u64 own_columns(struct encoder *e, const struct profile_scope *scope)
{
	u64 bits = 0;

	for (u32 i = 0; i < scope->set_count; i++)
		bits |= (u64)1 << column_of(e, scope->sets[i].sample_type);
	return bits;
}

/* Its values are counts of a period of time. */
static bool is_timed(const struct encoder *e, const struct profile_set *set)
{
	return set->period > 0 && str_is(string_of(e, set->sample_type.unit), "count") &&
	       str_is(string_of(e, set->period_type.unit), "nanoseconds");
}

/* Counted samples also tell a time, that is count times period, if no set of the scope does. */
static struct set_columns set_columns(struct encoder *e, u64 own, const struct profile_set *set)
{
	struct set_columns columns = { column_of(e, set->sample_type), NO_COLUMN };
	u32 time;

	if (!is_timed(e, set))
		return columns;
	time = column_of(e, set->period_type);
	if (!(own >> time & 1))
		columns.time = time;
	return columns;
}

/* All columns must be known before the first sample is written. */
static void find_columns(struct encoder *e)
{
	for (u32 r = 0; r < e->p->resources.count; r++) {
		const struct profile_resource *resource = &e->p->resources.at[r];

		for (u32 s = 0; s < resource->scope_count; s++) {
			u64 own = own_columns(e, &resource->scopes[s]);

			for (u32 i = 0; i < resource->scopes[s].set_count; i++)
				set_columns(e, own, &resource->scopes[s].sets[i]);
		}
	}
}

/* ---- Samples --------------------------------------------------------------- */

/* Null locations have no id in pprof. */
static void put_stack(struct encoder *e, struct indices stack)
{
	u32 count = 0, *at;
	bool whole = true;

	for (u32 i = 0; i < stack.count; i++)
		whole &= stack.at[i] != 0;
	if (whole) {
		pb_put_packed_u32(e->out, 1, stack.at, stack.count);
		return;
	}
	if (stack.count > e->stack_cap) {
		at = reallocarray(e->stack, stack.count, sizeof(*at));
		if (!at) {
			fail(e, -ENOMEM);
			return;
		}
		e->stack = at;
		e->stack_cap = stack.count;
	}
	for (u32 i = 0; i < stack.count; i++)
		if (stack.at[i])
			e->stack[count++] = stack.at[i];
	pb_put_packed_u32(e->out, 1, e->stack, count);
}

static void put_sample(struct encoder *e, const struct profile_sample *sample, const s64 *values,
		       struct str resource_labels)
{
	size_t mark = pb_begin(e->out, 2);

	put_stack(e, e->p->stacks.at[sample->stack]);
	pb_put_packed_s64(e->out, 2, values, e->column_count);
	buf_add(e->out, resource_labels.at, resource_labels.len);
	for (u32 i = 0; i < sample->attributes.count; i++) {
		u32 attribute = sample->attributes.at[i];
		u32 start = attribute ? e->label_ends[attribute - 1] : 0;

		if (attribute && e->label_ends[attribute] > start)
			buf_add(e->out, e->labels.data + start, e->label_ends[attribute] - start);
	}
	if (sample->link)
		put_link(e, &e->p->links.at[sample->link]);
	pb_end(e->out, mark);
}

static bool sample_alike(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->stack == b->stack && a->link == b->link && a->attributes.count == b->attributes.count &&
	       (!a->attributes.count ||
		!memcmp(a->attributes.at, b->attributes.at, a->attributes.count * sizeof(*a->attributes.at)));
}

/* Do all sets of a scope list the same samples, as those read from a pprof file do? */
static bool sets_alike(const struct profile_scope *scope)
{
	const struct profile_set *first = scope->sets;

	for (u32 i = 1; i < scope->set_count; i++) {
		if (scope->sets[i].sample_count != first->sample_count)
			return false;
		for (u32 k = 0; k < first->sample_count; k++)
			if (!sample_alike(&first->samples[k], &scope->sets[i].samples[k]))
				return false;
	}
	return true;
}

/* Row k of sets that list the same samples. */
static void put_row(struct encoder *e, const struct profile_set *sets, const struct set_columns *columns, u32 count,
		    u32 k, struct str resource_labels)
{
	s64 values[COLUMNS_MAX] = { 0 };

	for (u32 i = 0; i < count; i++) {
		u64 value = (u64)profile_sample_value(&sets[i].samples[k]);

		values[columns[i].value] += value;
		if (columns[i].time != NO_COLUMN)
			values[columns[i].time] += value * (u64)sets[i].period;
	}
	put_sample(e, &sets[0].samples[k], values, resource_labels);
}

static void put_scope(struct encoder *e, const struct profile_scope *scope, struct str resource_labels)
{
	u32 step = sets_alike(scope) ? scope->set_count : 1;
	struct set_columns *columns = arena_alloc(&e->arena, scope->set_count * sizeof(*columns));
	u64 own = own_columns(e, scope);

	if (!columns) {
		fail(e, arena_err(&e->arena));
		return;
	}
	for (u32 i = 0; i < scope->set_count; i++)
		columns[i] = set_columns(e, own, &scope->sets[i]);
	for (u32 i = 0; i < scope->set_count; i += step)
		for (u32 k = 0; k < scope->sets[i].sample_count; k++)
			put_row(e, &scope->sets[i], &columns[i], step, k, resource_labels);
}

static void put_resource(struct encoder *e, const struct profile_resource *resource)
{
	size_t start = e->labels.len;
	struct str labels = { 0 };

	for (u32 i = 0; i < resource->attribute_count; i++) {
		const struct keyvalue *kv = &resource->attributes[i];

		if (e->dialect->other_resources || other_name(e->dialect->labels, kv->key))
			put_label(e, kv->key, &kv->value, 0);
	}
	if (buf_err(&e->labels)) {
		fail(e, buf_err(&e->labels));
		return;
	}
	if (e->labels.len > start)
		labels = (struct str){ e->labels.data + start, (u32)(e->labels.len - start) };
	for (u32 i = 0; i < resource->scope_count; i++)
		put_scope(e, &resource->scopes[i], labels);
	e->labels.len = start;
}

/* ---- Mappings, locations, functions ---------------------------------------- */

static void note_location(struct encoder *e, const struct profile_location *l)
{
	struct mapping_flags *flags = &e->flags[l->mapping];

	flags->used = true;
	flags->inlined |= l->line_count > 1;
	if (!l->line_count)
		flags->lacks[0] = true;
	for (u32 i = 0; i < l->line_count; i++) {
		const struct profile_function *f = &e->p->functions.at[l->lines[i].function];

		flags->lacks[0] |= !f->name && !f->system_name;
		flags->lacks[1] |= !f->filename;
		flags->lacks[2] |= !l->lines[i].line;
	}
}

/* As the mapping's attributes say, else true if all its locations have it. */
static bool mapping_flag(const struct encoder *e, u32 mapping, int flag)
{
	const struct mapping_flags *flags = &e->flags[mapping];
	const struct any *said = profile_attribute_find(e->p, e->p->mappings.at[mapping].attributes,
							pprof_flag_names[flag]);

	if (said && said->kind == ANY_BOOL)
		return said->boolean;
	if (!flags->used || flags->lacks[0])
		return false;
	return flag == 3 ? flags->inlined : !flags->lacks[flag];
}

static u64 build_id(struct encoder *e, const struct profile_mapping *m)
{
	static const char *const kinds[] = { PPROF_BUILD_ID_GNU, PPROF_BUILD_ID_GO, PPROF_BUILD_ID_HTLHASH };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct any *id = profile_attribute_find(e->p, m->attributes, kinds[i]);

		if (id && id->kind == ANY_STRING && id->string.len)
			return extra_string(e, id->string.at, id->string.len);
	}
	return 0;
}

static void put_mapping(struct encoder *e, u32 index)
{
	const struct profile_mapping *m = &e->p->mappings.at[index];
	size_t mark = pb_begin(e->out, 3);

	pb_put_varint(e->out, 1, index);
	pb_put_varint_nonzero(e->out, 2, m->start_va);
	pb_put_varint_nonzero(e->out, 3, m->limit_va);
	pb_put_varint_nonzero(e->out, 4, m->file_offset);
	pb_put_varint_nonzero(e->out, 5, m->filename);
	pb_put_varint_nonzero(e->out, 6, build_id(e, m));
	for (int flag = 0; flag < PPROF_MAPPING_FLAGS; flag++)
		pb_put_varint_nonzero(e->out, 7 + flag, mapping_flag(e, index, flag));
	pb_end(e->out, mark);
}

static struct str base_name(struct str path)
{
	const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;

	return slash ? (struct str){ slash + 1, (u32)(path.at + path.len - slash - 1) } : path;
}

/* The file name of the program that was sampled most, or an empty one. */
static struct str main_executable(const struct encoder *e)
{
	struct str name = { 0 };
	u64 most = 0;

	for (u32 i = 0; i < e->p->resources.count; i++) {
		const struct profile_resource *r = &e->p->resources.at[i];
		const struct any *path = keyvalue_find(r->attributes, r->attribute_count, "process.executable.path");
		u64 weight;

		if (!path)
			path = keyvalue_find(r->attributes, r->attribute_count, "process.executable.name");
		if (!path || path->kind != ANY_STRING)
			continue;
		weight = profile_resource_samples(r);
		if (weight > most) {
			most = weight;
			name = base_name(path->string);
		}
	}
	return name;
}

/* pprof names a profile after its first mapping, which should be the main program's. */
static void put_mappings(struct encoder *e)
{
	struct str name = main_executable(e);
	u32 first = 0;

	for (u32 i = 1; i < e->p->mappings.count && name.len && !first; i++)
		if (str_equal(base_name(string_of(e, e->p->mappings.at[i].filename)), name))
			first = i;
	if (first)
		put_mapping(e, first);
	for (u32 i = 1; i < e->p->mappings.count; i++)
		if (i != first)
			put_mapping(e, i);
}

static void put_location(struct encoder *e, u32 index)
{
	const struct profile_location *l = &e->p->locations.at[index];
	const struct any *folded = l->attributes.count ? profile_attribute_find(e->p, l->attributes, PPROF_IS_FOLDED)
						       : NULL;
	size_t mark = pb_begin(e->out, 4), line;

	pb_put_varint(e->out, 1, index);
	pb_put_varint_nonzero(e->out, 2, l->mapping);
	pb_put_varint_nonzero(e->out, 3, l->address);
	for (u32 i = 0; i < l->line_count; i++) {
		if (!l->lines[i].function)
			continue;
		line = pb_begin(e->out, 4);
		pb_put_varint(e->out, 1, l->lines[i].function);
		pb_put_varint_nonzero(e->out, 2, (u64)l->lines[i].line);
		pb_put_varint_nonzero(e->out, 3, (u64)l->lines[i].column);
		pb_end(e->out, line);
	}
	pb_put_varint_nonzero(e->out, 5, folded && folded->kind == ANY_BOOL && folded->boolean);
	pb_end(e->out, mark);
}

static void put_function(struct encoder *e, u32 index)
{
	const struct profile_function *f = &e->p->functions.at[index];
	size_t mark = pb_begin(e->out, 5);

	pb_put_varint(e->out, 1, index);
	pb_put_varint_nonzero(e->out, 2, f->name);
	pb_put_varint_nonzero(e->out, 3, f->system_name);
	pb_put_varint_nonzero(e->out, 4, f->filename);
	pb_put_varint_nonzero(e->out, 5, (u64)f->start_line);
	pb_end(e->out, mark);
}

static int put_tables(struct encoder *e)
{
	e->flags = calloc(e->p->mappings.count, sizeof(*e->flags));
	if (!e->flags)
		return -ENOMEM;
	for (u32 i = 1; i < e->p->locations.count; i++)
		note_location(e, &e->p->locations.at[i]);
	put_mappings(e);
	for (u32 i = 1; i < e->p->locations.count; i++)
		put_location(e, i);
	for (u32 i = 1; i < e->p->functions.count; i++)
		put_function(e, i);
	return 0;
}

/* ---- The profile ----------------------------------------------------------- */

static void put_type(struct encoder *e, u32 number, struct profile_type type)
{
	const char *other = other_type(e, string_of(e, type.type));
	size_t mark = pb_begin(e->out, number);

	pb_put_varint_nonzero(e->out, 1, other ? extra_string(e, other, strlen(other)) : type.type);
	pb_put_varint_nonzero(e->out, 2, type.unit);
	pb_end(e->out, mark);
}

/* What pprof says once for the file: time and period of all sets, texts of the first set that has them. */
struct header {
	u64 start_ns, end_ns;
	const struct profile_set *periodic;
	const struct any *comment, *doc_url, *drop_frames, *keep_frames, *default_type;
};

static void header_text(const struct encoder *e, const struct profile_set *set, const char *key,
			const struct any **ret_text)
{
	if (!*ret_text)
		*ret_text = profile_attribute_find(e->p, set->attributes, key);
}

static void header_note(const struct encoder *e, const struct profile_set *set, struct header *h)
{
	u64 end = set->time_unix_ns + set->duration_ns;

	if (set->time_unix_ns && (!h->start_ns || set->time_unix_ns < h->start_ns))
		h->start_ns = set->time_unix_ns;
	h->end_ns = end > h->end_ns ? end : h->end_ns;
	/* One for the file: that which makes time of counts, where there is one. */
	if ((!h->periodic && (set->period || set->period_type.type)) ||
	    (h->periodic && is_timed(e, set) && !is_timed(e, h->periodic)))
		h->periodic = set;
	header_text(e, set, PPROF_COMMENT, &h->comment);
	header_text(e, set, PPROF_DOC_URL, &h->doc_url);
	header_text(e, set, PPROF_DROP_FRAMES, &h->drop_frames);
	header_text(e, set, PPROF_KEEP_FRAMES, &h->keep_frames);
}

static void find_header(const struct encoder *e, struct header *h)
{
	for (u32 r = 0; r < e->p->resources.count; r++) {
		const struct profile_resource *resource = &e->p->resources.at[r];

		for (u32 s = 0; s < resource->scope_count; s++) {
			const struct profile_scope *scope = &resource->scopes[s];

			const struct any *type = keyvalue_find(scope->attributes, scope->attribute_count,
							       PPROF_DEFAULT_TYPE);

			if (!h->default_type && any_text(type).len)
				h->default_type = type;
			for (u32 i = 0; i < scope->set_count; i++)
				header_note(e, &scope->sets[i], h);
		}
	}
}

static u64 text_index(struct encoder *e, const struct any *text)
{
	return text && text->kind == ANY_STRING ? extra_string(e, text->string.at, text->string.len) : 0;
}

/* As the profile says, else as the dialect does. */
static u64 default_type(struct encoder *e, const struct any *said)
{
	const char *other = said ? other_type(e, any_text(said)) : NULL;

	if (said)
		return other ? extra_string(e, other, strlen(other)) : text_index(e, said);
	for (u32 i = 0; i < e->column_count && e->dialect->default_type; i++) {
		other = other_type(e, string_of(e, e->columns[i].type));
		if (other && !strcmp(other, e->dialect->default_type))
			return extra_string(e, other, strlen(other));
	}
	return 0;
}

/* A text, or a list of them. */
static void put_comments(struct encoder *e, const struct any *comment)
{
	bool is_list = comment && comment->kind == ANY_ARRAY;
	u32 count = is_list ? comment->count : comment != NULL;

	for (u32 i = 0; i < count; i++) {
		const struct any *text = is_list ? &comment->array[i] : comment;

		if (text->kind == ANY_STRING)
			pb_put_varint(e->out, 13, text_index(e, text));
	}
}

static void put_header(struct encoder *e)
{
	struct header h = { 0 };

	find_header(e, &h);
	pb_put_varint_nonzero(e->out, 7, text_index(e, h.drop_frames));
	pb_put_varint_nonzero(e->out, 8, text_index(e, h.keep_frames));
	pb_put_varint_nonzero(e->out, 9, h.start_ns);
	pb_put_varint_nonzero(e->out, 10, h.end_ns - h.start_ns);
	if (h.periodic) {
		put_type(e, 11, h.periodic->period_type);
		pb_put_varint_nonzero(e->out, 12, (u64)h.periodic->period);
	}
	put_comments(e, h.comment);
	pb_put_varint_nonzero(e->out, 14, default_type(e, h.default_type));
	pb_put_varint_nonzero(e->out, 15, text_index(e, h.doc_url));
}

static int encode(struct encoder *e)
{
	int r = put_attribute_labels(e);

	if (r < 0)
		return r;
	find_columns(e);
	for (u32 i = 0; i < e->column_count; i++)
		put_type(e, 1, e->columns[i]);
	for (u32 i = 0; i < e->p->resources.count && !e->err; i++)
		put_resource(e, &e->p->resources.at[i]);
	r = put_tables(e);
	if (r < 0)
		return r;
	put_header(e);
	/* Last, when all strings are known. */
	for (u32 i = 0; i < e->p->strings.count; i++)
		pb_put_string(e->out, 6, e->p->strings.at[i].at, e->p->strings.at[i].len);
	for (u32 i = 0; i < e->extra.count; i++)
		pb_put_string(e->out, 6, interner_get(&e->extra, i)->at, interner_get(&e->extra, i)->len);
	return e->err ? e->err : buf_err(e->out);
}

int pprof_encode_as(const struct profile *profile, const struct pprof_dialect *dialect, struct buf *out)
{
	_cleanup_(encoder_done) struct encoder e;

	encoder_init(&e, profile, dialect, out);
	return encode(&e);
}

int pprof_encode(const struct profile *profile, struct buf *out)
{
	static const struct pprof_dialect plain = { .labels = pprof_names, .other_resources = true };

	return pprof_encode_as(profile, &plain, out);
}
