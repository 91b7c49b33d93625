// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/pb.h"

static void put_str(struct buf *b, u32 number, struct str s)
{
	pb_put_string_nonempty(b, number, s.at, s.len);
}

static void put_indices(struct buf *b, u32 number, struct indices list)
{
	pb_put_packed_u32(b, number, list.at, list.count);
}

/* ---- Values ---------------------------------------------------------------- */

static void put_keyvalues(struct buf *b, u32 number, const struct keyvalue *at, u32 count);

static void put_any(struct buf *b, u32 number, const struct any *value)
{
	size_t mark = pb_begin(b, number), list;
	u64 bits;

	switch (value->kind) {
	case ANY_NONE:
		break;
	case ANY_STRING:
		pb_put_string(b, 1, value->string.at, value->string.len);
		break;
	case ANY_BOOL:
		pb_put_varint(b, 2, value->boolean);
		break;
	case ANY_INT:
		pb_put_varint(b, 3, (u64)value->integer);
		break;
	case ANY_DOUBLE:
		memcpy(&bits, &value->real, sizeof(bits));
		pb_put_fixed64(b, 4, bits);
		break;
	case ANY_ARRAY:
		list = pb_begin(b, 5);
		for (u32 i = 0; i < value->count; i++)
			put_any(b, 1, &value->array[i]);
		pb_end(b, list);
		break;
	case ANY_MAP:
		list = pb_begin(b, 6);
		put_keyvalues(b, 1, value->map, value->count);
		pb_end(b, list);
		break;
	case ANY_BYTES:
		pb_put_bytes(b, 7, value->string.at, value->string.len);
		break;
	}
	pb_end(b, mark);
}

static void put_keyvalues(struct buf *b, u32 number, const struct keyvalue *at, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		size_t mark = pb_begin(b, number);

		put_str(b, 1, at[i].key);
		put_any(b, 2, &at[i].value);
		pb_end(b, mark);
	}
}

/* ---- The dictionary -------------------------------------------------------- */

static void put_mappings(struct buf *b, const struct profile *p)
{
	for (u32 i = 0; i < p->mappings.count; i++) {
		const struct profile_mapping *m = &p->mappings.at[i];
		size_t mark = pb_begin(b, 1);

		pb_put_varint_nonzero(b, 1, m->start_va);
		pb_put_varint_nonzero(b, 2, m->limit_va);
		pb_put_varint_nonzero(b, 3, m->file_offset);
		pb_put_varint_nonzero(b, 4, m->filename);
		put_indices(b, 5, m->attributes);
		pb_end(b, mark);
	}
}

static void put_line(struct buf *b, const struct profile_line *line)
{
	size_t mark = pb_begin(b, 3);

	pb_put_varint_nonzero(b, 1, line->function);
	pb_put_varint_nonzero(b, 2, (u64)line->line);
	pb_put_varint_nonzero(b, 3, (u64)line->column);
	pb_end(b, mark);
}

static void put_locations(struct buf *b, const struct profile *p)
{
	for (u32 i = 0; i < p->locations.count; i++) {
		const struct profile_location *l = &p->locations.at[i];
		size_t mark = pb_begin(b, 2);

		pb_put_varint_nonzero(b, 1, l->mapping);
		pb_put_varint_nonzero(b, 2, l->address);
		for (u32 k = 0; k < l->line_count; k++)
			put_line(b, &l->lines[k]);
		put_indices(b, 4, l->attributes);
		pb_end(b, mark);
	}
}

static void put_functions(struct buf *b, const struct profile *p)
{
	for (u32 i = 0; i < p->functions.count; i++) {
		const struct profile_function *f = &p->functions.at[i];
		size_t mark = pb_begin(b, 3);

		pb_put_varint_nonzero(b, 1, f->name);
		pb_put_varint_nonzero(b, 2, f->system_name);
		pb_put_varint_nonzero(b, 3, f->filename);
		pb_put_varint_nonzero(b, 4, (u64)f->start_line);
		pb_end(b, mark);
	}
}

/* The first link is written as zero bytes, not as an empty message: some readers refuse ids of length 0. */
static void put_links(struct buf *b, const struct profile *p)
{
	for (u32 i = 0; i < p->links.count; i++) {
		size_t mark = pb_begin(b, 4);

		pb_put_bytes(b, 1, p->links.at[i].trace_id, sizeof(p->links.at[i].trace_id));
		pb_put_bytes(b, 2, p->links.at[i].span_id, sizeof(p->links.at[i].span_id));
		pb_end(b, mark);
	}
}

