// SPDX-License-Identifier: Apache-2.0
#include "web/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "test.h"
#include "web/source_text.h"

#define NOW_NS 4000000000000000000ull

static struct profile *profile;
static struct profile_set *set;
static struct buf out, why;

static void begin(void)
{
	profile = profile_new();
	set = profile_add_set(profile, profile_add_scope(profile, profile_add_resource(profile, NULL, 0)));
	OK(set);
	set->sample_type.unit = profile_add_cstring(profile, "count");
	buf_init(&out, 1 << 20);
	buf_init(&why, 1024);
}

static void end(void)
{
	buf_done(&out);
	buf_done(&why);
	profile_free(profile);
}

/* A stack of one frame; of two where there is a caller, whose line is not known. */
static void sample(const char *name, const char *file, s64 line, const char *caller, s64 value)
{
	u32 mapping = profile_add_mapping(profile, &(struct profile_mapping){
		.filename = profile_add_cstring(profile, "/bin/shop") });
	struct profile_line lines[2] = { { .line = line }, { 0 } };
	const char *names[] = { name, caller };
	struct profile_sample *added;
	u32 stack[2], depth = 0;

	for (; depth < 2 && names[depth]; depth++) {
		lines[depth].function = profile_add_function(profile, &(struct profile_function){
			.name = profile_add_cstring(profile, names[depth]),
			.filename = profile_add_cstring(profile, file), .start_line = 3 });
		stack[depth] = profile_add_location(profile, &(struct profile_location){
			.mapping = mapping, .line_count = 1, .lines = &lines[depth] });
	}
	added = profile_add_sample(profile, set);
	added->stack = profile_add_stack(profile, stack, depth);
	added->values = profile_copy(profile, &value, sizeof(value));
	added->value_count = 1;
}

static int answer(const char *function, const char *file, const struct source_options *options, u64 from_ns)
{
	struct source_question question = { { function, "/bin/shop" }, file, from_ns, options };
	int r;

	EQ(profile_err(profile), 0);
	out.len = why.len = 0;
	r = source_json(profile, &question, &out, &why);
	buf_addf(&out, "%s", "");
	buf_addf(&why, "%s", "");
	return r;
}

static void has(const char *part)
{
	if (!strstr(out.data, part))
		FAIL("%s is not in %s", part, out.data);
}

TEST(source_tells_the_lines_of_each_file)
{
	begin();
	sample("pay", "a.c", 12, "main", 5);
	sample("pay", "a.c", 10, NULL, 3);
	sample("pay", "b.c", 7, NULL, 1);
	sample("pay", "a.c", 0, NULL, 4);
	sample("add", "a.c", 99, "pay", 50);
	EQ(answer("pay", "", NULL, 0), 0);
	STREQ(out.data,
	      "{\"unit\":\"count\",\"period\":\"\",\"all\":63,\"self\":13,\"total\":63,"
	      "\"unknown\":{\"self\":4,\"total\":54},\"left_out\":{\"self\":0,\"total\":0},"
	      "\"files\":[{\"file\":\"a.c\",\"start\":3,\"lines\":[[10,3,3],[12,5,5]]},"
	      "{\"file\":\"b.c\",\"start\":3,\"lines\":[[7,1,1]]}],"
	      "\"text\":{\"file\":\"a.c\",\"why\":\"wick may read no source files here: `source` of the extension "
	      "page, or --page.source, names the directories that have them\"}}");
	EQ(answer("nobody", "", NULL, 0), 0);
	has("\"all\":63,\"self\":0,\"total\":0,");
	has("\"files\":[],\"text\":{\"file\":\"\",\"why\":\"it is not known which file");
	end();
}

