// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/columns.h"

#include <errno.h>

#include "base/buf.h"
#include "base/hex.h"
#include "test.h"

/* What ClickHouse 26.9 itself writes for the rows of fill(). */
static const char from_server[] =
	"0a0208486f73744e616d65164c6f7743617264696e616c69747928537472696e67290100000000000000000600000000"
	"0000020000000000000000016802000000000000000100055374617274144461746554696d65363428392c2027555443"
	"272900ca9a3b00000000005ed0b20000000003456e64144461746554696d65363428392c202755544327290094357700"
	"00000000286bee00000000074e756d62657273234d6170284c6f7743617264696e616c69747928537472696e67292c20"
	"55496e743634290100000000000000020000000000000002000000000000000006000000000000030000000000000000"
	"04627573790463707573020000000000000001020700000000000000020100000000000007437075506964730d417272"
	"61792855496e74333229020000000000000002000000000000000100000000000100084370754e616d65730d41727261"
	"7928537472696e6729020000000000000002000000000000000161000a437075416d6f756e74730d4172726179285549"
	"6e7436342902000000000000000200000000000000030000000000000004000000000000000a4d656d6f727950696473"
	"0d41727261792855496e7433322900000000000000000100000000000000090000000b4d656d6f72794e616d65730d41"
	"7272617928537472696e6729000000000000000001000000000000000378797a0d4d656d6f7279416d6f756e74730d41"
	"727261792855496e74363429000000000000000001000000000000000500000000000000";

static struct str str(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

static void end_rest(struct columns *c, u32 from, u32 to)
{
	for (u32 i = from; i <= to; i++)
		columns_end(c, i);
	columns_end_row(c);
}

static void fill(struct columns *c)
{
	columns_text(c, SERIES_COLUMN_HOST, str("h"));
	columns_number(c, SERIES_COLUMN_START, 1000000000);
	columns_number(c, SERIES_COLUMN_END, 2000000000);
	columns_number_pair(c, SERIES_COLUMN_NUMBERS, str("busy"), 7);
	columns_number_pair(c, SERIES_COLUMN_NUMBERS, str("cpus"), 258);
	columns_number(c, SERIES_COLUMN_CPU_PIDS, 1);
	columns_number(c, SERIES_COLUMN_CPU_PIDS, 65536);
	columns_text(c, SERIES_COLUMN_CPU_NAMES, str("a"));
	columns_text(c, SERIES_COLUMN_CPU_NAMES, (struct str){ NULL, 0 });
	columns_number(c, SERIES_COLUMN_CPU_AMOUNTS, 3);
	columns_number(c, SERIES_COLUMN_CPU_AMOUNTS, 4);
	end_rest(c, SERIES_COLUMN_NUMBERS, SERIES_COLUMN_MEMORY_AMOUNTS);

	columns_text(c, SERIES_COLUMN_HOST, str(""));
	columns_number(c, SERIES_COLUMN_START, 3000000000);
	columns_number(c, SERIES_COLUMN_END, 4000000000);
	columns_number(c, SERIES_COLUMN_MEMORY_PIDS, 9);
	columns_text(c, SERIES_COLUMN_MEMORY_NAMES, str("xyz"));
	columns_number(c, SERIES_COLUMN_MEMORY_AMOUNTS, 5);
	end_rest(c, SERIES_COLUMN_NUMBERS, SERIES_COLUMN_MEMORY_AMOUNTS);
}

TEST(columns_are_what_the_server_writes)
{
	struct columns *c = columns_new(CLICKHOUSE_SERIES, 4096);
	char text[2 * 600 + 1] = "";
	struct buf out;

	OK(c);
	for (int again = 0; again < 2; again++) {
		buf_init(&out, 4096);
		fill(c);
		EQ(columns_rows(c), 2);
		EQ(columns_encode(c, &out), 0);
		OK(out.len < 600);
		hex_write(out.data, out.len, text);
		STREQ(text, from_server);
		buf_done(&out);
		columns_clear(c);
		EQ(columns_rows(c), 0);
	}
	columns_free(c);
}

TEST(columns_write_values_as_the_collector_does)
{
	static const struct any list[] = { { .kind = ANY_INT, .integer = 1 }, { .kind = ANY_BOOL, .boolean = true } };
	static const struct {
		struct any value;
		const char *text;
	} cases[] = {
		{ { .kind = ANY_STRING, .string = { "a\"b", 3 } }, "a\"b" },
		{ { .kind = ANY_NONE }, "" },
		{ { .kind = ANY_INT, .integer = -7 }, "-7" },
		{ { .kind = ANY_BOOL, .boolean = true }, "true" },
		{ { .kind = ANY_DOUBLE, .real = 0.5 }, "0.5" },
		{ { .kind = ANY_BYTES, .string = { "\x01\x02", 2 } }, "AQI=" },
		{ { .kind = ANY_ARRAY, .count = 2, .array = list }, "[1,true]" },
	};
	struct columns *c = columns_new(CLICKHOUSE_OTEL_PROFILES, 4096);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t before = columns_bytes(c), bytes = strlen(cases[i].text);

		columns_pair(c, OTEL_RESOURCE_ATTRIBUTES, str("key"), &cases[i].value);
		/* An index and, the first time, the key; the length of the value and itself. */
		EQ(columns_bytes(c) - before, 4 + 1 + bytes + (i ? 0 : 8));
	}
	EQ(columns_err(c), 0);
	columns_free(c);
}

