// SPDX-License-Identifier: Apache-2.0
#include "symbol/kallsyms.h"

#include <fcntl.h>
#include <unistd.h>

#include "symbol/kernel_programs.h"
#include "test.h"

/* A small kernel with all that real ones have: aliases, padding, sections, init code, unsorted modules, programs. */
static const char golden[] =
	"0000000000000000 A fixed_percpu_data\n"
	"0000000000001000 D cpu_debug_store\n"
	"ffffffff81000000 T srso_alias_untrain_ret\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000070 t __pfx_early\n"
	"ffffffff81000080 t early\n"
	"ffffffff81000100 T __entry_text_start\n"
	"ffffffff81000100 t __do_work\n"
	"ffffffff81000100 t do_work\n"
	"ffffffff81000180 W weak_work\n"
	"ffffffff81000180 T strong_work\n"
	"ffffffff810001c0 t do_work.cold\n"
	"ffffffff81000200 T __entry_text_end\n"
	"ffffffff81000300 T last\n"
	"ffffffff81000380 T _etext\n"
	"ffffffff81800000 R __start_rodata\n"
	"ffffffff83000000 T _sinittext\n"
	"ffffffff83000000 B __init_begin\n"
	"ffffffff83000010 t setup_everything\n"
	"ffffffff83001000 T _einittext\n"
	"ffffffffc0203000 t mod_second\t[nf_tables]\n"
	"ffffffffc0201000 t mod_first\t[nf_tables]\n"
	"ffffffffc0202ff0 t __pfx_mod_second\t[nf_tables]\n"
	"ffffffffc0208000 t other\t[xfs]\n"
	"ffffffffc0301000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
	"ffffffffc0301100 t bpf_prog_0123456789abcdef\n"
	"ffff800123456780 t far_away\t[bpf]\n"
	"garbage\n"
	"ffffffff81000001 t\n"
	"zzzz t name\n";

struct host {
	char dir[32], kallsyms[64], modules[64], kptr[64];
	struct kallsyms_paths paths;
};

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	OK(file);
	OK(fputs(text, file) >= 0);
	EQ(fclose(file), 0);
}

static void host_init(struct host *h, const char *text)
{
	snprintf(h->dir, sizeof(h->dir), "/tmp/wick-kallsyms-XXXXXX");
	OK(mkdtemp(h->dir));
	snprintf(h->kallsyms, sizeof(h->kallsyms), "%s/kallsyms", h->dir);
	snprintf(h->modules, sizeof(h->modules), "%s/modules", h->dir);
	snprintf(h->kptr, sizeof(h->kptr), "%s/kptr_restrict", h->dir);
	put(h->kallsyms, text);
	put(h->kptr, "2\n");
	h->paths = (struct kallsyms_paths){ h->kallsyms, h->modules, h->kptr };
}

static void host_done(struct host *h)
{
	unlink(h->kallsyms);
	unlink(h->modules);
	unlink(h->kptr);
	rmdir(h->dir);
}

/* "module:name+offset", or "-". */
static const char *describe(struct kallsyms *k, u64 va, u64 now_ns)
{
	static char text[256];
	struct ksym ksym;

	if (!kallsyms_find(k, va, now_ns, &ksym))
		return "-";
	snprintf(text, sizeof(text), "%s:%s+%llx", ksym.module, ksym.name, (unsigned long long)(va - ksym.va));
	return text;
}

