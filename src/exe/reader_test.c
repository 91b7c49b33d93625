// SPDX-License-Identifier: Apache-2.0
#include "exe/reader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/call_filter.h"
#include "base/clock.h"
#include "exe/lines.h"
#include "exe/rows.h"
#include "exe/symbols.h"
#include "test.h"

static struct reader *start(void)
{
	struct reader *reader = NULL;

	EQ(reader_start(0, &reader), 0);
	return reader;
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	OK(fd >= 0);
	return fd;
}

/* A line of /proc/PID/status of the reader that begins with key. */
static void status_line(struct reader *reader, const char *key, char *line, size_t bytes)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", reader_pid(reader));
	file = fopen(path, "r");
	OK(file);
	while (fgets(line, bytes, file))
		if (!strncmp(line, key, strlen(key))) {
			line[strcspn(line, "\n")] = 0;
			fclose(file);
			return;
		}
	FAIL("no %s in %s", key, path);
}

TEST(reader_identifies_this_program)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	struct exe_info info;

	EQ(reader_identify(reader, fd, &info), 0);
	EQ(info.elf_class, ELFCLASS64);
	EQ(info.type, ET_DYN);
	OK(info.segment_count >= 1);
	OK(info.has_symtab);
	EQ(reader_stats(reader).requests, 1);
	EQ(reader_stats(reader).restarts, 0);
}

TEST(reader_keeps_no_privilege)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	struct exe_info info;
	char line[256];

	EQ(reader_identify(reader, fd, &info), 0);
	status_line(reader, "Name:", line, sizeof(line));
	STREQ(line, "Name:\twick: reader");
	status_line(reader, "CapPrm:", line, sizeof(line));
	STREQ(line, "CapPrm:\t0000000000000000");
	status_line(reader, "NoNewPrivs:", line, sizeof(line));
	STREQ(line, "NoNewPrivs:\t1");
	if (reader_stats(reader).unfiltered == 0) {
		status_line(reader, "Seccomp:", line, sizeof(line));
		STREQ(line, "Seccomp:\t2");
	}
	if (geteuid() == 0) {
		status_line(reader, "Uid:", line, sizeof(line));
		STREQ(line, "Uid:\t65534\t65534\t65534\t65534");
	}
}

/* Makes a file a copy of this program. */
static void copy_self(int fd)
{
	_cleanup_(closep) int self = open_self();
	char part[65536];
	off_t at = 0;
	ssize_t got;

	while ((got = read(self, part, sizeof(part))) > 0) {
		EQ(pwrite(fd, part, got, at), got);
		at += got;
	}
	EQ(got, 0);
}

TEST(reader_reads_files_that_only_their_owner_may_open)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	char path[] = "/tmp/wick-reader-test-XXXXXX";
	_cleanup_(closep) int fd = mkstemp(path);
	struct exe_info info;

	OK(fd >= 0);
	unlink(path);
	EQ(fchmod(fd, 0600), 0);
	copy_self(fd);
	EQ(reader_identify(reader, fd, &info), 0);
}

TEST(reader_refuses_what_is_not_a_regular_file)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int device = open("/dev/zero", O_RDONLY);
	_cleanup_(closep) int directory = open("/", O_RDONLY);
	_cleanup_(closep) int huge = memfd_create("huge", 0);
	struct exe_info info;
	int ends[2];

	EQ(pipe(ends), 0);
	EQ(ftruncate(huge, (8ll << 30) + 1), 0);
	EQ(reader_identify(reader, ends[0], &info), -ENOEXEC);
	EQ(reader_identify(reader, device, &info), -ENOEXEC);
	EQ(reader_identify(reader, directory, &info), -ENOEXEC);
	EQ(reader_identify(reader, huge, &info), -EFBIG);
	EQ(reader_identify(reader, -1, &info), -EBADF);
	EQ(reader_stats(reader).refused, 5);
	close(ends[0]);
	close(ends[1]);
}

TEST(reader_says_that_a_text_file_is_no_program)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = memfd_create("text", 0);
	struct exe_info info;

	EQ(write(fd, "hello\n", 6), 6);
	EQ(reader_identify(reader, fd, &info), -ENOEXEC);
	EQ(reader_stats(reader).restarts, 0);
}

TEST(reader_replaces_a_process_that_died_idle)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	struct exe_info info;
	siginfo_t dead;

	EQ(reader_identify(reader, fd, &info), 0);
	kill(reader_pid(reader), SIGKILL);
	EQ(waitid(P_PID, reader_pid(reader), &dead, WEXITED | WNOWAIT), 0);
	EQ(reader_identify(reader, fd, &info), 0);
	EQ(reader_stats(reader).restarts, 1);
}

