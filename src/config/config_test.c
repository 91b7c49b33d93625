// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <errno.h>

#include "base/buf.h"
#include "config/print.h"
#include "test.h"

struct pair {
	const char *name, *text;
};

static const struct pair variables[] = {
	{ "HOST", "localhost" }, { "PORT", "3044" }, { "EMPTY", "" }, { "LIST", "[a, 2]" },
	{ "MAP", "{a: 1, b: '${env:HOST}'}" }, { "SELF", "${env:SELF}" },
	{ "TWICE", "['${env:TWICE}', '${env:TWICE}']" }, { "INDIRECT", "${env:PORT}" },
	{ "DOLLARS", "pa$$word" }, { "QUOTED", "\"12\"" }, { "BAD_YAML", "[a" }, { "DEEP", "['${env:DEEP}']" },
	{ "GROW", "${env:GROW}${env:GROW}x" }, { "BOOL", "true" }, { NULL, NULL },
};

static const struct pair files[] = {
	{ "a.yaml", "exporters:\n  otlp:\n    endpoint: ${env:HOST}:${env:PORT}\n    timeout: 5s\n" },
	{ "b.yaml", "exporters:\n  otlp:\n    timeout: 7s\n    list: [1, 2]\n" },
	{ "c.yaml", "exporters:\n  otlp:\n    list: [3]\n    tls:\n" },
	{ "d/1.yaml", "exporters:\n  otlp:\n    timeout: 1s\n" },
	{ "d/2.yaml", "exporters:\n  otlp:\n    timeout: ${env:PORT}s\n" },
	{ "token", "s3cret\n" }, { "list.txt", "- a" }, { NULL, NULL },
};

static const char *find(const struct pair *pairs, const char *name)
{
	for (; pairs->name; pairs++) {
		if (!strcmp(pairs->name, name))
			return pairs->text;
	}
	return NULL;
}

static const char *fake_variable(void *arg, const char *name)
{
	return find(variables, name);
}

static int fake_file(void *arg, const char *path, struct buf *ret_text)
{
	const char *text = find(files, path);

	if (text)
		buf_add(ret_text, text, strlen(text));
	return text ? 0 : -ENOENT;
}

static int fake_list(void *arg, const char *path, struct buf *ret_names)
{
	static const char names[] = "1.yaml\0002.yaml";

	if (strcmp(path, "d") && strcmp(path, "empty"))
		return -ENOTDIR;
	if (!strcmp(path, "d"))
		buf_add(ret_names, names, sizeof(names));
	return buf_err(ret_names);
}

static const struct config_providers fakes = { fake_variable, fake_file, NULL, fake_list };

struct loaded {
	struct config *config;
	struct config_errors errors;
	struct buf text;	/* as YAML */
	int result;
};

static void load_all(struct loaded *l, const char *const *sources, const char *const *sets)
{
	struct config_request request = { .sources = sources, .sets = sets, .providers = &fakes };

	while (sources[request.source_count])
		request.source_count++;
	while (sets && sets[request.set_count])
		request.set_count++;
	*l = (struct loaded){ 0 };
	config_errors_init(&l->errors);
	buf_init(&l->text, 1 << 20);
	l->result = config_load(&request, &l->config, &l->errors);
	if (l->result == 0)
		config_print(l->config->root, &(struct print_options){ .unredacted = true }, &l->text);
	buf_addf(&l->text, "%s", "");
}

static void done(struct loaded *l)
{
	config_free(l->config);
	config_errors_done(&l->errors);
	buf_done(&l->text);
}

static void loads_all(const char *const *sources, const char *const *sets, const char *yaml)
{
	struct loaded l;

	load_all(&l, sources, sets);
	if (l.errors.error_count)
		FAIL("%s", l.errors.errors[0]);
	EQ(l.result, 0);
	STREQ(l.text.data, yaml);
	done(&l);
}

static void with_text(struct loaded *l, const char *yaml)
{
	char source[4096];

	snprintf(source, sizeof(source), "yaml:%s", yaml);
	load_all(l, (const char *[]){ source, NULL }, NULL);
}

static void loads(const char *text, const char *yaml)
{
	struct loaded l;

	with_text(&l, text);
	if (l.errors.error_count)
		FAIL("%s", l.errors.errors[0]);
	STREQ(l.text.data, yaml);
	done(&l);
}

static void refuses(const char *text, const char *why)
{
	struct loaded l;

	with_text(&l, text);
	EQ(l.result, -EINVAL);
	STREQ(l.errors.errors[0], why);
	done(&l);
}

TEST(config_tells_which_files_it_was_read_from)
{
	struct loaded l;

	load_all(&l, (const char *[]){ "a.yaml", "yaml:{x: '${file:b.yaml}'}", NULL }, NULL);
	EQ(l.result, 0);
	STREQ(l.config->files->path, "b.yaml");
	STREQ(l.config->files->next->path, "a.yaml");
	OK(!l.config->files->next->next);
	done(&l);
}

