// SPDX-License-Identifier: Apache-2.0
/*
 * A function for each message of otlp_schema.h, made by the preprocessor: read_MAPPING() fills a struct
 * profile_mapping, and so on. Rows are counted and strings read first, then the other tables, then resources, since
 * fields may come in any order and refer to each other: each index is compared with its table when it is read.
 *
 * Lists of numbers go straight to the end of a piece of the profile's memory, one piece for each type: nothing else
 * comes between the parts of one list.
 */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "profile/any.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_older.h"
#include "wire/otlp/otlp_schema.h"
#include "wire/pb.h"

#define PIECE_MIN ((size_t)512)
#define PIECE_MAX ((size_t)64 << 10)

enum table {
#define TABLE(name, row) name,
	OTLP_TABLES(TABLE)
#undef TABLE
	TABLES
};

struct piece {
	char *at, *end;
};

struct decoder {
	struct profile *profile;
	u64 rows[TABLES];		/* in the request; 1 if it has no such table */
	bool first_seen[TABLES];	/* row 0 of the table was read */
	struct piece text, indices, values, times;
	struct piece set_indices;	/* of profiles: samples come between their parts */
	size_t piece_bytes;
	u32 groups;			/* resources, scopes, profiles */
	int depth;			/* of values in values */
};

static void fail(struct pb *r, int err)
{
	pb_inherit(r, &(struct pb){ .err = err });
}

static void *alloc(struct decoder *d, struct pb *r, size_t bytes)
{
	void *at = bytes ? profile_alloc(d->profile, bytes) : NULL;

	if (bytes && !at)
		fail(r, profile_err(d->profile));
	return at;
}

/* Room for need more entries behind those of a list, which moves if it must; NULL without memory. */
static inline void *extend(struct decoder *d, struct pb *r, struct piece *piece, const void *list, size_t count,
			   size_t need, size_t entry_bytes)
{
	size_t held = count * entry_bytes, bytes = 2 * (held + need * entry_bytes);
	char *at;

	if ((size_t)(piece->end - piece->at) >= need * entry_bytes)
		return count ? (char *)list : piece->at;
	bytes = bytes > d->piece_bytes ? bytes : d->piece_bytes;
	at = alloc(d, r, bytes);
	if (!at)
		return NULL;
	if (held)
		memcpy(at, list, held);
	*piece = (struct piece){ at + held, at + bytes };
	return at;
}

/* ---- Fields ----------------------------------------------------------------- */

static inline u64 read_index(struct decoder *d, struct pb *r, const struct pb_field *f, enum table table)
{
	if (f->wire == PB_VARINT && f->value < d->rows[table])
		return f->value;
	fail(r, -EBADMSG);
	return 0;
}

static void read_indices(struct decoder *d, struct pb *r, const struct pb_field *f, enum table table,
			 struct piece *piece, struct indices *list)
{
	struct pb body = f->body;
	u32 *at = extend(d, r, piece, list->at, list->count, f->wire == PB_LEN ? pb_left(&body) : 1, sizeof(*at));
	u32 count = 1;

	if (!at)
		return;
	if (f->wire == PB_VARINT)
		at[list->count] = (u32)read_index(d, r, f, table);
	else if (pb_is(r, f, PB_LEN))
		count = pb_unpack(&body, (u32)d->rows[table] - 1, true, at + list->count);
	if (f->wire == PB_LEN)
		pb_inherit(r, &body);
	if (r->err || !count)
		return;
	list->at = at;
	list->count += count;
	piece->at += count * sizeof(*at);
}

/* A lone number is a link of 1.9: see otlp_older.h. */
static void read_values(struct decoder *d, struct pb *r, const struct pb_field *f, struct profile_sample *s)
{
	struct pb list = pb_body(r, f);
	s64 *at = extend(d, r, &d->values, s->values, s->value_count, pb_left(&list), sizeof(*at));

	while (at && list.at < list.end) {
		at[s->value_count] = (s64)pb_varint(&list);
		s->value_count += !list.err;
		d->values.at += list.err ? 0 : sizeof(*at);
	}
	s->values = s->value_count ? at : NULL;
	pb_inherit(r, &list);
}

