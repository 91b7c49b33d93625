// SPDX-License-Identifier: Apache-2.0
#include "wire/forget_test.h"

#include "base/arena.h"
#include "base/utf8.h"
#include "profile/any.h"
#include "profile/nameless.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/pprof/pprof.h"

#define TEXT_BYTES_MAX ((size_t)16 << 20)

/* From one profile to the other. */
struct copier {
	const struct profile *from;
	struct profile *to;
};

static struct copier copier_begin(const struct profile *from)
{
	return (struct copier){ from, profile_new() };
}

static struct profile *copier_end(struct copier *c)
{
	EQ(profile_err(c->to), 0);
	EQ(profile_check(c->to), 0);
	return c->to;
}

/* U+FFFD for each byte that is not UTF-8. */
static struct str keep_text(struct copier *c, struct str s)
{
	struct str clean;
	struct buf b;

	if (utf8_valid(s.at, s.len))
		return profile_copy_str(c->to, s.at, s.len);
	buf_init(&b, TEXT_BYTES_MAX);
	for (u32 i = 0; i < s.len;) {
		size_t step = utf8_next(s.at + i, s.len - i);

		buf_add(&b, step ? s.at + i : UTF8_REPLACEMENT, step ? step : sizeof(UTF8_REPLACEMENT) - 1);
		i += step ? (u32)step : 1;
	}
	EQ(buf_err(&b), 0);
	clean = profile_copy_str(c->to, b.data, b.len);
	buf_done(&b);
	return clean;
}

static u32 keep_string(struct copier *c, u32 index)
{
	struct str s = keep_text(c, c->from->strings.at[index]);

	return profile_add_string(c->to, s.at, s.len);
}

static struct keyvalue keep_keyvalue(struct copier *c, const struct keyvalue *kv);

static struct any keep_any(struct copier *c, const struct any *value)
{
	struct any copy = *value, *array;
	struct keyvalue *map;

	switch (value->kind) {
	case ANY_STRING:
		copy.string = keep_text(c, value->string);
		break;
	case ANY_ARRAY:
		copy.array = array = profile_alloc(c->to, value->count * sizeof(*array));
		for (u32 i = 0; i < value->count; i++)
			array[i] = keep_any(c, &value->array[i]);
		break;
	case ANY_MAP:
		copy.map = map = profile_alloc(c->to, value->count * sizeof(*map));
		for (u32 i = 0; i < value->count; i++)
			map[i] = keep_keyvalue(c, &value->map[i]);
		break;
	default:
		copy = profile_copy_any(c->to, value);
	}
	return copy;
}

static struct keyvalue keep_keyvalue(struct copier *c, const struct keyvalue *kv)
{
	return (struct keyvalue){ keep_text(c, kv->key), keep_any(c, &kv->value) };
}

static const struct keyvalue *keep_keyvalues(struct copier *c, const struct keyvalue *at, u32 count)
{
	struct keyvalue *copy = profile_alloc(c->to, count * sizeof(*copy));

	for (u32 i = 0; i < count; i++)
		copy[i] = keep_keyvalue(c, &at[i]);
	return copy;
}

static u32 keep_attribute(struct copier *c, u32 index)
{
	const struct profile_attribute *a = &c->from->attributes.at[index];

	return profile_add_attribute(c->to, &(struct profile_attribute){ .key = keep_string(c, a->key),
									  .unit = keep_string(c, a->unit),
									  .value = keep_any(c, &a->value) });
}

static struct indices keep_attributes(struct copier *c, struct indices list)
{
	u32 *copy = profile_alloc(c->to, list.count * sizeof(*copy));

	for (u32 i = 0; i < list.count; i++)
		copy[i] = keep_attribute(c, list.at[i]);
	return (struct indices){ copy, list.count };
}

static u32 keep_function(struct copier *c, u32 index)
{
	const struct profile_function *f = &c->from->functions.at[index];

	return profile_add_function(c->to, &(struct profile_function){ .name = keep_string(c, f->name),
									.system_name = keep_string(c, f->system_name),
									.filename = keep_string(c, f->filename),
									.start_line = f->start_line });
}

static u32 keep_link(struct copier *c, u32 index)
{
	return profile_add_link(c->to, &c->from->links.at[index]);
}

