// SPDX-License-Identifier: Apache-2.0
#include "web/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/call_filter.h"
#include "base/cleanup.h"
#include "test.h"

/* A directory of sources beside what nobody may see. */
static char top[64], sources[80], other[80];
static const char *directories[2] = { sources, other };
static struct config_pair pair;
static struct source_options options;

static void put(const char *name, const char *text, size_t bytes)
{
	_cleanup_(closep) int top_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int fd = openat(top_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	EQ(write(fd, text, bytes), bytes);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

static void make(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	EQ(mkdir(path, 0700), 0);
}

static void begin(void)
{
	snprintf(top, sizeof(top), "/tmp/wick-source-XXXXXX");
	OK(mkdtemp(top));
	snprintf(sources, sizeof(sources), "%s/src", top);
	snprintf(other, sizeof(other), "%s/other", top);
	make("src");
	make("src/lib");
	make("other");
	put_text("outside.c", "secret");
	put_text("src/a.c", "int a;\n");
	put_text("src/lib/b.c", "int b;\n");
	put_text("other/b.c", "int other;\n");
	options = (struct source_options){ .directories = { 2, directories } };
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", top);
	EQ(system(command), 0);
}

/* want: its text, or a part of the sentence. */
static void reads(struct str file, int r, const char *want)
{
	struct source_text text;
	struct buf why;

	buf_init(&why, 2048);
	if (source_text_read(&options, file, &text, &why) != r)
		FAIL("%.*s: %s", (int)file.len, file.at, why.len ? why.data : "was read");
	buf_add(r < 0 ? &why : &text.bytes, "", 1);
	if (!strstr(r < 0 ? why.data : text.bytes.data, want))
		FAIL("%.*s: %s", (int)file.len, file.at, r < 0 ? why.data : text.bytes.data);
	OK(r < 0 || text.changed_ns > 1700000000000000000);
	source_text_done(&text);
	buf_done(&why);
}

static void below(const char *name, int r, const char *want)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	reads(str_of(path), r, want);
}

TEST(source_text_is_found_by_the_longest_end)
{
	begin();
	reads(STR("/build/lib/b.c"), 0, "int b;");
	reads(STR("/build/x/b.c"), 0, "int other;");
	reads(STR("a.c"), 0, "int a;");
	reads(STR("/src/../a.c"), 0, "int a;");
	below("src/lib/b.c", 0, "int b;");
	below("other/b.c", 0, "int other;");
	below("other/../src/lib/b.c", 0, "int b;");
	reads(STR("/build/none.c"), -ENOENT, "`source_map`");
	pair = (struct config_pair){ "/build/x", sources };
	options.map = (struct config_pairs){ 1, &pair };
	reads(STR("/build/x/lib/b.c"), 0, "int b;");
	end();
}

TEST(source_text_is_nothing_from_outside)
{
	static const char *const links[][2] = { { "../outside.c", "src/out.c" }, { "..", "src/up" },
						{ "/etc", "src/etc" }, { "a.c", "src/within.c" } };
	char from[128];

	begin();
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(from, sizeof(from), "%s/%s", top, links[i][1]);
		EQ(symlink(links[i][0], from), 0);
	}
	below("outside.c", -ENOENT, "no directory");
	below("src/../outside.c", -ENOENT, "no directory");
	reads(STR("../outside.c"), -ENOENT, "no directory");
	reads(STR("out.c"), -ELOOP, "a link is on the way");
	reads(STR("up/outside.c"), -ELOOP, "a link is on the way");
	reads(STR("within.c"), -ELOOP, "a link is on the way");
	reads(STR("/etc/passwd"), -EINVAL, "end as sources do");
	reads(STR("etc/passwd"), -EINVAL, "end as sources do");
	reads(STR("/src/../../etc/shadow"), -EINVAL, "end as sources do");
	reads(STR("/etc/passwd\0.c"), -EINVAL, "no path");
	reads(STR(""), -EINVAL, "no path");
	end();
}

