// SPDX-License-Identifier: Apache-2.0
#include "trace/request.h"

#include "abi.h"
#include "test.h"

#define KEYS "root\0http.route\0\0last"

static struct request decode(const char *attributes, size_t bytes)
{
	u8 record[sizeof(struct request_record) + REQUEST_ATTRIBUTES_MAX] = { 1, 2, [16] = 3, [24] = 1 };
	static u8 kept[sizeof(record)];
	struct request request;

	memcpy(record + sizeof(struct request_record), attributes, bytes);
	memcpy(kept, record, sizeof(record));
	request_decode(kept, sizeof(struct request_record) + bytes, KEYS, sizeof(KEYS), &request);
	return request;
}
#define DECODE(text) decode(text, sizeof(text) - 1)

TEST(request_has_ids_and_attributes_by_the_numbers_of_their_keys)
{
	struct request r = DECODE("\x01\x02/a\x00\x04" "1234\x03\x00");

	OK(r.has_trace && r.has_span);
	EQ(r.trace_id[1], 2);
	EQ(r.span_id[0], 3);
	EQ(r.label_count, 3);
	OK(str_is(r.labels[0].key, "http.route") && str_is(r.labels[0].value, "/a"));
	OK(str_is(r.labels[1].key, "root") && str_is(r.labels[1].value, "1234"));
	OK(str_is(r.labels[2].key, "last") && !r.labels[2].value.len);
}

TEST(request_takes_the_last_of_equal_keys_and_leaves_out_what_is_unknown_cut_or_no_text)
{
	struct request r = DECODE("\x01\x02/a\x01\x02/b\x09\x01x\x02\x01y\x00\x01\xff\x03\x05" "cut");

	EQ(r.label_count, 1);
	OK(str_is(r.labels[0].value, "/b"));
	EQ(DECODE("\x00").label_count, 0);
	EQ(DECODE("\x00\x03" "a\0b").label_count, 0);
}

TEST(request_ids_come_from_labels_that_libraries_set)
{
	static const struct {
		const char *key, *value;
		bool is_trace, is_taken;
		u8 last;
	} cases[] = {
		{ "trace_id", "0102030405060708090a0b0c0d0e0f10", true, true, 0x10 },
		{ "trace id", "0102030405060708090A0B0C0D0E0F11", true, true, 0x11 },
		{ "trace_id", "00000000000000000000000000000000", true, false, 0 },
		{ "trace_id", "0102030405060708090a0b0c0d0e0f1", true, false, 0 },
		{ "span_id", "00000000000000ff", false, true, 0xff },
		{ "profile_id", "0000000000000012", false, true, 0x12 },
		{ "span_id", "000000000000000g", false, false, 0 },
		{ "span id", "258", false, true, 2 },
		{ "span id", "18446744073709551615", false, true, 0xff },
		{ "span id", "18446744073709551616", false, false, 0 },
		{ "span id", "-1", false, false, 0 },
		{ "span id", "0", false, false, 0 },
		{ "span id", "12x", false, false, 0 },
		{ "user", "12", false, false, 0 },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request r = { 0 };

		EQ(request_take_label(&r, cases[i].key, cases[i].value), cases[i].is_taken);
		EQ(r.has_trace, cases[i].is_taken && cases[i].is_trace);
		EQ(r.has_span, cases[i].is_taken && !cases[i].is_trace);
		EQ(cases[i].is_trace ? r.trace_id[15] : r.span_id[7], cases[i].last);
	}
}

TEST(request_of_an_apm_agent_has_its_transaction)
{
	u8 record[sizeof(struct request_record) + APM_TRANSACTION_BYTES] = {
		1, 2, [16] = 3, [24] = 1, [25] = REQUEST_APM, [28] = 0xab, [35] = 0x0c };
	struct request request;

	request_decode(record, sizeof(record), KEYS, sizeof(KEYS), &request);
	OK(request.has_trace && request.has_span);
	EQ(request.trace_id[1], 2);
	EQ(request.span_id[0], 3);
	EQ(request.label_count, 1);
	OK(str_is(request.labels[0].key, "transaction.id"));
	OK(str_is(request.labels[0].value, "ab0000000000000c"));
	/* Its ids are good without it. */
	request_decode(record, sizeof(record) - 1, KEYS, sizeof(KEYS), &request);
	OK(request.has_trace && !request.label_count);
}