TEST(reader_blames_the_file_that_takes_too_long)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	struct exe_info info;

	EQ(reader_identify(reader, fd, &info), 0);
	kill(reader_pid(reader), SIGSTOP);
	reader_set_timeout(reader, 20);
	EQ(reader_identify(reader, fd, &info), -EBADMSG);
	EQ(reader_stats(reader).timeouts, 1);
	EQ(reader_stats(reader).restarts, 1);
	reader_set_timeout(reader, 10000);
	EQ(reader_identify(reader, fd, &info), 0);
}

static u64 cpu_ns(pid_t pid)
{
	struct timespec spent;
	clockid_t clock;

	EQ(clock_getcpuclockid(pid, &clock), 0);
	EQ(clock_gettime(clock, &spent), 0);
	return (u64)spent.tv_sec * SECOND_NS + (u64)spent.tv_nsec;
}

/* How long it takes is not known, but what part of that it may work. */
TEST(reader_rests_in_the_middle_of_a_file)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	struct exe_info info;
	u64 began_ns, began_cpu_ns, worked_ns, took_ns;

	EQ(reader_identify(reader, fd, &info), 0);
	reader_set_rest(reader, 9);
	reader_set_timeout(reader, 2000);	/* of which rests are no part */
	began_ns = monotonic_ns();
	began_cpu_ns = cpu_ns(reader_pid(reader));
	do {
		_cleanup_(freep) struct rows *rows = NULL;

		EQ(reader_rows(reader, fd, -1, &rows), 0);
		worked_ns = cpu_ns(reader_pid(reader)) - began_cpu_ns;
	} while (worked_ns < 100000000);
	took_ns = monotonic_ns() - began_ns;
	OK(took_ns > 6 * worked_ns);
	EQ(reader_stats(reader).restarts, 0);
}

TEST(reader_sets_a_file_aside_that_costs_too_much_while_it_rests)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	struct rows *rows = NULL;
	int r = 0;

	reader_set_resting_max(reader, 1000000);
	for (int i = 0; i < 20; i++) {		/* it does not rest yet */
		EQ(reader_rows(reader, fd, -1, &rows), 0);
		free(TAKE(rows));
	}
	EQ(reader_stats(reader).timeouts, 0);
	reader_set_rest(reader, 100);
	for (int i = 0; r == 0 && i < 1000; i++) {
		r = reader_rows(reader, fd, -1, &rows);
		free(TAKE(rows));
	}
	EQ(r, -EBADMSG);
	EQ(reader_stats(reader).timeouts, 1);
}

/* Kills a process when the time given is over; it cannot know whether the request was sent by then. */
static pid_t kill_later(int pid, unsigned us)
{
	pid_t killer = fork();

	if (killer == 0) {
		usleep(us);
		kill(pid, SIGSEGV);
		kill(pid, SIGCONT);
		_exit(0);
	}
	return killer;
}

TEST(reader_blames_the_file_that_kills_it)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	struct exe_info info;
	int r = 0;

	EQ(reader_identify(reader, fd, &info), 0);
	for (unsigned us = 1000; r == 0 && us < 4000000; us *= 4) {
		kill(reader_pid(reader), SIGSTOP);
		OK(kill_later(reader_pid(reader), us) > 0);
		r = reader_identify(reader, fd, &info);
	}
	EQ(r, -EBADMSG);
	EQ(reader_stats(reader).timeouts, 0);
	OK(reader_stats(reader).restarts >= 1);
	EQ(reader_identify(reader, fd, &info), 0);
}

/*
 * A file that raises SIGBUS like one that was truncated while it is mapped, but always: a hole in a file system that is
 * full, so that no page can be had for it. Returns -1 where nobody may mount.
 */
static int open_broken(void)
{
	char page[4096] = { 0 };
	int fd;

	if (unshare(CLONE_NEWNS) < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("none", "/mnt", "tmpfs", 0, "size=8k") < 0)
		return -1;
	fd = open("/mnt/broken", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	memcpy(page, &(Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB } },
	       sizeof(Elf64_Ehdr));
	OK(write(fd, page, sizeof(page)) == sizeof(page) && write(fd, page, sizeof(page)) == sizeof(page));
	EQ(ftruncate(fd, 1 << 20), 0);
	return fd;
}

TEST(reader_survives_files_that_were_truncated_while_mapped)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self(), broken = -1;
	struct exe_info info;

	EQ(reader_identify(reader, fd, &info), 0);
	broken = open_broken();
	if (broken < 0)
		SKIP("may not mount a file system");
	EQ(reader_identify(reader, broken, &info), -EBADMSG);
	EQ(reader_stats(reader).restarts, 1);
	EQ(reader_identify(reader, fd, &info), 0);
	EQ(reader_stats(reader).restarts, 1);
}

