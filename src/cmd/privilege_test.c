// SPDX-License-Identifier: Apache-2.0
#include "cmd/privilege.h"

#include <errno.h>
#include <linux/capability.h>

#include "test.h"

TEST(privilege_reads_effective_capabilities)
{
	u64 caps = 7;

	EQ(privilege_parse("Name:\tx\nCapInh:\t00\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", &caps), 0);
	EQ(caps, 0x1ffffffffff);
	EQ(privilege_parse("Name:\tCapEff:\n", &caps), -EBADMSG);
	EQ(privilege_parse("x\nCapEff:\n", &caps), -EBADMSG);
	EQ(caps, 0x1ffffffffff);
	EQ(privilege_read(&caps), 0);
}

TEST(privilege_names_what_is_missing)
{
	char text[64];

	STREQ(privilege_missing(0, text, sizeof(text)), "CAP_BPF and no CAP_PERFMON");
	STREQ(privilege_missing(1ull << CAP_BPF, text, sizeof(text)), "CAP_PERFMON");
	STREQ(privilege_missing(1ull << CAP_SYS_ADMIN, text, sizeof(text)), "");
	OK(strlen(privilege_missing(0, text, 10)) == 9);
}

TEST(privilege_tells_what_absent_ones_cost)
{
	u64 all = ~0ull, bpf = 1ull << CAP_BPF | 1ull << CAP_PERFMON;
	char text[512];

	STREQ(privilege_costs(all, text, sizeof(text)), "");
	STREQ(privilege_costs(all & ~(1ull << CAP_SYS_PTRACE), text, sizeof(text)),
	      "no CAP_SYS_PTRACE: other users' processes cannot be opened: their stacks end early and have no names");
	privilege_costs(bpf, text, sizeof(text));
	OK(strstr(text, "no CAP_SYS_PTRACE, no CAP_SYSLOG, no CAP_CHECKPOINT_RESTORE, no CAP_DAC_READ_SEARCH"));
	OK(strlen(privilege_costs(0, text, 10)) == 9);
}
