// SPDX-License-Identifier: Apache-2.0
#include "symbol/program_scan.h"

#include <fcntl.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "symbol/kallsyms.h"
#include "symbol/kernel_programs.h"
#include "test.h"

/* A program of more than a page, which is as far as one of unknown size goes. */
static int load_program(void)
{
	struct bpf_insn code[3000] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 } };
	u32 last = sizeof(code) / sizeof(*code) - 1;

	for (u32 i = 1; i < last; i++)
		code[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 0, .imm = 0x12345 };
	code[last] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "wick_scan_test", "GPL", code, last + 1, NULL);
}

/* Where /proc/kallsyms has it, or 0. */
static u64 find_program(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	struct kallsyms_line parsed;
	char line[1024];
	u64 va = 0;

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (kallsyms_parse(line, &parsed) && strstr(parsed.name, "wick_scan_test"))
			va = parsed.va;
	}
	if (file)
		fclose(file);
	return va;
}

TEST(program_scan_tells_the_size_of_a_program)
{
	_cleanup_(closep) int fd = load_program();
	struct kernel_programs programs = { 0 };
	struct ksym ksym;
	u64 va = fd >= 0 ? find_program() : 0;

	if (!va)
		SKIP("no BPF program can be loaded here, or none shows in /proc/kallsyms");
	kernel_programs_add(&programs, va, 0, "wick_scan_test");
	OK(!kernel_programs_find(&programs, va + 8192, &ksym));
	EQ(program_scan(&programs), 1);
	OK(programs.list[0].bytes > 2998 * 4 && programs.list[0].bytes < 65536);
	OK(kernel_programs_find(&programs, va + 8192, &ksym));
	EQ(ksym.va, va);
	OK(!kernel_programs_find(&programs, va + programs.list[0].bytes, &ksym));
	kernel_programs_done(&programs);
}

TEST(program_scan_is_used_for_programs_of_kallsyms)
{
	_cleanup_(kallsyms_freep) struct kallsyms *k = kallsyms_new(NULL);
	_cleanup_(closep) int fd = load_program();
	u64 va = fd >= 0 ? find_program() : 0;
	struct ksym ksym;

	if (!va)
		SKIP("no BPF program can be loaded here, or none shows in /proc/kallsyms");
	OK(kallsyms_find(k, va + 8192, 1, &ksym));
	OK(strstr(ksym.name, "wick_scan_test"));
	STREQ(ksym.module, "bpf");
}