static struct profile_type keep_type(struct copier *c, struct profile_type type)
{
	return (struct profile_type){ keep_string(c, type.type), keep_string(c, type.unit) };
}

/* A row of one value. */
static void add_sample(struct copier *c, struct profile_set *set, const struct profile_sample *row, s64 value)
{
	struct profile_sample *sample = profile_add_sample(c->to, set);

	*sample = *row;
	sample->values = profile_copy(c->to, &value, sizeof(value));
	sample->value_count = 1;
}

/* ---- OTLP -------------------------------------------------------------------- */

static u32 otlp_mapping(struct copier *c, u32 index)
{
	struct profile_mapping m = c->from->mappings.at[index];

	if (!index)
		return 0;
	m.filename = keep_string(c, m.filename);
	m.attributes = keep_attributes(c, m.attributes);
	return profile_add_mapping(c->to, &m);
}

static u32 otlp_location(struct copier *c, u32 index)
{
	struct profile_location l = c->from->locations.at[index];
	struct profile_line *lines = profile_alloc(c->to, l.line_count * sizeof(*lines));

	if (!index)
		return 0;
	for (u32 i = 0; i < l.line_count; i++) {
		lines[i] = l.lines[i];
		lines[i].function = keep_function(c, l.lines[i].function);
	}
	l.lines = lines;
	l.mapping = otlp_mapping(c, l.mapping);
	l.attributes = keep_attributes(c, l.attributes);
	return profile_add_location(c->to, &l);
}

static u32 keep_stack(struct copier *c, u32 index, u32 (*keep_location)(struct copier *c, u32 index), bool keep_null)
{
	struct indices stack = c->from->stacks.at[index];
	u32 *copy = profile_alloc(c->to, stack.count * sizeof(*copy)), count = 0;

	for (u32 i = 0; i < stack.count; i++)
		if (stack.at[i] || keep_null)
			copy[count++] = keep_location(c, stack.at[i]);
	return profile_add_stack(c->to, copy, count);
}

/* One value for many times has no place in OTLP: the times are kept if the value counts them, else the value. */
static void otlp_sample(struct copier *c, const struct profile_sample *s, struct profile_sample *copy)
{
	bool odd = s->value_count && s->time_count && s->value_count != s->time_count;
	bool counts = odd && s->values[0] == s->time_count;

	copy->stack = keep_stack(c, s->stack, otlp_location, true);
	copy->link = keep_link(c, s->link);
	copy->attributes = keep_attributes(c, s->attributes);
	copy->value_count = counts ? 0 : s->value_count;
	copy->time_count = odd && !counts ? 0 : s->time_count;
	copy->values = profile_copy(c->to, s->values, copy->value_count * sizeof(*s->values));
	copy->times_unix_ns = profile_copy(c->to, s->times_unix_ns, copy->time_count * sizeof(*s->times_unix_ns));
}

static void otlp_set(struct copier *c, const struct profile_set *set, struct profile_set *copy)
{
	*copy = *set;
	copy->sample_type = keep_type(c, set->sample_type);
	copy->period_type = keep_type(c, set->period_type);
	copy->original_format = keep_text(c, set->original_format);
	copy->original_payload = profile_copy_str(c->to, set->original_payload.at, set->original_payload.len);
	copy->attributes = keep_attributes(c, set->attributes);
	copy->samples = NULL;
	copy->sample_count = copy->sample_cap = 0;
	for (u32 i = 0; i < set->sample_count; i++)
		otlp_sample(c, &set->samples[i], profile_add_sample(c->to, copy));
}

static void otlp_scope(struct copier *c, const struct profile_scope *scope, struct profile_scope *copy)
{
	copy->name = keep_text(c, scope->name);
	copy->version = keep_text(c, scope->version);
	copy->schema_url = keep_text(c, scope->schema_url);
	copy->attributes = keep_keyvalues(c, scope->attributes, scope->attribute_count);
	copy->attribute_count = scope->attribute_count;
	copy->dropped_attributes_count = scope->dropped_attributes_count;
	for (u32 i = 0; i < scope->set_count; i++)
		otlp_set(c, &scope->sets[i], profile_add_set(c->to, copy));
}

