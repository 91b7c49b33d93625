// SPDX-License-Identifier: Apache-2.0
#include "profile/dump_test.h"

#include "base/buf.h"
#include "profile/profile.h"
#include "test.h"

static void dump_str(struct buf *b, struct str s)
{
	buf_add(b, "\"", 1);
	while (s.len) {
		u32 len = (u32)strnlen(s.at, s.len);

		buf_add(b, s.at, len);
		if (len == s.len)
			break;
		buf_add(b, "\\0", 2);		/* the dump itself ends at a NUL */
		s = (struct str){ s.at + len + 1, s.len - len - 1 };
	}
	buf_addf(b, "\"");
}

static void dump_bytes(struct buf *b, const void *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_addf(b, "%02x", ((const u8 *)at)[i]);
}

static void dump_any(struct buf *b, const struct any *v)
{
	switch (v->kind) {
	case ANY_NONE:
		buf_addf(b, "none");
		break;
	case ANY_STRING:
		dump_str(b, v->string);
		break;
	case ANY_BOOL:
		buf_addf(b, "%s", v->boolean ? "true" : "false");
		break;
	case ANY_INT:
		buf_addf(b, "%lld", (long long)v->integer);
		break;
	case ANY_DOUBLE:
		buf_addf(b, "%a", v->real);
		break;
	case ANY_BYTES:
		buf_addf(b, "x");
		dump_bytes(b, v->string.at, v->string.len);
		break;
	case ANY_ARRAY:
		buf_addf(b, "[");
		for (u32 i = 0; i < v->count; i++) {
			dump_any(b, &v->array[i]);
			buf_addf(b, ",");
		}
		buf_addf(b, "]");
		break;
	case ANY_MAP:
		buf_addf(b, "{");
		for (u32 i = 0; i < v->count; i++) {
			dump_str(b, v->map[i].key);
			buf_addf(b, ":");
			dump_any(b, &v->map[i].value);
			buf_addf(b, ",");
		}
		buf_addf(b, "}");
		break;
	}
}

static void dump_keyvalues(struct buf *b, const char *head, const struct keyvalue *at, u32 count)
{
	buf_addf(b, "%s", head);
	for (u32 i = 0; i < count; i++) {
		buf_addf(b, " ");
		dump_str(b, at[i].key);
		buf_addf(b, "=");
		dump_any(b, &at[i].value);
	}
	buf_addf(b, "\n");
}

static void dump_attributes(struct buf *b, const struct profile *p, struct indices list)
{
	for (u32 i = 0; i < list.count; i++) {
		const struct profile_attribute *a = &p->attributes.at[list.at[i]];

		buf_addf(b, " ");
		dump_str(b, p->strings.at[a->key]);
		buf_addf(b, "=");
		dump_any(b, &a->value);
		if (a->unit)
			dump_str(b, p->strings.at[a->unit]);
	}
}

static void dump_mapping(struct buf *b, const struct profile *p, const struct profile_mapping *m)
{
	buf_addf(b, " in %llx-%llx@%llx ", m->start_va, m->limit_va, m->file_offset);
	dump_str(b, p->strings.at[m->filename]);
	dump_attributes(b, p, m->attributes);
}

static void dump_location(struct buf *b, const struct profile *p, const struct profile_location *l)
{
	buf_addf(b, "      %llx", l->address);
	if (l->mapping)
		dump_mapping(b, p, &p->mappings.at[l->mapping]);
	dump_attributes(b, p, l->attributes);
	buf_addf(b, "\n");
	for (u32 i = 0; i < l->line_count; i++) {
		const struct profile_function *f = &p->functions.at[l->lines[i].function];

		buf_addf(b, "        %lld:%lld ", l->lines[i].line, l->lines[i].column);
		dump_str(b, p->strings.at[f->name]);
		dump_str(b, p->strings.at[f->system_name]);
		dump_str(b, p->strings.at[f->filename]);
		buf_addf(b, " from %lld\n", f->start_line);
	}
}

static void dump_stack(struct buf *b, const struct profile *p, const struct profile_sample *s)
{
	if (s->link) {
		buf_addf(b, " link ");
		dump_bytes(b, &p->links.at[s->link], sizeof(struct profile_link));
	}
	buf_addf(b, "\n");
	for (u32 i = 0; i < p->stacks.at[s->stack].count; i++)
		dump_location(b, p, &p->locations.at[p->stacks.at[s->stack].at[i]]);
}

static void dump_sample(struct buf *b, const struct profile *p, const struct profile_sample *s)
{
	buf_addf(b, "    sample");
	for (u32 i = 0; i < s->value_count; i++)
		buf_addf(b, " %lld", s->values[i]);
	for (u32 i = 0; i < s->time_count; i++)
		buf_addf(b, " @%llu", s->times_unix_ns[i]);
	dump_attributes(b, p, s->attributes);
	dump_stack(b, p, s);
}

static void dump_types(struct buf *b, const struct profile *p, const struct profile_set *set)
{
	buf_addf(b, "  profile ");
	dump_str(b, p->strings.at[set->sample_type.type]);
	dump_str(b, p->strings.at[set->sample_type.unit]);
	buf_addf(b, " period %lld ", set->period);
	dump_str(b, p->strings.at[set->period_type.type]);
	dump_str(b, p->strings.at[set->period_type.unit]);
}

static void dump_set(struct buf *b, const struct profile *p, const struct profile_set *set)
{
	dump_types(b, p, set);
	buf_addf(b, " time %llu+%llu dropped %u id %d:", set->time_unix_ns, set->duration_ns,
		 set->dropped_attributes_count, set->has_profile_id);
	dump_bytes(b, set->profile_id, sizeof(set->profile_id));
	dump_str(b, set->original_format);
	dump_bytes(b, set->original_payload.at, set->original_payload.len);
	dump_attributes(b, p, set->attributes);
	buf_addf(b, "\n");
	for (u32 i = 0; i < set->sample_count; i++)
		dump_sample(b, p, &set->samples[i]);
}

