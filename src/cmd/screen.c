// SPDX-License-Identifier: Apache-2.0
#include "cmd/screen.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/text.h"
#include "cmd/view.h"

/* Lines that are not rows: heading, state, table head, "n more", keys. */
#define SCREEN_FRAME 5

/* key, what it groups by; and what the help says */
static const struct {
	char key;
	enum summary_by by;
	const char *text;
} groupings[] = {
	{ 'f', SUMMARY_FUNCTION, "functions" }, { 'p', SUMMARY_PROCESS, "processes" },
	{ 't', SUMMARY_THREAD, "threads" },	{ 'e', SUMMARY_EXECUTABLE, "executables" },
	{ 'l', SUMMARY_LINE, "source lines" },
};

static const char *const help_text[] = {
	"",
	"  space     pause, and go on",
	"  /         show only rows that hold a text; empty shows all",
	"  up, down  scroll (also j, k, page up, page down, home, end)",
	"  ?         this help",
	"  q         quit",
};

/* After ESC [: a letter, or a number and '~'. */
static int read_sequence(const char **at, const char *end)
{
	static const struct {
		const char *text;
		int key;
	} sequences[] = {
		{ "A", KEY_UP },   { "B", KEY_DOWN }, { "5~", KEY_PAGE_UP }, { "6~", KEY_PAGE_DOWN },
		{ "H", KEY_HOME }, { "F", KEY_END },  { "1~", KEY_HOME },    { "4~", KEY_END },
	};
	int key = KEY_NONE;

	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		size_t len = strlen(sequences[i].text);

		if ((size_t)(end - *at) >= len && !memcmp(*at, sequences[i].text, len))
			key = sequences[i].key;
	}
	/* One that is not known is passed over to its last byte, so that it is not typed into the filter. */
	while (*at < end && !(**at >= '@' && **at <= '~'))
		++*at;
	*at += *at < end;
	return key;
}

int screen_read_key(const char **at, const char *end)
{
	if (*at >= end)
		return KEY_NONE;
	if (*(*at)++ != '\033')
		return (unsigned char)(*at)[-1];
	if (*at == end)
		return KEY_ESCAPE;
	if (**at != '[' && **at != 'O')
		return KEY_ESCAPE;
	++*at;
	return read_sequence(at, end);
}

static void press_filter(struct screen *s, int key)
{
	size_t len = strlen(s->filter);

	if (key == '\n' || key == '\r') {
		s->typing = false;
	} else if (key == KEY_ESCAPE) {
		s->typing = false;
		s->filter[0] = '\0';
	} else if (key == 0x7f || key == '\b') {
		if (len)
			s->filter[len - 1] = '\0';
	} else if (key >= ' ' && key < 0x7f && len + 1 < sizeof(s->filter)) {
		s->filter[len] = (char)key;
		s->filter[len + 1] = '\0';
	}
	s->skip = 0;
}

static void press_scroll(struct screen *s, int key, unsigned height)
{
	u32 page = height > SCREEN_FRAME + 1 ? height - SCREEN_FRAME : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		s->skip -= s->skip > 0;
		break;
	case KEY_DOWN:
	case 'j':
		s->skip++;
		break;
	case KEY_PAGE_UP:
		s->skip -= s->skip > page ? page : s->skip;
		break;
	case KEY_PAGE_DOWN:
		s->skip += page;
		break;
	case KEY_HOME:
		s->skip = 0;
		break;
	case KEY_END:
		s->skip = UINT32_MAX / 2; /* drawing brings it back to the last page */
		break;
	}
}

void screen_press(struct screen *screen, int key, unsigned height)
{
	if (key == KEY_NONE)
		return;
	if (screen->typing) {
		press_filter(screen, key);
		return;
	}
	for (size_t i = 0; i < sizeof(groupings) / sizeof(groupings[0]); i++) {
		if (key == groupings[i].key) {
			screen->by = groupings[i].by;
			screen->skip = 0;
		}
	}
	screen->quit = key == 'q' || key == 'Q';
	screen->help = key == '?' || key == 'h' ? !screen->help : screen->help && key == ' ';
	screen->paused ^= key == ' ';
	screen->typing = key == '/';
	press_scroll(screen, key, height);
}

static void draw_blank(unsigned lines, struct buf *out)
{
	while (lines-- > 0)
		buf_addf(out, "\n");
}

static void draw_help(unsigned lines, struct buf *out)
{
	size_t n = sizeof(groupings) / sizeof(groupings[0]);
	unsigned used = 0;

	for (size_t i = 0; i < n && used < lines; i++, used++)
		buf_addf(out, "  %c         %s\n", groupings[i].key, groupings[i].text);
	for (size_t i = 0; i < sizeof(help_text) / sizeof(help_text[0]) && used < lines; i++, used++)
		buf_addf(out, "%s\n", help_text[i]);
	draw_blank(lines - used, out);
}

static unsigned count_lines(const struct buf *b, size_t from)
{
	unsigned lines = 0;

	for (size_t i = from; i < b->len; i++)
		lines += b->data[i] == '\n';
	return lines;
}

static void draw_rows(struct screen *s, const struct terminal *terminal, const struct summary *summary, unsigned lines,
		      struct buf *out)
{
	struct view view = {
		.terminal = terminal, .by = s->by, .limit = lines, .filter = s->filter[0] ? s->filter : NULL
	};
	size_t from = out->len;
	u32 count = view_row_count(&view, summary);

	if (s->skip + lines > count)
		s->skip = count > lines ? count - lines : 0;
	view.skip = s->skip;
	view_table(&view, summary, out);
	draw_blank(lines + 2 - count_lines(out, from), out);
}

static void draw_state(const struct screen *s, const struct terminal *terminal, struct buf *out)
{
	char text[160];
	int len = snprintf(text, sizeof(text), "by %s%s%s%s%s", view_by_names[s->by], s->paused ? "   paused" : "",
			   s->filter[0] || s->typing ? "   filter: " : "", s->filter, s->typing ? "_" : "");

	(void)text_add(out, (struct str){ text, (u32)len }, terminal->width);
	buf_addf(out, "\n");
}

void screen_draw(struct screen *screen, const struct terminal *terminal, const char *heading,
		 const struct summary *summary, struct buf *out)
{
	unsigned lines = terminal->height > SCREEN_FRAME + 1 ? terminal->height - SCREEN_FRAME : 1;

	buf_addf(out, "%s", terminal_style(terminal, STYLE_BOLD));
	(void)text_add(out, (struct str){ heading, (u32)strlen(heading) }, terminal->width);
	buf_addf(out, "%s\n", terminal_style(terminal, STYLE_NONE));
	draw_state(screen, terminal, out);
	if (screen->help)
		draw_help(lines + 2, out);
	else if (summary)
		draw_rows(screen, terminal, summary, lines, out);
	else
		draw_blank(lines + 2, out);
	buf_addf(out, "%s", terminal_style(terminal, STYLE_DIM));
	(void)text_add(out, STR("q quit  f functions  p processes  t threads  / filter  space pause  ? help"),
		       terminal->width);
	buf_addf(out, "%s", terminal_style(terminal, STYLE_NONE));
}
