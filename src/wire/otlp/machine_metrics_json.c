// SPDX-License-Identifier: Apache-2.0
/*
 * From JSON to protobuf, whose members may come in any order: a table for each message says which of them are kept. Of
 * what is not understood nothing is left but that there was a point.
 */
#include <errno.h>
#include <string.h>

#include "base/json_read.h"
#include "wire/otlp/machine_metrics.h"
#include "wire/otlp/metrics_schema.h"
#include "wire/pb.h"

enum kind { MESSAGE, MESSAGES, TEXT, FIXED64, SFIXED64, DOUBLE, INTEGER, BOOL, TEMPORALITY };

struct member {
	const char *key;
	u32 number;
	enum kind kind;
	const struct member *members;	/* of a message */
};

static const struct member nothing[] = { { 0 } };

static const struct member any_members[] = {
	{ "stringValue", ANY_VALUE_STRING, TEXT, NULL }, { "intValue", ANY_VALUE_INT, INTEGER, NULL }, { 0 },
};

static const struct member pair_members[] = {
	{ "key", PAIR_KEY, TEXT, NULL }, { "value", PAIR_VALUE, MESSAGE, any_members }, { 0 },
};

static const struct member point_members[] = {
	{ "attributes", POINT_ATTRIBUTES, MESSAGES, pair_members }, { "timeUnixNano", POINT_TIME, FIXED64, NULL },
	{ "asDouble", POINT_DOUBLE, DOUBLE, NULL }, { "asInt", POINT_INT, SFIXED64, NULL },
	{ "flags", POINT_FLAGS, INTEGER, NULL }, { 0 },
};

static const struct member data_members[] = {
	{ "dataPoints", DATA_POINTS, MESSAGES, point_members },
	{ "aggregationTemporality", SUM_TEMPORALITY, TEMPORALITY, NULL },
	{ "isMonotonic", SUM_IS_MONOTONIC, BOOL, NULL }, { 0 },
};

static const struct member other_members[] = { { "dataPoints", DATA_POINTS, MESSAGES, nothing }, { 0 } };

static const struct member metric_members[] = {
	{ "name", METRIC_NAME, TEXT, NULL }, { "gauge", METRIC_GAUGE_DATA, MESSAGE, data_members },
	{ "sum", METRIC_SUM_DATA, MESSAGE, data_members }, { "histogram", METRIC_HISTOGRAM, MESSAGE, other_members },
	{ "exponentialHistogram", METRIC_EXPONENTIAL_HISTOGRAM, MESSAGE, other_members },
	{ "summary", METRIC_SUMMARY, MESSAGE, other_members }, { 0 },
};

static const struct member scope_members[] = { { "name", SCOPE_NAME, TEXT, NULL }, { 0 } };

static const struct member scope_metrics_members[] = {
	{ "scope", SCOPE_METRICS_SCOPE, MESSAGE, scope_members },
	{ "metrics", SCOPE_METRICS_METRICS, MESSAGES, metric_members }, { 0 },
};

static const struct member resource_members[] = {
	{ "attributes", RESOURCE_ATTRIBUTES, MESSAGES, pair_members }, { 0 },
};

static const struct member resource_metrics_members[] = {
	{ "resource", RESOURCE_METRICS_RESOURCE, MESSAGE, resource_members },
	{ "scopeMetrics", RESOURCE_METRICS_SCOPE_METRICS, MESSAGES, scope_metrics_members }, { 0 },
};

static const struct member request_members[] = {
	{ "resourceMetrics", REQUEST_RESOURCE_METRICS, MESSAGES, resource_metrics_members }, { 0 },
};

static void put_object(struct json_read *j, const struct member *members, struct buf *out);

static void put_message(struct json_read *j, const struct member *member, struct buf *out)
{
	size_t mark = pb_begin(out, member->number);

	put_object(j, member->members, out);
	pb_end(out, mark);
}

/* A number, or the name that protobuf's mapping has for it. */
static u64 read_temporality(struct json_read *j)
{
	if (json_read_peek(j) != '"')
		return json_read_u32(j);
	return str_is(json_read_string(j), "AGGREGATION_TEMPORALITY_CUMULATIVE") ? CUMULATIVE : 0;
}

static void put_value(struct json_read *j, const struct member *member, struct buf *out)
{
	struct str text;
	double number;
	u64 bits;

	switch (member->kind) {
	case MESSAGE:
		put_message(j, member, out);
		break;
	case MESSAGES:
		for (json_read_list(j); json_read_item(j);)
			put_message(j, member, out);
		break;
	case TEXT:
		text = json_read_string(j);
		pb_put_bytes(out, member->number, text.at, text.len);
		break;
	case FIXED64:
		pb_put_fixed64(out, member->number, json_read_u64(j));
		break;
	case SFIXED64:
		pb_put_fixed64(out, member->number, (u64)json_read_s64(j));
		break;
	case DOUBLE:
		number = json_read_double(j);
		memcpy(&bits, &number, sizeof(bits));
		pb_put_fixed64(out, member->number, bits);
		break;
	case INTEGER:
		pb_put_varint(out, member->number, (u64)json_read_s64(j));
		break;
	case BOOL:
		pb_put_varint(out, member->number, json_read_bool(j));
		break;
	case TEMPORALITY:
		pb_put_varint(out, member->number, read_temporality(j));
		break;
	}
}

static void put_object(struct json_read *j, const struct member *members, struct buf *out)
{
	struct str key;

	json_read_object(j);
	while (json_read_member(j, &key)) {
		const struct member *member = members;

		while (member->key && !str_is(key, member->key))
			member++;
		if (member->key)
			put_value(j, member, out);
		else
			json_read_skip(j);
		if (buf_err(out) < 0)
			json_read_fail(j, buf_err(out));
	}
}

int machine_metrics_from_json(const void *at, size_t bytes, struct buf *out)
{
	struct json_read j;
	int r;

	json_read_init(&j, at, bytes);
	put_object(&j, request_members, out);
	r = json_read_end(&j);
	json_read_done(&j);
	return r;
}
