// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_write.h"
#include "lang/frame_type.h"
#include "wire/format.h"
#include "wire/views/flametree.h"
#include "wire/views/html.h"

#define PLACE "@DATA@"		/* where the page has its data */
#define COLOURS "@COLOURS@"

__asm__(".section .rodata\nhtml_page:\n.incbin \"src/wire/views/html.html\"\nhtml_page_end:\n.byte 0\n.text\n");
/* Hidden: by way of the global offset table, local symbols of one section would be one (arm64). */
extern const char html_page[] __attribute__((visibility("hidden")));
extern const char html_page_end[] __attribute__((visibility("hidden")));

/* Frames of the file are without the root's, which has none. */
static void put_node(struct json_write *j, const struct calltree *tree, u32 number)
{
	const struct calltree_node *node = &calltree_nodes(tree)[number];
	u32 children = 0;

	for (u32 child = tree->child[number]; child; child = tree->next[child])
		children++;
	json_write_u32(j, number ? node->frame - 1 : 0);
	json_write_integer(j, node->total);
	json_write_integer(j, node->self);
	json_write_u32(j, children);
}

/* Each before its children. */
static void put_nodes(struct json_write *j, const struct calltree *tree)
{
	u32 node = 0;

	do {
		put_node(j, tree, node);
		node = calltree_next(tree, 0, node, true);
	} while (node);
}

static void put_frame(struct json_write *j, const struct frame *frame)
{
	json_write_open(j, '[');
	json_write_string(j, frame->name.at, frame->name.len);
	json_write_string(j, frame->file.at, frame->file.len);
	json_write_string(j, frame->exe.at, frame->exe.len);
	json_write_string(j, frame->type.at, frame->type.len);
	json_write_integer(j, frame->line);
	json_write_close(j, ']');
}

/* { kernel: "#e8590c", ... } */
static void put_colours(struct buf *out)
{
	buf_addf(out, "{ ");
	for (u32 i = 1; frame_type_at(i); i++)
		buf_addf(out, "%s%s: \"#%06x\"", i > 1 ? ", " : "", frame_type_at(i)->type, frame_type_at(i)->colour);
	buf_addf(out, " }");
}

static void put_data(const struct flametree *tree, struct buf *out)
{
	struct json_write j = { .b = out };

	json_write_open(&j, '{');
	json_write_key(&j, "type");
	json_write_string(&j, tree->summary->type.at, tree->summary->type.len);
	json_write_key(&j, "unit");
	json_write_text(&j, unit_text(tree->summary->unit));
	json_write_key(&j, "frames");
	json_write_open(&j, '[');
	for (u32 i = 0; i < tree->frames.count; i++)
		put_frame(&j, &tree->frames.at[i]);
	json_write_close(&j, ']');
	json_write_key(&j, "nodes");
	json_write_open(&j, '[');
	put_nodes(&j, tree->calls);
	json_write_close(&j, ']');
	json_write_close(&j, '}');
}

/* A name may hold "</script>". In JSON a < stands only inside of strings, which know another way to write it. */
static void put_without_markup(struct buf *out, const struct buf *json)
{
	const char *at = json->data, *end = at + json->len, *less;

	while (at < end) {
		less = memchr(at, '<', (size_t)(end - at));
		buf_add(out, at, (size_t)((less ? less : end) - at));
		if (!less)
			return;
		buf_add(out, "\\u003c", 6);
		at = less + 1;
	}
}

int html_encode(const struct profile *profile, struct buf *out)
{
	size_t page_bytes = (size_t)(html_page_end - html_page);
	const char *place = memmem(html_page, page_bytes, PLACE, strlen(PLACE)), *rest = place + strlen(PLACE);
	const char *colours = memmem(rest, (size_t)(html_page_end - rest), COLOURS, strlen(COLOURS));
	_cleanup_(flametree_done) struct flametree tree;
	_cleanup_(buf_done) struct buf json;
	int r = flametree_init(&tree, profile);

	buf_init(&json, out->max);
	if (r < 0)
		return r;
	put_data(&tree, &json);
	buf_add(out, html_page, (size_t)(place - html_page));
	put_without_markup(out, &json);
	buf_add(out, rest, (size_t)(colours - rest));
	put_colours(out);
	rest = colours + strlen(COLOURS);
	buf_add(out, rest, (size_t)(html_page_end - rest));
	return buf_err(&json) ? buf_err(&json) : buf_err(out);
}

const struct format_ops format_html = {
	.name = "html",
	.help = "a flame graph and a table of functions, one page for a browser",
	.content_type = "text/html; charset=utf-8",
	.suffixes = (const char *const[]){ ".html", NULL },
	.encode = html_encode,
};
