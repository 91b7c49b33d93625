// SPDX-License-Identifier: Apache-2.0
#include "config/node.h"

#include <string.h>

#include "config/config.h"
#include "test.h"

static bool is_x(const char *key)
{
	return !strcmp(key, "x");
}

static bool same(const char *a, const char *b, bool (*skip)(const char *key))
{
	struct config *configs[2] = { NULL, NULL };
	const char *sources[2] = { a, b };
	struct config_errors errors;
	bool result;

	config_errors_init(&errors);
	for (int i = 0; i < 2; i++) {
		struct config_request request = { .sources = &sources[i], .source_count = 1 };

		EQ(config_load(&request, &configs[i], &errors), 0);
	}
	result = node_is_same(configs[0]->root, configs[1]->root, skip);
	config_free(configs[0]);
	config_free(configs[1]);
	config_errors_done(&errors);
	return result;
}

TEST(nodes_are_the_same_if_all_below_them_is)
{
	static const char *const base = "yaml:{a: 1, b: [x, {c: null}]}";

	OK(same(base, base, NULL));
	OK(!same(base, "yaml:{a: 2, b: [x, {c: null}]}", NULL));
	OK(!same(base, "yaml:{a: 1, b: [x, {c: 0}]}", NULL));
	OK(!same(base, "yaml:{a: 1, b: [x]}", NULL));
	OK(!same(base, "yaml:{a: 1}", NULL));
}

TEST(nodes_are_the_same_but_for_what_is_skipped)
{
	OK(same("yaml:{a: 1, x: [1]}", "yaml:{x: 2, a: 1}", is_x));
	OK(same("yaml:{a: 1, x: 1}", "yaml:{a: 1}", is_x));
	OK(same("yaml:{a: 1}", "yaml:{x: {y: 1}, a: 1}", is_x));
	OK(!same("yaml:{a: 1, x: 1}", "yaml:{a: 2, x: 1}", is_x));
	OK(!same("yaml:{x: 1}", "yaml:{x: 1, b: 1}", is_x));
	OK(!same("yaml:{a: {x: 1}}", "yaml:{a: {x: 2}}", is_x));
}
