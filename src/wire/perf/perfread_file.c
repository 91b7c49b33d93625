// SPDX-License-Identifier: Apache-2.0
#include "wire/perf/perfread_file.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#define RECORD_HEADER_BYTES 8u
#define SWAPPED_MAGIC 0x50455246494c4532ull	/* "2ELIFREP" */
#define OLD_MAGIC 0x454c494646524550ull		/* "PERFFILE", before Linux 3.0 */
#define UNPACK_STEP ((size_t)1 << 17)

/* Places of records: offsets in the file, or with this bit in what was unpacked. */
#define PLACE_UNPACKED (1ull << 63)

static struct cursor part(const struct perfread_file *r, u64 offset, u64 bytes)
{
	u64 start = offset < r->bytes ? offset : r->bytes;

	return cursor_of(r->at + start, bytes < r->bytes - start ? bytes : r->bytes - start);
}

/* ---- The header ------------------------------------------------------------ */

static int check_magic(u64 magic)
{
	if (magic == PERFDATA_MAGIC)
		return 0;
	return magic == SWAPPED_MAGIC || magic == OLD_MAGIC ? -EPROTONOSUPPORT : -EBADMSG;
}

static struct perfdata_section read_section(struct cursor *c)
{
	u64 offset = cursor_uint(c, 8), bytes = cursor_uint(c, 8);

	return (struct perfdata_section){ offset, bytes };
}

static void read_header(struct perfread_file *r, struct cursor c)
{
	struct perfdata_header *h = &r->header;

	h->magic = cursor_uint(&c, 8);
	h->bytes = cursor_uint(&c, 8);
	h->attr_bytes = cursor_uint(&c, 8);
	h->attrs = read_section(&c);
	h->data = read_section(&c);
	h->event_types = read_section(&c);
	for (int i = 0; i < 4; i++)
		h->features[i] = cursor_uint(&c, 8);
	r->is_cut = c.bad;
	r->next = h->data.offset < r->bytes ? h->data.offset : r->bytes;
	/* A perf that was killed leaves 0: all the rest is data. */
	if (!h->data.bytes || h->data.bytes > r->bytes - r->next) {
		r->is_cut = true;
		r->end = r->bytes;
		memset(h->features, 0, sizeof(h->features));
	} else {
		r->end = r->next + h->data.bytes;
	}
}

static bool has_feature(const struct perfdata_header *h, u32 feature)
{
	return feature < PERFDATA_FEATURES && h->features[feature / 64] >> feature % 64 & 1;
}

/* Where a feature lies. False: the file does not have it. */
static bool find_feature(const struct perfread_file *r, u32 feature, struct perfdata_section *ret_section)
{
	u64 before = 0;
	struct cursor c;

	if (!has_feature(&r->header, feature))
		return false;
	for (u32 i = 0; i < feature; i++)
		before += has_feature(&r->header, i);
	c = part(r, r->header.data.offset + r->header.data.bytes + before * sizeof(*ret_section), sizeof(*ret_section));
	*ret_section = read_section(&c);
	return !c.bad;
}

static bool has_all_features(const struct perfread_file *r)
{
	for (u32 i = 0; i < PERFDATA_FEATURES; i++) {
		struct perfdata_section s;

		if (has_feature(&r->header, i) &&
		    (!find_feature(r, i, &s) || s.offset > r->bytes || s.bytes > r->bytes - s.offset))
			return false;
	}
	return true;
}

int perfread_file_init(struct perfread_file *r, const void *at, size_t bytes)
{
	struct cursor c;
	u64 size;
	int err;

	*r = (struct perfread_file){ .at = at, .bytes = bytes };
	buf_init(&r->unpacked, PERFREAD_UNPACKED_MAX);
	if (bytes < PERFDATA_PIPE_BYTES)
		return -EBADMSG;
	c = cursor_of(at, bytes);
	err = check_magic(cursor_uint(&c, 8));
	size = cursor_uint(&c, 8);
	if (err < 0)
		return err;
	r->is_pipe = size == PERFDATA_PIPE_BYTES;
	if (r->is_pipe) {
		r->next = PERFDATA_PIPE_BYTES;
		r->end = bytes;
	} else if (size < sizeof(r->header)) {
		return -EBADMSG;
	} else {
		read_header(r, cursor_of(at, bytes));
		r->is_cut |= !has_all_features(r);
	}
	return 0;
}

void perfread_file_done(struct perfread_file *r)
{
	buf_done(&r->unpacked);
	ZSTD_freeDCtx(r->zstd);
}

bool perfread_file_attr(const struct perfread_file *r, u32 number, struct cursor *ret_attr, struct cursor *ret_ids)
{
	const struct perfdata_header *h = &r->header;
	u64 section = sizeof(struct perfdata_section);
	struct perfdata_section ids;
	struct cursor entry, tail;

	if (h->attr_bytes <= section || number >= h->attrs.bytes / h->attr_bytes)
		return false;
	entry = part(r, h->attrs.offset + number * h->attr_bytes, h->attr_bytes);
	if (cursor_left(&entry) < h->attr_bytes)
		return false;
	tail = cursor_of(entry.end - section, section);
	ids = read_section(&tail);
	*ret_attr = cursor_of(entry.at, h->attr_bytes - section);
	*ret_ids = part(r, ids.offset, ids.bytes);
	return true;
}

