// SPDX-License-Identifier: Apache-2.0
#include "tracer/kernel_check.h"

#include "test.h"

struct row {
	const char *release, *version, *signature;
	enum kernel_verdict verdict;
};

static const struct row rows[] = {
	/* upstream */
	{ "5.10.0", "", "", KERNEL_SAFE },
	{ "5.18.19", "", "", KERNEL_SAFE },
	{ "5.19.0", "", "", KERNEL_FREEZES },
	{ "6.0.19", "", "", KERNEL_FREEZES },
	{ "6.1.35", "", "", KERNEL_FREEZES },
	{ "6.1.36", "", "", KERNEL_SAFE },
	{ "6.2.16", "", "", KERNEL_FREEZES },
	{ "6.3.9-arch1-1", "", "", KERNEL_FREEZES },
	{ "6.3.10", "", "", KERNEL_SAFE },
	{ "6.4.0", "", "", KERNEL_SAFE },
	{ "6.4.0-rc3", "", "", KERNEL_UNSURE },
	{ "6.18.44-fc-v490", "#1 SMP PREEMPT_DYNAMIC @0", "", KERNEL_SAFE },
	{ "7.0", "", "", KERNEL_SAFE },
	/* Debian: uname -r counts its own uploads */
	{ "6.1.0-50-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.187-1 (2026-09-20)", "", KERNEL_SAFE },
	{ "6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", "", KERNEL_FREEZES },
	{ "6.1.0-0.deb11.11-amd64", "#1 SMP Debian 6.1.38-4~bpo11+1 (2023-08-08)", "", KERNEL_SAFE },
	{ "5.10.0-30-amd64", "#1 SMP Debian 5.10.218-1 (2024-06-01)", "", KERNEL_SAFE },
	/* Ubuntu takes stable fixes into versions that upstream has ended */
	{ "6.8.0-45-generic", "#45-Ubuntu SMP", "Ubuntu 6.8.0-45.45-generic 6.8.12\n", KERNEL_SAFE },
	{ "6.2.0-39-generic", "#40~22.04.1-Ubuntu", "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16\n", KERNEL_UNSURE },
	{ "5.15.0-89-generic", "#99-Ubuntu SMP", "Ubuntu 5.15.0-89.99-generic 5.15.126\n", KERNEL_SAFE },
	/* others whose version tells little */
	{ "5.14.0-284.11.1.el9_2.x86_64", "#1 SMP PREEMPT_DYNAMIC", "", KERNEL_UNSURE },
	{ "6.12.0-55.el10.x86_64", "#1 SMP PREEMPT_DYNAMIC", "", KERNEL_SAFE },
	{ "4.18.0-513.el8.x86_64", "#1 SMP", "", KERNEL_SAFE },
	{ "6.2.16-3-pve", "#1 SMP PREEMPT_DYNAMIC PVE 6.2.16-3 (2023-06-17T05:58Z)", "", KERNEL_UNSURE },
	{ "6.4.0-150600.23-default", "#1 SMP", "", KERNEL_SAFE },
	/* not a version at all */
	{ "custom", "", "", KERNEL_UNSURE },
	{ "", "", " ", KERNEL_UNSURE },
	{ "6", "", "", KERNEL_UNSURE },
};

TEST(kernel_check_refuses_only_what_surely_freezes)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kernel_names names = { .release = "" };
		enum kernel_verdict got;

		snprintf(names.release, sizeof(names.release), "%s", rows[i].release);
		snprintf(names.version, sizeof(names.version), "%s", rows[i].version);
		snprintf(names.signature, sizeof(names.signature), "%s", rows[i].signature);
		got = kernel_check(&names, NULL);
		if (got != rows[i].verdict)
			FAIL("%s | %s: %d, not %d", rows[i].release, rows[i].version, got, rows[i].verdict);
	}
}

TEST(kernel_check_tells_the_version_it_judged)
{
	struct kernel_names names = { "6.1.0-50-amd64", "#1 SMP Debian 6.1.187-1 (2026-09-20)", "" };
	struct kernel_version v;

	EQ(kernel_check(&names, &v), KERNEL_SAFE);
	EQ(v.major, 6);
	EQ(v.minor, 1);
	EQ(v.patch, 187);
}

TEST(kernel_check_has_a_sentence_for_each_refusal)
{
	STREQ(kernel_verdict_text(KERNEL_SAFE), "");
	OK(strstr(kernel_verdict_text(KERNEL_FREEZES), "update to"));
	OK(*kernel_verdict_text(KERNEL_UNSURE));
}

TEST(kernel_names_are_read_here)
{
	struct kernel_names names;

	EQ(kernel_names_read(&names), 0);
	OK(names.release[0]);
}
