// SPDX-License-Identifier: Apache-2.0
/*
 * The file is walked once for strings, ids and types, once for functions and
 * mappings, once for locations, once for samples: fields may come in any order and
 * refer to each other. Labels repeat from sample to sample, so each distinct
 * one is understood once and found again by its bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hex.h"
#include "base/interner.h"
#include "base/str.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "profile/table.h"
#include "wire/idmap.h"
#include "wire/pb.h"
#include "wire/pprof/pprof.h"

#define SCRATCH_BYTES_MAX ((size_t)1 << 30)

enum pprof_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE,
	PPROF_MAPPING,
	PPROF_LOCATION,
	PPROF_FUNCTION,
	PPROF_STRING,
	PPROF_DROP,
	PPROF_KEEP,
	PPROF_TIME,
	PPROF_DURATION,
	PPROF_PERIOD_TYPE,
	PPROF_PERIOD,
	PPROF_COMMENTS,
	PPROF_DEFAULT,
	PPROF_URL,
};

/* A distinct label, as what it is in our model. */
enum label_kind { LABEL_ATTRIBUTE, LABEL_RESOURCE, LABEL_TRACE, LABEL_SPAN };

struct label {
	enum label_kind kind;
	u32 attribute;			/* index; also of a resource's attribute, before it is copied there */
	u8 id[16];
};

struct list {
	u32 *at;
	u32 count, cap;
};

struct decoder {
	struct profile *profile;
	struct idmap functions, mappings, locations;
	struct arena arena;
	struct interner label_bytes;	/* a label's message, its number the index of labels */
	struct label *labels;
	u32 label_cap;
	struct interner resources;	/* the attributes of a resource, its number the index of profile->resources */
	struct list stack, attributes, resource;	/* of the sample being read */
	struct profile_type *types;
	u32 type_count;
	struct profile_set header;	/* what all sets share */
	u32 default_type;		/* string */
};

static void decoder_init(struct decoder *d, struct profile *profile)
{
	*d = (struct decoder){ .profile = profile };
	arena_init(&d->arena, SCRATCH_BYTES_MAX);
	interner_init(&d->label_bytes, &d->arena, PROFILE_TABLE_MAX);
	interner_init(&d->resources, &d->arena, PROFILE_TABLE_MAX);
}

static void decoder_done(struct decoder *d)
{
	idmap_done(&d->functions);
	idmap_done(&d->mappings);
	idmap_done(&d->locations);
	interner_done(&d->label_bytes);
	interner_done(&d->resources);
	arena_done(&d->arena);
	free(d->labels);
	free(d->stack.at);
	free(d->attributes.at);
	free(d->resource.at);
}

static void fail(struct pb *r, int err)
{
	pb_inherit(r, &(struct pb){ .err = err });
}

static void list_add(struct pb *r, struct list *list, u32 value)
{
	int err = array_grow(&list->at, &list->cap, list->count, PROFILE_TABLE_MAX, sizeof(*list->at));

	if (err < 0)
		fail(r, err);
	else
		list->at[list->count++] = value;
}

/* Room for so many more. */
static bool list_reserve(struct pb *r, struct list *list, size_t count)
{
	int err = 0;

	while (list->cap - list->count < count && err == 0)
		err = array_grow(&list->at, &list->cap, list->cap, PROFILE_TABLE_MAX, sizeof(*list->at));
	if (err < 0)
		fail(r, err);
	return count && err == 0;
}

static struct str string_of(const struct decoder *d, u32 index)
{
	return index < d->profile->strings.count ? d->profile->strings.at[index] : (struct str){ 0 };
}

/* ---- Strings, ids and the header ------------------------------------------- */

static void read_string(struct decoder *d, struct pb *r, struct pb body, bool *seen)
{
	struct str s = profile_copy_str(d->profile, (const char *)body.at, pb_left(&body));

	if (*seen)
		profile_append_string(d->profile, s);
	else if (s.len)
		fail(r, -EBADMSG);
	*seen = true;
	if (profile_err(d->profile))
		fail(r, profile_err(d->profile));
}

