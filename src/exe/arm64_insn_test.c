// SPDX-License-Identifier: Apache-2.0
/* As binutils 2.40 writes and reads them. */
#include "exe/arm64_insn.h"

#include "test.h"

TEST(arm64_jumps)
{
	static const struct { u32 word; u64 target; bool is_conditional; } jumps[] = {
		{ 0x14000002, 0x10008, false },		/* b 0x10008 */
		{ 0x17ffffff, 0xfffc, false },		/* b 0xfffc */
		{ 0x54000041, 0x10008, true },		/* b.ne 0x10008 */
		{ 0x54ffffe0, 0xfffc, true },		/* b.eq 0xfffc */
		{ 0xb4ffffe3, 0xfffc, true },		/* cbz x3, 0xfffc */
		{ 0x35000041, 0x10008, true },		/* cbnz w1, 0x10008 */
		{ 0x3707ffe0, 0xfffc, true },		/* tbnz w0, #0, 0xfffc */
		{ 0xb6f80041, 0x10008, true },		/* tbz x1, #63, 0x10008 */
		{ 0x94000002, 0, true },		/* bl */
		{ 0xd61f0060, 0, true },		/* br x3 */
		{ ARM64_RET, 0, true },
	};

	for (u32 i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		bool is_conditional;

		EQ(arm64_jump(jumps[i].word, 0x10000, &is_conditional), jumps[i].target);
		EQ(is_conditional, jumps[i].is_conditional);
	}
}

TEST(arm64_addresses_near_the_code)
{
	OK(arm64_is_adrp(0xd0000abb, 27) && !arm64_is_adrp(0xd0000abb, 0) && !arm64_is_adr(0xd0000abb, 27));
	EQ(arm64_near(0xd0000abb, 0x8bdc0), 0x1e1000);
	EQ(arm64_near(0xd0fffffb, 0x10004), 0xe000);	/* adrp x27, 0xe000 */
	OK(arm64_is_adr(0x10ffffe0, 0));
	EQ(arm64_near(0x10ffffe0, 0x1000), 0xffc);	/* adr x0, 0xffc */
	EQ(arm64_near(0x30000000, 0x1000), 0x1001);	/* adr x0, 0x1001 */
}
