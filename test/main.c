// SPDX-License-Identifier: Apache-2.0
/*
 * Runs the tests whose name contains the argument, or, after --exact, those with these names, each in its own process;
 * prints TAP. With --exact the first failure is the last test: who asks wants to know whether there is one.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#include "exe/reader_protocol.h"
#include "lang/lang.h"

extern const struct test __start_tests[], __stop_tests[];

/* A test that hangs is ended by the alarm. TEST_SECONDS in the environment gives slow machines more time. */
#define TEST_SECONDS 60

/* The exit status of a test that called SKIP(), and its reason, in memory that tests share with us. */
#define SKIPPED 77
#define REASON_BYTES 256
static char *skip_reason;

void test_skip(const char *why, ...)
{
	va_list args;

	va_start(args, why);
	(void)vsnprintf(skip_reason, REASON_BYTES, why, args);
	va_end(args);
	exit(SKIPPED);
}

static unsigned test_seconds(void)
{
	const char *text = getenv("TEST_SECONDS");
	unsigned long seconds = text ? strtoul(text, NULL, 10) : 0;

	return seconds ? (unsigned)seconds : TEST_SECONDS;
}

static int run_test(const struct test *t)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(test_seconds());
		t->run();
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGALRM)
		printf("# not done after %u s; TEST_SECONDS gives it more\n", test_seconds());
	else
		printf("# ended by signal %d, %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	if (argc < 2)
		return true;
	if (strcmp(argv[1], "--exact"))
		return strstr(name, argv[1]);
	for (int i = 2; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	bool is_exact = argc > 1 && !strcmp(argv[1], "--exact");
	int passed = 0, failed = 0, skipped = 0;

	if (argc == 1 && !strcmp(argv[0], READER_ARGV0))
		return reader_server_main(READER_SOCKET_FD, lang_files);
	skip_reason = mmap(NULL, REASON_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (skip_reason == MAP_FAILED)
		FAIL("no memory to share with tests");
	for (const struct test *t = __start_tests; t < __stop_tests; t++) {
		bool is_skipped;
		int status;

		if (!is_wanted(t->name, argc, argv) || (is_exact && failed))
			continue;
		status = run_test(t);
		is_skipped = status == SKIPPED;
		passed += status == 0;
		skipped += is_skipped;
		failed += status != 0 && !is_skipped;
		printf("%sok %d - %s%s%s\n", status && !is_skipped ? "not " : "", passed + failed + skipped, t->name,
		       is_skipped ? " # SKIP " : "", is_skipped ? skip_reason : "");
	}
	printf("1..%d\n%d passed, %d failed, %d skipped\n", passed + failed + skipped, passed, failed, skipped);
	return failed != 0 || passed + skipped == 0;
}