static struct profile_type read_type(struct pb *r, struct pb message)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(profile_type, type),
		[2] = PB_MEMBER(profile_type, unit),
	};
	struct profile_type type = { 0 };

	PB_READ_MEMBERS(r, message, members, &type);
	return type;
}

static void read_id(struct pb *r, struct idmap *map, struct pb message)
{
	struct pb_field f;
	u64 id = 0;
	int err;

	while (pb_step(&message, &f))
		if (f.number == 1)
			id = pb_u64(&message, &f);
	pb_inherit(r, &message);
	err = idmap_add(map, id);
	if (err < 0)
		fail(r, err);
}

static void read_scalar(struct decoder *d, struct pb *r, const struct pb_field *f)
{
	switch (f->number) {
	case PPROF_TIME:
		d->header.time_unix_ns = pb_u64(r, f);
		break;
	case PPROF_DURATION:
		d->header.duration_ns = pb_u64(r, f);
		break;
	case PPROF_PERIOD_TYPE:
		d->header.period_type = read_type(r, pb_body(r, f));
		break;
	case PPROF_PERIOD:
		d->header.period = (s64)pb_u64(r, f);
		break;
	case PPROF_DEFAULT:
		d->default_type = pb_u32(r, f);
		break;
	}
}

/* Strings, types and numbers; how many rows the tables have and under which ids. */
static void read_first(struct decoder *d, struct pb *r)
{
	struct pb_field f;
	u32 type_cap = 0;
	bool string_seen = false;

	for (struct pb m = *r; pb_step(&m, &f);)
		type_cap += f.number == PPROF_SAMPLE_TYPE;
	d->types = profile_alloc(d->profile, (size_t)type_cap * sizeof(*d->types));
	if (!d->types)
		fail(r, profile_err(d->profile));
	while (pb_step(r, &f)) {
		switch (f.number) {
		case PPROF_SAMPLE_TYPE:
			d->types[d->type_count++] = read_type(r, pb_body(r, &f));
			break;
		case PPROF_MAPPING:
			read_id(r, &d->mappings, pb_body(r, &f));
			break;
		case PPROF_LOCATION:
			read_id(r, &d->locations, pb_body(r, &f));
			break;
		case PPROF_FUNCTION:
			read_id(r, &d->functions, pb_body(r, &f));
			break;
		case PPROF_STRING:
			read_string(d, r, pb_body(r, &f), &string_seen);
			break;
		default:
			read_scalar(d, r, &f);
		}
	}
	if (!string_seen)
		fail(r, -EBADMSG);
}

/* ---- Tables ---------------------------------------------------------------- */

static void read_function(struct decoder *d, struct pb *r, struct pb message)
{
	static const struct pb_member members[] = {
		[2] = PB_MEMBER(profile_function, name),
		[3] = PB_MEMBER(profile_function, system_name),
		[4] = PB_MEMBER(profile_function, filename),
		[5] = PB_MEMBER(profile_function, start_line),
	};
	struct profile_function row = { 0 };

	PB_READ_MEMBERS(r, message, members, &row);
	profile_append_function(d->profile, &row);
}

static u32 add_bool(struct decoder *d, const char *key, bool value)
{
	struct profile_attribute a = { .key = profile_add_cstring(d->profile, key),
				       .value = { .kind = ANY_BOOL, .boolean = value } };

	return profile_add_attribute(d->profile, &a);
}

static u32 add_text(struct decoder *d, const char *key, struct str text)
{
	struct profile_attribute a = { .key = profile_add_cstring(d->profile, key),
				       .value = { .kind = ANY_STRING, .string = text } };

	return profile_add_attribute(d->profile, &a);
}

struct mapping_message {
	struct profile_mapping row;
	u32 build_id;
	u64 flags[PPROF_MAPPING_FLAGS];
};