struct profile *forget_otlp(const struct profile *profile)
{
	struct copier c = copier_begin(profile);

	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *resource = &profile->resources.at[i];
		struct profile_resource *copy = profile_add_resource(c.to, NULL, 0);

		copy->schema_url = keep_text(&c, resource->schema_url);
		copy->attributes = keep_keyvalues(&c, resource->attributes, resource->attribute_count);
		copy->attribute_count = resource->attribute_count;
		copy->dropped_attributes_count = resource->dropped_attributes_count;
		for (u32 s = 0; s < resource->scope_count; s++)
			otlp_scope(&c, &resource->scopes[s], profile_add_scope(c.to, copy));
	}
	return copier_end(&c);
}

/* ---- pprof ------------------------------------------------------------------- */

/* What the file says once. */
struct pprof_header {
	struct copier *c;
	struct profile_set set;			/* period, start, duration, texts */
	struct keyvalue default_type;
	bool period_known;
	bool text_known[4];
	struct any texts[4];			/* comment, doc_url, drop_frames, keep_frames */
	struct profile_type columns[64];
	u32 column_count;
};

static const char *const pprof_texts[] = { PPROF_COMMENT, PPROF_DOC_URL, PPROF_DROP_FRAMES, PPROF_KEEP_FRAMES };

static bool is_text(struct str s, const char *text)
{
	return str_equal(s, (struct str){ text, (u32)strlen(text) });
}

/* has_functions, has_filenames, has_line_numbers, has_inline_frames: of all locations of the mapping. */
static bool pprof_has(const struct profile *p, u32 mapping, int flag)
{
	const struct any *said = profile_attribute_find(p, p->mappings.at[mapping].attributes, pprof_flag_names[flag]);
	bool used = false, all = true, named = true, inlined = false;

	for (u32 i = 1; i < p->locations.count; i++) {
		const struct profile_location *l = &p->locations.at[i];

		if (l->mapping != mapping)
			continue;
		used = true;
		named &= l->line_count > 0;
		inlined |= l->line_count > 1;
		for (u32 k = 0; k < l->line_count; k++) {
			const struct profile_function *f = &p->functions.at[l->lines[k].function];

			named &= f->name || f->system_name;
			all &= flag == 1 ? f->filename != 0 : flag == 2 ? l->lines[k].line != 0 : true;
		}
	}
	if (said && said->kind == ANY_BOOL)
		return said->boolean;
	return used && named && (flag == 3 ? inlined : all);
}

/* One build id: GNU's, else Go's, else the htlhash; Go's has slashes when it is read. */
static u32 pprof_mapping(struct copier *c, u32 index)
{
	static const char *const kinds[] = { PPROF_BUILD_ID_GNU, PPROF_BUILD_ID_GO, PPROF_BUILD_ID_HTLHASH };
	struct profile_mapping m = c->from->mappings.at[index];
	u32 attributes[5], count = 0;
	struct str id = { 0 };

	if (!index)
		return 0;
	for (int i = 0; i < 3 && !id.len; i++)
		id = keep_text(c, any_text(profile_attribute_find(c->from, m.attributes, kinds[i])));
	if (id.len)
		attributes[count++] = profile_add_attribute(c->to, &(struct profile_attribute){
			.key = profile_add_cstring(c->to, memchr(id.at, '/', id.len) ? PPROF_BUILD_ID_GO :
										       PPROF_BUILD_ID_GNU),
			.value = { .kind = ANY_STRING, .string = id } });
	for (int flag = 0; flag < PPROF_MAPPING_FLAGS; flag++)
		attributes[count++] = profile_add_attribute(c->to, &(struct profile_attribute){
			.key = profile_add_cstring(c->to, pprof_flag_names[flag]),
			.value = { .kind = ANY_BOOL, .boolean = pprof_has(c->from, index, flag) } });
	m.filename = keep_string(c, m.filename);
	m.attributes = (struct indices){ attributes, count };
	return profile_add_mapping(c->to, &m);
}