/* A process whose children cannot be filtered: what its reader says, as an exit status. */
static int unfiltered_status(bool is_allowed)
{
	const struct call_rule rules[] = { { SYS_seccomp, CALL_ABSENT, 0, 0 } };
	struct reader *reader = NULL;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || call_filter_deny(rules, 1) < 0)
			_exit(99);
		if (is_allowed)
			reader_allow_unfiltered();
		if (reader_start(0, &reader) < 0)
			_exit(98);
		status = -reader_check(reader);
		reader_free(reader);
		_exit(status);
	}
	EQ(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

TEST(reader_is_not_used_where_its_system_calls_are_not_filtered)
{
	EQ(unfiltered_status(false), ENOSYS);
	EQ(unfiltered_status(true), 0);
}

TEST(reader_start_fails_without_memory)
{
	struct reader *reader = NULL;

	test_alloc_fail(0);
	EQ(reader_start(0, &reader), -ENOMEM);
	test_alloc_reset();
	OK(!reader);
}

static int note_base(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	*(u64 *)arg = info->dlpi_addr;
	return 1; /* the first is this program */
}

static u64 self_ea(const void *at)
{
	u64 base = 0;

	dl_iterate_phdr(note_base, &base);
	return (u64)at - base;
}

/* An address in code that is inlined: the line of the statement is that of the asm. */
static inline __attribute__((always_inline)) const void *inlined_here(void)
{
	const void *here;

#if defined(__x86_64__)
	__asm__ volatile("lea 1f(%%rip), %0\n1:\tnop" : "=r"(here));
#else
	__asm__ volatile("adr %0, 1f\n1:\tnop" : "=r"(here));
#endif
	return here;
}

__attribute__((noinline)) const void *reader_test_outer(void)
{
	return inlined_here();
}

TEST(reader_compiles_rows)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	_cleanup_(freep) struct rows *rows = NULL;

	EQ(reader_rows(reader, fd, -1, &rows), 0);
	OK(rows_find(rows, self_ea(reader_test_outer())));
}

TEST(reader_finds_symbols)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	_cleanup_(freep) struct symbols *symbols = NULL;
	u64 ea[] = { self_ea(reader_test_outer()), 8, self_ea(test_alloc_reset) };

	EQ(reader_symbols(reader, fd, -1, ea, 3, &symbols), 0);
	EQ(symbols->count, 2);
	STREQ(symbols_name(symbols, symbols_find(symbols, ea[0])), "reader_test_outer");
	EQ(symbols_find(symbols, ea[0])->ea, self_ea(reader_test_outer));
	STREQ(symbols_name(symbols, symbols_find(symbols, ea[2])), "test_alloc_reset");
	OK(!symbols_find(symbols, ea[1]));
}

TEST(reader_finds_inlined_functions_and_lines)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = open_self();
	u64 ea[] = { self_ea(reader_test_outer()), 8 };

	/* The second time from the file that is kept open. */
	for (int i = 0; i < 2; i++) {
		_cleanup_(freep) struct exe_lines *lines = NULL;
		const struct exe_line *line;
		const char *strings;

		EQ(reader_lines(reader, fd, -1, -1, ea, 2, &lines), 0);
		EQ(lines->truncated, 0);
		EQ(lines->line_count, 2);
		EQ(exe_lines_first(lines)[1], 2);
		line = exe_lines_array(lines);
		strings = exe_lines_strings(lines);
		STREQ(strings + line[0].function, "inlined_here");
		STREQ(strings + line[1].function, "reader_test_outer");
		OK(strstr(strings + line[0].file, "src/exe/reader_test.c"));
		OK(strings[line[1].file] == '/');
		OK(line[0].line > 1 && line[0].line < line[1].line);
		OK(line[0].start_line && line[0].start_line <= line[0].line);
		OK(line[1].start_line > line[0].start_line && line[1].start_line <= line[1].line);
	}
	EQ(reader_stats(reader).restarts, 0);
}

TEST(reader_says_that_there_is_no_dwarf)
{
	_cleanup_(reader_freep) struct reader *reader = start();
	_cleanup_(closep) int fd = memfd_create("text", 0);
	struct exe_lines *lines = NULL;
	u64 ea = 0;

	EQ(write(fd, "hello\n", 6), 6);
	EQ(reader_lines(reader, fd, -1, -1, &ea, 1, &lines), -ENODATA);
	OK(!lines);
}
