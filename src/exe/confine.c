// SPDX-License-Identifier: Apache-2.0
#include "exe/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/call_filter.h"
#include "exe/reader_protocol.h"

#define NOBODY 65534

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* Files may be mapped whole (they cost page cache, not memory of ours), so the limit is on private memory. */
#define DATA_MAX_BYTES (512u << 20)
#define FILES_MAX 16

static int limit(int resource, rlim_t max)
{
	struct rlimit limit = { max, max };

	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

/* Where memory runs out, rather a file goes unread than that sampling ends: who reads it is started again. */
static void offer_for_memory(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, READER_OFFER, sizeof(READER_OFFER) - 1);	/* else the kernel chooses by size */
	close(fd);
}

static int limit_resources(void)
{
	int r = limit(RLIMIT_CORE, 0);

	offer_for_memory();

	if (r == 0)
		r = limit(RLIMIT_NOFILE, FILES_MAX);
	if (r == 0 && !SANITIZED) /* its shadow is private memory */
		r = limit(RLIMIT_DATA, DATA_MAX_BYTES);
	return r;
}

/* As root: become nobody. Whoever we are: keep no capability and never get one. */
static int drop_privileges(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (geteuid() == 0) {
		/* In a user namespace without a map for it, or without CAP_SETUID, nobody can't be had. */
		if (setgroups(0, NULL) < 0 && errno != EPERM)
			return -errno;
		if (setresgid(NOBODY, NOBODY, NOBODY) < 0 && errno != EPERM && errno != EINVAL)
			return -errno;
		if (setresuid(NOBODY, NOBODY, NOBODY) < 0 && errno != EPERM && errno != EINVAL)
			return -errno;
	}
	if (syscall(SYS_capset, &head, none) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	/* Nothing else that runs as nobody may trace it. */
	return prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
}

/*
 * What is left: memory, the descriptors it was given, time, exit. Everything else fails: libdw looks for .dwo files by
 * names that come from the file.
 */
static const u32 allowed[] = {
	SYS_brk, SYS_clock_gettime, SYS_clock_nanosleep, SYS_close, SYS_exit, SYS_exit_group, SYS_fcntl,
	SYS_fstat, SYS_futex, SYS_getrandom, SYS_lseek, SYS_madvise, SYS_memfd_create, SYS_mmap, SYS_mprotect,
	SYS_mremap, SYS_munmap, SYS_newfstatat, SYS_pread64, SYS_read, SYS_recvmsg, SYS_restart_syscall,
	SYS_rt_sigreturn, SYS_sendmsg, SYS_setitimer, SYS_write,
};
int confine(bool *ret_seccomp)
{
	int r = limit_resources();

	if (r == 0)
		r = drop_privileges();
	if (r == 0)
		*ret_seccomp = call_filter_allow(allowed, sizeof(allowed) / sizeof(allowed[0])) == 0;
	return r;
}
