// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include "test.h"

static void check_digest(const void *data, size_t len, size_t step, const char *want)
{
	uint8_t digest[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];
	struct sha256 sha;

	sha256_init(&sha);
	for (size_t i = 0; i < len; i += step)
		sha256_add(&sha, (const char *)data + i, step < len - i ? step : len - i);
	sha256_end(&sha, digest);
	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	STREQ(hex, want);
}

TEST(sha256_gives_the_digests_of_the_standard)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

	check_digest("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_digest("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_digest(two, 56, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(sha256_does_not_depend_on_how_the_data_is_cut)
{
	static char a[1000000];
	static const char want[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

	memset(a, 'a', sizeof(a));
	check_digest(a, sizeof(a), sizeof(a), want);
	check_digest(a, sizeof(a), 63, want);
	check_digest(a, sizeof(a), 65, want);
}