static void read_times(struct decoder *d, struct pb *r, const struct pb_field *f, struct profile_sample *s)
{
	const void *from = f->wire == PB_LEN ? (const void *)f->body.at : &f->value;
	size_t bytes = f->wire == PB_LEN ? pb_left(&f->body) : sizeof(u64), count = bytes / sizeof(u64);
	u64 *at = extend(d, r, &d->times, s->times_unix_ns, s->time_count, count, sizeof(*at));

	if ((f->wire != PB_LEN && f->wire != PB_FIXED64) || bytes % sizeof(u64))
		fail(r, -EBADMSG);
	if (r->err || !count || !at)
		return;
	memcpy(at + s->time_count, from, bytes);
	for (size_t i = 0; i < count; i++)
		at[s->time_count + i] = f->wire == PB_LEN ? le64toh(at[s->time_count + i]) : f->value;
	s->times_unix_ns = at;
	s->time_count += (u32)count;
	d->times.at += bytes;
}

static struct str read_text(struct decoder *d, struct pb *r, const struct pb_field *f)
{
	struct pb body = pb_body(r, f);
	struct str s = profile_copy_str(d->profile, (const char *)body.at, pb_left(&body));

	if (profile_err(d->profile))
		fail(r, profile_err(d->profile));
	return s;
}

/* A member that text or a reference to it may give: nothing does not take anything away. */
static void read_key(struct str text, struct str *key)
{
	if (text.len)
		*key = text;
}

/* An id of exactly that length; an empty one is none. */
static void read_id(struct pb *r, const struct pb_field *f, u8 *id, size_t len)
{
	struct pb body = pb_body(r, f);

	if (pb_left(&body) == len)
		memcpy(id, body.at, len);
	else if (pb_left(&body))
		fail(r, -EBADMSG);
}

static double read_double(struct pb *r, const struct pb_field *f)
{
	double real = 0;

	if (pb_is(r, f, PB_FIXED64))
		memcpy(&real, &f->value, sizeof(real));
	return real;
}

static size_t count_fields(struct pb message, u32 number)
{
	struct pb_field f;
	size_t count = 0;

	while (pb_step(&message, &f))
		count += f.number == number;
	return count;
}

static bool all_zero(const void *at, size_t bytes)
{
	static const char zero[128];

	return !memcmp(at, zero, bytes);
}

/* The first row of each table must be its zero value, which the profile has already. */
static bool skip_first(struct decoder *d, struct pb *r, enum table table, bool is_zero)
{
	if (d->first_seen[table])
		return false;
	d->first_seen[table] = true;
	if (!is_zero)
		fail(r, -EBADMSG);
	return true;
}

/* An entry of a growing array; NULL is out of memory, or there are too many groups. */
static void *pushed(struct decoder *d, struct pb *r, void *entry, bool is_group)
{
	d->groups += is_group;
	if (!entry || d->groups > OTLP_GROUPS_MAX)
		fail(r, entry ? -E2BIG : profile_err(d->profile));
	return r->err ? NULL : entry;
}

/* ---- Kinds of fields -------------------------------------------------------- */

#define READ_NUMBER(number, member, of, more) \
	row->member = (__typeof__(row->member))(sizeof(row->member) == sizeof(u32) ? pb_u32(&m, &f) : pb_u64(&m, &f));
#define READ_FIXED(number, member, of, more) row->member = pb_is(&m, &f, PB_FIXED64) ? f.value : 0;
#define READ_NUMBER32(number, member, of, more) READ_NUMBER(number, member, of, more)
#define READ_INDEX(number, member, of, more) row->member = (u32)read_index(d, &m, &f, of);
#define READ_INDICES(number, member, of, more) read_indices(d, &m, &f, of, \
	_Generic(row, struct profile_set *: &d->set_indices, default: &d->indices), &row->member);
