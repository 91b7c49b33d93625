// SPDX-License-Identifier: Apache-2.0
#include "pipeline/component_id.h"

#include <errno.h>

#include "base/arena.h"
#include "test.h"

static int parse(const char *text, struct component_id *ret_id)
{
	static struct arena arena;
	const char *why;
	int r;

	arena_done(&arena);
	arena_init(&arena, 1 << 20);
	r = component_id_parse(&arena, text, ret_id, &why);
	OK((r == -EINVAL) == (why != NULL));
	return r;
}

TEST(component_ids_have_a_type_and_perhaps_a_name)
{
	struct component_id id;

	EQ(parse("otlp", &id), 0);
	STREQ(id.whole, "otlp");
	STREQ(id.type, "otlp");
	STREQ(id.name, "");
	EQ(parse("  otlp_grpc / my back-end/2.x ", &id), -EINVAL);
	EQ(parse("  otlp_grpc / my-back-end/2.x ", &id), 0);
	STREQ(id.whole, "otlp_grpc/my-back-end/2.x");
	STREQ(id.type, "otlp_grpc");
	STREQ(id.name, "my-back-end/2.x");
	EQ(parse("a/caf\xc3\xa9\xe2\x82\xac", &id), -EINVAL);
	EQ(parse("a/caf\xc3\xa9", &id), 0);
	STREQ(id.whole, "a/caf\xc3\xa9");
}

TEST(component_ids_that_are_none_are_refused)
{
	static const char *const bad[] = {
		"", " ", "/", "/a", "a/", "a/ ", "1a", "a-b", "a b", "\xc3\xa9", "a/b$", "a/b+c", "a/\x7f", "a/\xff",
		"a/\xc2\xa0", "a/b\tc", "a/x\xe2\x80\x8by",
		"a123456789012345678901234567890123456789012345678901234567890123",
	};
	struct component_id id;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], &id) != -EINVAL)
			FAIL("\"%s\" was taken", bad[i]);
	}
	EQ(parse("a12345678901234567890123456789012345678901234567890123456789012", &id), 0);
}
