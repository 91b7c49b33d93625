// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static int fd;
static char text[1 << 20];

static void setup(bool json, bool sampling, enum log_level level)
{
	struct log_options options = {
		.level = level, .json = json, .sampling = sampling, .initial = 2, .thereafter = 3,
	};

	fd = memfd_create("log", MFD_CLOEXEC);
	OK(fd >= 0);
	options.fd = fd;
	log_setup(&options);
}

static const char *written(void)
{
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	OK(n >= 0);
	text[n] = '\0';
	return text;
}

/* Without the time that a line begins with. */
static const char *written_after_time(void)
{
	const char *tab = strchr(written(), '\t');

	return tab ? tab : "";
}

TEST(log_writes_console_lines)
{
	setup(false, false, LOG_LEVEL_INFO);
	log_debug("service", "not shown");
	log_warn("otlp/backend", "cannot connect: %s", "no route");
	STREQ(written_after_time(), "\twarn\totlp/backend\tcannot connect: no route\n");
	EQ(text[4], '-');
	EQ(text[23], 'Z');
}

TEST(log_writes_json_lines)
{
	setup(true, false, LOG_LEVEL_DEBUG);
	log_debug("a\"b", "said \"%s\" \\", "x");
	OK(strstr(written(), "{\"level\":\"debug\",\"ts\":\"20") == text);
	OK(strstr(text, "Z\",\"component\":\"a\\\"b\",\"msg\":\"said \\\"x\\\" \\\\\"}\n"));
}

TEST(log_carries_its_fields)
{
	const struct log_field fields[] = { { "host", "a" }, { "x\"", "\n" } };
	struct log_options options = { .fields = fields, .field_count = 2 };

	setup(false, false, LOG_LEVEL_INFO);
	options.fd = fd;
	log_setup(&options);
	log_info("a", "b");
	STREQ(written_after_time(), "\tinfo\ta\tb\t{\"host\":\"a\",\"x\\\"\":\"\\u000a\"}\n");
}

TEST(log_drops_fields_that_do_not_fit)
{
	static char big[LOG_LINE_MAX * 2];
	const struct log_field fields[] = { { "big", big }, { "b", "c" } };
	struct log_options options = { .json = true, .fields = fields, .field_count = 2 };

	memset(big, 'x', sizeof(big) - 1);
	setup(false, false, LOG_LEVEL_INFO);
	options.fd = fd;
	log_setup(&options);
	log_info("a", "b");
	OK(strstr(written(), "\"msg\":\"b\",\"b\":\"c\"}\n"));
}

TEST(log_escapes_what_could_draw_on_a_terminal)
{
	setup(false, false, LOG_LEVEL_INFO);
	log_info("a", "%s", "x\x1b[31m\n\xff\xc2\x9b\xc3\xa9");
	STREQ(written_after_time(), "\tinfo\ta\tx\\x1b[31m\\x0a\\xff\\x9b\xc3\xa9\n");
	setup(true, false, LOG_LEVEL_INFO);
	log_info("a", "%s", "\x1b\xff\xc2\x9b");
	OK(strstr(written(), "\"msg\":\"\\u001b\xef\xbf\xbd\\u009b\"}\n"));
}

TEST(log_cuts_long_lines)
{
	static char big[LOG_LINE_MAX * 2];

	memset(big, '"', sizeof(big) - 1);
	setup(true, false, LOG_LEVEL_INFO);
	log_info("a", "%s", big);
	OK(strlen(written()) <= LOG_LINE_MAX);
	OK(strstr(text, "\\\"\"}\n"));
}

TEST(log_leaves_out_repeated_lines_and_says_so)
{
	unsigned lines = 0;

	setup(false, true, LOG_LEVEL_INFO);
	for (int i = 0; i < 8; i++)
		log_info("a", "number %d", i);
	log_info("b", "number %d", 9);
	for (const char *c = written(); *c; c++)
		lines += *c == '\n';
	EQ(lines, 5);
	OK(strstr(text, "number 0\n"));
	OK(strstr(text, "number 1\n"));
	OK(!strstr(text, "number 2"));
	OK(strstr(text, "number 4 (2 like this were left out)\n"));
	OK(strstr(text, "number 7 (2 like this were left out)\n"));
	OK(strstr(text, "\tb\tnumber 9\n"));
	EQ(log_dropped_count(), 4);
}

