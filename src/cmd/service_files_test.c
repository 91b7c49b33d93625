// SPDX-License-Identifier: Apache-2.0
#include "cmd/service_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/landlock.h"
#include "cmd/confinement.h"
#include "cmd/service_paths.h"
#include "cmd/service_user.h"
#include "config/config.h"
#include "test.h"

struct fixture {
	char top[48], *text[4];
	struct service_path at[4];
	struct service_paths paths;
	struct service_files files;
	struct confinement c;
	struct buf notice;
};

static void begin(struct fixture *f)
{
	*f = (struct fixture){ .c.rules_fd = -1 };
	buf_init(&f->notice, 1 << 16);
	snprintf(f->top, sizeof(f->top), "/tmp/wick-files-XXXXXX");
	OK(mkdtemp(f->top));
	f->paths.at = f->at;
}

static void end(struct fixture *f)
{
	service_files_done(&f->files);
	buf_done(&f->notice);
	for (size_t i = 0; i < 4; i++)
		free(f->text[i]);
	if (f->c.rules_fd >= 0)
		close(f->c.rules_fd);
	OK(rmdir(f->top) == 0);
}

static void name(struct fixture *f, const char *below, enum path_need need)
{
	char **text = &f->text[f->paths.count];

	free(*text);
	OK(asprintf(text, "%s/%s", f->top, below) > 0);
	f->at[f->paths.count++] = (struct service_path){ *text, need };
}

static const char *lacks(struct fixture *f)
{
	static char path[PATH_MAX];

	return service_files_lack(&f->files, &f->paths, path, sizeof(path)) ? path + strlen(f->top) : "nothing";
}

static void allow(struct fixture *f)
{
	EQ(service_files_allow(&f->files, &f->paths, &f->c, &f->notice), 0);
	f->paths.count = 0;
}

TEST(service_files_lack_what_was_not_named)
{
	struct fixture f;

	if (!landlock_abi())
		SKIP("this kernel has no Landlock");
	begin(&f);
	name(&f, "out", NEED_OWN);
	OK(mkdir(f.at[0].at, 0700) == 0);
	allow(&f);
	name(&f, "out/two.json", NEED_WRITE);
	STREQ(lacks(&f), "nothing");
	f.paths.count = 0;
	name(&f, "one.json", NEED_WRITE);
	STREQ(lacks(&f), "");	/* the directory itself */
	f.paths.count = 0;
	name(&f, "out", NEED_OWN);
	OK(rmdir(f.at[0].at) == 0);
	end(&f);
}

static struct config *load(const char *yaml)
{
	struct config_request request = { .text = &(struct config_text){ "test", yaml } };
	struct config_errors errors;
	struct config *config = NULL;

	config_errors_init(&errors);
	EQ(config_load(&request, &config, &errors), 0);
	config_errors_done(&errors);
	return config;
}

TEST(service_paths_know_directories_of_sources)
{
	struct config *config = load("extensions:\n  page/2:\n    source: /nowhere/a, /nowhere/b\n"
				     "    source_map:\n      /build: /nowhere/c\n  page:\n    source: [d]\n");
	static const char *const want[] = { "/nowhere/a", "/nowhere/b", "d" };
	struct service_paths paths = { 0 };

	EQ(service_paths_find(config, &paths), 0);
	EQ(paths.count, 3);
	for (u32 i = 0; i < paths.count; i++) {
		STREQ(paths.at[i].at, want[i]);
		EQ(paths.at[i].need, NEED_LOOK);
	}
	service_paths_done(&paths);
	config_free(config);
}

/* A directory of sources of root's is not worth a service that is root. */
TEST(service_user_gives_up_what_it_may_only_look_at)
{
	struct fixture f;

	if (geteuid() != 0)
		SKIP("only root has another user to become");
	begin(&f);
	name(&f, "src", NEED_LOOK);
	OK(mkdir(f.at[0].at, 0700) == 0);
	service_user_choose(&f.paths, &f.c, &f.notice);
	OK(f.c.uid != 0 && f.c.owns_nothing);
	f.at[0].need = NEED_READ;
	service_user_choose(&f.paths, &f.c, &f.notice);
	EQ(f.c.uid, 0);
	OK(rmdir(f.at[0].at) == 0);
	end(&f);
}

TEST(service_files_may_be_looked_at_where_they_are)
{
	struct fixture f;

	if (!landlock_abi())
		SKIP("this kernel has no Landlock");
	begin(&f);
	name(&f, "src", NEED_LOOK);
	name(&f, "missing", NEED_LOOK);
	OK(mkdir(f.at[0].at, 0700) == 0);
	allow(&f);
	name(&f, "src/a.c", NEED_READ);
	STREQ(lacks(&f), "nothing");
	f.paths.count = 0;
	name(&f, "src", NEED_WRITE);
	STREQ(lacks(&f), "/src");
	f.paths.count = 0;
	name(&f, "other", NEED_READ);	/* what is beside it is not */
	STREQ(lacks(&f), "");
	f.paths.count = 0;
	name(&f, "src", NEED_LOOK);
	OK(rmdir(f.at[0].at) == 0);
	end(&f);
}

TEST(service_files_may_be_read_with_their_directory_but_not_written)
{
	struct fixture f;

	if (!landlock_abi())
		SKIP("this kernel has no Landlock");
	begin(&f);
	name(&f, "token", NEED_READ);
	allow(&f);
	name(&f, "other-token", NEED_READ);
	STREQ(lacks(&f), "nothing");
	name(&f, "other-token", NEED_WRITE);
	STREQ(lacks(&f), "");
	end(&f);
}

TEST(service_files_never_open_what_holds_all_kinds_of_things)
{
	static const char *const paths[] = { "/etc/no-such-file", "/no-such-file", "/home/no-such-file",
					     "/var/lib/no-such-file", "/etc/ssl/no-such-file", "/" };
	char lacking[PATH_MAX];

	if (!landlock_abi())
		SKIP("this kernel has no Landlock");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct service_path at = { paths[i], NEED_READ }, shadow = { "/etc/shadow", NEED_READ };
		struct fixture f;

		begin(&f);
		f.paths = (struct service_paths){ .at = &at, .count = 1 };
		allow(&f);
		f.paths = (struct service_paths){ .at = &shadow, .count = 1 };
		OK(service_files_lack(&f.files, &f.paths, lacking, sizeof(lacking)) || access("/etc/shadow", F_OK) < 0);
		end(&f);
	}
}
