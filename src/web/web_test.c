// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/lock.h"
#include "profile/profile.h"
#include "analysis/calltree.h"
#include "test.h"
#include "web/events.h"
#include "web/executables.h"
#include "web/flame_json.h"
#include "web/guard.h"
#include "analysis/narrow.h"
#include "web/question.h"
#include "analysis/reshape.h"
#include "web/top.h"

#define NOW_NS 1800000000000000000ull

/* ---- Questions ------------------------------------------------------------------------- */

static struct question question;

static int ask(const char *query, char why[256])
{
	struct buf sentence;
	int r;

	buf_init(&sentence, 1024);
	r = question_parse(query, NOW_NS, &question, &sentence);
	snprintf(why, 256, "%.*s", (int)sentence.len, sentence.len ? sentence.data : "");
	buf_done(&sentence);
	return r;
}

TEST(question_reads_ranges)
{
	static const struct {
		const char *query;
		u64 from_ns, to_ns;
	} cases[] = {
		{ "", NOW_NS - 900000000000, NOW_NS },
		{ "from=now-2h", NOW_NS - 7200000000000, NOW_NS },
		{ "from=now-1d&to=now-30s", NOW_NS - 86400000000000, NOW_NS - 30000000000 },
		{ "from=1700000000.25&to=1700000001", 1700000000250000000, 1700000001000000000 },
		{ "to=1700000000.123456789", 1700000000123456789 - 900000000000, 1700000000123456789 },
	};
	char why[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(ask(cases[i].query, why), 0);
		EQ(question.selection.from_ns, cases[i].from_ns);
		EQ(question.selection.to_ns, cases[i].to_ns);
	}
}

TEST(question_reads_filters)
{
	char why[256];

	EQ(ask("pid=12&where=thread~g%63&where=host!=a%3Db&process=x+y", why), 0);
	EQ(question.selection.filter_count, 4);
	EQ(question.selection.filters[0].label, STORE_PID);
	STREQ(question.selection.filters[0].value, "12");
	EQ(question.selection.filters[1].match, STORE_CONTAINS);
	STREQ(question.selection.filters[1].value, "gc");
	EQ(question.selection.filters[2].match, STORE_NOT_EQUAL);
	STREQ(question.selection.filters[2].value, "a=b");
	STREQ(question.selection.filters[3].value, "x y");
	EQ(ask("trace_id=0AF7651916CD43DD8448EB211C80319C&span_id=00f067aa0ba902B7", why), 0);
	EQ(question.selection.filters[0].label, STORE_TRACE);
	STREQ(question.selection.filters[0].value, "0af7651916cd43dd8448eb211c80319c");
	EQ(question.selection.filters[1].label, STORE_SPAN);
	STREQ(question.selection.filters[1].value, "00f067aa0ba902b7");
}

TEST(question_says_what_is_wrong)
{
	static const char *const cases[][2] = {
		{ "from=x", "from is to be seconds" },
		{ "from=now-5y", "from is to be seconds" },
		{ "from=99999999999999999999", "from is to be seconds" },
		{ "from=now&to=now-1h", "from is to be before to" },
		{ "a=%4", "not followed by two" },
		{ "a=%00", "not followed by two" },
		{ "where=host", "where is to be LABEL=VALUE" },
		{ "where=hots=1", "no such label" },
	};
	char why[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(ask(cases[i][0], why), -EINVAL);
		if (!strstr(why, cases[i][1]))
			FAIL("%s: %s", cases[i][0], why);
	}
}

/* ---- Who may ask --------------------------------------------------------------------------- */