/* ---- Merging ---------------------------------------------------------------------------- */

TEST(config_merges_maps_and_replaces_the_rest)
{
	loads_all((const char *[]){ "a.yaml", "file:b.yaml", "c.yaml", NULL }, NULL,
		  "exporters:\n  otlp:\n    endpoint: localhost:3044\n    timeout: 7s\n"
		  "    list:\n      - 3\n    tls: null\n");
	loads_all((const char *[]){ "yaml:a: {b: {c: 1}}", "yaml:a: {b: }", NULL }, NULL, "a:\n  b: null\n");
	loads_all((const char *[]){ "yaml:a: {b: }", "yaml:a: {b: {c: 1}}", NULL }, NULL, "a:\n  b:\n    c: 1\n");
	loads_all((const char *[]){ "yaml:", NULL }, NULL, "{}\n");
}

TEST(config_splits_keys_at_colons)
{
	loads("exporters::otlp/x::endpoint: h:1", "exporters:\n  otlp/x:\n    endpoint: h:1\n");
	loads("a::b: 1\na::c: 2\na: {d: 3}\n", "a:\n  b: 1\n  c: 2\n  d: 3\n");
	loads("a: {b::c: 1}", "a:\n  b:\n    c: 1\n");
	loads("a: [{b::c: 1}]", "a:\n  - b::c: 1\n");
}

TEST(config_sets_come_last)
{
	loads_all((const char *[]){ "a.yaml", NULL },
		  (const char *[]){ "exporters.otlp.timeout=9s", "exporters.otlp.x={a: [1]}", "n=", NULL },
		  "exporters:\n  otlp:\n    endpoint: localhost:3044\n    timeout: 9s\n"
		  "    x:\n      a:\n        - 1\nn: null\n");
}

TEST(config_says_what_is_wrong_with_a_set)
{
	struct loaded l;

	load_all(&l, (const char *[]){ "a.yaml", NULL }, (const char *[]){ "a.b", NULL });
	EQ(l.result, -EINVAL);
	STREQ(l.errors.errors[0], "--set: a.b: write KEY.PATH=VALUE");
	done(&l);
}

TEST(config_remembers_places_through_merges)
{
	const struct config_node *otlp;
	struct loaded l;

	load_all(&l, (const char *[]){ "a.yaml", "b.yaml", NULL }, NULL);
	otlp = config_get(config_get(l.config->root, "exporters"), "otlp");
	STREQ(config_get(otlp, "endpoint")->place.file, "a.yaml");
	EQ(config_get(otlp, "endpoint")->place.line, 3);
	EQ(config_get(otlp, "endpoint")->place.column, 15);
	STREQ(config_get(otlp, "timeout")->place.file, "b.yaml");
	EQ(config_get(otlp, "timeout")->place.line, 3);
	done(&l);
}

/* ---- Expansion ----------------------------------------------------------------------------- */

