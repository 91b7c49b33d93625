// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/signature.h"

#include <string.h>

#include "test.h"

TEST(signature_is_written_as_in_java)
{
	static const struct { const char *descriptor, *text; } cases[] = {
		{ "()V", "f()" },
		{ "(I)V", "f(int)" },
		{ "(ILjava/lang/String;[J)V", "f(int, java.lang.String, long[])" },
		{ "([[Ljava/util/Map$Entry;BCDFSZ)I",
		  "f(java.util.Map$Entry[][], byte, char, double, float, short, boolean)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[128] = "f";

		signature_add(cases[i].descriptor, name, sizeof(name));
		STREQ(name, cases[i].text);
	}
}

TEST(signature_of_what_is_no_descriptor_is_left_out)
{
	static const char *const cases[] = { "", "V", "(", "(I", "(Q)V", "(Ljava/lang/String)V", "([", "(V)V" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[64] = "f";

		signature_add(cases[i], name, sizeof(name));
		STREQ(name, "f");
	}
}

TEST(signature_is_cut_to_fit)
{
	char name[8] = "f";

	signature_add("(Ljava/lang/String;)V", name, sizeof(name));
	STREQ(name, "f(java.");
	signature_add("()V", name, sizeof(name));
	STREQ(name, "f(java.");
}