static void read_mapping(struct decoder *d, struct pb *r, struct pb message)
{
	static const struct pb_member members[] = {
		[2] = PB_MEMBER(mapping_message, row.start_va),
		[3] = PB_MEMBER(mapping_message, row.limit_va),
		[4] = PB_MEMBER(mapping_message, row.file_offset),
		[5] = PB_MEMBER(mapping_message, row.filename),
		[6] = PB_MEMBER(mapping_message, build_id),
		[7] = PB_MEMBER(mapping_message, flags[0]),
		[8] = PB_MEMBER(mapping_message, flags[1]),
		[9] = PB_MEMBER(mapping_message, flags[2]),
		[10] = PB_MEMBER(mapping_message, flags[3]),
	};
	struct mapping_message m = { 0 };
	u32 attributes[1 + PPROF_MAPPING_FLAGS], count = 0;
	struct str id;

	PB_READ_MEMBERS(r, message, members, &m);
	id = string_of(d, m.build_id);
	/* pprof does not say which kind of build id it is; Go's has slashes, GNU's is hexadecimal. */
	if (id.len)
		attributes[count++] = add_text(d, memchr(id.at, '/', id.len) ? PPROF_BUILD_ID_GO : PPROF_BUILD_ID_GNU,
					       id);
	for (int i = 0; i < PPROF_MAPPING_FLAGS; i++)
		attributes[count++] = add_bool(d, pprof_flag_names[i], m.flags[i] != 0);
	m.row.attributes = profile_copy_indices(d->profile, attributes, count);
	profile_append_mapping(d->profile, &m.row);
}

struct line_message {
	u64 function_id;
	s64 line, column;
};

static struct profile_line read_line(struct decoder *d, struct pb *r, struct pb message)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(line_message, function_id),
		[2] = PB_MEMBER(line_message, line),
		[3] = PB_MEMBER(line_message, column),
	};
	struct line_message m = { 0 };
	u32 function;

	PB_READ_MEMBERS(r, message, members, &m);
	function = idmap_find(&d->functions, m.function_id);
	if (!function)
		fail(r, -EBADMSG);
	return (struct profile_line){ .function = function, .line = m.line, .column = m.column };
}

struct location_message {
	u64 mapping_id, address, is_folded;
};

static void read_location(struct decoder *d, struct pb *r, struct pb message)
{
	static const struct pb_member members[] = {
		[2] = PB_MEMBER(location_message, mapping_id),
		[3] = PB_MEMBER(location_message, address),
		[5] = PB_MEMBER(location_message, is_folded),
	};
	struct location_message m = { 0 };
	struct profile_location row = { 0 };
	struct profile_line *lines;
	struct pb_field f;
	u32 count = 0, folded;

	for (struct pb skim = message; pb_step(&skim, &f);)
		count += f.number == 4;
	lines = profile_alloc(d->profile, (size_t)count * sizeof(*lines));
	while (lines && pb_step(&message, &f)) {
		if (f.number == 4)
			lines[row.line_count++] = read_line(d, &message, pb_body(&message, &f));
		else
			PB_READ_MEMBER(&message, &f, members, &m);
	}
	pb_inherit(r, &message);
	row.lines = lines;
	row.address = m.address;
	row.mapping = idmap_find(&d->mappings, m.mapping_id);
	if (m.mapping_id && !row.mapping)
		fail(r, -EBADMSG);
	if (m.is_folded) {
		folded = add_bool(d, PPROF_IS_FOLDED, true);
		row.attributes = profile_copy_indices(d->profile, &folded, 1);
	}
	profile_append_location(d->profile, &row);
}

static void read_tables(struct decoder *d, struct pb *r)
{
	struct pb again = *r;
	struct pb_field f;

	while (pb_step(r, &f)) {
		if (f.number == PPROF_FUNCTION)
			read_function(d, r, pb_body(r, &f));
		else if (f.number == PPROF_MAPPING)
			read_mapping(d, r, pb_body(r, &f));
	}
	while (!r->err && pb_step(&again, &f))
		if (f.number == PPROF_LOCATION)
			read_location(d, &again, pb_body(&again, &f));
	pb_inherit(r, &again);
	if (profile_err(d->profile))
		fail(r, profile_err(d->profile));
}

/* ---- Labels ---------------------------------------------------------------- */

struct label_message {
	u32 key, text, unit;
	s64 number;
};

