/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of OTLP profiles and their fields, once: whatever checks, reads,
 * writes or renumbers them is made from these lists by the preprocessor.
 *
 *	F(numbers, KIND, name, jsonName, member, of, more)
 *
 *	numbers		by version: 1.3 | 1.4, 1.5 | 1.6, 1.7 | 1.8 | 1.9 | 1.10, 1.11; 0: not there, or not alike
 *	KIND		what it holds, see below
 *	member		where it is in the struct of profile/profile.h that holds the message
 *	of		the table of an index, the message in a message, the bytes of an id
 *	more		of a list: the member that counts it
 *
 * What older versions have and 1.10 has not is in otlp_older.c.
 *
 *	NUMBER, NUMBER32	varint, of 64 and 32 bits
 *	FIXED		fixed64
 *	INDEX		varint: a row of a table
 *	INDICES		the same, many, packed or not
 *	REFERENCE	varint: a string, which old receivers do not understand
 *	VALUES, TIMES	of a sample: packed varints; fixed64s, packed or not
 *	TEXT, BYTES	UTF-8; anything
 *	KEY		TEXT, for which a REFERENCE may stand
 *	ID		of a link: so many bytes, or none; OPTIONAL_ID: zeros are left out
 *	ITSELF		INDICES that are all of the struct
 *	TYPE		a message that is a type and its unit, left out if it says nothing
 *	ANY		a message that is a value; SOME: left out if it is none
 *	PART		a message whose fields are members of the outer one's struct
 *	LIST		messages, many; SHORT_LIST: left out of JSON if there are none
 *	ROW, TEXT_ROW	what a table of the dictionary consists of
 */
#ifndef WIRE_OTLP_SCHEMA_H
#define WIRE_OTLP_SCHEMA_H

#include <stdbool.h>
#include <string.h>

#include "profile/profile.h"

#define OTLP_SAME(number) (number, number, number, number, number, number)
#define OTLP_SINCE_1_8(number) (0, 0, 0, number, number, number)

#define OTLP_COLUMN_1_3(a, b, c, d, e, f) a
#define OTLP_COLUMN_1_5(a, b, c, d, e, f) b
#define OTLP_COLUMN_1_7(a, b, c, d, e, f) c
#define OTLP_COLUMN_1_8(a, b, c, d, e, f) d
#define OTLP_COLUMN_1_9(a, b, c, d, e, f) e
#define OTLP_COLUMN_1_10(a, b, c, d, e, f) f
/* Such as OTLP_NUMBER(1_10, numbers). */
#define OTLP_NUMBER(version, numbers) OTLP_COLUMN_##version numbers

/* All messages but ANY and REQUEST, and what holds them; the innermost first, so that they can be inlined. */
#define OTLP_MESSAGES(M) \
	M(ARRAY, any) M(KEYVALUES, any) M(KEYVALUE, keyvalue) M(STACK, indices) M(ATTRIBUTE, profile_attribute) \
	M(LINK, profile_link) M(FUNCTION, profile_function) M(LINE, profile_line) M(LOCATION, profile_location) \
	M(MAPPING, profile_mapping) M(DICTIONARY, profile) M(SAMPLE, profile_sample) M(TYPE, profile_type) \
	M(PROFILE, profile_set) M(SCOPE, profile_scope) M(SCOPE_PROFILES, profile_scope) M(RESOURCE, profile_resource) \
	M(RESOURCE_PROFILES, profile_resource)

/* The tables of the dictionary, in the order of its fields: what indices point into. */
#define OTLP_TABLES(T) T(MAPPINGS, mapping) T(LOCATIONS, location) T(FUNCTIONS, function) T(LINKS, link) \
	T(STRINGS, string) T(ATTRIBUTES, attribute) T(STACKS, stack)

#define OTLP_REQUEST(F) \
	F(OTLP_SAME(1), LIST, resource_profiles, resourceProfiles, resources.at, RESOURCE_PROFILES, resources.count) \
	F(OTLP_SINCE_1_8(2), PART, dictionary, dictionary, , DICTIONARY, )

#define OTLP_RESOURCE_PROFILES(F) \
	F(OTLP_SAME(1), PART, resource, resource, , RESOURCE, ) \
	F(OTLP_SAME(2), LIST, scope_profiles, scopeProfiles, scopes, SCOPE_PROFILES, scope_count) \
	F(OTLP_SAME(3), TEXT, schema_url, schemaUrl, schema_url, , )

#define OTLP_RESOURCE(F) \
	F(OTLP_SAME(1), SHORT_LIST, attributes, attributes, attributes, KEYVALUE, attribute_count) \
	F(OTLP_SAME(2), NUMBER32, dropped_attributes_count, droppedAttributesCount, dropped_attributes_count, , )

