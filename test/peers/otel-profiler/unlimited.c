// SPDX-License-Identifier: Apache-2.0
/*
 * unlimited COMMAND...: runs it with requests to raise a limit answered by yes, and not done.
 *
 * The OTel eBPF profiler asks for all the locked memory there is, and ends when it gets a no, as root in a container
 * does. Since v5.11 BPF maps do not count as such: it needs none of it.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define NUMBER offsetof(struct seccomp_data, nr)
#define NEW_LIMIT offsetof(struct seccomp_data, args[2])	/* its low half: a pointer, or NULL */

int main(int argc, char **argv)
{
	struct sock_filter rules[] = {
		LOAD(NUMBER),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 2),
		LOAD(NEW_LIMIT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };

	if (argc < 2) {
		fprintf(stderr, "usage: unlimited COMMAND...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("unlimited: no filter");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
