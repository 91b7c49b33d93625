// SPDX-License-Identifier: Apache-2.0
#include "cmd/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/landlock.h"
#include "cmd/findings.h"
#include "cmd/privilege.h"
#include "proc/pid_namespace.h"
#include "tracer/kernel_check.h"

/* The start of a small file, without its last newline; false if it cannot be read. */
static bool read_text(const char *path, char *ret_text, size_t bytes)
{
	if (io_read_text(path, ret_text, bytes) < 0)
		return false;
	ret_text[strcspn(ret_text, "\n")] = '\0';
	return true;
}

static bool read_number(const char *path, long *ret_number)
{
	char text[32], *end;
	long n;

	if (!read_text(path, text, sizeof(text)))
		return false;
	n = strtol(text, &end, 10);
	if (end == text)
		return false;
	*ret_number = n;
	return true;
}

bool probe_bracketed(const char *text, char *ret_word, size_t bytes)
{
	const char *open_at = strchr(text, '['), *close_at = open_at ? strchr(open_at, ']') : NULL;

	if (!close_at || (size_t)(close_at - open_at) > bytes)
		return false;
	snprintf(ret_word, bytes, "%.*s", (int)(close_at - open_at - 1), open_at + 1);
	return true;
}

static void probe_kernel(struct findings *f)
{
	struct kernel_version version = { 0 };
	struct kernel_names names;
	enum kernel_verdict verdict;
	struct utsname u;

	if (kernel_names_read(&names) < 0 || uname(&u) < 0)
		return;
	verdict = kernel_check(&names, &version);
	findings_add(f, "kernel", FINDING_OK, "", "Linux %s (%u.%u.%u), %s", names.release, version.major,
		     version.minor, version.patch, u.machine);
	if (verdict != KERNEL_SAFE)
		findings_add(f, "kernel", verdict == KERNEL_FREEZES ? FINDING_BAD : FINDING_WARN, "", "%s",
			     kernel_verdict_text(verdict));
	else
		findings_add(f, "kernel", FINDING_OK, "", "reading user memory from BPF is safe");
	if (strcmp(u.machine, "x86_64") && strcmp(u.machine, "aarch64"))
		findings_add(f, "kernel", FINDING_BAD, "use an x86-64 or arm64 machine", "stacks of %s are not known",
			     u.machine);
}

static void probe_btf(struct findings *f)
{
	struct stat st;

	if (stat("/sys/kernel/btf/vmlinux", &st) == 0)
		findings_add(f, "BTF", FINDING_OK, "", "/sys/kernel/btf/vmlinux, %lld KiB",
			     (long long)st.st_size / 1024);
	else
		findings_add(f, "BTF", FINDING_BAD, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y",
			     "the kernel has no type information (/sys/kernel/btf/vmlinux)");
}

/* A feature that was asked for: 1 there, 0 not there, negative when asking failed. */
static void add_feature(struct findings *f, int there, const char *what, enum finding_status without, const char *cost)
{
	if (there > 0)
		findings_add(f, "BPF", FINDING_OK, "", "%s", what);
	else if (there == 0)
		findings_add(f, "BPF", without, "", "no %s: %s", what, cost);
	else
		findings_add(f, "BPF", FINDING_WARN, "run wick doctor with sudo", "%s: cannot tell (%s)", what,
			     strerror(-there));
}

/* A program that has a function and ends in another program, as ours do where a walk goes on in a language's. */
static int takes_tail_calls(void)
{
	_cleanup_(closep) int map = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, NULL, sizeof(u32), sizeof(u32), 1, NULL);
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1 },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 7 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_6 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd;

	if (map < 0)
		return map;
	fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", code, sizeof(code) / sizeof(*code), NULL);
	if (fd < 0)
		return fd == -EINVAL ? 0 : fd;
	close(fd);
	return 1;
}

static void probe_bpf(struct findings *f)
{
	u64 caps = 0;

	/* Without the privilege every question is answered by no. */
	if (privilege_read(&caps) < 0 || !privilege_held(&privileges[0], caps)) {
		findings_add(f, "BPF", FINDING_WARN, "run wick doctor with sudo", "features: cannot tell without %s",
			     privileges[0].name);
		return;
	}
	libbpf_set_print(NULL);
	add_feature(f, libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_PERF_EVENT, NULL), "programs on clock ticks",
		    FINDING_BAD, "the kernel lacks CONFIG_BPF_EVENTS, nothing can be sampled");
	add_feature(f, libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL), "ring buffer", FINDING_BAD,
		    "Linux 5.8 or later is needed");
	add_feature(f, takes_tail_calls(), "tail calls (interpreters' own functions)", FINDING_WARN,
		    "functions of interpreted and JIT-compiled languages have no names; on arm64 Linux 6.0 lifts that");
}

static void probe_privileges(struct findings *f)
{
	unsigned missing = 0;
	u64 caps = 0;

	if (privilege_read(&caps) < 0) {
		findings_add(f, "privileges", FINDING_WARN, "mount /proc", "cannot read /proc/self/status");
		return;
	}
	for (const struct privilege *p = privileges; p->name; p++) {
		if (!privilege_is_lacking(p, caps))
			continue;
		missing++;
		findings_add(f, "privileges", p->required ? FINDING_BAD : FINDING_WARN,
			     missing == 1 ? PRIVILEGE_ADVICE : "", "no %s: %s", p->name, p->cost);
	}
	if (!missing)
		findings_add(f, "privileges", FINDING_OK, "", "every capability that wick needs here");
}

