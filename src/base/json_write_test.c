// SPDX-License-Identifier: Apache-2.0
#include "base/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "base/cleanup.h"

/* Words of plain bytes are looked at at once: each byte must be seen wherever in them it stands. */
TEST(json_write_escapes_a_byte_wherever_it_stands)
{
	for (u32 c = 0; c < 256; c++)
		for (u32 place = 0; place < 19; place++) {
			_cleanup_(buf_done) struct buf alone, within;
			char text[19];

			memset(text, c == 'x' ? 'y' : 'x', sizeof(text));
			text[place] = (char)c;
			buf_init(&alone, 64);
			buf_init(&within, 64);
			json_put_string(&alone, text + place, 1);
			json_put_string(&within, text, sizeof(text));
			EQ(within.len, alone.len + sizeof(text) - 1);
			OK(!memcmp(within.data + 1, text, place));
			OK(!memcmp(within.data + 1 + place, alone.data + 1, alone.len - 2));
			OK(!memcmp(within.data + place + alone.len - 1, text + place + 1, sizeof(text) - place - 1));
		}
}

TEST(json_write_prints_numbers_of_every_length)
{
	u64 power = 1;

	for (int digits = 0; digits < 20; digits++, power *= 10)
		for (int beside = -1; beside <= 1; beside++) {
			u64 value = power + (u64)(s64)beside;
			_cleanup_(buf_done) struct buf b;
			struct json_write j = { .b = &b };
			char want[100];

			buf_init(&b, 1000);
			json_write_open(&j, '[');
			json_write_u64(&j, value);
			json_write_s64(&j, (s64)value);
			json_write_u32(&j, (u32)value);
			json_write_u32_list(&j, (u32[]){ (u32)value, 7, (u32)(value / 10) }, 3);
			json_write_u32_list(&j, NULL, 0);
			json_write_close(&j, ']');
			snprintf(want, sizeof(want), "[\"%" PRIu64 "\",\"%" PRId64 "\",%u,[%u,7,%u],[]]",
				 (uint64_t)value, (int64_t)value, (u32)value, (u32)value, (u32)(value / 10));
			EQ(b.len, strlen(want));
			OK(!memcmp(b.data, want, b.len));
		}
}