static void dump_scope_name(struct buf *b, const struct profile_scope *scope)
{
	buf_addf(b, " scope ");
	dump_str(b, scope->name);
	dump_str(b, scope->version);
	dump_str(b, scope->schema_url);
}

static void dump_scope(struct buf *b, const struct profile *p, const struct profile_scope *scope)
{
	dump_scope_name(b, scope);
	buf_addf(b, " dropped %u", scope->dropped_attributes_count);
	dump_keyvalues(b, "", scope->attributes, scope->attribute_count);
	for (u32 i = 0; i < scope->set_count; i++)
		dump_set(b, p, &scope->sets[i]);
}

char *profile_dump(const struct profile *p)
{
	struct buf b;

	buf_init(&b, (size_t)1 << 30);
	for (u32 i = 0; i < p->resources.count; i++) {
		const struct profile_resource *resource = &p->resources.at[i];

		buf_addf(&b, "resource ");
		dump_str(&b, resource->schema_url);
		buf_addf(&b, " dropped %u", resource->dropped_attributes_count);
		dump_keyvalues(&b, "", resource->attributes, resource->attribute_count);
		for (u32 s = 0; s < resource->scope_count; s++)
			dump_scope(&b, p, &resource->scopes[s]);
	}
	buf_addf(&b, "%s", "");
	EQ(buf_err(&b), 0);
	return b.data;
}

/* ---- Totals ---------------------------------------------------------------- */

#define TOTALS_MAX 100000

struct total {
	char *key;
	u64 value, time_count, time_sum, pair_sum;
};

struct totals {
	struct total *at;
	u32 count;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their texts. */
static void total_attributes(struct buf *b, const struct profile *p, struct indices list)
{
	char *texts[16];

	OK(list.count <= 16);
	for (u32 i = 0; i < list.count; i++) {
		struct buf one;

		buf_init(&one, 1u << 20);
		dump_attributes(&one, p, (struct indices){ &list.at[i], 1 });
		texts[i] = one.data;
	}
	qsort(texts, list.count, sizeof(*texts), compare_texts);
	for (u32 i = 0; i < list.count; i++) {
		buf_addf(b, "%s", texts[i]);
		free(texts[i]);
	}
}

static void total_sample(struct totals *totals, const char *head, const struct profile *p,
			 const struct profile_sample *s)
{
	struct total *total = &totals->at[totals->count++];
	struct buf key;

	OK(totals->count <= TOTALS_MAX);
	buf_init(&key, 1u << 20);
	buf_addf(&key, "%s", head);
	total_attributes(&key, p, s->attributes);
	dump_stack(&key, p, s);
	EQ(buf_err(&key), 0);
	*total = (struct total){ .key = key.data, .time_count = s->time_count };
	for (u32 i = 0; i < s->value_count; i++)
		total->value += (u64)s->values[i];
	if (!s->value_count)
		total->value = s->time_count;
	for (u32 i = 0; i < s->time_count; i++) {
		total->time_sum += s->times_unix_ns[i];
		if (s->value_count == s->time_count)
			total->pair_sum += s->times_unix_ns[i] * (u64)s->values[i];
	}
}

static void total_set(struct totals *totals, const struct profile *p, const struct profile_resource *resource,
		      const struct profile_scope *scope, const struct profile_set *set)
{
	struct buf head;

	buf_init(&head, 1u << 20);
	dump_str(&head, resource->schema_url);
	dump_keyvalues(&head, "", resource->attributes, resource->attribute_count);
	dump_scope_name(&head, scope);
	dump_keyvalues(&head, "", scope->attributes, scope->attribute_count);
	dump_types(&head, p, set);
	total_attributes(&head, p, set->attributes);
	buf_addf(&head, "\n");
	EQ(buf_err(&head), 0);
	for (u32 i = 0; i < set->sample_count; i++)
		total_sample(totals, head.data, p, &set->samples[i]);
	buf_done(&head);
}

static void total_profile(struct totals *totals, const struct profile *p)
{
	for (u32 i = 0; i < p->resources.count; i++) {
		const struct profile_resource *resource = &p->resources.at[i];

		for (u32 s = 0; s < resource->scope_count; s++)
			for (u32 k = 0; k < resource->scopes[s].set_count; k++)
				total_set(totals, p, resource, &resource->scopes[s], &resource->scopes[s].sets[k]);
	}
}

char *profile_totals(const struct profile *const *profiles, unsigned int count)
{
	struct totals totals = { calloc(TOTALS_MAX + 1, sizeof(struct total)), 0 };
	struct buf out;

	for (unsigned int i = 0; i < count; i++)
		total_profile(&totals, profiles[i]);
	qsort(totals.at, totals.count, sizeof(*totals.at), compare_texts);
	buf_init(&out, (size_t)1 << 30);
	buf_addf(&out, "%s", "");
	for (u32 i = 0; i < totals.count; i++) {
		struct total *next = &totals.at[i + 1], t = totals.at[i];

		if (i + 1 < totals.count && !strcmp(next->key, t.key)) {
			next->value += t.value;
			next->time_count += t.time_count;
			next->time_sum += t.time_sum;
			next->pair_sum += t.pair_sum;
		} else {
			buf_addf(&out, "%s    value %lld times %llu %llx %llx\n", t.key, (long long)t.value,
				 t.time_count, t.time_sum, t.pair_sum);
		}
		free(t.key);
	}
	free(totals.at);
	EQ(buf_err(&out), 0);
	return out.data;
}
