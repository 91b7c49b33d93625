// SPDX-License-Identifier: Apache-2.0
#include "base/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct place {
	char top[32], mine[64], others[64], mine_file[96], others_file[96];
};

static void make(struct place *p)
{
	snprintf(p->top, sizeof(p->top), "/tmp/wick-landlock-XXXXXX");
	OK(mkdtemp(p->top));
	snprintf(p->mine, sizeof(p->mine), "%s/mine", p->top);
	snprintf(p->others, sizeof(p->others), "%s/others", p->top);
	snprintf(p->mine_file, sizeof(p->mine_file), "%s/file", p->mine);
	snprintf(p->others_file, sizeof(p->others_file), "%s/file", p->others);
	OK(mkdir(p->mine, 0700) == 0 && mkdir(p->others, 0700) == 0);
	close(open(p->mine_file, O_WRONLY | O_CREAT, 0600));
	close(open(p->others_file, O_WRONLY | O_CREAT, 0600));
}

static void unmake(const struct place *p)
{
	unlink(p->mine_file);
	unlink(p->others_file);
	rmdir(p->mine);
	rmdir(p->others);
	OK(rmdir(p->top) == 0);
}

static bool may_open(const char *path, int how)
{
	int fd = open(path, how, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EACCES;
}

/* What a child that may use one directory so can do, as bits. */
static int try_in_child(const struct place *p, enum landlock_use use)
{
	int status, dir_fd = open(p->mine, O_PATH), rules_fd = landlock_begin();
	pid_t pid;

	OK(rules_fd >= 0);
	EQ(landlock_allow(rules_fd, dir_fd, use), 0);
	close(dir_fd);
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_enforce(rules_fd) < 0)
			_exit(255);
		_exit(may_open(p->mine_file, O_RDONLY) | may_open(p->mine_file, O_WRONLY) << 1 |
		      may_open(p->others_file, O_RDONLY) << 2 | may_open(p->others_file, O_WRONLY) << 3);
	}
	close(rules_fd);
	OK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(landlock_keeps_what_no_rule_names)
{
	struct place p;

	if (!landlock_abi()) {
		EQ(landlock_begin(), -EOPNOTSUPP);
		return;
	}
	make(&p);
	EQ(try_in_child(&p, LANDLOCK_READ), 1);
	EQ(try_in_child(&p, LANDLOCK_RUN), 1);
	EQ(try_in_child(&p, LANDLOCK_WRITE), 3);
	unmake(&p);
}