static void *logs(void *arg)
{
	for (int i = 0; i < 200; i++)
		log_info(arg, "a line of some length, number %d", i);
	return NULL;
}

TEST(log_keeps_lines_of_threads_apart)
{
	pthread_t threads[4];
	unsigned lines = 0;

	setup(false, false, LOG_LEVEL_INFO);
	for (int i = 0; i < 4; i++)
		EQ(pthread_create(&threads[i], NULL, logs, "thread"), 0);
	for (int i = 0; i < 4; i++)
		EQ(pthread_join(threads[i], NULL), 0);
	for (const char *c = written(); *c; c = strchr(c, '\n') + 1, lines++)
		EQ(c[23], 'Z');
	EQ(lines, 800);
}

TEST(log_passes_text_on_whole)
{
	static char lines[100000];
	size_t quotes = 0;

	for (size_t i = 0; i < sizeof(lines); i++)
		lines[i] = i % 50 == 49 ? '\n' : i % 50 == 7 ? '"' : 'x';
	setup(false, true, LOG_LEVEL_INFO);
	log_text(LOG_LEVEL_DEBUG, "debug", "not shown\n", 10);
	log_text(LOG_LEVEL_INFO, "debug", lines, sizeof(lines));
	EQ(strlen(written()), sizeof(lines));
	OK(!memcmp(text, lines, sizeof(lines)));
	setup(true, true, LOG_LEVEL_INFO);
	log_text(LOG_LEVEL_INFO, "debug", lines, sizeof(lines));
	OK(strstr(written(), "{\"level\":\"info\",\"ts\":\"20") == text);
	EQ(strchr(text, '\n') - text + 1, strlen(text));
	for (const char *at = text; (at = strstr(at, "\\\"")); at++)
		quotes++;
	EQ(quotes, sizeof(lines) / 50);
	quotes = 0;
	for (const char *at = text; (at = strstr(at, "\\u000a")); at++)
		quotes++;
	EQ(quotes, sizeof(lines) / 50);
	OK(!strcmp(text + strlen(text) - 3, "\"}\n"));
}

/* As if the file that is written to were the journal. */
static void claim_journal(void)
{
	struct stat st;
	char stream[64];

	OK(fstat(fd, &st) == 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	log_set_journal(stream);
}

TEST(log_tells_the_journal_priorities)
{
	static const char text_of_others[] = "<0>a\nb\n";

	setup(false, false, LOG_LEVEL_DEBUG);
	claim_journal();
	STREQ(log_priority(LOG_LEVEL_ERROR, fd), "<3>");
	STREQ(log_priority(LOG_LEVEL_ERROR, -1), "");
	log_error("a", "e");
	log_warn("a", "w");
	log_info("a", "i");
	log_debug("a", "d");
	log_text(LOG_LEVEL_INFO, "a", text_of_others, sizeof(text_of_others) - 1);
	OK(!strncmp(written(), "<3>20", 5));
	OK(strstr(text, "\terror\ta\te\n<4>20"));
	OK(strstr(text, "\twarn\ta\tw\n<6>20"));
	OK(strstr(text, "\tinfo\ta\ti\n<7>20"));
	OK(strstr(text, "\tdebug\ta\td\n<6><0>a\n<6>b\n"));
	log_set_journal(NULL);
}

TEST(log_tells_nobody_else_priorities)
{
	setup(false, false, LOG_LEVEL_DEBUG);
	claim_journal();
	setup(true, false, LOG_LEVEL_DEBUG);
	log_error("a", "e");
	OK(!strncmp(written(), "{\"level\"", 8));
	claim_journal();
	log_warn("a", "w");
	OK(strstr(written(), "}\n<4>{\"level\":\"warn\""));
	log_set_journal(NULL);
}