#define OTLP_SCOPE_PROFILES(F) \
	F(OTLP_SAME(1), PART, scope, scope, , SCOPE, ) \
	F(OTLP_SAME(2), LIST, profiles, profiles, sets, PROFILE, set_count) \
	F(OTLP_SAME(3), TEXT, schema_url, schemaUrl, schema_url, , )

#define OTLP_SCOPE(F) \
	F(OTLP_SAME(1), TEXT, name, name, name, , ) \
	F(OTLP_SAME(2), TEXT, version, version, version, , ) \
	F(OTLP_SAME(3), SHORT_LIST, attributes, attributes, attributes, KEYVALUE, attribute_count) \
	F(OTLP_SAME(4), NUMBER32, dropped_attributes_count, droppedAttributesCount, dropped_attributes_count, , )

#define OTLP_PROFILE(F) \
	F((1, 1, 1, 1, 1, 1), TYPE, sample_type, sampleType, sample_type, TYPE, ) \
	F((2, 2, 2, 2, 2, 2), LIST, samples, samples, samples, SAMPLE, sample_count) \
	F((9, 11, 4, 3, 3, 3), FIXED, time_unix_nano, timeUnixNano, time_unix_ns, , ) \
	F((10, 12, 5, 4, 4, 4), NUMBER, duration_nano, durationNano, duration_ns, , ) \
	F((11, 13, 6, 5, 5, 5), TYPE, period_type, periodType, period_type, TYPE, ) \
	F((12, 14, 7, 6, 6, 6), NUMBER, period, period, period, , ) \
	F((0, 17, 10, 8, 7, 7), OPTIONAL_ID, profile_id, profileId, profile_id, 16, ) \
	F((0, 19, 11, 9, 8, 8), NUMBER32, dropped_attributes_count, droppedAttributesCount, \
	  dropped_attributes_count, , ) \
	F((0, 20, 12, 10, 9, 9), TEXT, original_payload_format, originalPayloadFormat, original_format, , ) \
	F((0, 21, 13, 11, 10, 10), BYTES, original_payload, originalPayload, original_payload, , ) \
	F((0, 22, 14, 12, 11, 11), INDICES, attribute_indices, attributeIndices, attributes, ATTRIBUTES, )

#define OTLP_TYPE(F) \
	F(OTLP_SAME(1), INDEX, type_strindex, typeStrindex, type, STRINGS, ) \
	F(OTLP_SAME(2), INDEX, unit_strindex, unitStrindex, unit, STRINGS, )

#define OTLP_SAMPLE(F) \
	F((0, 0, 0, 1, 1, 1), INDEX, stack_index, stackIndex, stack, STACKS, ) \
	F((10, 4, 4, 3, 3, 2), INDICES, attribute_indices, attributeIndices, attributes, ATTRIBUTES, ) \
	F((12, 5, 5, 4, 4, 3), INDEX, link_index, linkIndex, link, LINKS, ) \
	F((2, 3, 3, 2, 2, 4), VALUES, values, values, values, , value_count) \
	F((13, 6, 6, 5, 5, 5), TIMES, timestamps_unix_nano, timestampsUnixNano, times_unix_ns, , time_count)

/* Up to 1.5 tables are fields of the profile; 1.6 has them in the request, numbered one higher than 1.7. */
#define OTLP_DICTIONARY(F) \
	F((3, 3, 1, 1, 1, 1), ROW, mapping_table, mappingTable, mappings, MAPPING, MAPPINGS) \
	F((4, 4, 2, 2, 2, 2), ROW, location_table, locationTable, locations, LOCATION, LOCATIONS) \
	F((5, 6, 3, 3, 3, 3), ROW, function_table, functionTable, functions, FUNCTION, FUNCTIONS) \
	F((18, 9, 4, 4, 4, 4), ROW, link_table, linkTable, links, LINK, LINKS) \
	F((6, 10, 5, 5, 5, 5), TEXT_ROW, string_table, stringTable, strings, , STRINGS) \
	F((16, 7, 6, 6, 6, 6), ROW, attribute_table, attributeTable, attributes, ATTRIBUTE, ATTRIBUTES) \
	F((0, 0, 0, 7, 7, 7), ROW, stack_table, stackTable, stacks, STACK, STACKS)

#define OTLP_MAPPING(F) \
	F((2, 1, 1, 1, 1, 1), NUMBER, memory_start, memoryStart, start_va, , ) \
	F((3, 2, 2, 2, 2, 2), NUMBER, memory_limit, memoryLimit, limit_va, , ) \
	F((4, 3, 3, 3, 3, 3), NUMBER, file_offset, fileOffset, file_offset, , ) \
	F((5, 4, 4, 4, 4, 4), INDEX, filename_strindex, filenameStrindex, filename, STRINGS, ) \
	F((12, 5, 5, 5, 5, 5), INDICES, attribute_indices, attributeIndices, attributes, ATTRIBUTES, )

