// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/readable.h"

#include "base/buf.h"
#include "test.h"

TEST(readable_names_what_the_compiler_made_after_its_method)
{
	static const struct { const char *space, *outer, *inner, *method, *text; } cases[] = {
		{ "System.Text", "StringBuilder", "", "Append", "System.Text.StringBuilder.Append" },
		{ "", "Program", "", "Main", "Program.Main" },
		{ "N", "List`1", "Enumerator", "MoveNext", "N.List`1.Enumerator.MoveNext" },
		{ "N", "Program", "<Work>d__3", "MoveNext", "N.Program.Work+MoveNext" },
		{ "N", "Program", "<>c", "<Work>b__1_0", "N.Program.Work+lambda1_0" },
		{ "N", "Program", "<>c__DisplayClass4_0", "<Work>b__0", "N.Program.Work+lambda0" },
		{ "N", "Program", "", "<Work>g__Local|5_0", "N.Program.Work+Local" },
		{ "N", "Program", "", "<Main>$", "N.Program.<Main>$" },
		{ "N", "Program", "", ".ctor", "N.Program..ctor" },
		{ "", "<>", "<", ">", "<>.<.>" },
		{ "", "<PrivateImplementationDetails>", "<", "<>b__", "<PrivateImplementationDetails>.<.<>b__" },
		{ "", "", "", "<Work>g__Local", ".<Work>g__Local" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text;

		buf_init(&text, 4096);
		readable_add_namespace(&text, cases[i].space);
		readable_add_type(&text, cases[i].outer);
		if (cases[i].inner[0])
			readable_add_type(&text, cases[i].inner);
		readable_add_method(&text, cases[i].method);
		STREQ(text.data, cases[i].text);
		buf_done(&text);
	}
}