TEST(guard_knows_its_names)
{
	static const char *const mine[] = { "wick.example" };
	struct guard guard = { .token = "", .hosts = { 1, mine }, .host_name = "box" };
	static const char *const good[] = { "127.0.0.1:11000", "localhost", "[::1]:11000",
					    "10.1.2.3",	       "box:1",	    "wick.example" };
	static const char *const bad[] = { "evil.example", "localhost.evil.example:11000", "127.0.0.1.evil.example", "",
					   "boxx" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		OK(guard_host_allowed(&guard, good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		OK(!guard_host_allowed(&guard, bad[i]));
	OK(!guard_host_allowed(&guard, NULL));
}

TEST(guard_refuses_other_origins)
{
	OK(guard_origin_allowed(NULL, "localhost:11000"));
	OK(guard_origin_allowed("http://localhost:11000", "localhost:11000"));
	OK(!guard_origin_allowed("http://localhost:11001", "localhost:11000"));
	OK(!guard_origin_allowed("http://evil.example", "localhost:11000"));
	OK(!guard_origin_allowed("null", "localhost:11000"));
}

TEST(guard_compares_whole_tokens)
{
	struct guard guard = { .token = "secret" };

	OK(guard_is_token(&guard, "secret"));
	OK(!guard_is_token(&guard, "secre"));
	OK(!guard_is_token(&guard, "secrets"));
	OK(!guard_is_token(&guard, "secretsecret"));
	OK(!guard_is_token(&guard, ""));
}

/* ---- Trees ------------------------------------------------------------------------------------ */

/* all -> a (1) -> b (2) -> a (4);  all -> c (8) -> b (16) */
static struct calltree *small_flame(void)
{
	struct calltree *flame = calltree_new();
	u32 frames[3], a, b, c;

	OK(flame);
	for (u32 i = 0; i < 3; i++)
		frames[i] = (u32)calltree_frame(flame,
					     &(struct frame){ .name = { &"abc"[i], 1 }, .exe = STR("/bin/x") });
	a = (u32)calltree_node(flame, 0, frames[0]);
	b = (u32)calltree_node(flame, a, frames[1]);
	calltree_count(flame, a, 1);
	calltree_count(flame, b, 2);
	calltree_count(flame, (u32)calltree_node(flame, b, frames[0]), 4);
	c = (u32)calltree_node(flame, 0, frames[2]);
	calltree_count(flame, c, 8);
	calltree_count(flame, (u32)calltree_node(flame, c, frames[1]), 16);
	calltree_sum(flame);
	return flame;
}

/* want: the columns of the nodes. */
static void nodes_are(struct calltree *flame, u32 root, u32 nodes_max, const char *want)
{
	struct buf out;
	char *nodes;

	buf_init(&out, 1 << 20);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(flame_json(flame, root, nodes_max, &out), 0);
	buf_addf(&out, "%s", "");
	nodes = strstr(out.data, "\"nodes\":");
	OK(nodes);
	STREQ(nodes + 8, want);
	buf_done(&out);
}

TEST(flame_json_has_each_node_before_its_children)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();

	nodes_are(flame, 0, 100, "{\"frame\":[0,0,0,2,0,2],\"self\":[0,1,2,4,8,16],\"rest\":[0,0,0,0,0,0],"
				       "\"children\":[2,1,1,0,1,0]}}");
	nodes_are(flame, 4, 100, "{\"frame\":[0,0],\"self\":[8,16],\"rest\":[0,0],\"children\":[1,0]}}");
}

TEST(flame_json_sums_up_what_is_too_small)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();

	/* Three nodes: all, c, b below c; the branch of a is left out. */
	nodes_are(flame, 0, 3, "{\"frame\":[0,0,0],\"self\":[0,8,16],\"rest\":[7,0,0],\"children\":[1,1,0]}}");
}

TEST(flame_json_takes_as_many_equals_as_there_is_room_for)
{
	_cleanup_(calltree_freep) struct calltree *flame = calltree_new();

	for (u32 i = 0; i < 8; i++) {
		u32 frame = (u32)calltree_frame(flame, &(struct frame){ .name = { &"abcdefgh"[i], 1 } });

		calltree_count(flame, (u32)calltree_node(flame, 0, frame), 5);
	}
	calltree_sum(flame);
	nodes_are(flame, 0, 5, "{\"frame\":[0,0,0,0,0],\"self\":[0,5,5,5,5],\"rest\":[20,0,0,0,0],"
			       "\"children\":[4,0,0,0,0]}}");
}

TEST(flame_json_writes_shared_texts_once)
{
	_cleanup_(calltree_freep) struct calltree *flame = calltree_new();
	struct frame frame = { .exe = STR("/bin/x"), .build_id = STR("ab"), .file = STR("x.c"),
				     .type = STR("native"), .line = 7, .address = 0xffffffff81000000 };
	struct buf out;

	for (u32 i = 0; i < 2; i++) {
		frame.name = (struct str){ &"ab"[i], 1 };
		calltree_count(flame, (u32)calltree_node(flame, 0, (u32)calltree_frame(flame, &frame)), 1);
	}
	calltree_sum(flame);
	buf_init(&out, 1 << 20);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(flame_json(flame, 0, 10, &out), 0);
	buf_addf(&out, "%s", "");
	OK(strstr(out.data, "\"frames\":{\"name\":[\"\",\"a\",\"b\"],\"file\":[0,1,1],"
			    "\"executable\":[0,1,1],\"kind\":[0,1,1],\"line\":[0,7,7],\"inlined\":[0,0,0],"
			    "\"address\":[\"\",\"ffffffff81000000\","
			    "\"ffffffff81000000\"]},"));
	OK(strstr(out.data, "\"files\":[\"\",\"x.c\"],\"executables\":[\"\\n\",\"/bin/x\\nab\"],"
			    "\"kinds\":[\"\",\"native\"]"));
	buf_done(&out);
}

TEST(calltrees_follow_paths_of_names)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();
	u32 node;

	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(calltree_find(flame, "", &node), 0);
	EQ(node, 0);
	EQ(calltree_find(flame, "a\x1f" "b\x1f" "a", &node), 0);
	EQ(calltree_nodes(flame)[node].self, 4);
	EQ(calltree_find(flame, "a\x1f" "c", &node), -ENOENT);
	EQ(calltree_find(flame, "c\x1e/bin/x\x1f" "b", &node), 0);
	EQ(calltree_nodes(flame)[node].self, 16);
	EQ(calltree_find(flame, "c\x1e/bin/y", &node), -ENOENT);
}

