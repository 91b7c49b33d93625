// SPDX-License-Identifier: Apache-2.0
#include "receivers/filetail.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "test.h"

struct fixture {
	char folder[64], pattern[96];
	const char *patterns[1];
	struct filetail_options options;
	struct filetail *tail;
	struct buf got;		/* the lines, each followed by | */
	int wait;		/* how many lines to put off */
};

static void setup(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	snprintf(f->folder, sizeof(f->folder), "/tmp/wick-tail-XXXXXX");
	OK(mkdtemp(f->folder));
	snprintf(f->pattern, sizeof(f->pattern), "%s/*.json*", f->folder);
	f->patterns[0] = f->pattern;
	f->options = (struct filetail_options){ .include = { 1, f->patterns }, .from_beginning = true, .files_max = 4,
						.line_max = 100 };
	buf_init(&f->got, 1 << 20);
}

static void teardown(struct fixture *f)
{
	char command[128];

	filetail_free(f->tail);
	buf_done(&f->got);
	snprintf(command, sizeof(command), "rm -r %s", f->folder);
	EQ(system(command), 0);
}

static const char *path_of(const struct fixture *f, const char *name)
{
	static char path[2][128];
	static int next;

	next = !next;
	snprintf(path[next], sizeof(path[next]), "%s/%s", f->folder, name);
	return path[next];
}

static void append(const struct fixture *f, const char *name, const char *text)
{
	FILE *file = fopen(path_of(f, name), "a");

	OK(file);
	fputs(text, file);
	fclose(file);
}

static int take(void *arg, const char *path, const char *at, size_t len)
{
	struct fixture *f = arg;

	if (f->wait && f->wait--)
		return -EAGAIN;
	buf_addf(&f->got, "%.*s|", (int)len, at);
	return 0;
}

static void expect(struct fixture *f, const char *lines)
{
	if (!f->tail)
		EQ(filetail_new(&f->options, &f->tail), 0);
	f->got.len = 0;
	buf_addf(&f->got, "%s", "");
	filetail_poll(f->tail, take, NULL, f);
	STREQ(f->got.data, lines);
}

TEST(filetail_hands_over_lines_when_they_are_whole)
{
	struct fixture f;

	setup(&f);
	append(&f, "a.json", "one\n\ntwo\nthr");
	expect(&f, "one|two|");
	expect(&f, "");
	append(&f, "a.json", "ee\n");
	append(&f, "other.txt", "no\n");
	expect(&f, "three|");
	teardown(&f);
}

TEST(filetail_starts_at_the_end_of_files_that_were_there)
{
	struct fixture f;

	setup(&f);
	f.options.from_beginning = false;
	append(&f, "a.json", "old\n");
	expect(&f, "");
	append(&f, "a.json", "new\n");
	append(&f, "b.json", "later\n");
	expect(&f, "new|later|");
	teardown(&f);
}

TEST(filetail_follows_files_that_are_rotated_and_cut)
{
	struct fixture f;
	char from[128];

	setup(&f);
	append(&f, "a.json", "one\n");
	expect(&f, "one|");
	append(&f, "a.json", "two\n");
	snprintf(from, sizeof(from), "%s", path_of(&f, "a.json"));
	EQ(rename(from, path_of(&f, "a.json.1")), 0);
	append(&f, "a.json", "three\n");
	expect(&f, "two|three|");
	/* Out of sight: what was left is still read. */
	append(&f, "a.json", "four\n");
	EQ(rename(from, path_of(&f, "gone")), 0);
	expect(&f, "four|");
	append(&f, "a.json", "five\n");
	expect(&f, "five|");
	EQ(truncate(from, 0), 0);
	expect(&f, "");
	append(&f, "a.json", "six\n");
	expect(&f, "six|");
	teardown(&f);
}

TEST(filetail_offers_lines_again_that_had_to_wait)
{
	struct fixture f;

	setup(&f);
	append(&f, "a.json", "one\ntwo\n");
	f.wait = 1;
	expect(&f, "");
	expect(&f, "one|two|");
	teardown(&f);
}

TEST(filetail_leaves_lines_out_that_are_too_long)
{
	static char text[200001];
	struct fixture f;

	setup(&f);
	memset(text, 'x', sizeof(text) - 1);
	append(&f, "a.json", "one\n");
	append(&f, "a.json", text);
	append(&f, "a.json", "\ntwo\n");
	expect(&f, "one|two|");
	EQ(filetail_stats(f.tail).lines_too_long, 1);
	teardown(&f);
}

TEST(filetail_excludes_deletes_and_replays)
{
	const char *excluded[1];
	struct fixture f;
	char pattern[96];

	setup(&f);
	snprintf(pattern, sizeof(pattern), "%s/b*", f.folder);
	excluded[0] = pattern;
	f.options.exclude = (struct config_texts){ 1, excluded };
	f.options.delete_after_read = true;
	append(&f, "a.json", "one\n");
	append(&f, "b.json", "two\n");
	expect(&f, "one|");
	OK(access(path_of(&f, "a.json"), F_OK) < 0);
	OK(access(path_of(&f, "b.json"), F_OK) == 0);
	teardown(&f);
	setup(&f);
	f.options.replay = true;
	append(&f, "a.json", "one\n");
	expect(&f, "one|");
	expect(&f, "one|");
	teardown(&f);
}

TEST(filetail_opens_only_so_many_files)
{
	struct fixture f;

	setup(&f);
	for (int i = 0; i < 6; i++)
		append(&f, (char[]){ (char)('a' + i), '.', 'j', 's', 'o', 'n', 0 }, "x\n");
	expect(&f, "x|x|x|x|");
	EQ(filetail_stats(f.tail).files_waiting, 2);
	teardown(&f);
}
