// SPDX-License-Identifier: Apache-2.0
#include "lang/lang.h"

#include <errno.h>
#include <string.h>

#include "proc/peek.h"

#define X(number, ID, folder) extern const struct lang_ops folder##_ops;
LANGS(X)
#undef X

const struct lang_ops *const lang_list[LANG_MAX] = {
#define X(number, ID, folder) [number] = &folder##_ops,
	LANGS(X)
#undef X
};

#define X(number, ID, folder) extern const struct lang_file_ops folder##_file_ops;
LANGS(X)
#undef X

const struct lang_file_ops *const lang_files[LANG_MAX] = {
#define X(number, ID, folder) [number] = &folder##_file_ops,
	LANGS(X)
#undef X
};
_Static_assert((int)LANG_MAX == LANG_NUMBERS_MAX, "the layer below knows how many there may be");

u32 lang_named(const char *tracer, size_t len)
{
	if (len == 4 && !strncmp(tracer, "node", len)) {
		tracer = "v8";
		len = 2;
	}
	for (u32 lang = 1; lang < LANG_MAX; lang++)
		if (lang_list[lang] && strlen(lang_list[lang]->tracer) == len &&
		    !strncmp(lang_list[lang]->tracer, tracer, len))
			return lang;
	return LANG_NONE;
}

size_t lang_next(const char **tracers)
{
	*tracers += strspn(*tracers, ", ");
	return strcspn(*tracers, ", ");
}

static bool is_word(const char *at, size_t len, const char *word)
{
	return strlen(word) == len && !strncmp(at, word, len);
}

const char *lang_unknown(const char *tracers)
{
	for (size_t len; (len = lang_next(&tracers)); tracers += len)
		if (!lang_named(tracers, len) && !is_word(tracers, len, "all") && !is_word(tracers, len, "native"))
			return tracers;
	return NULL;
}

u32 lang_left_out(const char *tracers)
{
	u32 wanted = 0;

	if (!*tracers)
		return 0;
	for (size_t len; (len = lang_next(&tracers)); tracers += len) {
		if (is_word(tracers, len, "all"))
			return 0;
		wanted |= 1u << lang_named(tracers, len);
	}
	return ~wanted & ~1u;
}

u32 lang_known(void)
{
	u32 known = 0;

	for (u32 lang = 1; lang < LANG_MAX; lang++)
		known |= (u32)(lang_list[lang] != NULL) << lang;
	return known;
}

u32 lang_wishes(const struct lang_options *options)
{
	u32 wishes = 0;

#define X(name, flag, standard, help) wishes |= options->name == standard ? 0 : LANG_WISH(name);
	LANG_OPTIONS(X)
#undef X
	return wishes;
}

/* From copies: that which goes farthest, since what lies close together in the process is in more than one. */
static long kept_read(const struct kept_objects *kept, u64 va, void *to, size_t bytes)
{
	const struct kept_piece *from = NULL;

	for (u32 i = 0; i < KEPT_PIECES; i++) {
		const struct kept_piece *p = &kept->piece[i];

		if (p->va && va >= p->va && va - p->va < sizeof(p->bytes) && (!from || p->va > from->va))
			from = p;
	}
	if (!from)
		return -EFAULT;
	if (bytes > sizeof(from->bytes) - (va - from->va))
		bytes = sizeof(from->bytes) - (va - from->va);
	memcpy(to, from->bytes + (va - from->va), bytes);
	return (long)bytes;
}

long lang_read_part(const struct lang_process *process, u64 va, void *to, size_t bytes)
{
	int r;

	if (process->kept)
		return kept_read(process->kept, va, to, bytes);
	r = lang_read(process, va, to, bytes);
	return r < 0 ? r : (long)bytes;
}

int lang_recall(const struct lang_process *process, u32 lang, u64 id_0, u64 id_1, struct kept_objects *ret_kept)
{
	struct kept_key key = { .pid = process->pid, .lang = lang, .id = { id_0, id_1 } };

	return process->recall ? process->recall(process->arg, &key, ret_kept) : -ENOENT;
}

int lang_read(const struct lang_process *process, u64 va, void *to, size_t bytes)
{
	if (process->kept)
		return kept_read(process->kept, va, to, bytes) == (long)bytes ? 0 : -EFAULT;
	if (process->is_gone)
		return -ESRCH;
	return peek_memory(process->peek, peek_process(process->serial), process->pid, va, to, bytes);
}

void lang_expect(const struct lang_process *process, const u64 *vas, u32 count)
{
	if (!process->kept && !process->is_gone)
		peek_expect(process->peek, peek_process(process->serial), process->pid, vas, count);
}

u64 lang_read_word(const struct lang_process *process, u64 va)
{
	u64 word;

	return lang_read(process, va, &word, sizeof(word)) == 0 ? word : 0;
}

int lang_find_word(const struct lang_process *process, u64 va, u32 count, u64 wanted)
{
	u64 words[LANG_FIND_WORDS_MAX];

	if (count > LANG_FIND_WORDS_MAX || lang_read(process, va, words, count * sizeof(u64)) < 0)
		return -1;
	for (u32 i = 0; i < count; i++)
		if (words[i] == wanted)
			return (int)i;
	return -1;
}
