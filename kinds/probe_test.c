// SPDX-License-Identifier: Apache-2.0
#include "kinds/probe.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "kinds/choice.h"
#include "test.h"

static struct probe *parse(const char *text)
{
	struct probe *probe = NULL;
	struct buf why;

	buf_init(&why, 4096);
	EQ(probe_parse(str_of(text), &probe, &why), 0);
	buf_done(&why);
	return probe;
}

TEST(probes_are_events_by_their_type_and_place)
{
	static const struct {
		const char *text;
		enum probe_type type;
		const char *target, *provider, *symbol;
		u64 offset;
		const char *name;
	} cases[] = {
		{ "tracepoint:sched:sched_switch", PROBE_TRACEPOINT, "sched", "", "sched_switch", 0, "sched_switch" },
		{ "sched:sched_switch", PROBE_TRACEPOINT, "sched", "", "sched_switch", 0, "sched_switch" },
		{ "uprobe:/bin/x:main", PROBE_UPROBE, "/bin/x", "", "main", 0, "main" },
		{ "uprobe:/bin/x:main+0x10", PROBE_UPROBE, "/bin/x", "", "main", 16, "main" },
		{ "uprobe:/bin/a:b/x:ns::f+4", PROBE_UPROBE, "/bin/a:b/x", "", "ns::f", 4, "ns::f" },
		{ "uprobe:libc.so.6:operator+", PROBE_UPROBE, "libc.so.6", "", "operator+", 0, "operator+" },
		{ "uretprobe:/bin/x:main", PROBE_URETPROBE, "/bin/x", "", "main", 0, "main" },
		{ "usdt:/bin/x:prov:name", PROBE_USDT, "/bin/x", "prov", "name", 0, "prov:name" },
		{ "usdt:/bin/x:name", PROBE_USDT, "/bin/x", "", "name", 0, "name" },
		{ "kprobe:vfs_read", PROBE_KPROBE, "", "", "vfs_read", 0, "vfs_read" },
		{ "kretprobe:vfs_read", PROBE_KRETPROBE, "", "", "vfs_read", 0, "vfs_read" },
		{ "uprobe:/bin/x:f{name=g}", PROBE_UPROBE, "/bin/x", "", "f", 0, "g" },
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct probe *probe = parse(cases[i].text);

		OK(probe_is_meant(str_of(cases[i].text)));
		EQ(probe->start.type, cases[i].type);
		STREQ(probe->start.target, cases[i].target);
		STREQ(probe->start.provider, cases[i].provider);
		STREQ(probe->start.symbol, cases[i].symbol);
		EQ(probe->start.offset, cases[i].offset);
		STREQ(probe->kind.name, cases[i].name);
		STREQ(probe->kind.sample.unit, "count");
		probe_free(probe);
	}
}

TEST(probes_that_have_an_end_measure_the_time_of_a_thread_unless_told_otherwise)
{
	struct probe *probe = parse("uprobe:/bin/x:f{until=return}");

	OK(probe->has_end);
	EQ(probe->end.type, PROBE_URETPROBE);
	STREQ(probe->end.symbol, "f");
	EQ(probe->value.word, PROBE_WORD_TIME);
	EQ(probe->start.key[0].word, PROBE_WORD_THREAD);
	EQ(probe->end.key[0].word, PROBE_WORD_THREAD);
	STREQ(probe->unit, "nanoseconds");
	probe_free(probe);
	probe = parse("block:block_rq_issue{key=args.dev+args.sector, until=block:block_rq_complete, name=disk}");
	EQ(probe->end.type, PROBE_TRACEPOINT);
	STREQ(probe->end.key[1].field, "sector");
	probe_free(probe);
	probe = parse("uprobe:/bin/x:read{value=retval,unit=bytes,until=return,until_if=retval>0}");
	OK(probe->value.of_end);
	EQ(probe->end.test, PROBE_MORE);
	EQ(probe->start.test, PROBE_ANY);
	STREQ(probe->unit, "bytes");
	probe_free(probe);
	probe = parse("sock:inet_sock_set_state{if=args.newstate==2,key=args.skaddr,until=sock:inet_sock_set_state,"
		      "until_if=args.oldstate==2,rate=50,name=connect}");
	EQ(probe->start.against, 2);
	STREQ(probe->end.tested.field, "oldstate");
	EQ(probe->rate, 50);
	probe_free(probe);
}

