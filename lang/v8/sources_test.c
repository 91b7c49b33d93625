// SPDX-License-Identifier: Apache-2.0
#include "lang/v8/sources.h"

#include "test.h"

TEST(sources_are_where_their_map_says)
{
	static const struct {
		const char *script, *url, *source, *path;
	} cases[] = {
		{ "/app/dist/a.js", "a.js.map", "../src/a.ts", "/app/src/a.ts" },
		{ "/app/dist/a.js", "a.js.map", "a.ts", "/app/dist/a.ts" },
		{ "/app/dist/a.js", "maps/a.js.map", "../../src/./a.ts", "/app/src/a.ts" },
		{ "/app/dist/a.js", "/maps/a.js.map", "a.ts", "/maps/a.ts" },
		{ "/app/dist/a.js", "data:application/json;base64,e/30=", "../src/a.ts", "/app/src/a.ts" },
		{ "/app/dist/a.js", "a.js.map", "../../../../../a.ts", "/a.ts" },
		{ "/app/dist/a.js", "a.js.map", "/src/a.ts", "/src/a.ts" },
		{ "/app/dist/a.js", "a.js.map", "file:///src/a.ts", "/src/a.ts" },
		{ "/app/dist/a.js", "a.js.map", "webpack://app/./src/a.ts", "webpack://app/src/a.ts" },
		{ "/app/dist/a.js", "a.js.map", "webpack:///./src/../a.ts?x", "webpack:///a.ts?x" },
		{ "/app/dist/a.js", "a.js.map", "webpack://app", "webpack://app" },
		{ "/app/dist/a.js", "file:///maps/a.js.map", "../src/a.ts", "/src/a.ts" },
		{ "[eval]", "a.js.map", "a.ts", "a.ts" },
		{ "/a.js", "a.js.map", "..", "" },
	};
	char path[LANG_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sources_path(cases[i].script, cases[i].url, cases[i].source, path);
		STREQ(path, cases[i].path);
	}
}

TEST(sources_know_modules_by_their_urls)
{
	char path[LANG_TEXT_MAX];

	sources_script_path("/app/a%20b.js", path);
	STREQ(path, "/app/a%20b.js");
	sources_script_path("file:///app/a%20b%.mjs", path);
	STREQ(path, "/app/a b%.mjs");
}