/* Without attributes but is_folded, and without lines that have no function. */
static u32 pprof_location(struct copier *c, u32 index)
{
	const struct profile_location *l = &c->from->locations.at[index];
	const struct any *said = profile_attribute_find(c->from, l->attributes, PPROF_IS_FOLDED);
	struct profile_line *lines = profile_alloc(c->to, l->line_count * sizeof(*lines));
	struct profile_location copy = { .mapping = pprof_mapping(c, l->mapping), .address = l->address,
					 .lines = lines };
	struct profile_attribute folded = { .key = profile_add_cstring(c->to, PPROF_IS_FOLDED),
					    .value = { .kind = ANY_BOOL, .boolean = true } };
	u32 attribute = profile_add_attribute(c->to, &folded);

	for (u32 i = 0; i < l->line_count; i++) {
		if (!l->lines[i].function)
			continue;
		lines[copy.line_count] = l->lines[i];
		lines[copy.line_count++].function = keep_function(c, l->lines[i].function);
	}
	if (said && said->kind == ANY_BOOL && said->boolean)
		copy.attributes = (struct indices){ &attribute, 1 };
	return profile_add_location(c->to, &copy);
}

/* Text and numbers stay, all else is text as JSON; false for what is not kept at all. */
static bool pprof_value(struct copier *c, const struct any *value, struct any *ret_value)
{
	struct any text = { .kind = ANY_STRING };
	struct buf json;

	if (value->kind == ANY_NONE || (value->kind == ANY_STRING && !value->string.len))
		return false;
	if (value->kind == ANY_STRING || value->kind == ANY_INT) {
		*ret_value = keep_any(c, value);
		return true;
	}
	buf_init(&json, TEXT_BYTES_MAX);
	any_put_json(&json, value);
	text.string = profile_copy_str(c->to, json.data, json.len);
	buf_done(&json);
	*ret_value = text;
	return true;
}

/* What the labels of a sample are, read back. */
struct pprof_labels {
	struct keyvalue resource[64];
	u32 attributes[64], resource_count, attribute_count;
};

static void pprof_label(struct copier *c, struct str key, const struct any *value, u32 unit,
			struct pprof_labels *labels)
{
	struct profile_attribute a = { 0 };

	if (!pprof_value(c, value, &a.value))
		return;
	key = keep_text(c, key);
	if (a.value.kind == ANY_INT)
		a.unit = keep_string(c, unit);
	OK(labels->resource_count < 64 && labels->attribute_count < 64);
	if (pprof_is_resource(key.at, key.len) && !a.unit) {
		labels->resource[labels->resource_count++] = (struct keyvalue){ key, a.value };
		return;
	}
	a.key = profile_add_string(c->to, key.at, key.len);
	labels->attributes[labels->attribute_count++] = profile_add_attribute(c->to, &a);
}

static u32 pprof_column(struct pprof_header *h, struct profile_type type)
{
	type = keep_type(h->c, type);
	for (u32 i = 0; i < h->column_count; i++)
		if (h->columns[i].type == type.type && h->columns[i].unit == type.unit)
			return i;
	OK(h->column_count < 64);
	h->columns[h->column_count] = type;
	return h->column_count++;
}

/* The column of the time that a set of counted ticks stands for, unless the scope has it; -1 if it is none. */
static int pprof_time_column(struct pprof_header *h, const struct profile_scope *scope, const struct profile_set *set)
{
	const struct profile *p = h->c->from;
	u32 time;

	if (set->period <= 0 || !is_text(p->strings.at[set->sample_type.unit], "count") ||
	    !is_text(p->strings.at[set->period_type.unit], "nanoseconds"))
		return -1;
	time = pprof_column(h, set->period_type);
	for (u32 i = 0; i < scope->set_count; i++)
		if (pprof_column(h, scope->sets[i].sample_type) == time)
			return -1;
	return (int)time;
}

static void pprof_note_set(struct pprof_header *h, const struct profile_set *set)
{
	u64 end = set->time_unix_ns + set->duration_ns, known_end = h->set.time_unix_ns + h->set.duration_ns;

	if (set->time_unix_ns && (!h->set.time_unix_ns || set->time_unix_ns < h->set.time_unix_ns))
		h->set.time_unix_ns = set->time_unix_ns;
	h->set.duration_ns = (end > known_end ? end : known_end) - h->set.time_unix_ns;
	if (!h->period_known && (set->period || set->period_type.type)) {
		h->period_known = true;
		h->set.period = set->period;
		h->set.period_type = keep_type(h->c, set->period_type);
	}
	for (int i = 0; i < 4; i++) {
		const struct any *text = profile_attribute_find(h->c->from, set->attributes, pprof_texts[i]);

		if (text && !h->text_known[i])
			h->texts[i] = keep_any(h->c, text);
		h->text_known[i] |= text != NULL;
	}
}

