// SPDX-License-Identifier: Apache-2.0
#include "tracer/sampler.h"

#include <errno.h>

#include "test.h"

static int add_to_mask(void *arg, u32 cpu)
{
	*(u64 *)arg |= 1ull << cpu;
	return 0;
}

TEST(sampler_reads_lists_of_cpus)
{
	static const struct {
		const char *list;
		int count;
		u64 mask;
	} cases[] = {
		{ "0\n", 1, 1 },     { "0-3\n", 4, 0xf }, { "0,2-3,8\n", 4, 0x10d },	 { "", 0, 0 },
		{ "x", -EBADMSG, 0 }, { "3-1", -EBADMSG, 0 }, { "0-", -EBADMSG, 0 }, { "0-99999999", -EBADMSG, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u64 mask = 0;

		EQ(sampler_parse_cpus(cases[i].list, add_to_mask, &mask), cases[i].count);
		EQ(mask, cases[i].mask);
	}
}