bool perfread_file_feature(const struct perfread_file *r, u32 feature, struct cursor *ret_bytes)
{
	struct perfdata_section section;

	if (!find_feature(r, feature, &section))
		return false;
	*ret_bytes = part(r, section.offset, section.bytes);
	return true;
}

/* ---- Records --------------------------------------------------------------- */

/* What is unpacked is appended; a record may go on in the next piece. */
static int unpack(struct perfread_file *r, struct cursor body)
{
	ZSTD_inBuffer in = { body.at, cursor_left(&body), 0 };
	bool is_full;

	if (!r->zstd)
		r->zstd = ZSTD_createDCtx();
	if (!r->zstd)
		return -ENOMEM;
	do {
		size_t room = r->unpacked.max - r->unpacked.len, step = room < UNPACK_STEP ? room : UNPACK_STEP;
		ZSTD_outBuffer out = { 0 };
		size_t err;

		if (!step) {
			r->is_cut = true;
			return 0;
		}
		if (buf_reserve(&r->unpacked, step) < 0)
			return buf_err(&r->unpacked);
		out = (ZSTD_outBuffer){ r->unpacked.data + r->unpacked.len, step, 0 };
		err = ZSTD_decompressStream(r->zstd, &out, &in);
		r->unpacked.len += out.pos;
		is_full = out.pos == step;
		if (ZSTD_isError(err)) {
			r->is_cut = true;
			r->next = r->end;
			return 0;
		}
	} while (in.pos < in.size || is_full);
	return 0;
}

static struct perfread_record record_at(const u8 *at, u64 place)
{
	struct cursor c = cursor_of(at, RECORD_HEADER_BYTES);
	struct perfread_record record = { .place = place };
	size_t bytes;

	record.type = (u32)cursor_uint(&c, 4);
	record.misc = (u16)cursor_uint(&c, 2);
	bytes = cursor_uint(&c, 2);
	record.body = cursor_of(at + RECORD_HEADER_BYTES, bytes - RECORD_HEADER_BYTES);
	return record;
}

/* How long the record here is, 0 if it is not whole. */
static u32 record_bytes(const u8 *at, u64 left)
{
	u32 bytes = left >= RECORD_HEADER_BYTES ? at[6] | (u32)at[7] << 8 : 0;

	return bytes >= RECORD_HEADER_BYTES && bytes <= left ? bytes : 0;
}

struct perfread_record perfread_file_record(const struct perfread_file *r, u64 place)
{
	if (place & PLACE_UNPACKED)
		return record_at((const u8 *)r->unpacked.data + (place & ~PLACE_UNPACKED), place);
	return record_at(r->at + place, place);
}

static bool next_unpacked(struct perfread_file *r, struct perfread_record *ret_record)
{
	const u8 *at;
	u32 bytes;

	if (r->unpacked_next == r->unpacked.len)
		return false;
	at = (const u8 *)r->unpacked.data + r->unpacked_next;
	bytes = record_bytes(at, r->unpacked.len - r->unpacked_next);
	if (!bytes)
		return false;
	*ret_record = record_at(at, PLACE_UNPACKED | r->unpacked_next);
	r->unpacked_next += bytes;
	return true;
}

/* Some records have more behind them than their length says. */
static void skip_trailing(struct perfread_file *r, struct perfread_record *record)
{
	struct cursor c = record->body;
	u64 bytes = 0;

	if (record->type == PERFDATA_RECORD_TRACING_DATA)
		bytes = cursor_uint(&c, 4);
	else if (record->type == PERFDATA_RECORD_AUXTRACE)
		bytes = cursor_uint(&c, 8);
	if (bytes > r->end - r->next) {
		bytes = r->end - r->next;
		r->is_cut = true;
	}
	r->next += bytes;
	if (record->type == PERFDATA_RECORD_AUXTRACE)
		r->trace_bytes += bytes;
}

/* Newer perfs say how much of the record is packed bytes, the rest is padding. */
static struct cursor packed_part(const struct perfread_record *record)
{
	struct cursor c = record->body;
	u64 bytes;

	if (record->type == PERFDATA_RECORD_COMPRESSED)
		return c;
	bytes = cursor_uint(&c, 8);
	return bytes < cursor_left(&c) ? cursor_of(c.at, bytes) : c;
}

int perfread_file_next(struct perfread_file *r, struct perfread_record *ret_record)
{
	for (;;) {
		u32 bytes;
		int err;

		if (next_unpacked(r, ret_record)) {
			if (ret_record->type == PERFDATA_RECORD_COMPRESSED ||
			    ret_record->type == PERFDATA_RECORD_COMPRESSED2)
				continue;
			return 1;
		}
		bytes = record_bytes(r->at + r->next, r->end - r->next);
		if (!bytes) {
			r->is_cut |= r->next < r->end || r->unpacked_next < r->unpacked.len;
			return 0;
		}
		*ret_record = record_at(r->at + r->next, r->next);
		r->next += bytes;
		skip_trailing(r, ret_record);
		if (ret_record->type != PERFDATA_RECORD_COMPRESSED && ret_record->type != PERFDATA_RECORD_COMPRESSED2)
			return 1;
		err = unpack(r, packed_part(ret_record));
		if (err < 0)
			return err;
	}
}