static void put_attributes(struct buf *b, const struct profile *p)
{
	for (u32 i = 0; i < p->attributes.count; i++) {
		const struct profile_attribute *a = &p->attributes.at[i];
		size_t mark = pb_begin(b, 6);

		pb_put_varint_nonzero(b, 1, a->key);
		if (a->value.kind != ANY_NONE)
			put_any(b, 2, &a->value);
		pb_put_varint_nonzero(b, 3, a->unit);
		pb_end(b, mark);
	}
}

static void put_dictionary(struct buf *b, const struct profile *p)
{
	size_t mark = pb_begin(b, 2);

	put_mappings(b, p);
	put_locations(b, p);
	put_functions(b, p);
	put_links(b, p);
	for (u32 i = 0; i < p->strings.count; i++)
		pb_put_string(b, 5, p->strings.at[i].at, p->strings.at[i].len);
	put_attributes(b, p);
	for (u32 i = 0; i < p->stacks.count; i++) {
		size_t stack = pb_begin(b, 7);

		put_indices(b, 1, p->stacks.at[i]);
		pb_end(b, stack);
	}
	pb_end(b, mark);
}

/* ---- Resources, scopes, profiles, samples ---------------------------------- */

/*
 * Values and times are pairs or one of them is absent. One value for many
 * times has no form in OTLP: the times stand for it where it counts them,
 * else the value goes alone.
 */
static void put_values(struct buf *b, const struct profile_sample *s)
{
	bool odd = s->value_count && s->time_count && s->value_count != s->time_count;
	bool counts = odd && s->values[0] == s->time_count;

	if (!counts)
		pb_put_packed_s64(b, 4, s->values, s->value_count);
	if (!odd || counts)
		pb_put_packed_fixed64(b, 5, s->times_unix_ns, s->time_count);
}

static void put_sample(struct buf *b, const struct profile_sample *s)
{
	size_t mark = pb_begin(b, 2);

	pb_put_varint_nonzero(b, 1, s->stack);
	put_indices(b, 2, s->attributes);
	pb_put_varint_nonzero(b, 3, s->link);
	put_values(b, s);
	pb_end(b, mark);
}

static void put_type(struct buf *b, u32 number, struct profile_type type)
{
	size_t mark;

	if (!type.type && !type.unit)
		return;
	mark = pb_begin(b, number);
	pb_put_varint_nonzero(b, 1, type.type);
	pb_put_varint_nonzero(b, 2, type.unit);
	pb_end(b, mark);
}

static void put_set(struct buf *b, const struct profile_set *set)
{
	size_t mark = pb_begin(b, 2);

	put_type(b, 1, set->sample_type);
	for (u32 i = 0; i < set->sample_count; i++)
		put_sample(b, &set->samples[i]);
	pb_put_fixed64_nonzero(b, 3, set->time_unix_ns);
	pb_put_varint_nonzero(b, 4, set->duration_ns);
	put_type(b, 5, set->period_type);
	pb_put_varint_nonzero(b, 6, (u64)set->period);
	if (set->has_profile_id)
		pb_put_bytes(b, 7, set->profile_id, sizeof(set->profile_id));
	pb_put_varint_nonzero(b, 8, set->dropped_attributes_count);
	put_str(b, 9, set->original_format);
	if (set->original_payload.len)
		pb_put_bytes(b, 10, set->original_payload.at, set->original_payload.len);
	put_indices(b, 11, set->attributes);
	pb_end(b, mark);
}

static void put_scope(struct buf *b, const struct profile_scope *scope)
{
	size_t mark = pb_begin(b, 2), inner = pb_begin(b, 1);

	put_str(b, 1, scope->name);
	put_str(b, 2, scope->version);
	put_keyvalues(b, 3, scope->attributes, scope->attribute_count);
	pb_put_varint_nonzero(b, 4, scope->dropped_attributes_count);
	pb_end(b, inner);
	for (u32 i = 0; i < scope->set_count; i++)
		put_set(b, &scope->sets[i]);
	put_str(b, 3, scope->schema_url);
	pb_end(b, mark);
}

static void put_resource(struct buf *b, const struct profile_resource *resource)
{
	size_t mark = pb_begin(b, 1), inner = pb_begin(b, 1);

	put_keyvalues(b, 1, resource->attributes, resource->attribute_count);
	pb_put_varint_nonzero(b, 2, resource->dropped_attributes_count);
	pb_end(b, inner);
	for (u32 i = 0; i < resource->scope_count; i++)
		put_scope(b, &resource->scopes[i]);
	put_str(b, 3, resource->schema_url);
	pb_end(b, mark);
}

int otlp_encode(const struct profile *profile, struct buf *out)
{
	for (u32 i = 0; i < profile->resources.count; i++)
		put_resource(out, &profile->resources.at[i]);
	put_dictionary(out, profile);
	return buf_err(out);
}