#define READ_ITSELF(number, member, of, more) read_indices(d, &m, &f, of, &d->indices, row);
#define READ_VALUES(number, member, of, more) read_values(d, &m, &f, row);
#define READ_TIMES(number, member, of, more) read_times(d, &m, &f, row);
#define READ_TEXT(number, member, of, more) row->member = read_text(d, &m, &f);
#define READ_BYTES(number, member, of, more) row->member = read_text(d, &m, &f);
#define READ_KEY(number, member, of, more) read_key(read_text(d, &m, &f), &row->member);
#define READ_REFERENCE(number, member, of, more) \
	{ struct str text = d->profile->strings.at[read_index(d, &m, &f, of)]; \
	  if (!row->member.len) row->member = text; }
#define READ_ID(number, member, of, more) read_id(&m, &f, row->member, of);
#define READ_OPTIONAL_ID(number, member, of, more) \
	{ read_id(&m, &f, row->member, of); row->has_##member = !all_zero(row->member, of); }
#define READ_ONE(member, of) { memset(&row->member, 0, sizeof(row->member)); \
	read_##of(d, &m, pb_body(&m, &f), &row->member); }
#define READ_TYPE(number, member, of, more) READ_ONE(member, of)
#define READ_ANY(number, member, of, more) READ_ONE(member, of)
#define READ_SOME(number, member, of, more) READ_ONE(member, of)
#define READ_PART(number, member, of, more) read_##of(d, &m, pb_body(&m, &f), row);

/* An array that the profile grows. */
#define READ_LIST(number, member, of, more) { \
	void *entry = PUSH_##of; \
	if (entry) \
		read_##of(d, &m, pb_body(&m, &f), entry); }
#define PUSH_RESOURCE_PROFILES pushed(d, &m, profile_add_resource(d->profile, NULL, 0), true)
#define PUSH_SCOPE_PROFILES pushed(d, &m, profile_add_scope(d->profile, row), true)
#define PUSH_PROFILE pushed(d, &m, profile_add_set(d->profile, row), true)
#define PUSH_SAMPLE pushed(d, &m, profile_add_sample(d->profile, row), false)

/* One whose entries are counted before the first is read. */
#define READ_SHORT_LIST(number, member, of, more) { \
	if (!list) { \
		list = alloc(d, &m, count_fields(whole, number) * sizeof(*row->member)); \
		row->member = list; \
		row->more = 0; \
	} \
	if (list) { \
		void *entry = (char *)list + row->more++ * sizeof(*row->member); \
		memset(entry, 0, sizeof(*row->member)); \
		read_##of(d, &m, pb_body(&m, &f), entry); \
	} }
#define READ_ROW(number, member, of, more) add_##of(d, &m, pb_body(&m, &f), more);
#define READ_TEXT_ROW(number, member, of, more)		/* was read before all else */

#define READ(numbers, kind, name, json, member, of, more) \
	case OTLP_NUMBER(1_10, numbers): READ_##kind(OTLP_NUMBER(1_10, numbers), member, of, more) break;
#define DECLARE(message, type) \
	static void read_##message(struct decoder *d, struct pb *r, struct pb m, struct type *row);
