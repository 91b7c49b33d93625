// SPDX-License-Identifier: Apache-2.0
#include "web/assets.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "test.h"

TEST(assets_are_linked_in)
{
	const struct asset *page = asset_find("index.html"), *tab = asset_find("tabs/flame.js");

	OK(page && page->bytes > 100);
	OK(tab && tab->bytes > 100);
	EQ(strlen(page->tag), 18);
	OK(strcmp(page->tag, tab->tag));
	OK(!asset_find("nothing"));
	OK(!asset_find(""));
}

static void put_file(int directory_fd, const char *name, const char *text)
{
	_cleanup_(closep) int fd = openat(directory_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	EQ(write(fd, text, strlen(text)), strlen(text));
}

TEST(assets_on_disk_are_read_and_nothing_else_is)
{
	static const char *const refused[] = { "", "/", ".", "..", "tabs", "tabs/", "none.js", "secret", "out.js",
					       "../outside.js", "tabs/../../outside.js", "/../outside.js",
					       "dir/outside.js", "pipe.js", "self.js" };
	static const char *const made[] = { "tabs/a.js", "secret", "out.js", "dir", "self.js", "within.js",
					    "pipe.js" };
	char outside[] = "/tmp/wick-assets-XXXXXX";
	_cleanup_(closep) int around = open(mkdtemp(outside), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closep) int inside = -1;
	struct buf body;

	put_file(around, "outside.js", "no");
	EQ(mkdirat(around, "ui", 0700), 0);
	inside = openat(around, "ui", O_PATH | O_DIRECTORY | O_CLOEXEC);
	EQ(mkdirat(inside, "tabs", 0700), 0);
	put_file(inside, "tabs/a.js", "yes");
	put_file(inside, "secret", "no");
	EQ(symlinkat("../outside.js", inside, "out.js"), 0);
	EQ(symlinkat("..", inside, "dir"), 0);
	EQ(symlinkat("/proc/self/exe", inside, "self.js"), 0);
	EQ(symlinkat("tabs/a.js", inside, "within.js"), 0);
	EQ(mkfifoat(inside, "pipe.js", 0600), 0);
	buf_init(&body, 100);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (asset_read(inside, refused[i], &body) >= 0)
			FAIL("%s was read", refused[i]);
	EQ(body.len, 0);
	EQ(asset_read(inside, "tabs/a.js", &body), 0);
	EQ(asset_read(inside, "within.js", &body), 0);
	EQ(body.len, 6);
	OK(!memcmp(body.data, "yesyes", 6));
	buf_done(&body);
	/* More than it may be. */
	buf_init(&body, 2);
	OK(asset_read(inside, "tabs/a.js", &body) < 0);
	buf_done(&body);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		EQ(unlinkat(inside, made[i], 0), 0);
	EQ(unlinkat(inside, "tabs", AT_REMOVEDIR), 0);
	EQ(unlinkat(around, "ui", AT_REMOVEDIR), 0);
	EQ(unlinkat(around, "outside.js", 0), 0);
	EQ(rmdir(outside), 0);
}

TEST(assets_types_follow_from_the_ending)
{
	STREQ(asset_content_type("index.html"), "text/html; charset=utf-8");
	STREQ(asset_content_type("style.css"), "text/css; charset=utf-8");
	STREQ(asset_content_type("tabs/flame.js"), "text/javascript; charset=utf-8");
	STREQ(asset_content_type("icon.svg"), "image/svg+xml");
	OK(!asset_content_type("package.json"));
	OK(!asset_content_type("js"));
	OK(!asset_content_type(""));
}

TEST(assets_are_small)
{
	const struct asset *asset;
	size_t bytes = 0;

	for (size_t i = 0; (asset = asset_at(i)); i++) {
		OK(asset_content_type(asset->file));
		bytes += asset->bytes;
	}
	OK(bytes < 120 << 10);
}