TEST(executables_tell_how_many_functions_have_names)
{
	_cleanup_(calltree_freep) struct calltree *flame = calltree_new();
	struct frame frames[] = {
		{ .name = STR("a"), .exe = STR("/bin/x"), .build_id = STR("1"), .source = NAME_SENT },
		{ .name = STR("b"), .exe = STR("/bin/x"), .build_id = STR("1"), .source = NAME_UPLOADED },
		{ .name = STR("x+0x1"), .exe = STR("/bin/x"), .build_id = STR("1"), .source = NAME_NONE, .address = 1 },
		{ .name = STR("y+0x1"), .exe = STR("/bin/y"), .build_id = STR("2"), .source = NAME_NONE, .address = 1 },
	};
	struct buf out;
	u32 node = 0;

	buf_init(&out, 1 << 20);
	for (u32 i = 0; i < 4; i++) {
		node = (u32)calltree_node(flame, node, (u32)calltree_frame(flame, &frames[i]));
		calltree_count(flame, node, i + 1);
	}
	calltree_sum(flame);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(executables_json(flame, 10, &out), 0);
	buf_addf(&out, "%s", "");
	STREQ(out.data, "{\"total\":10,\"rows\":["
			"{\"path\":\"/bin/x\",\"build_id\":\"1\",\"kind\":\"\",\"self\":6,\"total\":10,\"functions\":3,"
			"\"named\":2,\"state\":\"partly\",\"sources\":{\"sent\":1,\"uploaded\":1}},"
			"{\"path\":\"/bin/y\",\"build_id\":\"2\",\"kind\":\"\",\"self\":4,\"total\":4,\"functions\":1,"
			"\"named\":0,\"state\":\"none\",\"sources\":{}}]}");
	buf_done(&out);
}

TEST(top_counts_recursion_once)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();
	struct top_options options = { .part = "", .rows_max = 10 };
	struct buf out;

	buf_init(&out, 1 << 20);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(top_json(flame, &options, &out, &out), 0);
	buf_addf(&out, "%s", "");
	STREQ(out.data, "{\"unit\":\"\",\"period\":\"\",\"total\":31,\"count\":3,\"rows\":["
			"[\"b\",\"/bin/x\",\"\",\"\",18,22],"
			"[\"c\",\"/bin/x\",\"\",\"\",8,24],[\"a\",\"/bin/x\",\"\",\"\",5,7]]}");
	out.len = 0;
	options.part = "A";
	EQ(top_json(flame, &options, &out, &out), 0);
	buf_addf(&out, "%s", "");
	OK(strstr(out.data, "\"count\":1"));
	buf_done(&out);
}