/* A list of texts; a text is a list of one. */
static struct any pprof_comments(struct copier *c, const struct any *comment)
{
	bool is_list = comment->kind == ANY_ARRAY;
	u32 count = is_list ? comment->count : 1;
	struct any *list = profile_alloc(c->to, count * sizeof(*list)), kept = { .kind = ANY_ARRAY, .array = list };

	for (u32 i = 0; i < count; i++)
		if ((is_list ? &comment->array[i] : comment)->kind == ANY_STRING)
			list[kept.count++] = is_list ? comment->array[i] : *comment;
	return kept;
}

/* What is no text is none. */
static void pprof_keep_texts(struct pprof_header *h)
{
	u32 list[4], count = 0;

	for (int i = 0; i < 4; i++) {
		struct any text = i ? h->texts[i] : pprof_comments(h->c, &h->texts[i]);

		if (i ? !any_text(&text).len : !text.count)
			continue;
		list[count++] = profile_add_attribute(h->c->to, &(struct profile_attribute){
			.key = profile_add_cstring(h->c->to, pprof_texts[i]), .value = text });
	}
	h->set.attributes = profile_copy_indices(h->c->to, list, count);
}

static void pprof_note(struct pprof_header *h)
{
	const struct profile *p = h->c->from;

	for (u32 i = 0; i < p->resources.count; i++) {
		for (u32 s = 0; s < p->resources.at[i].scope_count; s++) {
			const struct profile_scope *scope = &p->resources.at[i].scopes[s];
			struct str type = any_text(keyvalue_find(scope->attributes, scope->attribute_count,
								 PPROF_DEFAULT_TYPE));

			if (type.len && !h->default_type.key.len)
				h->default_type = (struct keyvalue){ STR(PPROF_DEFAULT_TYPE),
					{ .kind = ANY_STRING, .string = keep_text(h->c, type) } };
			for (u32 k = 0; k < scope->set_count; k++) {
				pprof_note_set(h, &scope->sets[k]);
				pprof_column(h, scope->sets[k].sample_type);
				pprof_time_column(h, scope, &scope->sets[k]);
			}
		}
	}
	pprof_keep_texts(h);
}

/* Resources are what labels say; each has one scope with a set for each column. */
static struct profile_set *pprof_sets(struct pprof_header *h, const struct pprof_labels *labels)
{
	struct profile *p = h->c->to;
	struct profile_resource *resource;
	struct profile_scope *scope;

	for (u32 i = 0; i < p->resources.count; i++)
		if (keyvalues_equal(p->resources.at[i].attributes, p->resources.at[i].attribute_count,
				    labels->resource, labels->resource_count))
			return p->resources.at[i].scopes[0].sets;
	resource = profile_add_resource(p, labels->resource, labels->resource_count);
	scope = profile_add_scope(p, resource);
	scope->attribute_count = h->default_type.key.len > 0;
	scope->attributes = profile_copy_keyvalues(p, &h->default_type, scope->attribute_count);
	for (u32 i = 0; i < h->column_count; i++) {
		struct profile_set *set = profile_add_set(p, scope);

		*set = h->set;
		set->sample_type = h->columns[i];
	}
	return scope->sets;
}

static void pprof_sample(struct pprof_header *h, const struct profile_resource *resource, u32 column, int time_column,
			 s64 period, const struct profile_sample *s)
{
	struct profile_sample row = { .stack = keep_stack(h->c, s->stack, pprof_location, false),
				      .link = keep_link(h->c, s->link) };
	u64 value = (u64)profile_sample_value(s);
	struct pprof_labels labels = { 0 };
	struct profile_set *sets;

	for (u32 i = 0; i < resource->attribute_count; i++)
		pprof_label(h->c, resource->attributes[i].key, &resource->attributes[i].value, 0, &labels);
	for (u32 i = 0; i < s->attributes.count; i++) {
		const struct profile_attribute *a = &h->c->from->attributes.at[s->attributes.at[i]];

		pprof_label(h->c, h->c->from->strings.at[a->key], &a->value, a->unit, &labels);
	}
	row.attributes = profile_copy_indices(h->c->to, labels.attributes, labels.attribute_count);
	sets = pprof_sets(h, &labels);
	for (u32 i = 0; i < h->column_count; i++)
		add_sample(h->c, &sets[i], &row, (s64)(i == column ? value :
						       (int)i == time_column ? value * (u64)period : 0));
}

