// SPDX-License-Identifier: Apache-2.0
#include "cmd/screen.h"

#include "base/buf.h"
#include "test.h"

/* Presses everything in a piece of input. */
static void type(struct screen *s, const char *keys)
{
	const char *at = keys, *end = keys + strlen(keys);

	while (at < end)
		screen_press(s, screen_read_key(&at, end), 24);
}

static struct summary_row rows[30];
static struct summary summary = { .rows = rows, .total = 1000, .type = STR("samples") };

static void fill(u32 count)
{
	static char names[30][16];
	static struct frame frames[30];

	summary.row_count = count;
	for (u32 i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), i % 2 ? "Odd%u" : "even%u", i);
		frames[i] = (struct frame){ .name = { names[i], (u32)strlen(names[i]) }, .type = FRAME_LABEL };
		rows[i] = (struct summary_row){ .frame = &frames[i], .self = 30 - i, .total = 30 };
	}
}

static const char *drawn(struct screen *s, unsigned width, unsigned height)
{
	static char copy[8192];
	struct terminal terminal = { .is_terminal = true, .width = width, .height = height };
	struct buf b;

	buf_init(&b, sizeof(copy));
	screen_draw(s, &terminal, "wick top - heading", &summary, &b);
	buf_addf(&b, "%s", "");
	EQ(buf_err(&b), 0);
	snprintf(copy, sizeof(copy), "%s", b.data);
	buf_done(&b);
	return copy;
}

static unsigned lines_of(const char *text)
{
	unsigned lines = 1;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

TEST(screen_keys_choose_what_is_shown)
{
	struct screen s = { 0 };

	type(&s, "p");
	EQ(s.by, SUMMARY_PROCESS);
	type(&s, "t");
	EQ(s.by, SUMMARY_THREAD);
	type(&s, "f ");
	EQ(s.by, SUMMARY_FUNCTION);
	OK(s.paused);
	type(&s, " ?");
	OK(!s.paused && s.help);
	type(&s, "?q");
	OK(!s.help && s.quit);
}

TEST(screen_filter_takes_letters_that_are_keys_elsewhere)
{
	struct screen s = { 0 };

	type(&s, "/quipx\x7f");
	OK(s.typing && !s.quit && s.by == SUMMARY_FUNCTION);
	STREQ(s.filter, "quip");
	type(&s, "\r");
	OK(!s.typing);
	type(&s, "/\033");
	STREQ(s.filter, "");
	OK(!s.typing);
	type(&s, "/");
	for (int i = 0; i < 100; i++)
		type(&s, "a");
	EQ(strlen(s.filter), SCREEN_FILTER_MAX - 1);
}

TEST(screen_reads_arrows_and_skips_unknown_sequences)
{
	const char *input = "\033[A\033[6~\033OF\033[99;5~x\033";
	const char *at = input, *end = input + strlen(input);

	EQ(screen_read_key(&at, end), KEY_UP);
	EQ(screen_read_key(&at, end), KEY_PAGE_DOWN);
	EQ(screen_read_key(&at, end), KEY_END);
	EQ(screen_read_key(&at, end), KEY_NONE);
	EQ(screen_read_key(&at, end), 'x');
	EQ(screen_read_key(&at, end), KEY_ESCAPE);
	EQ(screen_read_key(&at, end), KEY_NONE);
	OK(at == end);
}

TEST(screen_fills_the_terminal_exactly)
{
	static const unsigned heights[] = { 7, 10, 24, 60 };
	struct screen s = { 0 };

	fill(30);
	for (size_t i = 0; i < sizeof(heights) / sizeof(heights[0]); i++) {
		EQ(lines_of(drawn(&s, 80, heights[i])), heights[i]);
		s.help = !s.help;
	}
	fill(0);
	EQ(lines_of(drawn(&s, 20, 12)), 12);
}

TEST(screen_never_draws_wider_than_the_terminal)
{
	struct screen s = { 0 };

	fill(10);
	for (unsigned width = 50; width < 90; width += 7) {
		const char *line = drawn(&s, width, 20);

		while (line) {
			const char *end = strchr(line, '\n');

			OK((end ? (size_t)(end - line) : strlen(line)) <= width);
			line = end ? end + 1 : NULL;
		}
	}
}

TEST(screen_scrolls_to_the_last_page_and_not_past_it)
{
	struct screen s = { 0 };
	const char *text;

	fill(30);
	type(&s, "\033[F");
	text = drawn(&s, 80, 15);
	OK(strstr(text, "Odd29"));
	EQ(s.skip, 20);
	type(&s, "\033[A");
	OK(!strstr(drawn(&s, 80, 15), "Odd29"));
	type(&s, "\033[H");
	OK(strstr(drawn(&s, 80, 15), "even0"));
}

TEST(screen_filters_rows_in_any_case)
{
	struct screen s = { 0 };
	const char *text;

	fill(30);
	type(&s, "/oDD2\r");
	text = drawn(&s, 80, 24);
	OK(strstr(text, "Odd21"));
	OK(strstr(text, "filter: oDD2"));
	OK(!strstr(text, "even"));
}