TEST(probes_that_cannot_be_are_refused_with_a_sentence)
{
	static const char *const cases[] = {
		"", ":", "::", "tracepoint:", "tracepoint:sched", "sched:", "a b:c", "uprobe:", "uprobe:/bin/x",
		"uprobe::f", "uprobe:/bin/x:", "uretprobe:/bin/x:f+4", "usdt:", "usdt:/bin/x", "kprobe:",
		"uprobe:/bin/x:f{", "uprobe:/bin/x:f{}x",
		"uprobe:/bin/x:f{name}", "uprobe:/bin/x:f{name=}", "uprobe:/bin/x:f{what=1}",
		"uprobe:/bin/x:f{value=arg12}", "uprobe:/bin/x:f{value=args.x}", "sched:sched_switch{value=arg0}",
		"uprobe:/bin/x:f{value=retval}", "uretprobe:/bin/x:f{value=arg0}", "uprobe:/bin/x:f{value=time}",
		"uprobe:/bin/x:f{value=end.retval}", "uprobe:/bin/x:f{key=arg0}", "uprobe:/bin/x:f{until_if=arg0>1}",
		"uprobe:/bin/x:f{if=arg0}", "uprobe:/bin/x:f{if=arg0>x}", "uprobe:/bin/x:f{if=>1}",
		"uprobe:/bin/x:f{rate=0}", "uprobe:/bin/x:f{rate=1000001}", "uprobe:/bin/x:f{name=samples}",
		"uprobe:/bin/x:f{name=a b}", "uprobe:/bin/x:f{until=}", "uprobe:/bin/x:f{until=uprobe}",
		"sched:sched_switch{until=return}", "uprobe:/bin/x:f{until=return,key=arg0+arg1+arg2}", "cpu{name=x}",
		"uprobe:/bin/x:f{value=end.arg0,until=return}", "kprobe:f{value=*arg0}",
	};

	for (u32 i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct probe *probe = NULL;
		struct buf why;

		buf_init(&why, 4096);
		EQ(probe_parse(str_of(cases[i]), &probe, &why), -EINVAL);
		OK(why.len > 0 && !probe);
		buf_done(&why);
	}
}

TEST(probes_are_chosen_beside_kinds_with_numbers_of_their_own)
{
	struct kind_choices choices = { 0 };
	struct buf why;

	buf_init(&why, 4096);
	EQ(kind_choices_add(&choices, "cpu,uprobe:/bin/x:f{value=arg1,unit=bytes},faults:16 sched:sched_switch",
			    &why), 0);
	EQ(choices.count, 4);
	EQ(choices.at[1].number, KIND_PROBES);
	EQ(choices.at[2].number, KIND_FAULTS);
	EQ(choices.at[2].events_per_sample, 16);
	EQ(choices.at[3].number, KIND_PROBES + 1);
	STREQ(kind_choices_find(&choices, KIND_PROBES)->sample.unit, "bytes");
	OK(kind_choices_find(&choices, KIND_CPU) == kind_list[KIND_CPU]);
	OK(!kind_choices_find(&choices, KIND_PROBES + 2));
	EQ(kind_choices_add(&choices, "uprobe:/bin/y:f", &why), -EINVAL);
	OK(strstr(why.data, "two probes are called like this"));
	EQ(kind_choices_add(&choices, "context-switches:7", &why), 0);
	EQ(choices.at[4].events_per_sample, 7);
	for (char name[] = "a:a"; choices.count < 10; name[2]++)
		EQ(kind_choices_add(&choices, name, &why), 0);
	EQ(kind_choices_add(&choices, "z:zz", &why), -EINVAL);
	OK(strstr(why.data, "more than 8 probes"));
	kind_choices_done(&choices);
	buf_done(&why);
}
