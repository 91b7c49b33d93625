// SPDX-License-Identifier: Apache-2.0
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* In the child: wait for the byte (or for the parent's end, then go away), then become the command. */
static void __attribute__((noreturn)) run(char **argv, int go_fd, int fail_fd)
{
	sigset_t none;
	char byte;
	int err;

	while ((err = (int)read(go_fd, &byte, 1)) < 0 && errno == EINTR)
		;
	if (err != 1)
		_exit(1);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(fail_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(err == ENOENT ? 127 : 126);
}

int child_start(char **argv, struct child *ret_child)
{
	_cleanup_(closep) int go_read = -1, go_write = -1, fail_read = -1, fail_write = -1;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	go_read = fds[0];
	go_write = fds[1];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fail_read = fds[0];
	fail_write = fds[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(go_write); /* else the parent's end would not be seen */
		run(argv, go_read, fail_write);
	}
	*ret_child = (struct child){ .pid = pid, .go_fd = go_write, .fail_fd = fail_read };
	go_write = fail_read = -1;
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int child_go(struct child *child)
{
	int err = 0;
	ssize_t len = write(child->go_fd, "", 1);

	close_fd(&child->go_fd);
	if (len != 1)
		return -ESRCH;
	/* exec closes the other end: nothing to read means that it worked. */
	while ((len = read(child->fail_fd, &err, sizeof(err))) < 0 && errno == EINTR)
		;
	close_fd(&child->fail_fd);
	return len == (ssize_t)sizeof(err) ? -err : 0;
}

static void set_status(struct child *child, int status)
{
	child->pid = 0;
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool child_ended(struct child *child)
{
	int status;

	if (child->pid > 0 && waitpid(child->pid, &status, WNOHANG) == child->pid)
		set_status(child, status);
	return child->pid == 0;
}

int child_wait(struct child *child)
{
	int status;

	while (child->pid > 0) {
		pid_t pid = waitpid(child->pid, &status, 0);

		if (pid == child->pid)
			set_status(child, status);
		else if (pid < 0 && errno != EINTR)
			child->pid = 0;
	}
	return child->status;
}

void child_signal(const struct child *child, int signal)
{
	if (child->pid > 0)
		(void)kill(child->pid, signal);
}

void child_done(struct child *child)
{
	bool waiting = child->go_fd >= 0;

	close_fd(&child->go_fd);
	close_fd(&child->fail_fd);
	/* One that waits ends by itself now; one that runs is left to run. */
	if (waiting && child->pid > 0)
		(void)waitpid(child->pid, NULL, 0);
	*child = CHILD_NONE;
}