struct profile *forget_pprof(const struct profile *profile)
{
	struct copier c = copier_begin(profile);
	struct pprof_header h = { .c = &c };

	pprof_note(&h);
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *resource = &profile->resources.at[i];

		for (u32 s = 0; s < resource->scope_count; s++) {
			for (u32 k = 0; k < resource->scopes[s].set_count; k++) {
				const struct profile_set *set = &resource->scopes[s].sets[k];
				u32 column = pprof_column(&h, set->sample_type);
				int time_column = pprof_time_column(&h, &resource->scopes[s], set);

				for (u32 n = 0; n < set->sample_count; n++)
					pprof_sample(&h, resource, column, time_column, set->period, &set->samples[n]);
			}
		}
	}
	return copier_end(&c);
}

/* ---- Folded ------------------------------------------------------------------ */

static u32 folded_frame(struct copier *c, struct str name, bool is_kernel, bool starts_line)
{
	static const struct str mark = STR("_[k]");
	u32 kernel = profile_add_attribute_string(c->to, "profile.frame.type", "kernel");
	struct profile_line line = { 0 };
	struct profile_location location = { .line_count = 1, .lines = &line };
	char *text = profile_alloc(c->to, name.len + 1), *at = text;

	if (starts_line && name.at[0] == '#')
		*at++ = ' ';
	for (u32 i = 0; i < name.len; i++) {
		unsigned char ch = (unsigned char)name.at[i];

		*at++ = (char)(ch == ';' ? ':' : ch < 0x20 || ch == 0x7f ? ' ' : ch);
	}
	/* A name that ends so of itself is taken for one of the kernel. */
	if (!is_kernel && at - text > mark.len && !memcmp(at - mark.len, mark.at, mark.len)) {
		is_kernel = true;
		at -= mark.len;
	}
	line.function = profile_add_function(c->to, &(struct profile_function){
		.name = profile_add_string(c->to, text, (size_t)(at - text)) });
	location.attributes = (struct indices){ &kernel, is_kernel };
	return profile_add_location(c->to, &location);
}

static u32 folded_line(struct copier *c, const struct profile_location *l, u32 line, bool starts_line)
{
	const struct profile *p = c->from;
	struct str module = p->strings.at[p->mappings.at[l->mapping].filename], name = { 0 };
	const struct any *type = profile_attribute_find(p, l->attributes, "profile.frame.type");
	bool is_kernel = type && type->kind == ANY_STRING ? is_text(type->string, "kernel") :
			 module.len >= 7 && !memcmp(module.at, "[kernel", 7);
	struct arena arena;
	u32 frame;

	arena_init(&arena, TEXT_BYTES_MAX);
	if (line < l->line_count) {
		const struct profile_function *f = &p->functions.at[l->lines[line].function];

		name = p->strings.at[f->name ? f->name : f->system_name];
	}
	if (!name.len)
		name = nameless_name(&arena, module, l->address);
	frame = folded_frame(c, name, is_kernel, starts_line);
	arena_done(&arena);
	return frame;
}

static u32 folded_stack(struct copier *c, struct str process, struct indices stack)
{
	u32 outermost[4096], frames[4096], count = 0;

	if (process.len)
		outermost[count++] = folded_frame(c, process, false, true);
	for (u32 i = stack.count; i-- > 0;) {
		const struct profile_location *l = &c->from->locations.at[stack.at[i]];

		for (u32 k = l->line_count ? l->line_count : 1; k-- > 0; count++)
			outermost[count] = folded_line(c, l, k, !count);
		OK(count < 4000);
	}
	if (!count)
		outermost[count++] = folded_frame(c, STR("[unknown]"), false, true);
	for (u32 i = 0; i < count; i++)
		frames[i] = outermost[count - 1 - i];
	return profile_add_stack(c->to, frames, count);
}

