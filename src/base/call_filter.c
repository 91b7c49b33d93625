// SPDX-License-Identifier: Apache-2.0
#include "base/call_filter.h"

#include <assert.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#define FOREIGN_CALLS 0x40000000u	/* x32: the same calls by other numbers */
#elif defined(__aarch64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#define FOREIGN_CALLS UINT32_MAX
#endif

#define DENIED (SECCOMP_RET_ERRNO | EPERM)
#define CODE_MAX (CALL_RULES_MAX * 5 + 8)

struct code {
	struct sock_filter at[CODE_MAX];
	unsigned short count;
};

static void add(struct code *code, u16 op, u32 k, u8 if_true, u8 if_false)
{
	assert(code->count < CODE_MAX);
	code->at[code->count++] = (struct sock_filter){ op, if_true, if_false, k };
}

static void add_load(struct code *code, size_t offset)
{
	add(code, BPF_LD | BPF_W | BPF_ABS, (u32)offset, 0, 0);
}

static void add_return(struct code *code, u32 what)
{
	add(code, BPF_RET | BPF_K, what, 0, 0);
}

/* Afterwards the number of the call is loaded. */
static void begin(struct code *code)
{
	add_load(code, offsetof(struct seccomp_data, arch));
	add(code, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0);
	add_return(code, SECCOMP_RET_KILL_PROCESS);
	add_load(code, offsetof(struct seccomp_data, nr));
	add(code, BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1);
	add_return(code, DENIED);
}

static int load(struct code *code, unsigned flags)
{
	struct sock_fprog program = { .len = code->count, .filter = code->at };
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	if (r > 0)
		return -EBUSY;	/* a thread that has a filter of its own */
	return r < 0 ? -errno : 0;
}

static void add_rule(struct code *code, const struct call_rule *rule)
{
	if (rule->test == CALL_ANY || rule->test == CALL_ABSENT) {
		add(code, BPF_JMP | BPF_JEQ | BPF_K, rule->number, 0, 1);
		add_return(code, rule->test == CALL_ANY ? DENIED : SECCOMP_RET_ERRNO | ENOSYS);
		return;
	}
	add(code, BPF_JMP | BPF_JEQ | BPF_K, rule->number, 0, 4);
	add_load(code, offsetof(struct seccomp_data, args) + rule->argument * sizeof(u64));
	if (rule->test == CALL_HAS_BITS)
		add(code, BPF_JMP | BPF_JSET | BPF_K, rule->value, 0, 1);
	else
		add(code, BPF_JMP | BPF_JEQ | BPF_K, rule->value, rule->test == CALL_DIFFERS,
		    rule->test == CALL_EQUALS);
	add_return(code, DENIED);
	add_load(code, offsetof(struct seccomp_data, nr));
}

int call_filter_deny(const struct call_rule *rules, size_t count)
{
	struct code code = { .count = 0 };

	assert(count <= CALL_RULES_MAX);
	begin(&code);
	for (size_t i = 0; i < count; i++)
		add_rule(&code, &rules[i]);
	add_return(&code, SECCOMP_RET_ALLOW);
	return load(&code, SECCOMP_FILTER_FLAG_TSYNC);
}

int call_filter_allow(const u32 *numbers, size_t count)
{
	struct code code = { .count = 0 };

	assert(count <= CALL_RULES_MAX);
	begin(&code);
	for (size_t i = 0; i < count; i++) {
		add(&code, BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1);
		add_return(&code, SECCOMP_RET_ALLOW);
	}
	add_return(&code, DENIED);
	return load(&code, 0);
}
