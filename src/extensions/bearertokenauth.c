// SPDX-License-Identifier: Apache-2.0
/* bearertokenauth: whoever knows a token may send; and the token that is sent along to others. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "extensions/secret.h"
#include "pipeline/component.h"

#define TOKENS_MAX 1024
#define HEADER_MAX 8192

struct bearer_options {
	const char *header, *scheme, *token, *filename;
	struct config_texts tokens;
};

#define AT(member) FIELD(struct bearer_options, member)
static const struct config_field bearer_fields[] = {
	{ "header", CONFIG_TEXT, AT(header), .help = "the header that holds it" },
	{ "scheme", CONFIG_TEXT, AT(scheme), .help = "the word before the token; \"\" for none" },
	{ "token", CONFIG_SECRET, AT(token), .help = "the token" },
	{ "tokens", CONFIG_TEXTS, AT(tokens), .secret = true,
	  .help = "several: each may send, the first is sent along" },
	{ "filename", CONFIG_TEXT, AT(filename),
	  .help = "a file of tokens, one a line, read again when it changes; instead of token and tokens" },
	{ 0 },
};

static const struct bearer_options bearer_defaults = {
	.header = "Authorization", .scheme = "Bearer", .token = "", .filename = "",
};

struct bearer {
	const struct component_setup *setup;
	const struct bearer_options *options;
	char *header_name;			/* in lower case */

	pthread_mutex_t lock;
	struct secret_file file;		/* if there is a filename */
	struct secret_digest *digests;		/* of the whole header */
	u32 count;
	char *first;				/* the whole header, to send along */
};

static void bearer_check(const void *options, struct config_place place, const char *path,
			 struct config_errors *errors)
{
	const struct bearer_options *o = options;
	int given = (*o->token != 0) + (o->tokens.count != 0) + (*o->filename != 0);

	if (given != 1)
		config_error(errors, place, path, "needs one of token, tokens and filename");
	if (!*o->header)
		config_error(errors, place, path, "header must not be empty");
}

static void forget_tokens(struct bearer *b)
{
	if (b->first)
		explicit_bzero(b->first, strlen(b->first));
	free(b->first);
	free(b->digests);
	b->first = NULL;
	b->digests = NULL;
	b->count = 0;
}

static int add_token(struct bearer *b, const char *token, size_t len)
{
	struct secret_digest *digests;
	char *whole;

	if (b->count == TOKENS_MAX)
		return -E2BIG;
	digests = reallocarray(b->digests, b->count + 1, sizeof(*digests));
	if (!digests)
		return -ENOMEM;
	b->digests = digests;
	if (asprintf(&whole, "%s%s%.*s", b->options->scheme, *b->options->scheme ? " " : "", (int)len, token) < 0)
		return -ENOMEM;
	b->digests[b->count++] = secret_digest(whole, strlen(whole));
	if (!b->first) {
		b->first = whole;
		return 0;
	}
	explicit_bzero(whole, strlen(whole));
	free(whole);
	return 0;
}

/* One a line, blanks around it left out. */
static int add_lines(struct bearer *b, const char *text)
{
	int r = 0;

	for (const char *at = text; *at && r == 0;) {
		size_t len = strcspn(at, "\r\n"), start = strspn(at, " \t"), end = len;

		while (end > start && isspace((unsigned char)at[end - 1]))
			end--;
		if (start < end)
			r = add_token(b, at + start, end - start);
		at += len;
		at += strspn(at, "\r\n");
	}
	return r;
}

/* With the lock held. What was known stays if the file cannot be read. */
static int read_file(struct bearer *b)
{
	int r = secret_file_look(&b->file, monotonic_ns());

	if (r <= 0)
		return r;
	forget_tokens(b);
	return add_lines(b, b->file.text.data);
}

static void refresh(struct bearer *b)
{
	int r = *b->options->filename ? read_file(b) : 0;

	if (r < 0)
		log_warn(b->setup->id, "cannot read %s: %s", b->options->filename, strerror(-r));
}

static void bearer_free(void *self)
{
	struct bearer *b = self;

	if (!b)
		return;
	forget_tokens(b);
	secret_file_done(&b->file);
	pthread_mutex_destroy(&b->lock);
	free(b->header_name);
	free(b);
}
DEFINE_CLEANUP(void *, bearer_free)

static int read_tokens(struct bearer *b, struct buf *why)
{
	const struct bearer_options *o = b->options;
	int r = 0;

	if (*o->filename) {
		r = read_file(b);
		if (r < 0)
			buf_addf(why, "cannot read %s: %s", o->filename, strerror(-r));
		else if (!b->count)
			buf_addf(why, "%s holds no token", o->filename);
		return r < 0 ? r : b->count ? 0 : -EINVAL;
	}
	if (*o->token)
		r = add_token(b, o->token, strlen(o->token));
	for (u32 i = 0; i < o->tokens.count && r == 0; i++)
		r = add_token(b, o->tokens.at[i], strlen(o->tokens.at[i]));
	return r;
}

static int bearer_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	_cleanup_(bearer_freep) void *self = calloc(1, sizeof(struct bearer));
	struct bearer *b = self;
	int r;

	if (!b)
		return -ENOMEM;
	pthread_mutex_init(&b->lock, NULL);
	b->setup = setup;
	b->options = options;
	secret_file_init(&b->file, b->options->filename);
	b->header_name = strdup(b->options->header);
	if (!b->header_name)
		return -ENOMEM;
	for (char *at = b->header_name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	r = read_tokens(b, why);
	if (r < 0)
		return r;
	component_report(setup->status, HEALTH_OK, "");
	*ret_self = TAKE(self);
	return 0;
}

/* All tokens are compared, whichever fits: how long it takes says nothing. */
static bool bearer_accept(void *self, const char *authorization)
{
	struct bearer *b = self;
	struct secret_digest got;
	bool ok = false;

	if (!authorization || strlen(authorization) > HEADER_MAX)
		return false;
	got = secret_digest(authorization, strlen(authorization));
	LOCKED(&b->lock);
	refresh(b);
	for (u32 i = 0; i < b->count; i++)
		ok |= secret_equal(&got, &b->digests[i]);
	return ok;
}

static int bearer_header(void *self, struct buf *out)
{
	struct bearer *b = self;

	LOCKED(&b->lock);
	refresh(b);
	buf_addf(out, "%s", b->first ? b->first : "");
	return buf_err(out);
}

static const char *bearer_header_name(void *self)
{
	struct bearer *b = self;

	return b->header_name;
}

static const struct authenticator_ops bearer_authenticator = { bearer_accept, bearer_header, bearer_header_name };

const struct component_ops extension_bearertokenauth = {
	.type = "bearertokenauth",
	.aliases = (const char *const[]){ "bearer_token_auth", NULL },
	.help = "requests need a token, and bring one along",
	.fields = bearer_fields,
	.options_bytes = sizeof(struct bearer_options),
	.defaults = &bearer_defaults,
	.check = bearer_check,
	.create = bearer_create,
	.free = bearer_free,
	.authenticator = &bearer_authenticator,
};
