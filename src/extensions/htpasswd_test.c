// SPDX-License-Identifier: Apache-2.0
#include "extensions/htpasswd.h"

#include <dlfcn.h>
#include <errno.h>

#include "base/buf.h"
#include "test.h"

/* Made by openssl passwd, Python's crypt and hashlib. */
static const char users[] =
	"# a comment\n"
	"plain:secret\n"
	"apr1:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\r\n"
	"long:$apr1$xy$ydi4vLfD5LxrQlAISGcwV/\n"
	"sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"
	"ssha:{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0\n"
	"bcrypt:$2b$04$4bjsBHb6ZFv0.0P9Eb8BSuAFKFcf9IB2z2hrPudUf7km4j9.1UejO\n"
	"\n"
	"empty:\n"
	"twice:one\n"
	"twice:two";

TEST(htpasswd_knows_the_usual_hashes)
{
	static const struct {
		const char *name, *password;
		bool ok;
	} cases[] = {
		{ "plain", "secret", true }, { "plain", "Secret", false }, { "plain", "", false },
		{ "apr1", "secret", true }, { "apr1", "secreT", false },
		{ "long", "a longer password than sixteen bytes", true }, { "long", "a longer password", false },
		{ "sha", "secret", true }, { "sha", "other", false },
		{ "ssha", "secret", true }, { "ssha", "secretsalt", false },
		{ "empty", "", true }, { "empty", "x", false },
		{ "twice", "one", true }, { "twice", "two", false },
		{ "nobody", "secret", false }, { "", "", false }, { "# a comment", "", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (htpasswd_matches(users, cases[i].name, cases[i].password) != cases[i].ok)
			FAIL("%s with \"%s\"", cases[i].name, cases[i].password);
}

TEST(htpasswd_knows_what_crypt_knows)
{
	if (!dlopen("libcrypt.so.1", RTLD_NOW))
		SKIP("no libcrypt.so.1");
	OK(htpasswd_matches(users, "bcrypt", "secret"));
	OK(!htpasswd_matches(users, "bcrypt", "other"));
	OK(!htpasswd_matches("x:$9$nonsense", "x", "secret"));
}

TEST(htpasswd_refuses_lines_that_are_none)
{
	struct buf why;

	buf_init(&why, 256);
	EQ(htpasswd_check(users, &why), 9);
	EQ(htpasswd_check("", &why), 0);
	EQ(why.len, 0);
	EQ(htpasswd_check("a:b\nnonsense\n", &why), -EINVAL);
	STREQ(why.data, "line 2 of the users is not name:hash");
	EQ(htpasswd_check(":b\n", &why), -EINVAL);
	buf_done(&why);
}

TEST(htpasswd_splits_headers)
{
	static const struct {
		const char *header;
		bool ok;
	} cases[] = {
		{ "Basic YW5uOnNlY3JldA==", true }, { "basic  YW5uOnNlY3JldA==", true },
		{ "Bearer YW5uOnNlY3JldA==", false }, { "Basic ", false }, { "Basic", false }, { "Basic YW5u", false },
		{ "Basic YW5uOnNlY3JldA", false }, { "Basic !!!!", false }, { "Basic YW4AOnM=", false },
		{ "Basic ====", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[64] = "", password[64] = "";

		if (htpasswd_split(cases[i].header, name, password) != cases[i].ok)
			FAIL("%s", cases[i].header);
		if (!cases[i].ok)
			continue;
		STREQ(name, "ann");
		STREQ(password, "secret");
	}
}
