// SPDX-License-Identifier: Apache-2.0
#include "lang/named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clean_text.h"

struct key {
	u64 frame[2];
	u64 generation;
};

static void named_start(struct named *n)
{
	arena_init(&n->arena, NAMED_BYTES_MAX);
	interner_init(&n->keys, &n->arena, NAMED_BYTES_MAX / sizeof(struct key));
	interner_init(&n->texts, &n->arena, NAMED_BYTES_MAX / 8);
}

static void named_end(struct named *n)
{
	interner_done(&n->keys);
	interner_done(&n->texts);
	arena_done(&n->arena);
}

void named_init(struct named *n)
{
	*n = (struct named){ 0 };
	named_start(n);
}

void named_done(struct named *n)
{
	named_end(n);
	free(n->frames);
}

static const char *add_text(struct named *n, const char *text)
{
	char clean[LANG_TEXT_MAX];
	u32 index;

	(void)snprintf(clean, sizeof(clean), "%s", text);
	(void)clean_text(clean);
	index = interner_add(&n->texts, clean, strlen(clean) + 1, NULL);
	return index == INTERNER_NONE ? "" : interner_get(&n->texts, index)->at;
}

void lang_names_line(struct lang_names *names, const char *function, const char *file, u32 line)
{
	if (names->line_count == NAMED_LINES_MAX)
		return;
	names->lines[names->line_count++] = (struct window_line){
		.function = add_text(names->kept, *function ? function : "[unknown]"),
		.file = add_text(names->kept, file),
		.line = line,
	};
}

void lang_names_label(struct lang_names *names, const char *key, const char *value)
{
	if (names->label_count == NAMED_LABELS_MAX || !*key)
		return;
	names->labels[names->label_count++] = (struct window_label){
		.key = add_text(names->kept, key),
		.value = add_text(names->kept, value),
	};
}

static struct window_frame name_frame(struct named *n, const struct lang_ops *ops, void *state,
				      const struct lang_process *process, const u64 frame[2])
{
	struct lang_names answer = { .kept = n };
	int r = ops->resolve(state, process, frame, &answer);

	n->asked++;
	if (r < 0 || (!answer.line_count && !answer.label_count)) {
		char text[64];

		n->unnamed++;
		answer.line_count = answer.label_count = 0;
		if (frame[0] & FRAME_LABELS)
			return (struct window_frame){ .type = ops->look.type };
		(void)snprintf(text, sizeof(text), "[%s frame without a name]", ops->look.type);
		lang_names_line(&answer, text, "", 0);
	}
	return (struct window_frame){
		.type = ops->look.type,
		.line_count = answer.line_count,
		.label_count = answer.label_count,
		.lines = arena_copy(&n->arena, answer.lines, answer.line_count * sizeof(*answer.lines)),
		.labels = arena_copy(&n->arena, answer.labels, answer.label_count * sizeof(*answer.labels)),
	};
}

struct window_frame *named_find(struct named *n, const struct lang_ops *ops, void *state,
				const struct lang_process *process, const u64 frame[2], u64 generation)
{
	bool is_labels = frame[0] & FRAME_LABELS;
	struct key key = { { frame[0], is_labels ? 0 : frame[1] }, generation };
	bool is_new;
	u32 index;

	if (arena_err(&n->arena)) {
		named_end(n);
		named_start(n);
		n->evictions++;
	}
	index = interner_add(&n->keys, &key, sizeof(key), &is_new);
	if (index == INTERNER_NONE || array_reserve(&n->frames, &n->frame_cap, index + 1, sizeof(*n->frames)) < 0)
		return NULL;
	/* Labels that were not there when they were asked for may be at another place. */
	if (is_new || (is_labels && !n->frames[index].label_count))
		n->frames[index] = name_frame(n, ops, state, process, frame);
	return arena_err(&n->arena) ? NULL : &n->frames[index];
}