/* Some containers' filters do not know it. */
TEST(source_text_is_the_same_without_openat2)
{
	static const struct call_rule rule = { SYS_openat2, CALL_ABSENT, 0, 0 };
	char from[128];

	begin();
	snprintf(from, sizeof(from), "%s/src/up", top);
	EQ(symlink("..", from), 0);
	snprintf(from, sizeof(from), "%s/src/out.c", top);
	EQ(symlink("../outside.c", from), 0);
	if (call_filter_deny(&rule, 1) < 0)
		SKIP("this kernel does not filter system calls");
	reads(STR("/build/lib/b.c"), 0, "int b;");
	reads(STR("up/outside.c"), -ENOENT, "no directory");
	reads(STR("out.c"), -ENOENT, "no directory");
	end();
}

TEST(source_text_is_of_regular_files_of_text_of_some_size)
{
	static char much[SOURCE_BYTES_MAX + 1];
	char path[128];

	begin();
	snprintf(path, sizeof(path), "%s/src/pipe.c", top);
	EQ(mkfifo(path, 0600), 0);
	make("src/dir.c");
	put("src/binary.c", "\x7f" "ELF\0\0", 6);
	memset(much, 'x', sizeof(much));
	put("src/most.c", much, sizeof(much) - 1);
	put("src/more.c", much, sizeof(much));
	put_text("src/empty.c", "");
	reads(STR("pipe.c"), -ENOENT, "no directory");
	reads(STR("dir.c"), -ENOENT, "no directory");
	reads(STR("binary.c"), -EBADMSG, "is not text");
	reads(STR("more.c"), -E2BIG, "larger than 1048576");
	reads(STR("empty.c"), 0, "");
	snprintf(path, sizeof(path), "%s/src/null.c", top);
	if (mknod(path, S_IFCHR | 0600, 1 << 8 | 3) == 0)
		reads(STR("null.c"), -ENOENT, "no directory");
	end();
}

TEST(source_text_is_off_unless_a_directory_is_named)
{
	begin();
	options.directories.count = 0;
	reads(STR("a.c"), -EPERM, "--page.source");
	directories[0] = "/nowhere/at-all";
	options.directories.count = 1;
	reads(STR("a.c"), -ENOENT, "/nowhere/at-all cannot be opened: No such file");
	end();
}

TEST(source_text_says_who_may_not_read_it)
{
	char path[128];

	begin();
	snprintf(path, sizeof(path), "%s/src/a.c", top);
	EQ(chmod(path, 0), 0);
	EQ(chmod(top, 0755), 0);
	EQ(chmod(sources, 0755), 0);
	directories[1] = "/nowhere/at-all";
	if (geteuid() == 0)
		OK(seteuid(65534) == 0);
	reads(STR("a.c"), -EACCES, "may not be read by user");
	if (getuid() == 0)
		OK(seteuid(0) == 0);
	end();
}

TEST(source_text_may_not_be_of_everything)
{
	static const char *const bad[] = { "/", "//", "", "/src" };
	struct source_options all = { .directories = { 4, bad } };
	struct config_errors errors;

	config_errors_init(&errors);
	source_options_check(&all, (struct config_place){ .file = "" }, "page", &errors);
	EQ(errors.error_count, 3);
	config_errors_done(&errors);
}

TEST(source_text_has_lines_that_are_cut)
{
	struct source_text text;
	char longest[600];
	struct str line;
	size_t at = 0;

	buf_init(&text.bytes, SOURCE_BYTES_MAX);
	buf_addf(&text.bytes, "one\r\n\n\tthree\n");
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + SOURCE_LINE_BYTES_MAX - 1, "\xc3\xa4", 2);
	buf_add(&text.bytes, longest, sizeof(longest));
	OK(source_text_next(&text, &at, &line) && str_is(line, "one"));
	OK(source_text_next(&text, &at, &line) && str_is(line, ""));
	OK(source_text_next(&text, &at, &line) && str_is(line, "\tthree"));
	OK(source_text_next(&text, &at, &line));
	EQ(line.len, SOURCE_LINE_BYTES_MAX - 1);
	OK(!source_text_next(&text, &at, &line));
	buf_done(&text.bytes);
}
