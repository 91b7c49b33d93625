// SPDX-License-Identifier: Apache-2.0
#include "wire/views/svg.h"

#include "profile/profile.h"
#include "test.h"
#include "wire/views/flametree.h"
#include "wire/views/folded.h"
#include "wire/views/xmltext.h"

#define BYTES_MAX ((size_t)1 << 20)

static struct profile *from_folded(const char *text)
{
	struct profile *p = NULL;

	EQ(folded_decode(text, strlen(text), &p), 0);
	return p;
}

/* The whole picture, ended by NUL. */
static struct buf draw(const char *text)
{
	_cleanup_(profile_freep) struct profile *p = from_folded(text);
	struct buf b;

	buf_init(&b, BYTES_MAX);
	EQ(svg_encode(p, &b), 0);
	buf_add(&b, "", 1);
	EQ(buf_err(&b), 0);
	return b;
}

TEST(svg_draws_children_side_by_side_in_order_of_names)
{
	_cleanup_(buf_done) struct buf b = draw("main;b 1\nmain;a;c_[k] 2\nmain 1\n");

	OK(strstr(b.data, "<g><title>all\n4 samples, 100.00%</title><rect x=\"0.0000\" y=\"91\" width=\"1200.0000\""));
	OK(strstr(b.data, "<g><title>main\n4 samples, 100.00%</title><rect x=\"0.0000\" y=\"74\" width=\"1200.0000\""));
	OK(strstr(b.data, "<g><title>a\n2 samples, 50.00%</title><rect x=\"0.0000\" y=\"57\" width=\"600.0000\""));
	OK(strstr(b.data, "<g><title>b\n1 samples, 25.00%</title><rect x=\"600.0000\" y=\"57\" width=\"300.0000\""));
	OK(strstr(b.data, "<g><title>c\n2 samples, 50.00%</title><rect x=\"0.0000\" y=\"40\" width=\"600.0000\""));
}

TEST(svg_leaves_out_what_nobody_could_see)
{
	_cleanup_(buf_done) struct buf b = draw("wide 100000\nnarrow 1\n");

	OK(strstr(b.data, "<title>wide\n"));
	OK(!strstr(b.data, "<title>narrow\n"));
	OK(strstr(b.data, "100001 samples"));
}

TEST(svg_of_one_deep_stack_is_not_as_tall_as_that)
{
	struct buf stacks, b;

	/* 900 deep: 1 of 1000, which nobody would look for there, and 900 of 1000, which is what there is. */
	for (int most = 0; most <= 1; most++) {
		buf_init(&stacks, BYTES_MAX);
		for (int i = 0; i < 900; i++)
			buf_addf(&stacks, "%sf%d", i ? ";" : "", i);
		buf_addf(&stacks, " %d\ng %d\n", most ? 900 : 1, most ? 1 : 999);
		buf_add(&stacks, "", 1);
		b = draw(stacks.data);
		EQ(strstr(b.data, "<title>f99\n") != NULL, true);
		EQ(strstr(b.data, "<title>f899\n") != NULL, (bool)most);
		EQ(strstr(b.data, "height=\"1765\"") != NULL, !most);
		EQ(strstr(b.data, "; 800 deeper rows, each of less than 0.5%, are left out<") != NULL, !most);
		buf_done(&stacks);
		buf_done(&b);
	}
}

TEST(svg_escapes_names_and_asks_nobody)
{
	_cleanup_(buf_done) struct buf b = draw("a<b>&\"c\";\xff 1\n");

	OK(strstr(b.data, "<title>a&lt;b&gt;&amp;&quot;c&quot;\n"));
	OK(strstr(b.data, "<title>\xef\xbf\xbd\n"));
	OK(!strstr(b.data, "src="));
	OK(!strstr(b.data, "href"));
	OK(!strstr(b.data, "url("));
	OK(!strstr(strstr(b.data, "http://www.w3.org/2000/svg") + 1, "http"));
}

TEST(svg_cuts_texts_between_characters)
{
	_cleanup_(buf_done) struct buf b = draw("a 59\n\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 1\n");

	/* 1/60 of 1200 points is 20: two letters and a bit, which is no text; 40 points are four. */
	OK(strstr(b.data, "></text></g>"));
	b.len = 0;
	buf_done(&b);
	b = draw("a 29\n\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 1\n");
	OK(strstr(b.data, ">\xc3\xa9\xc3\xa9\xc3\xa9…</text>"));
}

TEST(svg_of_nothing_is_a_picture_too)
{
	_cleanup_(buf_done) struct buf b = draw("");

	OK(strstr(b.data, "<title>all\n"));
	OK(strstr(b.data, "</svg>"));
}

TEST(xmltext_replaces_what_xml_refuses)
{
	static const char text[] = "a\x01\x7f\t\n\r\xef\xbf\xbf\xef\xbf\xbd\xc3\xa9\xed\xa0\x80";
	_cleanup_(buf_done) struct buf b;

	buf_init(&b, BYTES_MAX);
	xmltext_put(&b, text, sizeof(text) - 1);
	buf_add(&b, "", 1);
	STREQ(b.data, "a��\t\n���é���");
}

TEST(flametree_says_amounts_as_people_read_them)
{
	struct summary summary = { .unit = UNIT_NANOSECONDS, .type = STR("samples") };
	struct flametree tree = { .summary = &summary };
	_cleanup_(buf_done) struct buf b;

	buf_init(&b, BYTES_MAX);
	flametree_amount(&tree, 1500000000, &b);
	buf_addf(&b, "|");
	flametree_amount(&tree, 999, &b);
	summary.unit = UNIT_BYTES;
	buf_addf(&b, "|");
	flametree_amount(&tree, 3 << 20, &b);
	summary.unit = UNIT_COUNT;
	buf_addf(&b, "|");
	flametree_amount(&tree, 17, &b);
	STREQ(b.data, "1.5 s|999 ns|3 MiB|17 samples");
}