#define OTLP_LOCATION(F) \
	F((2, 1, 1, 1, 1, 1), INDEX, mapping_index, mappingIndex, mapping, MAPPINGS, ) \
	F((3, 2, 2, 2, 2, 2), NUMBER, address, address, address, , ) \
	F((4, 3, 3, 3, 3, 3), SHORT_LIST, lines, lines, lines, LINE, line_count) \
	F((7, 5, 5, 4, 4, 4), INDICES, attribute_indices, attributeIndices, attributes, ATTRIBUTES, )

#define OTLP_LINE(F) \
	F(OTLP_SAME(1), INDEX, function_index, functionIndex, function, FUNCTIONS, ) \
	F(OTLP_SAME(2), NUMBER, line, line, line, , ) \
	F(OTLP_SAME(3), NUMBER, column, column, column, , )

#define OTLP_FUNCTION(F) \
	F((2, 1, 1, 1, 1, 1), INDEX, name_strindex, nameStrindex, name, STRINGS, ) \
	F((3, 2, 2, 2, 2, 2), INDEX, system_name_strindex, systemNameStrindex, system_name, STRINGS, ) \
	F((4, 3, 3, 3, 3, 3), INDEX, filename_strindex, filenameStrindex, filename, STRINGS, ) \
	F((5, 4, 4, 4, 4, 4), NUMBER, start_line, startLine, start_line, , )

#define OTLP_LINK(F) \
	F(OTLP_SAME(1), ID, trace_id, traceId, trace_id, 16, ) \
	F(OTLP_SAME(2), ID, span_id, spanId, span_id, 8, )

#define OTLP_ATTRIBUTE(F) \
	F(OTLP_SINCE_1_8(1), INDEX, key_strindex, keyStrindex, key, STRINGS, ) \
	F(OTLP_SAME(2), SOME, value, value, value, ANY, ) \
	F(OTLP_SINCE_1_8(3), INDEX, unit_strindex, unitStrindex, unit, STRINGS, )

#define OTLP_STACK(F) \
	F(OTLP_SINCE_1_8(1), ITSELF, location_indices, locationIndices, , LOCATIONS, )

#define OTLP_KEYVALUE(F) \
	F(OTLP_SAME(1), KEY, key, key, key, , ) \
	F(OTLP_SAME(2), ANY, value, value, value, ANY, ) \
	F(OTLP_SAME(3), REFERENCE, key_strindex, keyStrindex, key, STRINGS, )

/* Of a value: more is its kind. */
#define OTLP_ANY(F) \
	F(OTLP_SAME(1), TEXT, string_value, stringValue, string, , ANY_STRING) \
	F(OTLP_SAME(2), BOOL, bool_value, boolValue, boolean, , ANY_BOOL) \
	F(OTLP_SAME(3), NUMBER, int_value, intValue, integer, , ANY_INT) \
	F(OTLP_SAME(4), DOUBLE, double_value, doubleValue, real, , ANY_DOUBLE) \
	F(OTLP_SAME(5), ONE, array_value, arrayValue, array, ARRAY, ANY_ARRAY) \
	F(OTLP_SAME(6), ONE, kvlist_value, kvlistValue, map, KEYVALUES, ANY_MAP) \
	F(OTLP_SAME(7), BYTES, bytes_value, bytesValue, string, , ANY_BYTES) \
	F(OTLP_SAME(8), REFERENCE, string_value_strindex, stringValueStrindex, string, STRINGS, ANY_STRING)

#define OTLP_ARRAY(F) \
	F(OTLP_SAME(1), SHORT_LIST, values, values, array, ANY, count)

#define OTLP_KEYVALUES(F) \
	F(OTLP_SAME(1), SHORT_LIST, values, values, map, KEYVALUE, count)

/*
 * Values and times are pairs or one of them is absent. One value for many times has no form in OTLP: the times stand
 * for it where it counts them, else the value goes alone.
 */
static inline bool otlp_has_times(const struct profile_sample *s)
{
	return s->value_count != 1 || s->time_count == 1 || s->values[0] == s->time_count;
}

/* The first link, "none": an empty message, which is what checkers take for zero; ids of zeros are read as the same. */
static inline bool otlp_is_no_link(const struct profile_link *link)
{
	return !memcmp(link, &(const struct profile_link){ 0 }, sizeof(*link));
}

static inline bool otlp_has_values(const struct profile_sample *s)
{
	return s->value_count != 1 || s->time_count <= 1 || s->values[0] != s->time_count;
}

#endif