static void folded_set(struct copier *c, const struct profile_resource *resource, const struct profile_set *set,
		       struct profile_set *to)
{
	struct str name = any_text(keyvalue_find(resource->attributes, resource->attribute_count,
						"process.executable.name"));

	for (u32 i = 0; i < set->sample_count; i++) {
		const struct profile_sample *s = &set->samples[i];
		struct str thread = any_text(profile_attribute_find(c->from, s->attributes, "thread.name"));
		struct profile_sample row = { .stack = folded_stack(c, name.len ? name : thread,
								    c->from->stacks.at[s->stack]) };

		add_sample(c, to, &row, profile_sample_value(s));
	}
}

struct profile *forget_folded(const struct profile *profile)
{
	struct copier c = copier_begin(profile);
	struct profile_set *to = profile_add_set(c.to, profile_add_scope(c.to, profile_add_resource(c.to, NULL, 0)));
	const struct profile_type *first = NULL;

	to->sample_type = (struct profile_type){ profile_add_cstring(c.to, "samples"),
						 profile_add_cstring(c.to, "count") };
	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *resource = &profile->resources.at[i];

		for (u32 s = 0; s < resource->scope_count; s++) {
			for (u32 k = 0; k < resource->scopes[s].set_count; k++) {
				const struct profile_set *set = &resource->scopes[s].sets[k];

				first = first ? first : &set->sample_type;
				if (set->sample_type.type == first->type && set->sample_type.unit == first->unit)
					folded_set(&c, resource, set, to);
			}
		}
	}
	return copier_end(&c);
}

/* ---- perf.data ----------------------------------------------------------------- */

/* Control characters become question marks, as they would draw on perf's terminal. */
static u32 perfdata_location(struct copier *c, u32 index)
{
	const struct profile_location *from = &c->from->locations.at[index];
	struct profile_line *lines = profile_alloc(c->to, from->line_count * sizeof(*lines));
	struct profile_location l = { .address = from->address, .lines = lines, .line_count = from->line_count };

	l.mapping = otlp_mapping(c, from->mapping);
	for (u32 i = 0; i < l.line_count; i++) {
		const struct profile_function *f = &c->from->functions.at[from->lines[i].function];
		struct str name = keep_text(c, c->from->strings.at[f->name]);

		for (u32 k = 0; k < name.len; k++)
			if ((unsigned char)name.at[k] < 0x20 || name.at[k] == 0x7f)
				((char *)name.at)[k] = '?';
		lines[i] = (struct profile_line){ .function = profile_add_function(c->to, &(struct profile_function){
			.name = profile_add_string(c->to, name.at, name.len) }) };
	}
	return profile_add_location(c->to, &l);
}

/* A sample has a frame at least, and a weight. */
static void perfdata_set(struct copier *c, const struct profile_set *set, struct profile_set *copy)
{
	u32 unknown = folded_frame(c, STR("[unknown]"), false, false);

	copy->sample_type = keep_type(c, set->sample_type);
	for (u32 i = 0; i < set->sample_count; i++) {
		struct profile_sample row = { .stack = keep_stack(c, set->samples[i].stack, perfdata_location, true) };
		s64 value = profile_sample_value(&set->samples[i]);

		if (!row.stack)
			row.stack = profile_add_stack(c->to, &unknown, 1);
		if (value > 0)
			add_sample(c, copy, &row, value);
	}
}

struct profile *forget_perfdata(const struct profile *profile)
{
	struct copier c = copier_begin(profile);

	for (u32 i = 0; i < profile->resources.count; i++) {
		const struct profile_resource *resource = &profile->resources.at[i];
		struct profile_resource *copy = profile_add_resource(c.to, resource->attributes,
								     resource->attribute_count);

		for (u32 s = 0; s < resource->scope_count; s++)
			for (u32 k = 0; k < resource->scopes[s].set_count; k++)
				perfdata_set(&c, &resource->scopes[s].sets[k],
					     profile_add_set(c.to, profile_add_scope(c.to, copy)));
	}
	return copier_end(&c);
}
