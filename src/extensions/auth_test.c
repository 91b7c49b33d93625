// SPDX-License-Identifier: Apache-2.0
/* The authenticators, as receivers and exporters use them. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "config/fields.h"
#include "extensions/secret.h"
#include "pipeline/component.h"
#include "test.h"

extern const struct component_ops extension_bearertokenauth, extension_basicauth;

struct fixture {
	const struct component_ops *ops;
	struct component_setup setup;
	struct buf why;
	void *self;
};

static int create(struct fixture *f, const struct component_ops *ops, const void *options)
{
	*f = (struct fixture){ .ops = ops, .setup = { .id = "auth" } };
	buf_init(&f->why, 1024);
	return ops->create(&f->setup, options, &f->self, &f->why);
}

static void teardown(struct fixture *f)
{
	f->ops->free(f->self);
	buf_done(&f->why);
}

static bool accepts(struct fixture *f, const char *authorization)
{
	return f->ops->authenticator->accept(f->self, authorization);
}

static void expect_header(struct fixture *f, const char *want)
{
	struct buf out;

	buf_init(&out, 1024);
	EQ(f->ops->authenticator->header(f->self, &out), 0);
	STREQ(out.data, want);
	buf_done(&out);
}

/* Options as a configuration would give them: maps of strings. */
static const struct config_node *text_node(struct config_node *node, const char *text)
{
	*node = (struct config_node){ .kind = NODE_STRING, .text = text };
	return node;
}

static void *decode(struct arena *arena, const struct component_ops *ops, struct config_entry *entries, u32 count)
{
	struct config_node map = { .kind = NODE_MAP, .count = count, .map = entries };
	void *options = arena_zalloc(arena, ops->options_bytes);
	struct config_errors errors;

	memcpy(options, ops->defaults, ops->options_bytes);
	config_errors_init(&errors);
	EQ(config_decode(arena, &map, ops->fields, "extensions::auth", options, &errors), 0);
	ops->check(options, (struct config_place){ "", 0, 0 }, "extensions::auth", &errors);
	EQ(errors.error_count, 0);
	config_errors_done(&errors);
	return options;
}

TEST(bearertokenauth_accepts_its_token_only)
{
	struct config_node nodes[3];
	struct config_entry entries[] = {
		{ .key = "token", .value = (void *)text_node(&nodes[0], "s3cret") },
		{ .key = "scheme", .value = (void *)text_node(&nodes[1], "Token") },
		{ .key = "header", .value = (void *)text_node(&nodes[2], "X-Key") },
	};
	struct arena arena;
	struct fixture f;

	arena_init(&arena, 1 << 20);
	EQ(create(&f, &extension_bearertokenauth, decode(&arena, &extension_bearertokenauth, entries, 1)), 0);
	OK(accepts(&f, "Bearer s3cret"));
	OK(!accepts(&f, "Bearer s3cre"));
	OK(!accepts(&f, "Bearer s3crets"));
	OK(!accepts(&f, "s3cret"));
	OK(!accepts(&f, ""));
	OK(!accepts(&f, NULL));
	expect_header(&f, "Bearer s3cret");
	STREQ(f.ops->authenticator->header_name(f.self), "authorization");
	teardown(&f);
	EQ(create(&f, &extension_bearertokenauth, decode(&arena, &extension_bearertokenauth, entries, 3)), 0);
	OK(accepts(&f, "Token s3cret"));
	STREQ(f.ops->authenticator->header_name(f.self), "x-key");
	teardown(&f);
	arena_done(&arena);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	OK(file);
	fputs(text, file);
	fclose(file);
}

TEST(bearertokenauth_reads_tokens_from_a_file)
{
	char path[] = "/tmp/wick-token-XXXXXX";
	struct config_node node;
	struct config_entry entry = { .key = "filename", .value = (void *)text_node(&node, path) };
	struct arena arena;
	struct fixture f;
	int fd = mkstemp(path);

	OK(fd >= 0);
	close(fd);
	arena_init(&arena, 1 << 20);
	EQ(create(&f, &extension_bearertokenauth, decode(&arena, &extension_bearertokenauth, &entry, 1)), -EINVAL);
	OK(strstr(f.why.data, "holds no token"));
	teardown(&f);
	write_file(path, "\n one \r\ntwo");
	EQ(create(&f, &extension_bearertokenauth, decode(&arena, &extension_bearertokenauth, &entry, 1)), 0);
	OK(accepts(&f, "Bearer one"));
	OK(accepts(&f, "Bearer two"));
	OK(!accepts(&f, "Bearer "));
	expect_header(&f, "Bearer one");
	teardown(&f);
	unlink(path);
	EQ(create(&f, &extension_bearertokenauth, decode(&arena, &extension_bearertokenauth, &entry, 1)), -ENOENT);
	teardown(&f);
	arena_done(&arena);
}

TEST(secret_file_is_read_again_when_it_changed)
{
	char path[] = "/tmp/wick-secret-XXXXXX";
	struct timespec later[2] = { { .tv_sec = 2000000000 }, { .tv_sec = 2000000000 } };
	struct secret_file file;
	int fd = mkstemp(path);

	OK(fd >= 0);
	write_file(path, "one");
	secret_file_init(&file, path);
	EQ(secret_file_look(&file, 0), 1);
	STREQ(file.text.data, "one");
	write_file(path, "two");
	futimens(fd, later);
	EQ(secret_file_look(&file, 999999999), 0);
	EQ(secret_file_look(&file, 1000000000), 1);
	STREQ(file.text.data, "two");
	EQ(secret_file_look(&file, 3000000000), 0);
	unlink(path);
	EQ(secret_file_look(&file, 5000000000), -ENOENT);
	STREQ(file.text.data, "two");
	secret_file_done(&file);
	close(fd);
}

TEST(basicauth_checks_and_sends)
{
	struct config_node inner_node, node = { .kind = NODE_MAP, .count = 1 }, name, password;
	struct config_entry inner = { .key = "inline", .value = (void *)text_node(&inner_node, "ann:secret\n") };
	struct config_entry client[] = {
		{ .key = "username", .value = (void *)text_node(&name, "ann") },
		{ .key = "password", .value = (void *)text_node(&password, "secret") },
	};
	struct config_entry entry = { .key = "htpasswd", .value = &node };
	struct arena arena;
	struct fixture f;

	arena_init(&arena, 1 << 20);
	node.map = &inner;
	EQ(create(&f, &extension_basicauth, decode(&arena, &extension_basicauth, &entry, 1)), 0);
	/* The second time from memory. */
	OK(accepts(&f, "Basic YW5uOnNlY3JldA=="));
	OK(accepts(&f, "Basic YW5uOnNlY3JldA=="));
	OK(!accepts(&f, "Basic YW5uOnNlY3JlZA=="));
	OK(!accepts(&f, NULL));
	teardown(&f);
	entry.key = "client_auth";
	node.map = client;
	node.count = 2;
	EQ(create(&f, &extension_basicauth, decode(&arena, &extension_basicauth, &entry, 1)), 0);
	expect_header(&f, "Basic YW5uOnNlY3JldA==");
	OK(!accepts(&f, "Basic YW5uOnNlY3JldA=="));
	teardown(&f);
	arena_done(&arena);
}
