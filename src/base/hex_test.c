// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

#include "test.h"

TEST(hex_reads_digits_of_either_case)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	int want[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 10, 11, 12, 13, 14, 15 };

	for (int c = 0; c < 256; c++) {
		const char *at = c ? strchr(digits, c) : NULL;

		EQ(hex_digit((char)c), at ? want[at - digits] : -1);
	}
}

TEST(hex_writes_two_digits_a_byte)
{
	char text[7] = "......";

	hex_write("\x00\x9f\xff", 3, text);
	STREQ(text, "009fff");
}
