// SPDX-License-Identifier: Apache-2.0
#include "wire/views/html.h"

#include "profile/profile.h"
#include "test.h"
#include "wire/views/folded.h"

#define BYTES_MAX ((size_t)1 << 20)

static void expect_data(const char *folded, const char *data)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	_cleanup_(buf_done) struct buf b;
	char *at;

	EQ(folded_decode(folded, strlen(folded), &p), 0);
	buf_init(&b, BYTES_MAX);
	EQ(html_encode(p, &b), 0);
	buf_add(&b, "", 1);
	at = strstr(b.data, "type=\"application/json\">");
	OK(at);
	at = strchr(at, '>') + 1;
	*strstr(at, "</script>") = '\0';
	STREQ(at, data);
}

TEST(html_has_every_node_before_its_children)
{
	expect_data("main;b 1\nmain;a;c_[k] 2\nmain 1\n",
		    "{\"type\":\"samples\",\"unit\":\"count\",\"frames\":[[\"[unknown]\",\"\",\"\",\"\",0],"
		    "[\"main\",\"\",\"\",\"\",0],"
		    "[\"b\",\"\",\"\",\"\",0],[\"a\",\"\",\"\",\"\",0],[\"c\",\"\",\"\",\"kernel\",0],"
		    "[\"[unknown]\",\"\",\"\",\"process\",0]],"
		    "\"nodes\":[0,4,0,1,1,4,1,2,3,2,0,1,4,2,2,0,2,1,1,0]}");
}

TEST(html_is_not_ended_by_a_name)
{
	expect_data("</script><!-- 1\n",
		    "{\"type\":\"samples\",\"unit\":\"count\",\"frames\":[[\"[unknown]\",\"\",\"\",\"\",0],"
		    "[\"\\u003c/script>\\u003c!--\",\"\",\"\",\"\",0],[\"[unknown]\",\"\",\"\",\"process\",0]],"
		    "\"nodes\":[0,1,0,1,1,1,1,0]}");
}