/* With kptr_restrict every address in kallsyms reads as 0. */
static bool kallsyms_hidden(void)
{
	char line[64];

	return !read_text("/proc/kallsyms", line, sizeof(line)) || !strncmp(line, "0000000000000000 ", 17);
}

static void probe_settings(struct findings *f)
{
	long kptr = 0, paranoid = 0;

	if (kallsyms_hidden())
		findings_add(f, "kernel names", FINDING_WARN,
			     "sysctl kernel.kptr_restrict=1 and run as root or with CAP_SYSLOG",
			     "hidden (kptr_restrict %ld): kernel frames have addresses only",
			     read_number("/proc/sys/kernel/kptr_restrict", &kptr) ? kptr : -1L);
	else
		findings_add(f, "kernel names", FINDING_OK, "", "/proc/kallsyms shows addresses");
	if (read_number("/proc/sys/kernel/perf_event_paranoid", &paranoid))
		findings_add(f, "perf events", FINDING_OK, "", "perf_event_paranoid %ld (CAP_PERFMON overrides it)",
			     paranoid);
	else
		findings_add(f, "perf events", FINDING_BAD, "use a kernel built with CONFIG_PERF_EVENTS=y",
			     "the kernel has none");
}

static void probe_pmu(struct findings *f)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
	};
	_cleanup_(closep) int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		findings_add(f, "perf events", FINDING_OK, "", "hardware cycle counter");
	else if (errno == EACCES || errno == EPERM)
		findings_add(f, "perf events", FINDING_WARN, "run wick doctor with sudo",
			     "hardware cycle counter: cannot tell");
	else
		findings_add(f, "perf events", FINDING_OK, "", "no hardware cycle counter; the software clock is used");
}

static void probe_memlock(struct findings *f)
{
	struct rlimit limit;
	u64 caps = 0;

	if (!privilege_memlock_counts() || getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return;
	(void)privilege_read(&caps);
	if (limit.rlim_cur == RLIM_INFINITY || caps >> CAP_SYS_RESOURCE & 1)
		findings_add(f, "memory lock", FINDING_OK, "", "no limit");
	else
		findings_add(f, "memory lock", FINDING_WARN, "ulimit -l unlimited, or run with CAP_SYS_RESOURCE",
			     "limited to %llu KiB: BPF maps may not fit", (unsigned long long)limit.rlim_cur / 1024);
}

static void probe_cgroup(struct findings *f)
{
	struct statfs fs;

	if (statfs("/sys/fs/cgroup", &fs) < 0)
		findings_add(f, "cgroups", FINDING_WARN, "mount /sys/fs/cgroup",
			     "not mounted: --cgroup cannot be used");
	else if (fs.f_type == CGROUP2_SUPER_MAGIC)
		findings_add(f, "cgroups", FINDING_OK, "", "version 2");
	else
		findings_add(f, "cgroups", FINDING_OK, "", "version 1 or mixed");
}

static void probe_security(struct findings *f)
{
	char text[128], mode[32];
	long enforcing = 0;

	if (read_text("/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    probe_bracketed(text, mode, sizeof(mode))) {
		bool secret = !strcmp(mode, "confidentiality");

		findings_add(f, "lockdown", secret ? FINDING_BAD : FINDING_OK,
			     secret ? "boot without lockdown=confidentiality" : "", "%s%s", mode,
			     secret ? ": BPF may not read kernel or user memory" : "");
	}
	if (read_number("/sys/fs/selinux/enforce", &enforcing) && enforcing)
		findings_add(f, "SELinux", FINDING_OK, "",
			     "enforcing: a service needs the permission bpf { prog_load prog_run }");
	if (landlock_abi())
		findings_add(f, "Landlock", FINDING_OK, "", "ABI %d: a service reads and writes its own files only",
			     landlock_abi());
	else
		findings_add(f, "Landlock", FINDING_WARN, "use a kernel from 5.13 on, with CONFIG_SECURITY_LANDLOCK",
			     "none: what files a service may use, its user decides alone");
}

static void probe_namespace(struct findings *f)
{
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 1024);
	if (pid_namespace_check_proc(&why) < 0)
		findings_add(f, "processes", FINDING_BAD, "", "%.*s", (int)why.len, why.data);
	else if (pid_namespace())
		findings_add(f, "processes", FINDING_WARN, "", PID_NAMESPACE_PARTIAL);
	else
		findings_add(f, "processes", FINDING_OK, "", "all of the machine's can be seen");
}

void probe_machine(struct findings *findings)
{
	probe_kernel(findings);
	probe_btf(findings);
	probe_bpf(findings);
	probe_privileges(findings);
	probe_namespace(findings);
	probe_settings(findings);
	probe_pmu(findings);
	probe_memlock(findings);
	probe_cgroup(findings);
	probe_security(findings);
}