#define DEFINE(message, type) \
	static void read_##message(struct decoder *d, struct pb *r, struct pb m, struct type *row) \
	{ \
		const struct pb whole = m; \
		struct pb_field f; \
		void *list = NULL; \
		while (pb_step(&m, &f)) \
			switch (f.number) { OTLP_##message(READ) } \
		(void)whole, (void)list; \
		pb_inherit(r, &m); \
	}

OTLP_MESSAGES(DECLARE)
DECLARE(ANY, any)

/* ---- Values ------------------------------------------------------------------ */

#define VALUE_TEXT(member, of) row->member = read_text(d, &m, &f);
#define VALUE_BYTES(member, of) row->member = read_text(d, &m, &f);
#define VALUE_BOOL(member, of) row->member = pb_u64(&m, &f) != 0;
#define VALUE_NUMBER(member, of) row->member = (s64)pb_u64(&m, &f);
#define VALUE_DOUBLE(member, of) row->member = read_double(&m, &f);
#define VALUE_REFERENCE(member, of) row->member = d->profile->strings.at[read_index(d, &m, &f, of)];
#define VALUE_ONE(member, of) { d->depth++; read_##of(d, &m, pb_body(&m, &f), row); d->depth--; }
#define VALUE(numbers, field, name, json, member, of, more) \
	case OTLP_NUMBER(1_10, numbers): *row = (struct any){ .kind = more }; VALUE_##field(member, of) break;

static void read_ANY(struct decoder *d, struct pb *r, struct pb m, struct any *row)
{
	struct pb_field f;

	if (d->depth >= ANY_DEPTH_MAX)
		fail(&m, -EBADMSG);
	while (pb_step(&m, &f))
		switch (f.number) { OTLP_ANY(VALUE) }
	pb_inherit(r, &m);
}

/* ---- Rows of tables ----------------------------------------------------------- */

#define ADD(message, type, append) \
	static void add_##message(struct decoder *d, struct pb *r, struct pb body, enum table table) \
	{ \
		struct type row; \
		memset(&row, 0, sizeof(row)); \
		read_##message(d, r, body, &row); \
		if (!skip_first(d, r, table, all_zero(&row, sizeof(row)))) \
			append; \
	}
ADD(MAPPING, profile_mapping, profile_append_mapping(d->profile, &row))
ADD(LOCATION, profile_location, profile_append_location(d->profile, &row))
ADD(FUNCTION, profile_function, profile_append_function(d->profile, &row))
ADD(LINK, profile_link, profile_append_link(d->profile, &row))
ADD(ATTRIBUTE, profile_attribute, profile_append_attribute(d->profile, &row))
ADD(STACK, indices, profile_append_stack(d->profile, row))

OTLP_MESSAGES(DEFINE)

/* ---- The request ----------------------------------------------------------- */

#define NUMBER_OF(numbers, kind, name, json, member, of, more) NUMBER_##name = OTLP_NUMBER(1_10, numbers),
enum { OTLP_REQUEST(NUMBER_OF) OTLP_DICTIONARY(NUMBER_OF) };
#define TABLE_OF(numbers, kind, name, json, member, of, more) [OTLP_NUMBER(1_10, numbers)] = more + 1,
static const u8 table_of[] = { OTLP_DICTIONARY(TABLE_OF) };

static void count_rows(struct decoder *d, struct pb dictionary, size_t *text_bytes)
{
	struct pb_field f;

	while (pb_step(&dictionary, &f)) {
		if (f.number < sizeof(table_of) && table_of[f.number])
			d->rows[table_of[f.number] - 1]++;
		if (f.number == NUMBER_string_table && f.wire == PB_LEN)
			*text_bytes += pb_left(&f.body);
	}
}

static void expect_rows(struct decoder *d)
{
#define EXPECT(table, row) profile_expect_##row##s(d->profile, (u32)d->rows[table]);
	OTLP_TABLES(EXPECT)
#undef EXPECT
}

static void read_strings(struct decoder *d, struct pb *r, struct pb dictionary)
{
	struct pb_field f;

	while (pb_step(&dictionary, &f)) {
		struct pb body;

		if (f.number != NUMBER_string_table)
			continue;
		body = pb_body(&dictionary, &f);
		if (skip_first(d, &dictionary, STRINGS, !pb_left(&body)) || dictionary.err)
			continue;
		profile_append_string(d->profile, (struct str){ d->text.at, (u32)pb_left(&body) });
		if (pb_left(&body))
			d->text.at = mempcpy(d->text.at, body.at, pb_left(&body));
	}
	pb_inherit(r, &dictionary);
}

static bool samples_ok(const struct profile_resource *resource)
{
	for (u32 i = 0; i < resource->scope_count; i++)
		for (u32 k = 0; k < resource->scopes[i].set_count; k++)
			for (u32 n = 0; n < resource->scopes[i].sets[k].sample_count; n++) {
				const struct profile_sample *s = &resource->scopes[i].sets[k].samples[n];

				if (s->value_count != s->time_count && s->value_count > 1 && s->time_count)
					return false;
			}
	return true;
}

static void read_resource(struct decoder *d, struct pb *r, struct pb body)
{
	struct profile_resource *resource = pushed(d, r, profile_add_resource(d->profile, NULL, 0), true);

	if (resource)
		read_RESOURCE_PROFILES(d, r, body, resource);
}

static int read_request(struct decoder *d, struct pb request)
{
	struct pb r = request;
	struct pb_field f;
	size_t text = 0;

	for (; pb_next(&r, &f);)
		if (f.number == NUMBER_dictionary)
			count_rows(d, pb_body(&r, &f), &text);
	for (u32 i = 0; i < TABLES; i++)
		d->rows[i] += !d->rows[i];
	if (!r.err)
		expect_rows(d);
	d->text.at = alloc(d, &r, text);
	for (r.at = r.err ? r.end : request.at; pb_next(&r, &f);)
		if (f.number == NUMBER_dictionary)
			read_strings(d, &r, pb_body(&r, &f));
	for (r.at = r.err ? r.end : request.at; pb_next(&r, &f);)
		if (f.number == NUMBER_dictionary)
			read_DICTIONARY(d, &r, pb_body(&r, &f), d->profile);
	for (r.at = r.err ? r.end : request.at; pb_next(&r, &f);)
		if (f.number == NUMBER_resource_profiles)
			read_resource(d, &r, pb_body(&r, &f));
	for (u32 i = 0; !r.err && i < d->profile->resources.count; i++)
		if (!samples_ok(&d->profile->resources.at[i]))
			fail(&r, -EBADMSG);
	return r.err ? r.err : profile_err(d->profile);
}

int otlp_decode_newest(const void *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	struct decoder d = { .profile = profile, .piece_bytes = bytes / 8 };
	int r;

	if (!profile)
		return -ENOMEM;
	if (bytes > INT32_MAX)
		return -E2BIG;
	if (d.piece_bytes < PIECE_MIN)
		d.piece_bytes = PIECE_MIN;
	if (d.piece_bytes > PIECE_MAX)
		d.piece_bytes = PIECE_MAX;
	r = read_request(&d, pb_from(at, bytes));
	if (r < 0)
		return r;
	*ret_profile = TAKE(profile);
	return 0;
}

int otlp_decode_value(struct profile *profile, struct pb body, struct any *ret_value)
{
	struct decoder d = { .profile = profile, .piece_bytes = PIECE_MIN };
	struct pb r = { 0 };

	*ret_value = (struct any){ 0 };
	for (u32 i = 0; i < TABLES; i++)
		d.rows[i] = 1;
	read_ANY(&d, &r, body, ret_value);
	return r.err;
}

int otlp_decode(const void *at, size_t bytes, struct otlp_info *ret_info, struct profile **ret_profile)
{
	_cleanup_(buf_done) struct buf newest;
	struct otlp_info info = { .numbering = OTLP_1_10 };
	int r = otlp_decode_newest(at, bytes, ret_profile);

	buf_init(&newest, OTLP_OLDER_BYTES_MAX);
	if (r == -EBADMSG && otlp_older_rewrite(pb_from(at, bytes), &newest, &info, NULL) == 0)
		r = otlp_decode_newest(newest.data, newest.len, ret_profile);
	if (r == 0 && ret_info)
		*ret_info = info;
	return r;
}
