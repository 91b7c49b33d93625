// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/columns.h"

#include <errno.h>

#include "base/buf.h"
#include "base/hex.h"
#include "test.h"

/* What ClickHouse 26.9 itself writes for the rows of fill(). */
static const char from_server[] =
	"0b02034461790444617465204e214e09537461636b486173680655496e7436341581e97df41022110700000000000000"
	"0946756e6374696f6e730d417272617928537472696e672902000000000000000200000000000000046c656166046d61"
	"696e0546696c65730d417272617928537472696e67290200000000000000020000000000000003612e6300054c696e65"
	"730d41727261792855496e743332290200000000000000020000000000000003000000701101000a53746172744c696e"
	"65730d41727261792855496e743332290200000000000000020000000000000001000000020000000941646472657373"
	"65730d41727261792855496e74363429020000000000000002000000000000001000000000000000ffffffffffffffff"
	"084d617070696e67730d417272617928537472696e672902000000000000000200000000000000062f62696e2f78062f"
	"62696e2f78084275696c644964730d417272617928537472696e67290200000000000000020000000000000002616200"
	"0a4672616d6554797065731d4172726179284c6f7743617264696e616c69747928537472696e67292901000000000000"
	"00020000000000000002000000000000000006000000000000020000000000000000066e617469766502000000000000"
	"0001010c496e6c696e654465707468730c41727261792855496e743829020000000000000002000000000000000100";

static struct str str(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

static void add_frame(struct columns *c, const char *function, const char *file, u32 line, u32 start, u64 address,
		      const char *build_id, u8 depth)
{
	columns_text(c, STACKS_FUNCTIONS, str(function));
	columns_text(c, STACKS_FILES, str(file));
	columns_number(c, STACKS_LINES, line);
	columns_number(c, STACKS_START_LINES, start);
	columns_number(c, STACKS_ADDRESSES, address);
	columns_text(c, STACKS_MAPPINGS, str("/bin/x"));
	columns_text(c, STACKS_BUILD_IDS, str(build_id));
	columns_text(c, STACKS_FRAME_TYPES, str("native"));
	columns_number(c, STACKS_INLINE_DEPTHS, depth);
}

static void end_stack(struct columns *c, u32 day, u64 hash)
{
	columns_number(c, STACKS_DAY, day);
	columns_number(c, STACKS_HASH, hash);
	for (u32 i = STACKS_FUNCTIONS; i < STACKS_COLUMN_COUNT; i++)
		columns_end(c, i);
	columns_end_row(c);
}

static void fill(struct columns *c)
{
	add_frame(c, "leaf", "a.c", 3, 1, 16, "ab", 1);
	add_frame(c, "main", "", 70000, 2, ~0ull, "", 0);
	end_stack(c, 20000, 1234567890123456789);
	end_stack(c, 20001, 7);
}

TEST(columns_are_what_the_server_writes)
{
	struct columns *c = columns_new(CLICKHOUSE_STACKS, 4096);
	char text[2 * 700 + 1] = "";
	struct buf out;

	OK(c);
	for (int again = 0; again < 2; again++) {
		buf_init(&out, 4096);
		fill(c);
		EQ(columns_rows(c), 2);
		EQ(columns_encode(c, &out), 0);
		OK(out.len < 700);
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
	struct columns *c = columns_new(CLICKHOUSE_STACKS, 1000);
	struct buf out;

	buf_init(&out, 4096);
	for (int i = 0; i < 1000; i++)
		columns_text(c, STACKS_FUNCTIONS, str("long"));
	EQ(columns_err(c), -E2BIG);
	EQ(columns_encode(c, &out), -E2BIG);
	columns_clear(c);
	EQ(columns_err(c), 0);
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "host-%d", i);
		columns_text(c, STACKS_FRAME_TYPES, str(name));
	}
	EQ(columns_err(c), -E2BIG);
	columns_free(c);
	buf_done(&out);
}

TEST(columns_of_many_labels_have_wider_indices)
{
	static const char type[] = "\x1d" "Array(LowCardinality(String))";
	struct columns *c = columns_new(CLICKHOUSE_STACKS, 1u << 20);
	struct buf out;
	const u8 *at;

	buf_init(&out, 1u << 20);
	for (int i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof(name), "type-%d", i);
		columns_text(c, STACKS_FRAME_TYPES, str(name));
		end_stack(c, 0, 0);
	}
	EQ(columns_encode(c, &out), 0);
	at = memmem(out.data, out.len, type, sizeof(type) - 1);
	OK(at);
	at += sizeof(type) - 1 + 8 + 300 * 8;	/* after the version and the ends */
	EQ(at[0], 1);				/* indices of two bytes */
	EQ(at[1], 6);
	EQ(at[8], 301 & 255);			/* keys, with "" */
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
		c = columns_new(CLICKHOUSE_STACKS, 4096);
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
