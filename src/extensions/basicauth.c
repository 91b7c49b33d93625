// SPDX-License-Identifier: Apache-2.0
/* basicauth: whoever has a name and password may send; and those that are sent along to others. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/lock.h"
#include "base/log.h"
#include "extensions/htpasswd.h"
#include "extensions/secret.h"
#include "pipeline/component.h"

#define HEADER_MAX 4096
#define KNOWN_MAX 64

struct basic_options {
	bool has_htpasswd, has_client_auth;
	struct {
		const char *file, *inline_text;
	} htpasswd;
	struct {
		const char *username, *password, *username_file, *password_file;
	} client_auth;
};

#define AT(member) FIELD(struct basic_options, member)
static const struct config_field htpasswd_fields[] = {
	{ "file", CONFIG_TEXT, AT(htpasswd.file),
	  .help = "a file that Apache's htpasswd wrote, read again when it changes" },
	{ "inline", CONFIG_SECRET, AT(htpasswd.inline_text), .help = "the same, here; its lines come first" },
	{ 0 },
};

static const struct config_field client_fields[] = {
	{ "username", CONFIG_TEXT, AT(client_auth.username), .help = "the name to send along" },
	{ "password", CONFIG_SECRET, AT(client_auth.password), .help = "the password to send along" },
	{ "username_file", CONFIG_TEXT, AT(client_auth.username_file), .help = "a file that holds the name instead" },
	{ "password_file", CONFIG_TEXT, AT(client_auth.password_file),
	  .help = "a file that holds the password instead" },
	{ 0 },
};

static const struct config_field basic_fields[] = {
	{ "htpasswd", CONFIG_SECTION, 0, .fields = htpasswd_fields,
	  .present = FIELD_PRESENT(struct basic_options, has_htpasswd), .help = "who may send" },
	{ "client_auth", CONFIG_SECTION, 0, .fields = client_fields,
	  .present = FIELD_PRESENT(struct basic_options, has_client_auth), .help = "what is sent along to others" },
	{ 0 },
};

static const struct basic_options basic_defaults = {
	.htpasswd = { "", "" }, .client_auth = { "", "", "", "" },
};

/*
 * Hashes are slow by intent. What was right once is remembered, by its digest,
 * until the file changes; the oldest gives way.
 */
struct basic {
	const struct component_setup *setup;
	const struct basic_options *options;

	pthread_mutex_t lock;
	struct secret_file users, username, password;
	struct secret_digest known[KNOWN_MAX];
	u32 known_count, known_next;
};

static void basic_check(const void *options, struct config_place place, const char *path,
			struct config_errors *errors)
{
	const struct basic_options *o = options;

	if (o->has_htpasswd == o->has_client_auth)
		config_error(errors, place, path, "needs one of htpasswd, to receive, and client_auth, to send");
	if (o->has_htpasswd && !*o->htpasswd.file && !*o->htpasswd.inline_text)
		config_error(errors, place, path, "htpasswd needs file or inline");
	if (o->has_client_auth && !*o->client_auth.username && !*o->client_auth.username_file)
		config_error(errors, place, path, "client_auth needs username or username_file");
}

static void basic_free(void *self)
{
	struct basic *b = self;

	if (!b)
		return;
	secret_file_done(&b->users);
	secret_file_done(&b->username);
	secret_file_done(&b->password);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
DEFINE_CLEANUP(void *, basic_free)

/* With the lock held, or before anybody else knows of it. */
static int look(struct secret_file *file, struct buf *why)
{
	int r = *file->path ? secret_file_look(file, monotonic_ns()) : 0;

	if (r < 0)
		buf_addf(why, "cannot read %s: %s", file->path, strerror(-r));
	return r;
}

static int read_users(struct basic *b, struct buf *why)
{
	int r = look(&b->users, why);

	if (r <= 0)
		return r;
	b->known_count = 0;
	r = htpasswd_check(b->users.text.data, why);
	return r < 0 ? r : 0;
}

static int basic_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	_cleanup_(basic_freep) void *self = calloc(1, sizeof(struct basic));
	struct basic *b = self;
	int r;

	if (!b)
		return -ENOMEM;
	pthread_mutex_init(&b->lock, NULL);
	b->setup = setup;
	b->options = options;
	secret_file_init(&b->users, b->options->htpasswd.file);
	secret_file_init(&b->username, b->options->client_auth.username_file);
	secret_file_init(&b->password, b->options->client_auth.password_file);
	r = htpasswd_check(b->options->htpasswd.inline_text, why);
	if (r >= 0)
		r = read_users(b, why);
	if (r >= 0)
		r = look(&b->username, why);
	if (r >= 0)
		r = look(&b->password, why);
	if (r < 0)
		return r;
	component_report(setup->status, HEALTH_OK, "");
	*ret_self = TAKE(self);
	return 0;
}

