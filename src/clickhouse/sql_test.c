// SPDX-License-Identifier: Apache-2.0
#include "clickhouse/sql.h"

#include "base/buf.h"
#include "test.h"

TEST(sql_quotes_whatever_comes)
{
	static const char hostile[] = "a'b\\c`d\0e\n\x7f\xc3\xa9'; DROP TABLE x --";
	struct buf out;

	buf_init(&out, 1024);
	sql_add_literal(&out, hostile, sizeof(hostile) - 1);
	buf_addf(&out, " ");
	sql_add_table(&out, "x`.y", "z\\");
	buf_addf(&out, " ");
	sql_add_table(&out, "", "t");
	EQ(buf_err(&out), 0);
	STREQ(out.data, "'a\\'b\\\\c\\`d\\x00e\\x0A\\x7F\xc3\xa9\\'; DROP TABLE x --' `x\\`.y`.`z\\\\` `t`");
	buf_done(&out);
}

TEST(clickhouse_sql_has_bytes_in_base64)
{
	struct buf out;

	buf_init(&out, 64);
	sql_add_base64(&out, "\0\xff'", 3);
	buf_addf(&out, ";");
	STREQ(out.data, "'AP8n';");
	buf_done(&out);
}