TEST(kallsyms_names_addresses_within_bounds)
{
	static const struct {
		u64 va;
		const char *want;
	} table[] = {
		{ 0, "-" },
		{ 0x1000, "-" },
		{ 0xffffffff80ffffff, "-" },
		{ 0xffffffff81000000, "vmlinux:srso_alias_untrain_ret+0" },
		{ 0xffffffff8100006f, "vmlinux:srso_alias_untrain_ret+6f" },
		{ 0xffffffff81000070, "vmlinux:early+fffffffffffffff0" },	/* padding belongs to what follows */
		{ 0xffffffff81000080, "vmlinux:early+0" },
		{ 0xffffffff81000101, "vmlinux:do_work+1" },			/* fewer underscores */
		{ 0xffffffff81000180, "vmlinux:strong_work+0" },		/* not the weak alias */
		{ 0xffffffff810001c8, "vmlinux:do_work.cold+8" },
		{ 0xffffffff81000200, "-" },					/* a section ended */
		{ 0xffffffff8100037f, "vmlinux:last+7f" },
		{ 0xffffffff81000380, "-" },
		{ 0xffffffff81800000, "-" },					/* data */
		{ 0xffffffff83000010, "-" },					/* freed after boot */
		{ 0xffffffffc0200fff, "-" },
		{ 0xffffffffc0201010, "nf_tables:mod_first+10" },
		{ 0xffffffffc0202ff0, "nf_tables:mod_second+fffffffffffffff0" },
		{ 0xffffffffc0203008, "nf_tables:mod_second+8" },
		{ 0xffffffffc0203fff, "nf_tables:mod_second+fff" },
		{ 0xffffffffc0204000, "-" },					/* past the module's last page */
		{ 0xffffffffc0208001, "xfs:other+1" },
		{ 0xffffffffc03010ff, "bpf:bpf_prog_6deef7357e7b4530_sd_fw+ff" },
		{ 0xffffffffc0301100, "bpf:bpf_prog_0123456789abcdef+0" },
		{ 0xffff800123456789, "bpf:far_away+9" },
	};
	struct host h;

	host_init(&h, golden);
	_cleanup_(kallsyms_freep) struct kallsyms *k = kallsyms_new(&h.paths);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		STREQ(describe(k, table[i].va, 1), table[i].want);
	STREQ(kallsyms_problem(k), "");
	EQ(kallsyms_stats(k).loads, 1);
	host_done(&h);
}

TEST(kallsyms_reads_again_when_a_module_came)
{
	struct host h;
	char more[sizeof(golden) + 64];

	host_init(&h, golden);
	_cleanup_(kallsyms_freep) struct kallsyms *k = kallsyms_new(&h.paths);
	STREQ(describe(k, 0xffffffffc0400000, 1), "-");
	snprintf(more, sizeof(more), "%sffffffffc0400000 t fresh\t[btrfs]\n", golden);
	put(h.kallsyms, more);
	put(h.modules, "btrfs 4096 0 - Live 0xffffffffc0400000\n");
	STREQ(describe(k, 0xffffffffc0400000, KALLSYMS_RELOAD_NS / 2), "-");
	EQ(kallsyms_stats(k).loads, 1);
	STREQ(describe(k, 0xffffffffc0400000, KALLSYMS_RELOAD_NS + 1), "btrfs:fresh+0");
	EQ(kallsyms_stats(k).loads, 2);

	/* Only a reference count has changed. */
	put(h.modules, "btrfs 4096 7 - Live 0xffffffffc0400000\n");
	STREQ(describe(k, 0xffffffffc0500000, 3 * KALLSYMS_RELOAD_NS), "-");
	EQ(kallsyms_stats(k).loads, 2);
	host_done(&h);
}

TEST(kallsyms_takes_programs_as_they_come_and_go)
{
	struct host h;

	host_init(&h, golden);
	_cleanup_(kallsyms_freep) struct kallsyms *k = kallsyms_new(&h.paths);
	kallsyms_program(k, 0xffffffffc0600040, 0x40, "bpf_prog_a", true);
	kallsyms_program(k, 0xffffffffc0600080, 0x40, "bpf_prog_b", true);
	STREQ(describe(k, 0xffffffffc060007f, 1), "bpf:bpf_prog_a+3f");
	STREQ(describe(k, 0xffffffffc06000bf, 1), "bpf:bpf_prog_b+3f");
	STREQ(describe(k, 0xffffffffc06000c0, 1), "-");

	/* One that is gone is still named, until another takes its place. */
	kallsyms_program(k, 0xffffffffc0600040, 0x40, "bpf_prog_a", false);
	STREQ(describe(k, 0xffffffffc0600040, 1), "bpf:bpf_prog_a+0");
	kallsyms_program(k, 0xffffffffc0600050, 0x80, "bpf_prog_c", true);
	STREQ(describe(k, 0xffffffffc0600048, 1), "-");
	STREQ(describe(k, 0xffffffffc06000cf, 1), "bpf:bpf_prog_c+7f");
	STREQ(describe(k, 0xffffffffc06000d0, 1), "-");
	host_done(&h);
}