TEST(config_expands_as_the_collector_does)
{
	static const struct pair cases[] = {
		{ "${env:HOST}", "localhost" },
		{ "${HOST}:${PORT}", "localhost:3044" },
		{ "https://${env:HOST}:3045", "https://localhost:3045" },
		{ "${env:HOST}:$PORT", "localhost:$PORT" },
		{ "${env:PORT}", "3044" },
		{ "x_${env:PORT}", "x_3044" },
		{ "${env:INDIRECT}", "3044" },
		{ "${env:BOOL}_${env:BOOL}", "true_true" },
		{ "${yaml:${env:HOST}:${env:PORT}}", "localhost:3044" },
		{ "${yaml:1${yaml:2${yaml:3}}}", "123" },
		{ "env:HOST}", "\"env:HOST}\"" },
		{ "${HOST", "\"$${HOST\"" },
		{ "${env:HOST${env:PORT}", "\"$${env:HOST3044\"" },
		{ "env:HOST}${env:PORT}", "\"env:HOST}3044\"" },
		{ "$${env:HOST}", "\"$${env:HOST}\"" },
		{ "$${env:HOST} ${env:HOST}", "\"$${env:HOST} localhost\"" },
		{ "$$${env:HOST}", "$localhost" },
		{ "$$", "$" },
		{ "${env:DOLLARS}", "pa$word" },
		{ "${env:NOT_SET:-fall back}", "fall back" },
		{ "${env:NOT_SET:-}", "null" },
		{ "${env:NOT_SET:-12}", "12" },
		{ "${NOT_SET:-12}", "12" },
		{ "${env:EMPTY:-12}", "null" },
		{ "${env:QUOTED}", "\"\\\"12\\\"\"" },
		{ "${env:BAD_YAML}", "\"[a\"" },
		{ "${file:token}", "\"s3cret\\n\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char source[256], want[256];

		snprintf(source, sizeof(source), "v: '%s'", cases[i].name);
		snprintf(want, sizeof(want), "v: %s\n", cases[i].text);
		loads(source, want);
	}
}

TEST(config_expands_whole_values_to_what_they_are)
{
	const struct config_node *v;
	struct loaded l;

	loads("v: ${env:LIST}", "v:\n  - a\n  - 2\n");
	loads("v: ${env:MAP}", "v:\n  a: 1\n  b: localhost\n");
	loads("v: ${file:list.txt}", "v:\n  - a\n");
	with_text(&l, "v: ${env:PORT}\nw: ${env:LIST}\nx: ${env:NOT_SET}");
	v = config_get(l.config->root, "v");
	EQ(v->kind, NODE_INT);
	EQ(v->integer, 3044);
	STREQ(v->text, "3044");
	STREQ(v->place.file, "yaml:");
	STREQ(config_get(l.config->root, "w")->text, "[a, 2]");
	v = config_get(l.config->root, "x");
	EQ(v->kind, NODE_NULL);
	EQ(v->expanded, true);
	EQ(l.errors.warning_count, 1);
	STREQ(l.errors.warnings[0], "yaml::3:4: the environment variable NOT_SET is not set; it counts as empty");
	done(&l);
}

TEST(config_ends_expansions_that_do_not_end)
{
	refuses("v: ${env:SELF}", "yaml::1:4: more than 1000 expansions: does a value name itself?");
	refuses("v: ${env:DEEP}", "env:DEEP:1:2: nested more than 64 deep once it is expanded");
	refuses("v: ${env:TWICE}", "env:TWICE:1:2: nested more than 64 deep once it is expanded");
	refuses("v: ${env:GROW}", "yaml::1:4: more than 1000 expansions: does a value name itself?");
}

TEST(config_refuses_sources_it_has_not)
{
	refuses("v: ${http://h/x}",
		"yaml::1:4: http://h/x: wick does not fetch its configuration; download it and name the file");
	refuses("v: ${vault:x}", "yaml::1:4: vault:x: there is no such source; use env:, file: or yaml:, or $${ for "
				 "the characters themselves");
	refuses("v: ${env:A-B}",
		"yaml::1:4: A-B is not the name of an environment variable: letters, digits and _ only");
	refuses("v: ${}", "yaml::1:4:  is not the name of an environment variable: letters, digits and _ only");
	refuses("v: ${file:nowhere}", "yaml::1:4: cannot read nowhere: No such file or directory");
	refuses("v: '${env:$HOST}'", "yaml::1:4: ${env:$HOST}: a $ is not possible here");
}

TEST(config_merges_the_files_of_a_directory_in_their_order)
{
	struct loaded l;

	load_all(&l, (const char *[]){ "a.yaml", "d", NULL }, NULL);
	EQ(l.result, 0);
	OK(strstr(l.text.data, "timeout: 3044s"));
	OK(strstr(l.text.data, "endpoint: "));
	done(&l);
	load_all(&l, (const char *[]){ "file:d", "b.yaml", NULL }, NULL);
	OK(strstr(l.text.data, "timeout: 7s"));
	done(&l);
	load_all(&l, (const char *[]){ "empty", NULL }, NULL);
	STREQ(l.errors.errors[0], "--config: there is no .yaml file in the directory empty");
	done(&l);
}

TEST(config_says_which_source_cannot_be_read)
{
	struct loaded l;

	load_all(&l, (const char *[]){ "nowhere.yaml", NULL }, NULL);
	STREQ(l.errors.errors[0], "--config: cannot read nowhere.yaml: No such file or directory");
	done(&l);
	load_all(&l, (const char *[]){ "env:NOT_SET", NULL }, NULL);
	STREQ(l.errors.errors[0], "--config: the environment variable NOT_SET is not set");
	done(&l);
	load_all(&l, (const char *[]){ "https://h/x.yaml", NULL }, NULL);
	STREQ(l.errors.errors[0],
	      "--config: https://h/x.yaml: wick does not fetch its configuration; download it and name the file");
	done(&l);
}

/* ---- YAML ------------------------------------------------------------------------------------- */

TEST(config_reads_anchors_aliases_and_merge_keys)
{
	loads("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: *x\n",
	      "a:\n  p: 1\n  q: 2\nb:\n  q: 3\n  p: 1\nc:\n  p: 1\n  q: 2\n");
	loads("a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}\n",
	      "a:\n  p: 1\nb:\n  p: 2\n  q: 2\nc:\n  p: 1\n  q: 2\n");
	refuses("a: *x", "yaml::1:4: the alias *x names no anchor before it");
	refuses("a: &x [*x]", "yaml::1:8: the alias *x names no anchor before it");
	refuses("a: {<<: 1}", "yaml::1:9: << takes a map or a list of maps");
}

TEST(config_bounds_aliases)
{
	struct loaded l;
	char text[4096] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";

	for (int i = 1; i < 10; i++) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len,
			 "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
			 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	}
	with_text(&l, text);
	EQ(l.result, -EINVAL);
	OK(strstr(l.errors.errors[0], "more than 200000 values, counting those that aliases repeat"));
	done(&l);
}

