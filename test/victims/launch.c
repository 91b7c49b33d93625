// SPDX-License-Identifier: Apache-2.0
/*
 * Starts victims in unusual ways:
 *	launch deleted EXE ARG...	a copy of EXE, removed once it runs
 *	launch memfd EXE ARG...		a copy of EXE that never was in a file system
 *	launch namespace EXE ARG...	as /v-namespace on a root of its own, in its own mount and PID namespaces
 *	launch reuse ROUNDS A B ARG...	A and B in turn, all with the same PID
 *	launch spawn ROUNDS EXE ARG...	by posix_spawn, one after the other
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void copy_fd(const char *from, int out)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);

	if (in < 0)
		die(from);
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		;
	close(in);
}

static void copy_file(const char *from, const char *to)
{
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (out < 0)
		die(to);
	copy_fd(from, out);
	close(out);
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		die("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_deleted(char **argv)
{
	char folder[] = "/tmp/wick-victim-XXXXXX", path[64], byte;
	int running[2];
	pid_t pid;

	if (!mkdtemp(folder) || pipe2(running, O_CLOEXEC) < 0)
		die(folder);
	snprintf(path, sizeof(path), "%s/v-deleted", folder);
	copy_file(argv[0], path);
	pid = fork();
	if (pid == 0) {
		execv(path, argv);
		die(path);
	}
	/* Ends when exec closes the other end. */
	close(running[1]);
	(void)!read(running[0], &byte, 1);
	unlink(path);
	rmdir(folder);
	return wait_for(pid);
}

static int run_memfd(char **argv)
{
	int fd = memfd_create("v-memfd", MFD_CLOEXEC);

	if (fd < 0)
		die("memfd_create");
	copy_fd(argv[0], fd);
	fexecve(fd, argv, environ);
	die("fexecve");
	return 1;
}

static int run_namespace(char **argv)
{
	char folder[] = "/tmp/wick-victim-XXXXXX", path[64];
	int status;
	pid_t pid;

	if (!mkdtemp(folder) || unshare(CLONE_NEWNS | CLONE_NEWPID) < 0)
		die("unshare");
	pid = fork();
	if (pid == 0) {
		/* Fails within a chroot, where / is no mount; there is nothing to be kept from then. */
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
		if (mount("tmpfs", folder, "tmpfs", 0, NULL) < 0)
			die("mount");
		snprintf(path, sizeof(path), "%s/v-namespace", folder);
		copy_file(argv[0], path);
		if (chroot(folder) < 0 || chdir("/") < 0)
			die("chroot");
		execv("/v-namespace", argv);
		die("/v-namespace");
	}
	status = wait_for(pid);
	umount2(folder, MNT_DETACH);
	rmdir(folder);
	return status;
}

static int run_reuse(char **argv)
{
	long rounds = strtol(argv[0], NULL, 10);
	pid_t same = 0, pid;

	for (long i = 0; i < rounds; i++) {
		struct clone_args args = {
			.exit_signal = SIGCHLD,
			.set_tid = same ? (uintptr_t)&same : 0,
			.set_tid_size = same ? 1 : 0,
		};

		pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0) {
			execv(argv[1 + i % 2], argv + 2);
			die(argv[1 + i % 2]);
		}
		if (pid < 0)
			die("clone3 with a chosen pid");
		same = pid;
		if (wait_for(pid))
			return 1;
	}
	return 0;
}

static int run_spawn(char **argv)
{
	long rounds = strtol(argv[0], NULL, 10);

	for (long i = 0; i < rounds; i++) {
		pid_t pid;

		if (posix_spawn(&pid, argv[1], NULL, NULL, argv + 1, environ))
			die(argv[1]);
		if (wait_for(pid))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
		int arguments;
	} ways[] = {
		{ "deleted", run_deleted, 1 },
		{ "memfd", run_memfd, 1 },
		{ "namespace", run_namespace, 1 },
		{ "reuse", run_reuse, 3 },
		{ "spawn", run_spawn, 2 },
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (argc >= 2 + ways[i].arguments && !strcmp(argv[1], ways[i].name))
			return ways[i].run(argv + 2);
	fprintf(stderr, "launch deleted|memfd|namespace|reuse|spawn ...\n");
	return 2;
}
