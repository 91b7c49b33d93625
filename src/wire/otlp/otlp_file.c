// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_file.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/types.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "wire/compression.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_json.h"
#include "wire/pb.h"

#define LENGTH_BYTES 4
#define RECORD_MAX ((size_t)256 << 20)	/* of one, unpacked */

static u32 length_at(const u8 *at)
{
	return (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];
}

/* Lengths have a 0 first, which no format that wick reads begins with; then comes what a record can begin with. */
bool otlp_file_is_framed(const void *at, size_t bytes)
{
	const u8 *record = (const u8 *)at + LENGTH_BYTES;

	return bytes > LENGTH_BYTES && !*(const u8 *)at && length_at(at) &&
	       (*record == '{' || *record == (1 << 3 | PB_LEN) || *record == (2 << 3 | PB_LEN) ||
		compression_of(record, bytes - LENGTH_BYTES) == COMPRESSION_ZSTD);
}

static int decode_record(const void *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(buf_done) struct buf plain;
	int r;

	buf_init(&plain, RECORD_MAX);
	if (compression_of(at, bytes) == COMPRESSION_ZSTD) {
		r = compression_unpack(COMPRESSION_ZSTD, at, bytes, &plain);
		if (r < 0)
			return r;
		at = plain.data;
		bytes = plain.len;
	}
	return bytes && *(const char *)at == '{' ? otlp_json_decode(at, bytes, ret_profile) :
						   otlp_decode(at, bytes, NULL, ret_profile);
}

static int add(struct merger *merger, int (*decode)(const void *at, size_t bytes, struct profile **ret_profile),
	       const void *at, size_t bytes)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r = decode(at, bytes, &profile);

	return r < 0 ? r : merger_add(merger, profile);
}

/* A last record that is cut, since it is just being written, is refused: what is missing would be a silent loss. */
int otlp_file_decode_framed(const void *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(merger_freep) struct merger *merger = NULL;
	const u8 *record = at, *end = record + bytes;
	int r = merger_new(MERGE_TIMES_MAX, &merger);

	while (r == 0 && record < end) {
		size_t left = (size_t)(end - record), length = left < LENGTH_BYTES ? left : length_at(record);

		if (left < LENGTH_BYTES || length > left - LENGTH_BYTES)
			return -EBADMSG;
		r = add(merger, decode_record, record + LENGTH_BYTES, length);
		record += LENGTH_BYTES + length;
	}
	if (r == 0)
		*ret_profile = merger_finish(merger);
	return r;
}

static bool is_blank(const char *at, size_t length)
{
	while (length && (*at == ' ' || *at == '\t' || *at == '\r')) {
		at++;
		length--;
	}
	return !length;
}

static int decode_lines(const char *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(merger_freep) struct merger *merger = NULL;
	const char *end = at + bytes;
	int r = merger_new(MERGE_TIMES_MAX, &merger);

	while (r == 0 && at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((line_end ? line_end : end) - at);

		if (!is_blank(at, length))
			r = add(merger, otlp_json_decode, at, length);
		at += length + 1;
	}
	if (r == 0)
		*ret_profile = merger_finish(merger);
	return r;
}

int otlp_file_decode_json(const void *at, size_t bytes, struct profile **ret_profile)
{
	int r = otlp_json_decode(at, bytes, ret_profile);

	return r == -EBADMSG && bytes && memchr(at, '\n', bytes) ? decode_lines(at, bytes, ret_profile) : r;
}
