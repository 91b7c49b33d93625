// SPDX-License-Identifier: Apache-2.0
#include "cmd/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "test.h"

static void wait_end(struct child *child)
{
	siginfo_t info;

	EQ(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
	OK(child_ended(child));
}

static struct child start(const char *script)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct child child;

	EQ(child_start(argv, &child), 0);
	return child;
}

TEST(child_returns_its_exit_status)
{
	struct child child = start("exit 7");

	EQ(child_go(&child), 0);
	EQ(child_wait(&child), 7);
	OK(child_ended(&child));
	child_done(&child);
}

TEST(child_that_dies_of_a_signal_has_a_shells_status)
{
	struct child child = start("kill -TERM $$");

	EQ(child_go(&child), 0);
	wait_end(&child);
	EQ(child.status, 128 + SIGTERM);
	child_done(&child);
}

TEST(child_gets_signals_passed_on)
{
	struct child child;

	signal(SIGINT, SIG_DFL);	/* ignored in the background of a script, and then in the child as well */
	child = start("exec sleep 1000");
	EQ(child_go(&child), 0);
	OK(!child_ended(&child));
	child_signal(&child, SIGINT);
	wait_end(&child);
	EQ(child.status, 128 + SIGINT);
}

TEST(child_that_cannot_be_run_tells_why)
{
	char *argv[] = { (char *)"/nonexistent/command", NULL };
	struct child child;

	EQ(child_start(argv, &child), 0);
	EQ(child_go(&child), -ENOENT);
	wait_end(&child);
	EQ(child.status, 127);
}

TEST(child_does_nothing_before_it_is_let_go)
{
	struct child child = start("kill -TERM $PPID");
	pid_t pid = child.pid;

	child_done(&child);
	EQ(waitpid(pid, NULL, 0), -1);
	EQ(errno, ECHILD);
	child_done(&child);
}