static bool read_hex(struct str text, u8 *id, size_t len)
{
	if (text.len != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit(text.at[2 * i]), low = hex_digit(text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		id[i] = (u8)(high << 4 | low);
	}
	return true;
}

static struct label understand_label(struct decoder *d, const struct label_message *m)
{
	struct profile_attribute a = { .key = m->key, .unit = m->text ? 0 : m->unit };
	struct str key = string_of(d, m->key), text = string_of(d, m->text);
	struct label label = { .kind = LABEL_ATTRIBUTE };

	if (str_is(key, PPROF_TRACE_ID) && read_hex(text, label.id, sizeof(((struct profile_link *)0)->trace_id))) {
		label.kind = LABEL_TRACE;
		return label;
	}
	if (str_is(key, PPROF_SPAN_ID) && read_hex(text, label.id, sizeof(((struct profile_link *)0)->span_id))) {
		label.kind = LABEL_SPAN;
		return label;
	}
	for (const struct pprof_name *n = pprof_names; n->label; n++)
		if (str_is(key, n->label)) {
			a.key = profile_add_cstring(d->profile, n->attribute);
			key = string_of(d, a.key);
		}
	/* The writer's way to keep a number that is 0, see put_label(). */
	if (a.unit == m->key)
		a.unit = 0;
	if (m->text)
		a.value = (struct any){ .kind = ANY_STRING, .string = text };
	else
		a.value = (struct any){ .kind = ANY_INT, .integer = m->number };
	label.attribute = profile_add_attribute(d->profile, &a);
	label.kind = pprof_is_resource(key.at, key.len) && !a.unit ? LABEL_RESOURCE : LABEL_ATTRIBUTE;
	return label;
}

/* The label in a message, or NULL after an error. */
static const struct label *read_label(struct decoder *d, struct pb *r, struct pb message)
{
	static const struct pb_member members[] = {
		[1] = PB_MEMBER(label_message, key),
		[2] = PB_MEMBER(label_message, text),
		[3] = PB_MEMBER(label_message, number),
		[4] = PB_MEMBER(label_message, unit),
	};
	struct label_message m = { 0 };
	bool is_new;
	u32 number = interner_add(&d->label_bytes, message.at, pb_left(&message), &is_new);
	int err;

	if (number == INTERNER_NONE) {
		fail(r, -ENOMEM);
		return NULL;
	}
	if (!is_new)
		return &d->labels[number];
	err = array_grow(&d->labels, &d->label_cap, number, PROFILE_TABLE_MAX, sizeof(*d->labels));
	PB_READ_MEMBERS(r, message, members, &m);
	if (m.key >= d->profile->strings.count || m.text >= d->profile->strings.count)
		err = -EBADMSG;
	if (err < 0) {
		fail(r, err);
		return NULL;
	}
	d->labels[number] = understand_label(d, &m);
	return &d->labels[number];
}

/* ---- What all sets share --------------------------------------------------- */

static void read_comment(struct decoder *d, struct pb *r, const struct pb_field *f, struct list *comments)
{
	struct pb list;

	if (f->wire == PB_VARINT) {
		list_add(r, comments, pb_u32(r, f));
		return;
	}
	list = pb_body(r, f);
	while (list.at < list.end) {
		u64 index = pb_varint(&list);

		if (index >= d->profile->strings.count)
			fail(&list, -EBADMSG);
		else
			list_add(&list, comments, (u32)index);
	}
	pb_inherit(r, &list);
}

static u32 add_comments(struct decoder *d, const struct list *comments)
{
	struct any *texts = profile_alloc(d->profile, comments->count * sizeof(*texts));
	struct profile_attribute a = { .key = profile_add_cstring(d->profile, PPROF_COMMENT),
				       .value = { .kind = ANY_ARRAY, .count = comments->count, .array = texts } };

	for (u32 i = 0; texts && i < comments->count; i++)
		texts[i] = (struct any){ .kind = ANY_STRING, .string = string_of(d, comments->at[i]) };
	return texts ? profile_add_attribute(d->profile, &a) : 0;
}

/* Comments and the like become attributes of every set. The lists of samples serve as scratch. */
static void read_texts(struct decoder *d, struct pb *r)
{
	static const char *const names[] = { [PPROF_DROP] = PPROF_DROP_FRAMES, [PPROF_KEEP] = PPROF_KEEP_FRAMES,
					     [PPROF_URL] = PPROF_DOC_URL };
	struct list *comments = &d->stack, *attributes = &d->attributes;
	struct pb_field f;

	while (pb_step(r, &f)) {
		if (f.number == PPROF_COMMENTS)
			read_comment(d, r, &f, comments);
		else if (f.number <= PPROF_URL && names[f.number] && string_of(d, pb_u32(r, &f)).len)
			list_add(r, attributes, add_text(d, names[f.number], string_of(d, pb_u32(r, &f))));
	}
	if (comments->count)
		list_add(r, attributes, add_comments(d, comments));
	d->header.attributes = profile_copy_indices(d->profile, attributes->at, attributes->count);
	if (profile_err(d->profile))
		fail(r, profile_err(d->profile));
}

/* ---- Samples --------------------------------------------------------------- */

static struct profile_resource *add_resource(struct decoder *d, const struct list *attributes)
{
	struct keyvalue *kv = profile_alloc(d->profile, attributes->count * sizeof(*kv));
	struct profile_resource *resource;

	for (u32 i = 0; kv && i < attributes->count; i++) {
		const struct profile_attribute *a = &d->profile->attributes.at[attributes->at[i]];

		kv[i] = (struct keyvalue){ string_of(d, a->key), a->value };
	}
	resource = profile_add_resource(d->profile, NULL, 0);
	if (!kv || !resource)
		return NULL;
	resource->attributes = kv;
	resource->attribute_count = attributes->count;
	return resource;
}

/* A resource with one scope, and in it a set of each sample type. */
static struct profile_scope *add_scope(struct decoder *d, const struct list *attributes)
{
	struct profile_resource *resource = add_resource(d, attributes);
	struct profile_scope *scope = resource ? profile_add_scope(d->profile, resource) : NULL;
	struct keyvalue kv = { STR(PPROF_DEFAULT_TYPE),
			       { .kind = ANY_STRING, .string = string_of(d, d->default_type) } };

	if (scope && kv.value.string.len) {
		scope->attributes = profile_copy_keyvalues(d->profile, &kv, 1);
		scope->attribute_count = scope->attributes != NULL;
	}
	for (u32 i = 0; scope && i < d->type_count; i++) {
		struct profile_set *set = profile_add_set(d->profile, scope);

		if (!set)
			return NULL;
		*set = d->header;
		set->sample_type = d->types[i];
	}
	return scope;
}

/* The scope of the resource that the sample's labels describe; NULL once memory ran out. */
static struct profile_scope *find_scope(struct decoder *d)
{
	bool is_new;
	u32 number = interner_add(&d->resources, d->resource.at, d->resource.count * sizeof(*d->resource.at), &is_new);

	if (number == INTERNER_NONE)
		return NULL;
	return is_new ? add_scope(d, &d->resource) : &d->profile->resources.at[number].scopes[0];
}

static void add_location(struct decoder *d, struct pb *r, u64 id)
{
	u32 location = idmap_find(&d->locations, id);

	if (location)
		list_add(r, &d->stack, location);
	else
		fail(r, -EBADMSG);
}

static void read_location_ids(struct decoder *d, struct pb *r, const struct pb_field *f)
{
	struct pb list;

	if (f->wire == PB_VARINT) {
		add_location(d, r, f->value);
		return;
	}
	list = pb_body(r, f);
	if (d->locations.scattered) {
		while (list.at < list.end)
			add_location(d, &list, pb_varint(&list));
	} else if (list_reserve(r, &d->stack, pb_count(&list))) {
		d->stack.count += pb_unpack(&list, d->locations.count, false, d->stack.at + d->stack.count);
	}
	pb_inherit(r, &list);
}

static void read_values(struct decoder *d, struct pb *r, const struct pb_field *f, s64 *values, u32 *count)
{
	struct pb list = f->wire == PB_LEN ? f->body : (struct pb){ 0 };

	if (f->wire == PB_VARINT && *count < d->type_count)
		values[(*count)++] = (s64)f->value;
	else
		pb_is(r, f, PB_LEN);
	while (list.at < list.end) {
		s64 value = (s64)pb_varint(&list);

		if (*count >= d->type_count)
			fail(&list, -EBADMSG);
		else
			values[(*count)++] = value;
	}
	pb_inherit(r, &list);
}

static void sort_label(struct decoder *d, struct pb *r, const struct label *label, struct profile_link *link)
{
	switch (label->kind) {
	case LABEL_ATTRIBUTE:
		list_add(r, &d->attributes, label->attribute);
		break;
	case LABEL_RESOURCE:
		list_add(r, &d->resource, label->attribute);
		break;
	case LABEL_TRACE:
		memcpy(link->trace_id, label->id, sizeof(link->trace_id));
		break;
	case LABEL_SPAN:
		memcpy(link->span_id, label->id, sizeof(link->span_id));
		break;
	}
}

/* Each value goes to the set of its type. */
static int keep_sample(struct decoder *d, const struct profile_link *link, const s64 *values)
{
	struct profile_scope *scope = find_scope(d);
	struct profile_sample row = { .stack = profile_add_stack(d->profile, d->stack.at, d->stack.count),
				      .link = profile_add_link(d->profile, link),
				      .attributes = profile_copy_indices(d->profile, d->attributes.at,
									 d->attributes.count),
				      .value_count = 1 };

	for (u32 i = 0; scope && i < d->type_count; i++) {
		struct profile_sample *sample = profile_add_sample(d->profile, &scope->sets[i]);

		if (!sample)
			return profile_err(d->profile);
		row.values = &values[i];
		*sample = row;
	}
	return scope ? profile_err(d->profile) : -ENOMEM;
}

static void read_sample(struct decoder *d, struct pb *r, struct pb message)
{
	s64 *values = profile_alloc(d->profile, d->type_count * sizeof(*values));
	struct profile_link link = { 0 };
	const struct label *label;
	struct pb_field f;
	u32 value_count = 0;
	int err;

	d->stack.count = d->attributes.count = d->resource.count = 0;
	if (!values)
		fail(&message, profile_err(d->profile));
	while (pb_step(&message, &f)) {
		switch (f.number) {
		case 1:
			read_location_ids(d, &message, &f);
			break;
		case 2:
			read_values(d, &message, &f, values, &value_count);
			break;
		case 3:
			label = read_label(d, &message, pb_body(&message, &f));
			if (label)
				sort_label(d, &message, label, &link);
			break;
		}
	}
	if (value_count != d->type_count)
		fail(&message, -EBADMSG);
	pb_inherit(r, &message);
	err = r->err ? r->err : keep_sample(d, &link, values);
	if (err < 0)
		fail(r, err);
}

static void read_samples(struct decoder *d, struct pb *r)
{
	struct pb_field f;

	while (pb_step(r, &f))
		if (f.number == PPROF_SAMPLE)
			read_sample(d, r, pb_body(r, &f));
	/* A profile without samples keeps its types. */
	if (!r->err && !d->profile->resources.count && d->type_count && !add_scope(d, &(struct list){ 0 }))
		fail(r, -ENOMEM);
}

/* ---- The profile ----------------------------------------------------------- */

static int decode(struct decoder *d, const void *at, size_t bytes)
{
	static void (*const passes[])(struct decoder *, struct pb *) = { read_first, read_tables, read_texts,
									 read_samples };
	struct idmap *maps[] = { &d->functions, &d->mappings, &d->locations };

	for (size_t i = 0; i < sizeof(passes) / sizeof(*passes); i++) {
		struct pb r = pb_from(at, bytes);

		passes[i](d, &r);
		if (r.err)
			return r.err;
		for (size_t k = 0; i == 0 && k < sizeof(maps) / sizeof(*maps); k++) {
			int err = idmap_finish(maps[k]);

			if (err < 0)
				return err;
		}
	}
	return profile_err(d->profile) ? profile_err(d->profile) : profile_check(d->profile);
}

int pprof_decode(const void *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	_cleanup_(decoder_done) struct decoder d = { 0 };
	int r;

	if (!profile)
		return -ENOMEM;
	decoder_init(&d, profile);
	r = bytes > INT32_MAX ? -E2BIG : decode(&d, at, bytes);
	if (r < 0)
		return r;
	*ret_profile = TAKE(profile);
	return 0;
}
