// SPDX-License-Identifier: Apache-2.0
#include "exporters/filegroup.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>

#include "base/buf.h"
#include "test.h"

static char folder[64], pattern[128];
static struct filegroup_options options = {
	.pattern = pattern, .max_open_files = 2, .directory_mode = 0700, .file = { .lines = true, .record_max = 1000 },
};

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/wick-filegroup-XXXXXX");
	OK(mkdtemp(folder));
	snprintf(pattern, sizeof(pattern), "%s/out/*.json", folder);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_folder(void)
{
	EQ(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* The path below folder that a value leads to, "" for none. */
static const char *path_of(struct filegroup *group, struct str value)
{
	struct filewriter *writer = NULL;
	struct buf why;
	int r;

	buf_init(&why, 1024);
	r = filegroup_get(group, value, &writer, &why);
	buf_done(&why);
	if (r == -EINVAL)
		return "";
	EQ(r, 0);
	return filewriter_path(writer) + strlen(folder);
}

static void write_to(struct filegroup *group, const char *value, const char *record)
{
	struct filewriter *writer = NULL;
	struct buf why;

	buf_init(&why, 1024);
	EQ(filegroup_get(group, (struct str){ value, (u32)strlen(value) }, &writer, &why), 0);
	EQ(filewriter_write(writer, record, strlen(record), 0), 0);
	buf_done(&why);
}

static void expect(const char *name, const char *want)
{
	char path[PATH_MAX], text[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		FAIL("there is no %s", path);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	STREQ(text, want);
}

TEST(filegroup_values_do_not_lead_out_of_the_directory)
{
	_cleanup_(filegroup_freep) struct filegroup *group = NULL;
	static char long_name[PATH_MAX];

	make_folder();
	group = filegroup_new(&options);
	STREQ(path_of(group, STR("a")), "/out/a.json");
	STREQ(path_of(group, STR("a/b")), "/out/a/b.json");
	STREQ(path_of(group, STR("../../etc/x")), "/out/etc/x.json");
	STREQ(path_of(group, STR("/abs//./y/..")), "/out/abs/y.json");
	STREQ(path_of(group, STR("..dots..")), "/out/..dots...json");
	STREQ(path_of(group, STR("line\nbreak\0")), "/out/line_break_.json");
	STREQ(path_of(group, STR("..")), "");
	STREQ(path_of(group, STR("")), "");
	memset(long_name, 'x', sizeof(long_name));
	STREQ(path_of(group, (struct str){ long_name, sizeof(long_name) }), "");
	remove_folder();
}

TEST(filegroup_closes_files_and_goes_on_with_them)
{
	_cleanup_(filegroup_freep) struct filegroup *group = NULL;

	make_folder();
	group = filegroup_new(&options);
	write_to(group, "a", "1");
	write_to(group, "b", "1");
	write_to(group, "c", "1");	/* closes a */
	write_to(group, "a", "2");	/* closes b */
	write_to(group, "c", "2");
	expect("out/a.json", "1\n2\n");
	expect("out/b.json", "1\n");
	expect("out/c.json", "1\n2\n");
	filegroup_free(group);
	group = filegroup_new(&options);
	write_to(group, "a", "3");
	expect("out/a.json", "3\n");
	remove_folder();
}
