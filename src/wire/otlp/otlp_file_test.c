// SPDX-License-Identifier: Apache-2.0
#include "wire/otlp/otlp_file.h"

#include <errno.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "test.h"
#include "wire/compression.h"
#include "wire/format.h"
#include "wire/otlp/otlp.h"

#define ONE "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{\"values\":[3]}]}]}]}]}"

static void put_framed(struct buf *file, enum compression kind, const void *at, size_t bytes)
{
	struct buf packed;

	buf_init(&packed, 1 << 16);
	EQ(compression_pack(kind, at, bytes, &packed), 0);
	buf_add(file, (u8[]){ 0, 0, (u8)(packed.len >> 8), (u8)packed.len }, 4);
	buf_add(file, packed.data, packed.len);
	buf_done(&packed);
}

static s64 total_of(const struct profile *p)
{
	s64 total = 0;

	for (u32 i = 0; i < p->resources.count; i++)
		for (u32 n = 0; n < p->resources.at[i].scopes[0].sets[0].sample_count; n++)
			total += profile_sample_value(&p->resources.at[i].scopes[0].sets[0].samples[n]);
	return total;
}

/* What the file has, as whoever finds out its format by itself reads it. */
static void has(const struct buf *file, const char *format, s64 total)
{
	const struct format_ops *found = format_by_content(file->data, file->len);
	struct profile *profile;

	OK(found);
	STREQ(found->name, format);
	EQ(found->decode(file->data, file->len, &profile), 0);
	EQ(total_of(profile), total);
	profile_free(profile);
}

TEST(otlp_file_reads_lines_of_json)
{
	struct buf file;

	buf_init(&file, 1 << 16);
	buf_addf(&file, "%s\n%s\n\n  \n%s", ONE, ONE, ONE);
	has(&file, "json", 9);
	file.len -= 1;
	EQ(otlp_file_decode_json(file.data, file.len, &(struct profile *){ NULL }), -EBADMSG);
	buf_done(&file);
}

TEST(otlp_file_reads_records_with_their_lengths)
{
	struct profile *one;
	struct buf proto;

	EQ(otlp_file_decode_json(ONE, sizeof(ONE) - 1, &one), 0);
	buf_init(&proto, 1 << 16);
	EQ(otlp_encode(one, &proto), 0);
	profile_free(one);
	for (enum compression kind = COMPRESSION_NONE; kind <= COMPRESSION_ZSTD; kind += COMPRESSION_ZSTD) {
		struct buf file;

		buf_init(&file, 1 << 16);
		put_framed(&file, kind, proto.data, proto.len);
		put_framed(&file, kind, ONE, sizeof(ONE) - 1);
		put_framed(&file, kind, proto.data, proto.len);
		has(&file, "otlp", 9);
		for (size_t cut = 5; cut < file.len; cut++) {
			struct profile *cut_off = NULL;
			int r = otlp_file_decode_framed(file.data, cut, &cut_off);

			OK(r == -EBADMSG || (r == 0 && total_of(cut_off) < 9));
			profile_free(cut_off);
		}
		buf_done(&file);
	}
	buf_done(&proto);
}