TEST(config_bounds_depth)
{
	char text[1024] = "a: ";
	struct loaded l;

	memset(text + 3, '[', 100);
	memset(text + 103, ']', 100);
	with_text(&l, text);
	EQ(l.result, -EINVAL);
	STREQ(l.errors.errors[0], "yaml::1:68: nested more than 64 deep");
	done(&l);
}

TEST(config_refuses_duplicate_keys_and_bad_yaml)
{
	refuses("a: 1\nb: 2\na: 3\n", "yaml::3:1: the key a is already there, in line 1");
	refuses("a: [1\nb: 2\n", "yaml::2:2: not valid YAML: did not find expected ',' or ']', while parsing a flow "
				 "sequence that starts in line 1");
	refuses("a:\n\t- 1", "yaml::2:1: not valid YAML: a tab; indent with blanks");
	refuses("- a", "yaml::1:1: expected a map with receivers, exporters and service, found a list");
	refuses("{[a]: 1}", "yaml::1:2: a list cannot be a key");
	refuses("a: !!int x", "yaml::1:4: x is not of the type that its tag !!int says");
	refuses("a: \"\\0\"", "yaml::1:4: a string with a NUL character in it");
	refuses("a: \xff", "yaml:: not text in UTF-8: invalid leading UTF-8 octet at byte 3");
}

TEST(config_reads_tags)
{
	loads("a: !!str 12\nb: !!float 1\nc: ! 12\nd: !mine x\n", "a: \"12\"\nb: 1\nc: \"12\"\nd: x\n");
}

TEST(config_warns_of_a_second_document)
{
	struct loaded l;

	with_text(&l, "a: 1\n---\nb: 2\n");
	EQ(l.result, 0);
	STREQ(l.text.data, "a: 1\n");
	STREQ(l.errors.warnings[0], "yaml::2:1: only the first YAML document is read, this is another");
	done(&l);
}

TEST(config_fails_cleanly_without_memory)
{
	struct loaded l;
	long count;

	load_all(&l, (const char *[]){ "a.yaml", "b.yaml", NULL }, (const char *[]){ "x.y=${env:MAP}", NULL });
	EQ(l.result, 0);
	done(&l);
	test_alloc_fail(1000000);
	load_all(&l, (const char *[]){ "a.yaml", "b.yaml", NULL }, (const char *[]){ "x.y=${env:MAP}", NULL });
	count = test_alloc_reset();
	done(&l);
	for (long i = 0; i < count; i++) {
		test_alloc_fail(i);
		load_all(&l, (const char *[]){ "a.yaml", "b.yaml", NULL }, (const char *[]){ "x.y=${env:MAP}", NULL });
		test_alloc_reset();
		OK(l.result == 0 || l.result == -ENOMEM);
		done(&l);
	}
}

TEST(config_appends_lists_of_service_when_told)
{
	static const char *const sources[] = {
		"yaml:service: {extensions: [a], x: [1], "
		"pipelines: {profiles: {receivers: [r], processors: [p], exporters: [e]}}}",
		"yaml:service: {extensions: [a, b], x: [2], "
		"pipelines: {profiles: {receivers: [s], processors: [q], exporters: [e]}}}",
	};
	struct config_request request = { .sources = sources, .source_count = 2, .append_lists = true };
	struct config_errors errors;
	struct config *config;
	struct buf text;

	config_errors_init(&errors);
	buf_init(&text, 4096);
	EQ(config_load(&request, &config, &errors), 0);
	config_print(config->root, &(struct print_options){ 0 }, &text);
	STREQ(text.data, "service:\n  extensions:\n    - a\n    - b\n  x:\n    - 2\n  pipelines:\n    profiles:\n"
			 "      receivers:\n"
			 "        - r\n        - s\n      processors:\n        - q\n      exporters:\n        - e\n");
	buf_done(&text);
	config_free(config);
	config_errors_done(&errors);
}

TEST(config_names_text_without_lines)
{
	struct config_request request = { .text = &(struct config_text){ "command line", "a: [" } };
	struct config_errors errors;
	struct config *config;

	config_errors_init(&errors);
	EQ(config_load(&request, &config, &errors), -EINVAL);
	STREQ(errors.errors[0], "command line: not valid YAML: did not find expected node content");
	config_errors_done(&errors);
}
