// SPDX-License-Identifier: Apache-2.0
#include "cmd/findings.h"

#include "base/buf.h"
#include "test.h"

TEST(findings_show_status_text_and_advice)
{
	static struct findings f;
	struct terminal plain = { .fd = -1 };
	struct buf b;

	EQ(findings_worst(&f), FINDING_OK);
	findings_add(&f, "kernel", FINDING_OK, "", "Linux %s", "6.1");
	findings_add(&f, "kernel", FINDING_WARN, "update it", "old\n");
	EQ(findings_worst(&f), FINDING_WARN);
	buf_init(&b, 4096);
	findings_print(&f, &plain, &b);
	STREQ(b.data, "kernel        ok    Linux 6.1\n"
		      "              warn  old\\x0a\n"
		      "                    -> update it\n");
	buf_done(&b);
	findings_json(&f, &b);
	STREQ(b.data,
	      "[\n  {\"area\": \"kernel\", \"status\": \"ok\", \"text\": \"Linux 6.1\", \"advice\": \"\"},\n"
	      "  {\"area\": \"kernel\", \"status\": \"warn\", \"text\": \"old\\u000a\", \"advice\": \"update it\"}\n]");
	buf_done(&b);
}

TEST(findings_are_bounded_and_say_so)
{
	static struct findings f;

	for (int i = 0; i < FINDINGS_MAX + 3; i++)
		findings_add(&f, "x", FINDING_BAD, "", "%d", i);
	EQ(f.count, FINDINGS_MAX);
	EQ(f.left_out, 3);
	EQ(findings_worst(&f), FINDING_BAD);
}