TEST(columns_have_a_limit)
{
	struct columns *c = columns_new(CLICKHOUSE_SERIES, 1000);
	struct buf out;

	buf_init(&out, 4096);
	for (int i = 0; i < 1000; i++)
		columns_text(c, SERIES_COLUMN_CPU_NAMES, str("long"));
	EQ(columns_err(c), -E2BIG);
	EQ(columns_encode(c, &out), -E2BIG);
	columns_clear(c);
	EQ(columns_err(c), 0);
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "host-%d", i);
		columns_text(c, SERIES_COLUMN_HOST, str(name));
	}
	EQ(columns_err(c), -E2BIG);
	columns_free(c);
	buf_done(&out);
}

TEST(columns_of_many_labels_have_wider_indices)
{
	struct columns *c = columns_new(CLICKHOUSE_SERIES, 1u << 20);
	struct buf out;

	buf_init(&out, 1u << 20);
	for (int i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof(name), "host-%d", i);
		columns_text(c, SERIES_COLUMN_HOST, str(name));
		columns_number(c, SERIES_COLUMN_START, 0);
		columns_number(c, SERIES_COLUMN_END, 0);
		end_rest(c, SERIES_COLUMN_NUMBERS, SERIES_COLUMN_MEMORY_AMOUNTS);
	}
	EQ(columns_encode(c, &out), 0);
	/* 2 + name, type, version; then the flags of indices of two bytes, and 301 keys. */
	EQ((u8)out.data[1 + 2 + 9 + 23 + 8], 1);
	EQ((u8)out.data[1 + 2 + 9 + 23 + 9], 6);
	EQ((u8)out.data[1 + 2 + 9 + 23 + 16], 301 & 255);
	columns_free(c);
	buf_done(&out);
}

TEST(columns_tell_that_memory_ran_out)
{
	for (long n = 0;; n++) {
		struct columns *c;
		struct buf out;
		bool good = false;

		buf_init(&out, 4096);
		test_alloc_fail(n);
		c = columns_new(CLICKHOUSE_SERIES, 4096);
		if (c) {
			fill(c);
			good = columns_encode(c, &out) == 0;
		}
		columns_free(c);
		buf_done(&out);
		if (test_alloc_reset() <= n) {
			OK(good);
			break;
		}
		OK(!good);
	}
}