TEST(functions_of_two_scripts_are_two)
{
	static const struct frame frames[] = { { .name = STR("main"), .file = STR("/srv/a.py"), .line = 3 },
					       { .name = STR("main"), .file = STR("/srv/b.py") },
					       { .name = STR("main"), .file = STR("/srv/a.py"), .line = 9 } };
	_cleanup_(calltree_freep) struct calltree *flame = calltree_new(), *callees = NULL;
	struct top_options options = { .part = "file=/srv/a.py /^main$/", .rows_max = 10 };
	struct buf out;
	u32 node;

	for (u32 i = 0; i < 3; i++)
		calltree_count(flame, (u32)calltree_node(flame, 0, (u32)calltree_frame(flame, &frames[i])), 1 << i);
	calltree_sum(flame);
	buf_init(&out, 1 << 20);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(top_json(flame, &options, &out, &out), 0);
	options.part = "";
	EQ(top_json(flame, &options, &out, &out), 0);
	buf_addf(&out, "%s", "");
	OK(strstr(out.data, "\"count\":1,\"rows\":[[\"main\",\"\",\"/srv/a.py\",\"\",5,5]]"));
	OK(strstr(out.data, "\"count\":2,\"rows\":[[\"main\",\"\",\"/srv/a.py\",\"\",5,5],"
			    "[\"main\",\"\",\"/srv/b.py\",\"\",2,2]]"));
	EQ(calltree_find(flame, "main\x1e/srv/b.py", &node), 0);
	EQ(calltree_nodes(flame)[node].total, 2);
	EQ(reshape_callees(flame, &(struct reshape_function){ "main", "/srv/a.py" }, &callees), 0);
	EQ(calltree_nodes(callees)[0].total, 5);
	buf_done(&out);
}

TEST(top_of_a_part_counts_what_is_below_it)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();
	struct top_options options = { .part = "", .rows_max = 10 };
	struct buf out;

	buf_init(&out, 1 << 20);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(calltree_find(flame, "c", &options.root), 0);
	EQ(top_json(flame, &options, &out, &out), 0);
	buf_addf(&out, "%s", "");
	OK(strstr(out.data, "\"total\":31,\"count\":2,\"rows\":[[\"b\",\"/bin/x\",\"\",\"\",16,16],"
			    "[\"c\",\"/bin/x\",\"\",\"\",8,24]]"));
	buf_done(&out);
}

TEST(top_of_two_flames_tells_what_changed_most_first)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame(), *base = calltree_new();
	struct top_options options = { .part = "", .rows_max = 10, .order = TOP_BY_CHANGE, .base = base };
	static const struct {
		const char *name;
		s64 value;
	} rows[] = { { "b", 18 }, { "gone", 10 }, { "c", 3 } };
	struct buf out;

	for (u32 i = 0; i < 3; i++) {
		struct frame frame = { .name = str_of(rows[i].name), .exe = STR("/bin/x") };

		calltree_count(base, (u32)calltree_node(base, 0, (u32)calltree_frame(base, &frame)), rows[i].value);
	}
	calltree_sum(base);
	buf_init(&out, 1 << 20);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(calltree_link(base, CALLTREE_AS_ADDED), 0);
	EQ(top_json(flame, &options, &out, &out), 0);
	buf_addf(&out, "%s", "");
	OK(strstr(out.data, "\"total\":31,\"base_total\":31,\"count\":4,\"rows\":["
			    "[\"gone\",\"/bin/x\",\"\",\"\",0,0,10,10],"
			    "[\"c\",\"/bin/x\",\"\",\"\",8,24,3,3],[\"a\",\"/bin/x\",\"\",\"\",5,7,0,0],"
			    "[\"b\",\"/bin/x\",\"\",\"\",18,22,18,18]]"));
	buf_done(&out);
}

/* ---- Less of a flame ----------------------------------------------------------------------- */

