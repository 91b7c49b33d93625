// SPDX-License-Identifier: Apache-2.0
#include "base/landlock.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/landlock.h. The same numbers on all architectures. */
#define SYS_CREATE 444
#define SYS_ADD_RULE 445
#define SYS_RESTRICT_SELF 446
#define CREATE_VERSION 1u
#define RULE_PATH 1

enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	ABI_1 = (1 << 13) - 1,	/* up to MAKE_SYM: all that a directory can be asked for */
	REFER = 1 << 13,	/* ABI 2: rename from one directory to another */
	TRUNCATE = 1 << 14,	/* ABI 3 */
	IOCTL_DEV = 1 << 15,	/* ABI 5 */
	OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
};

#define ABI_SCOPES 6
#define SCOPE_ABSTRACT_SOCKETS 1
#define SCOPE_SIGNALS 2

struct rules {
	u64 files, network, scopes;
};

struct rule {
	u64 allowed;
	s32 fd;
} __attribute__((packed));

int landlock_abi(void)
{
	long abi = syscall(SYS_CREATE, NULL, 0, CREATE_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static u64 rights_of(int abi)
{
	return ABI_1 | (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0) | (abi >= 5 ? IOCTL_DEV : 0);
}

int landlock_begin(void)
{
	int abi = landlock_abi(), fd;
	struct rules rules = { .files = rights_of(abi) };
	/* Older kernels know a shorter one, and refuse what is not 0 behind it. */
	size_t bytes = abi >= ABI_SCOPES ? sizeof(rules) : sizeof(rules.files);

	if (!abi)
		return -EOPNOTSUPP;
	if (abi >= ABI_SCOPES)
		rules.scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
	fd = (int)syscall(SYS_CREATE, &rules, bytes, 0);
	return fd < 0 ? -errno : fd;
}

int landlock_allow(int rules_fd, int fd, enum landlock_use use)
{
	u64 allowed = READ_FILE | READ_DIR;
	struct rule rule = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (use == LANDLOCK_RUN)
		allowed |= EXECUTE;
	if (use == LANDLOCK_WRITE)
		allowed = rights_of(landlock_abi()) & ~(u64)EXECUTE;
	rule.allowed = S_ISDIR(st.st_mode) ? allowed : allowed & OF_FILES;
	return syscall(SYS_ADD_RULE, rules_fd, RULE_PATH, &rule, 0) < 0 ? -errno : 0;
}

int landlock_enforce(int rules_fd)
{
	return syscall(SYS_RESTRICT_SELF, rules_fd, 0) < 0 ? -errno : 0;
}
