// SPDX-License-Identifier: Apache-2.0
#include "base/call_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* What a child that filters itself finds out, as its exit status. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? 99 : fn());
	OK(pid > 0);
	EQ(waitpid(pid, &status, 0), pid);
	OK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int fails_with(long r, int error)
{
	return r < 0 && errno == error;
}

static int deny(void)
{
	const struct call_rule rules[] = {
		{ SYS_getppid, CALL_ANY, 0, 0 },	       { SYS_getsid, CALL_ABSENT, 0, 0 },
		{ SYS_getpgid, CALL_HAS_BITS, 0, 0x40000 },    { SYS_fcntl, CALL_EQUALS, 1, F_SETOWN },
		{ SYS_dup3, CALL_DIFFERS, 2, O_CLOEXEC },
	};

	if (call_filter_deny(rules, sizeof(rules) / sizeof(rules[0])) < 0)
		return 98;
	return !fails_with(syscall(SYS_getppid), EPERM) + 2 * !fails_with(syscall(SYS_getsid, 0), ENOSYS) +
	       4 * !fails_with(syscall(SYS_getpgid, 0x40001), EPERM) + 8 * (syscall(SYS_getpgid, 0) < 0) +
	       16 * !fails_with(fcntl(1, F_SETOWN, 1), EPERM) + 32 * (fcntl(1, F_GETFD) < 0) +
	       64 * (!fails_with(syscall(SYS_dup3, 1, 200, 0), EPERM) || syscall(SYS_dup3, 1, 200, O_CLOEXEC) != 200);
}

TEST(call_filter_denies_calls_and_arguments)
{
	EQ(in_child(deny), 0);
}

static int allow(void)
{
	const u32 numbers[] = { SYS_exit_group, SYS_getpid };

	if (call_filter_allow(numbers, 2) < 0)
		return 98;
	return !fails_with(syscall(SYS_getppid), EPERM) + 2 * (syscall(SYS_getpid) <= 0);
}

TEST(call_filter_allows_what_is_listed)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP("the sanitizer makes system calls of its own");
#endif
	EQ(in_child(allow), 0);
}