TEST(kernel_programs_are_bounded)
{
	struct kernel_programs programs = { 0 };
	struct ksym ksym;

	for (u64 i = 0; i < KERNEL_PROGRAMS_MAX; i++)
		kernel_programs_add(&programs, 0x10000 + i * 0x100, 0x100, "p");
	EQ(programs.dropped, 0);
	kernel_programs_add(&programs, 0x1000, 0x100, "q");
	EQ(programs.dropped, 1);
	kernel_programs_remove(&programs, 0x10500);
	kernel_programs_add(&programs, 0x1000, 0x100, "q");
	EQ(programs.dropped, 1);
	EQ(programs.count, KERNEL_PROGRAMS_MAX);
	OK(kernel_programs_find(&programs, 0x1080, &ksym));
	STREQ(ksym.name, "q");
	OK(!kernel_programs_find(&programs, 0x10510, &ksym));
	kernel_programs_done(&programs);
}

TEST(kallsyms_says_why_there_are_no_names)
{
	struct host h;

	host_init(&h, "0000000000000000 T _stext\n0000000000000000 T do_work\n0000000000000000 t mod\t[xfs]\n");
	_cleanup_(kallsyms_freep) struct kallsyms *k = kallsyms_new(&h.paths);
	STREQ(describe(k, 0xffffffff81000000, 1), "-");
	OK(strstr(kallsyms_problem(k), "sysctl kernel.kptr_restrict=1"));

	put(h.kptr, "1\n");
	STREQ(describe(k, 0xffffffff81000000, KALLSYMS_RELOAD_NS + 1), "-");
	OK(strstr(kallsyms_problem(k), "CAP_SYSLOG"));

	put(h.kallsyms, "");
	STREQ(describe(k, 0xffffffff81000000, 2 * KALLSYMS_RELOAD_NS + 1), "-");
	OK(strstr(kallsyms_problem(k), "lists none"));

	unlink(h.kallsyms);
	STREQ(describe(k, 0xffffffff81000000, 3 * KALLSYMS_RELOAD_NS + 1), "-");
	OK(strstr(kallsyms_problem(k), "No such file"));

	put(h.kallsyms, golden);
	STREQ(describe(k, 0xffffffff81000000, 4 * KALLSYMS_RELOAD_NS + 1), "vmlinux:srso_alias_untrain_ret+0");
	STREQ(kallsyms_problem(k), "");
	host_done(&h);
}

TEST(kallsyms_bears_memory_running_out)
{
	struct host h;
	long asked;

	host_init(&h, golden);
	for (long n = 0;; n++) {
		test_alloc_fail(n);
		struct kallsyms *k = kallsyms_new(&h.paths);
		struct ksym ksym;
		bool found = k && kallsyms_find(k, 0xffffffff81000101, 1, &ksym);

		if (k && !found)
			OK(*kallsyms_problem(k));
		if (found)
			kallsyms_program(k, 0xffffffffc0600040, 0x40, "bpf_prog_a", true);
		kallsyms_free(k);
		asked = test_alloc_reset();
		if (asked <= n)
			break;
	}
	OK(asked > 5);
	host_done(&h);
}

TEST(kallsyms_of_this_kernel_fit_into_3_mb)
{
	struct ksym ksym;

	_cleanup_(kallsyms_freep) struct kallsyms *k = kallsyms_new(NULL);
	(void)kallsyms_find(k, 1, 1, &ksym);
	if (*kallsyms_problem(k))
		SKIP("%s", kallsyms_problem(k));
	printf("# %llu bytes\n", (unsigned long long)kallsyms_stats(k).held_bytes);
	OK(kallsyms_stats(k).held_bytes < (8 << 20));
	EQ(kallsyms_stats(k).dropped, 0);
}
