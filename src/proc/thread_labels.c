// SPDX-License-Identifier: Apache-2.0
#include "proc/thread_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

_Static_assert(THREAD_LABELS_MAX == TLS_WANTED_MAX, "each has a variable");

const char *const thread_label_types[] = {
#define X(ID, name) [THREAD_LABEL_##ID] = name,
	THREAD_LABEL_TYPES(X)
#undef X
	[THREAD_LABEL_TYPE_COUNT] = NULL,
};

static bool is_text(const char *text, size_t bytes_max)
{
	size_t len = text ? strlen(text) : 0;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return len && len < bytes_max && utf8_valid(text, len);
}

/* Attributes that samples have anyway. */
static bool is_ours(const char *name)
{
	static const char *const ours[] = { "thread.id", "thread.name", "cpu.logical_number", "wick.", "wait.", "lock.",
					    "waker." };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!strncmp(name, ours[i], strlen(ours[i])))
			return true;
	return false;
}

static int add(struct thread_labels *labels, const struct thread_label_spec *spec, struct buf *why)
{
	u32 number = labels->count;

	if (!is_text(spec->name, THREAD_LABEL_NAME_BYTES) || is_ours(spec->name)) {
		buf_addf(why, "a label cannot be called \"%.40s\"", spec->name ? spec->name : "");
		return -EINVAL;
	}
	if (!is_text(spec->variable, TLS_NAME_BYTES)) {
		buf_addf(why, "%s: \"%.40s\" is not the name of a variable", spec->name,
			 spec->variable ? spec->variable : "");
		return -EINVAL;
	}
	if (spec->file && *spec->file) {
		size_t before = why->len;

		buf_addf(why, "%s: file: ", spec->name);
		if (pattern_new(spec->file, strlen(spec->file), &labels->at[number].file, why) < 0)
			return -EINVAL;
		why->len = before;
	}
	/* They were looked at: both fit. */
	memcpy(labels->at[number].name, spec->name, strlen(spec->name) + 1);
	memcpy(labels->variables.name[number], spec->variable, strlen(spec->variable) + 1);
	labels->at[number].type = (u32)spec->type;
	labels->variables.count = ++labels->count;
	return 0;
}

int thread_labels_new(const struct thread_label_specs *specs, struct thread_labels **ret_labels, struct buf *why)
{
	_cleanup_(thread_labels_freep) struct thread_labels *labels = calloc(1, sizeof(*labels));
	int r = labels ? 0 : -ENOMEM;

	if (specs->count > THREAD_LABELS_MAX) {
		buf_addf(why, "there are more than %d labels", THREAD_LABELS_MAX);
		return -EINVAL;
	}
	for (u32 i = 0; r == 0 && i < specs->count; i++)
		r = add(labels, &specs->at[i], why);
	if (r < 0)
		return r;
	*ret_labels = TAKE(labels);
	return 0;
}

int thread_labels_check(const struct thread_label_specs *specs, struct buf *why)
{
	_cleanup_(thread_labels_freep) struct thread_labels *labels = NULL;

	return thread_labels_new(specs, &labels, why);
}

void thread_labels_free(struct thread_labels *labels)
{
	if (!labels)
		return;
	for (u32 i = 0; i < THREAD_LABELS_MAX; i++)
		pattern_free(labels->at[i].file);
	pattern_scratch_done(&labels->scratch);
	free(labels);
}

bool thread_labels_fit(struct thread_labels *labels, u32 number, const char *path)
{
	const struct pattern *file = labels->at[number].file;

	/* One that takes too long is as good as none. */
	return !file || pattern_match(file, &labels->scratch, path, strlen(path), 0, NULL) == 1;
}

u32 thread_label_bytes(u32 type, u64 variable_bytes)
{
	u32 bytes = type == THREAD_LABEL_U32 || type == THREAD_LABEL_S32 ? sizeof(u32) : sizeof(u64);

	if (type == THREAD_LABEL_STRING)
		return !variable_bytes || variable_bytes >= THREAD_LABEL_BYTES ? THREAD_LABEL_BYTES :
										(u32)variable_bytes + 1;
	if (variable_bytes && variable_bytes < bytes)
		return 0;
	return type == THREAD_LABEL_POINTER ? THREAD_LABEL_BYTES : bytes;
}

/* Ends the text before that character: what follows it, or NULL. */
static char *cut(char *text, char *at)
{
	if (!text || !at)
		return NULL;
	*at = '\0';
	return at + 1;
}

int thread_label_parse(const char *word, struct thread_label_word *ret_label, struct buf *why)
{
	char *variable, *type, *file;
	int number = 0;

	if (strlen(word) >= sizeof(ret_label->text)) {
		buf_addf(why, "\"%.40s...\" is too long", word);
		return -EINVAL;
	}
	memcpy(ret_label->text, word, strlen(word) + 1);
	file = cut(ret_label->text, strchr(ret_label->text, '@'));
	variable = cut(ret_label->text, strchr(ret_label->text, '='));
	type = variable ? cut(variable, strrchr(variable, ':')) : NULL;
	while (type && thread_label_types[number] && strcmp(thread_label_types[number], type))
		number++;
	if (!type || !thread_label_types[number]) {
		buf_addf(why, "\"%.80s\" is not " THREAD_LABEL_ARGUMENT ", where TYPE is one of u32, u64, s32, s64, "
			 "string, pointer", word);
		return -EINVAL;
	}
	ret_label->spec = (struct thread_label_spec){ ret_label->text, variable, file, number };
	return 0;
}