static bool is_known(const struct basic *b, const struct secret_digest *digest)
{
	bool ok = false;

	for (u32 i = 0; i < b->known_count; i++)
		ok |= secret_equal(digest, &b->known[i]);
	return ok;
}

static void remember(struct basic *b, const struct secret_digest *digest)
{
	if (b->known_count == 0)
		b->known_next = 0;
	b->known[b->known_next++ % KNOWN_MAX] = *digest;
	b->known_count += b->known_count < KNOWN_MAX;
}

static bool check_users(struct basic *b, const char *header)
{
	char name[HEADER_MAX], password[HEADER_MAX];
	bool ok;

	if (!htpasswd_split(header, name, password))
		return false;
	ok = htpasswd_matches(b->options->htpasswd.inline_text, name, password) ||
	     (b->users.text.data && htpasswd_matches(b->users.text.data, name, password));
	explicit_bzero(name, sizeof(name));
	explicit_bzero(password, sizeof(password));
	return ok;
}

static void refresh_users(struct basic *b)
{
	struct buf why;

	buf_init(&why, 512);
	if (read_users(b, &why) < 0)
		log_warn(b->setup->id, "%s", why.len ? why.data : "cannot read the users");
	buf_done(&why);
}

static bool basic_accept(void *self, const char *authorization)
{
	struct basic *b = self;
	struct secret_digest digest;
	bool ok;

	if (!authorization || strlen(authorization) >= HEADER_MAX || !b->options->has_htpasswd)
		return false;
	digest = secret_digest(authorization, strlen(authorization));
	LOCKED(&b->lock);
	refresh_users(b);
	ok = is_known(b, &digest);
	if (!ok && check_users(b, authorization)) {
		remember(b, &digest);
		ok = true;
	}
	return ok;
}

/* The first line of a file, or the text of the option. */
static void add_secret(struct secret_file *file, const char *option, struct buf *why, struct buf *out)
{
	const char *text = option;

	(void)look(file, why);	/* what it held before is as good as it gets */
	if (file->text.data)
		text = file->text.data;
	buf_add(out, text, strcspn(text, file->text.data ? "\r\n" : ""));
}

static int basic_header(void *self, struct buf *out)
{
	struct basic *b = self;
	struct buf plain, quoted, why;
	int r;

	buf_init(&plain, HEADER_MAX);
	buf_init(&quoted, HEADER_MAX * 2);
	buf_init(&why, 512);
	pthread_mutex_lock(&b->lock);
	add_secret(&b->username, b->options->client_auth.username, &why, &plain);
	buf_add(&plain, ":", 1);
	add_secret(&b->password, b->options->client_auth.password, &why, &plain);
	pthread_mutex_unlock(&b->lock);
	if (why.len)
		log_warn(b->setup->id, "%s", why.data);
	json_put_base64(&quoted, plain.data, plain.len);
	r = buf_err(&plain) ? buf_err(&plain) : buf_err(&quoted);
	if (r == 0) {
		buf_addf(out, "Basic %.*s", (int)quoted.len - 2, quoted.data + 1);
		r = buf_err(out);
	}
	if (plain.data)
		explicit_bzero(plain.data, plain.cap);
	buf_done(&plain);
	buf_done(&quoted);
	buf_done(&why);
	return r;
}

static const struct authenticator_ops basic_authenticator = { .accept = basic_accept, .header = basic_header };

const struct component_ops extension_basicauth = {
	.type = "basicauth",
	.aliases = (const char *const[]){ "basic_auth", NULL },
	.help = "requests need a name and a password, or bring them along",
	.fields = basic_fields,
	.options_bytes = sizeof(struct basic_options),
	.defaults = &basic_defaults,
	.check = basic_check,
	.create = basic_create,
	.free = basic_free,
	.authenticator = &basic_authenticator,
};