static void narrowed_is(const char *query, const char *want)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();
	struct narrow narrow;
	struct buf why;
	char ignored[256];

	buf_init(&why, 1024);
	EQ(ask(query, ignored), 0);
	EQ(question_narrow(&question, &narrow, &why), 0);
	EQ(narrow_calltree(&narrow, &flame, &why), 0);
	nodes_are(flame, 0, 100, want);
	buf_done(&why);
}

TEST(narrow_keeps_and_drops_whole_stacks)
{
	narrowed_is("focus=c", "{\"frame\":[0,0,0],\"self\":[0,8,16],\"rest\":[0,0,0],\"children\":[1,1,0]}}");
	narrowed_is("focus=b&focus=A",
		    "{\"frame\":[0,0,0,2],\"self\":[0,0,2,4],\"rest\":[0,0,0,0],\"children\":[1,1,1,0]}}");
	narrowed_is("ignore=/^b$/", "{\"frame\":[0,0,0],\"self\":[0,1,8],\"rest\":[0,0,0],\"children\":[2,0,0]}}");
	narrowed_is("focus=nothing", "{\"frame\":[0],\"self\":[0],\"rest\":[0],\"children\":[0]}}");
}

TEST(narrow_gives_the_values_of_hidden_frames_to_their_callers)
{
	/* b is taken out: what it had is its callers', and what it called is called by them. */
	narrowed_is("hide=b",
		    "{\"frame\":[0,0,1,0],\"self\":[0,3,4,24],\"rest\":[0,0,0,0],\"children\":[2,1,0,0]}}");
	/* Then a calls itself, and is one. */
	narrowed_is("hide=b&collapse=1",
		    "{\"frame\":[0,0,0],\"self\":[0,7,24],\"rest\":[0,0,0],\"children\":[2,0,0]}}");
	narrowed_is("hide=file%3Dx", "{\"frame\":[0],\"self\":[31],\"rest\":[0],\"children\":[0]}}");
}

TEST(narrow_says_what_is_wrong)
{
	static const char *const queries[] = { "hide=/(/", "focus=/(/", "ignore=/[/" };
	struct buf why;
	char ignored[256];

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		_cleanup_(calltree_freep) struct calltree *flame = small_flame();
		struct narrow narrow;

		buf_init(&why, 1024);
		EQ(ask(queries[i], ignored), 0);
		EQ(question_narrow(&question, &narrow, &why), 0);
		EQ(narrow_calltree(&narrow, &flame, &why), -EINVAL);
		OK(why.len);
		EQ(calltree_nodes(flame)[0].total, 31);
		buf_done(&why);
	}
}

TEST(search_does_not_count_twice_what_is_below_a_match)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();
	static const struct {
		const char *text;
		s64 total;
		u32 nodes;
	} cases[] = { { "a", 7, 2 }, { "B", 22, 2 }, { "/[ab]/", 23, 4 }, { "file=x", 31, 5 }, { "kind=go", 0, 0 } };
	struct narrow_found found;
	struct buf why;

	buf_init(&why, 1024);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(narrow_find(flame, cases[i].text, &found, &why), 0);
		EQ(found.total, cases[i].total);
		EQ(found.nodes, cases[i].nodes);
	}
	buf_done(&why);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t came;
	u64 generation;
	u32 replies;
	char last[64];
} heard = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };

static u64 heard_generation(void *arg)
{
	u64 generation;

	(void)arg;
	LOCKED(&heard.lock);
	generation = heard.generation;
	return generation;
}

static void heard_reply(void *arg, struct exchange *exchange, struct buf *text)
{
	(void)arg;
	(void)exchange;
	pthread_mutex_lock(&heard.lock);
	snprintf(heard.last, sizeof(heard.last), "%.*s", (int)text->len, text->data);
	heard.replies++;
	pthread_cond_signal(&heard.came);
	pthread_mutex_unlock(&heard.lock);
	buf_done(text);
}

static void wait_replies(u32 count)
{
	LOCKED(&heard.lock);
	while (heard.replies < count)
		pthread_cond_wait(&heard.came, &heard.lock);
}