TEST(source_gives_the_text_of_no_file_that_frames_do_not_name)
{
	static const char *const refused[] = { "/etc/passwd", "c.c", "../a.c", "./a.c", "m.c" };

	begin();
	sample("pay", "a.c", 12, NULL, 5);
	sample("main", "m.c", 12, NULL, 5);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		EQ(answer("pay", refused[i], NULL, 0), -ENOENT);
		EQ(out.len, 0);
		OK(strstr(why.data, "no frame of the function"));
	}
	EQ(answer("pay", "a.c", NULL, 0), 0);
	end();
}

/* ---- With a file ------------------------------------------------------------------------------ */

static char directory[] = "/tmp/wick-lines-XXXXXX";
static const char *const directories[] = { directory };
static const struct source_options options = { .directories = { 1, directories } };

static void put_numbered(const char *name, u32 lines)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	OK(file);
	for (u32 i = 1; i <= lines; i++)
		fprintf(file, "line %u;\n", i);
	fclose(file);
}

static void forget(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	EQ(unlink(path), 0);
	EQ(rmdir(directory), 0);
}

TEST(source_has_the_text_around_its_lines)
{
	begin();
	OK(mkdtemp(directory));
	put_numbered("a.c", 60);
	sample("pay", "/build/a.c", 40, NULL, 5);
	sample("pay", "/build/a.c", 20, NULL, 5);
	EQ(answer("pay", "", &options, NOW_NS), 0);
	has("\"file\":\"/build/a.c\",\"path\":\"/tmp/wick-lines-");
	has("\"first\":1,\"lines\":[\"line 1;\",\"line 2;\",");
	has("\"line 49;\",\"line 50;\"],\"changed\":false}");
	EQ(answer("pay", "", &options, 1000), 0);
	has("\"changed\":true}");
	forget("a.c");
	end();
}

TEST(source_says_that_lines_have_moved_where_there_are_too_few)
{
	begin();
	OK(mkdtemp(directory));
	put_numbered("a.c", 30);
	sample("pay", "a.c", 40, NULL, 5);
	EQ(answer("pay", "", &options, NOW_NS), 0);
	has("\"line 30;\"],\"changed\":true}");
	forget("a.c");
	end();
}

TEST(source_shows_the_beginning_of_a_function_without_lines)
{
	begin();
	OK(mkdtemp(directory));
	put_numbered("a.c", 60);
	sample("add", "a.c", 40, "pay", 5);
	EQ(answer("pay", "", &options, NOW_NS), 0);
	has("\"start\":3,\"lines\":[]}]");
	has("\"first\":1,\"lines\":[\"line 1;\"");
	has("\"line 53;\"],\"changed\":false}");
	forget("a.c");
	end();
}

TEST(source_is_bounded)
{
	const char *at;
	u32 lines = 0;

	begin();
	OK(mkdtemp(directory));
	put_numbered("a.c", 20000);
	for (u32 i = 1; i <= SOURCE_LINES_MAX + 50; i++)
		sample("pay", "a.c", 9 * i, NULL, i == 1500 ? 1000 : 2);
	EQ(answer("pay", "", &options, NOW_NS), 0);
	has("\"left_out\":{\"self\":100,\"total\":100}");
	has("\"line 13500;\"");		/* the one with most */
	for (at = out.data; (at = strstr(at, "\"line ")); at++)
		lines++;
	EQ(lines, SOURCE_TEXT_LINES_MAX);
	forget("a.c");
	end();
}

TEST(source_survives_a_lack_of_memory)
{
	int r = -1;

	begin();
	sample("pay", "a.c", 12, "main", 5);
	sample("pay", "b.c", 10, NULL, 3);
	for (long i = 0; r < 0; i++) {
		struct source_question question = { { "pay", NULL }, "", 0, NULL };
		struct buf body;

		buf_init(&body, 65536);
		test_alloc_fail(i);
		r = source_json(profile, &question, &body, &why);
		OK(test_alloc_reset() > i || r == 0);
		OK(r == 0 || r == -ENOMEM);
		buf_done(&body);
	}
	end();
}
