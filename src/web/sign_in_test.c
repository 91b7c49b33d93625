// SPDX-License-Identifier: Apache-2.0
#include "web/sign_in.h"

#include "base/buf.h"
#include "test.h"

TEST(sign_in_reads_the_value_of_a_form)
{
	char value[8];

	OK(form_value("view=top&token=a%2Bb+c&x", "token", value, sizeof(value)));
	STREQ(value, "a+b c");
	OK(form_value("token=", "token", value, sizeof(value)));
	STREQ(value, "");
	OK(!form_value("view=top&xtoken=a&token", "token", value, sizeof(value)));
	OK(!form_value("token=12345678", "token", value, sizeof(value)));
	OK(!form_value("token=%0", "token", value, sizeof(value)));
	OK(!form_value("token=%00", "token", value, sizeof(value)));
}

TEST(sign_in_takes_the_token_out_of_an_address)
{
	static const char *const cases[][2] = { { "token=a", "" }, { "token=a&view=top&x=1", "view=top&x=1" },
						{ "view=top&token=a", "view=top" },
						{ "tokens=a", "tokens=a" }, { "", "" } };

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out;

		buf_init(&out, 256);
		form_without(cases[i][0], "token", &out);
		buf_addf(&out, "%s", "");
		STREQ(out.len ? out.data : "", cases[i][1]);
		buf_done(&out);
	}
}