TEST(events_are_told_when_the_store_changes)
{
	struct events_ops ops = { heard_generation, heard_reply, NULL };
	struct events *events = NULL;

	heard.generation = 7;
	EQ(events_new(&ops, &events), 0);
	/* Who knows nothing hears at once; who knows all waits for the next. */
	EQ(events_wait(events, NULL, ""), 0);
	wait_replies(1);
	STREQ(heard.last, "retry: 100\nid: 7\ndata: 7\n\n");
	EQ(events_wait(events, NULL, "7"), 0);
	pthread_mutex_lock(&heard.lock);
	EQ(heard.replies, 1);
	heard.generation = 8;
	pthread_mutex_unlock(&heard.lock);
	wait_replies(2);
	STREQ(heard.last, "retry: 100\nid: 8\ndata: 8\n\n");
	events_free(events);
}

TEST(events_are_for_so_many_and_end_with_an_answer)
{
	struct events_ops ops = { heard_generation, heard_reply, NULL };
	struct events *events = NULL;

	heard.generation = 7;
	EQ(events_new(&ops, &events), 0);
	for (u32 i = 0; i < EVENTS_MAX; i++)
		EQ(events_wait(events, NULL, "7"), 0);
	EQ(events_wait(events, NULL, "7"), -EAGAIN);
	events_free(events);
	EQ(heard.replies, EVENTS_MAX);
	STREQ(heard.last, "retry: 100\n\n");
}

TEST(callees_and_callers_of_all_places)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame(), *callees = NULL, *callers = NULL;

	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(reshape_callees(flame, &(struct reshape_function){ "b", NULL }, &callees), 0);
	nodes_are(callees, 0, 100,
		  "{\"frame\":[0,0,0],\"self\":[0,18,4],\"rest\":[0,0,0],\"children\":[1,1,0]}}");
	EQ(reshape_callers(flame, &(struct reshape_function){ "b", "/bin/x" }, &callers), 0);
	nodes_are(callers, 0, 100,
		  "{\"frame\":[0,0,0,0],\"self\":[0,0,6,16],\"rest\":[0,0,0,0],\"children\":[1,2,0,0]}}");
}

TEST(callees_of_a_function_are_those_of_its_file)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame(), *callees = NULL;
	u32 frame = (u32)calltree_frame(flame, &(struct frame){ .name = STR("b"), .exe = STR("/bin/y") });

	calltree_count(flame, (u32)calltree_node(flame, 0, frame), 32);
	calltree_sum(flame);
	EQ(calltree_link(flame, CALLTREE_AS_ADDED), 0);
	EQ(reshape_callees(flame, &(struct reshape_function){ "b", "/bin/y" }, &callees), 0);
	EQ(calltree_nodes(callees)[0].total, 32);
}

TEST(joined_flames_have_both_values)
{
	_cleanup_(calltree_freep) struct calltree *a = small_flame(), *b = calltree_new(), *joined = NULL;
	u32 frame = (u32)calltree_frame(b, &(struct frame){ .name = STR("c"), .exe = STR("/bin/x") });

	calltree_count(b, (u32)calltree_node(b, 0, frame), 5);
	calltree_sum(b);
	EQ(reshape_join(a, b, &joined), 0);
	nodes_are(joined, 0, 100,
		  "{\"frame\":[0,0,0,2,0,2],\"self\":[0,1,2,4,8,16],\"rest\":[0,0,0,0,0,0],"
		  "\"children\":[2,1,1,0,1,0],\"base\":[5,0,0,0,5,0]}}");
}

TEST(profile_of_a_flame_has_its_values)
{
	_cleanup_(calltree_freep) struct calltree *flame = small_flame();
	struct profile *profile = NULL;
	s64 sum = 0;

	EQ(reshape_profile(flame, "samples", "process.executable.name", &profile), 0);
	EQ(profile_check(profile), 0);
	for (u32 r = 0; r < profile->resources.count; r++)
		for (u32 i = 0; i < profile->resources.at[r].scopes[0].sets[0].sample_count; i++)
			sum += profile_sample_value(&profile->resources.at[r].scopes[0].sets[0].samples[i]);
	EQ(sum, 31);
	profile_free(profile);
}
