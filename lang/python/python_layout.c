// SPDX-License-Identifier: Apache-2.0
#include "lang/python/python_layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lang/python/python.h"

#define COOKIE "xdebugpy"
#define OFFSETS_WORDS 102	/* of 3.15 that are read; behind those of older versions there is more */
#define ASYNCIO_WORDS 13	/* of 3.14 and 3.15 */
#define THREAD_MAX 8192		/* 1104 in 3.15 */
#define OFFSET_MAX (1u << 20)	/* PyInterpreterState is the largest: 226 KB in 3.14 */
#define SMALL_MAX 512		/* frames, code objects, texts */
#define ARM64_MUTEX_MORE 8	/* bytes of a pthread_mutex_t; the lock that is in _PyRuntime has two */

/*
 * From the headers of each version (Include/cpython/pystate.h, Include/internal/pycore_runtime.h, pycore_interp.h,
 * pycore_frame.h, Include/cpython/code.h, frameobject.h, unicodeobject.h), compiled for x86-64: the last releases of
 * each, compared with the first.
 */
#define COMMON_OBJECTS .object_type = 8, .bytes_size = 16, .bytes_data = 32, .text_state = 32, .text_length = 16
#define COMMON_OLD                                                                                                \
	.frames = PYTHON_OBJECTS, .interpreters = 32, .interpreter_next = 0, .threads = 8, .thread_next = 8,      \
	.thread_interpreter = 16, .thread_id = 176, .top = 24, .frame_previous = 24, .frame_code = 32,            \
	.code_file = 104, .code_name = 112, .code_qualname = 112, .code_lines = 120, .code_line = 40,             \
	.text_ascii = 48, .text_other = 72, COMMON_OBJECTS

static const struct python_layout known[] = {
	{ .version = PYTHON_VERSION(8), COMMON_OLD, .current = 1368, .frame_instruction = 104 },
	{ .version = PYTHON_VERSION(9), COMMON_OLD, .current = 568, .frame_instruction = 104 },
	{ .version = PYTHON_VERSION(10), COMMON_OLD, .current = 568, .frame_instruction = 96 },
	{
		.version = PYTHON_VERSION(11), COMMON_OBJECTS, .frames = PYTHON_ENTRIES, .interpreters = 40,
		.threads = 16, .thread_next = 8, .thread_interpreter = 16, .thread_id = 152, .top = 56,
		.current = 576, .cframe_frame = 8, .cframe_previous = 16, .frame_previous = 48, .frame_code = 32,
		.frame_instruction = 56, .frame_owner = 68, .code_file = 112, .code_name = 120, .code_qualname = 128,
		.code_lines = 136, .code_line = 72, .code_start = 184, .text_ascii = 48, .text_other = 72,
	},
	{
		.version = PYTHON_VERSION(12), COMMON_OBJECTS, .frames = PYTHON_CSHIMS, .interpreters = 40,
		.threads = 72, .thread_next = 8, .thread_interpreter = 16, .thread_id = 136, .top = 56,
		.cframe_frame = 0, .cframe_previous = 8, .frame_previous = 8, .frame_code = 0,
		.frame_instruction = 56, .frame_owner = 70, .code_file = 112, .code_name = 120, .code_qualname = 128,
		.code_lines = 136, .code_line = 68, .code_start = 192, .text_ascii = 40, .text_other = 56,
	},
};

int python_layout_known(u32 version, u32 machine, struct python_layout *ret_layout)
{
	size_t count = sizeof(known) / sizeof(known[0]);

	if (version < PYTHON_OLDEST || version > PYTHON_VERSION(12))
		return -ENODATA;
	for (size_t i = 0; i < count; i++) {
		if (known[i].version != version)
			continue;
		*ret_layout = known[i];
		ret_layout->layout_version = version;
		if (machine == EM_AARCH64 && ret_layout->current)
			ret_layout->current += 2 * ARM64_MUTEX_MORE;
		return 0;
	}
	return -ENODATA;
}

bool python_layout_speaks(const u8 *runtime, size_t bytes)
{
	return bytes >= OFFSETS_WORDS * sizeof(u64) && !memcmp(runtime, COOKIE, strlen(COOKIE));
}

/* Would reading by these offsets stay inside of the structures, and inside of the kernel half's blocks? */
static bool is_sane(const struct python_layout *l)
{
	const u64 small[] = {
		l->frame_previous, l->frame_code, l->frame_instruction, l->frame_owner, l->frame_copy, l->code_file,
		l->code_name, l->code_qualname, l->code_lines, l->code_line, l->code_start, l->code_copies,
		l->object_type, l->bytes_size, l->bytes_data, l->text_state, l->text_length, l->text_ascii,
		l->text_other, l->top, l->thread_id, l->thread_next, l->thread_interpreter,
	};
	const u64 block = PYTHON_BLOCK_BYTES;

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (small[i] > SMALL_MAX)
			return false;
	return l->interpreters < OFFSET_MAX && l->interpreter_next < OFFSET_MAX && l->threads < OFFSET_MAX &&
	       l->frame_previous < block && l->frame_code < block && l->frame_instruction < block &&
	       l->frame_owner < block && l->frame_copy < block && l->code_line < l->code_name &&
	       l->code_file - (l->code_line & ~7ull) < block && l->code_name - (l->code_line & ~7ull) < block &&
	       l->code_start && l->thread_id && l->text_ascii && l->bytes_data;
}

/* What has been so since the words came, in every build: do they lie where we look for them? */
static bool is_familiar(const struct python_layout *l)
{
	return l->frame_code == 0 && l->frame_previous == 8 && l->code_name == l->code_file + 8 &&
	       l->code_qualname == l->code_file + 16 && l->code_lines == l->code_file + 24 &&
	       l->thread_interpreter == l->thread_next + 8 && (l->object_type == 8 || l->object_type == 24) &&
	       l->bytes_size == l->object_type + 8 && l->bytes_data == l->object_type + 24 &&
	       l->text_length == l->object_type + 8 && l->text_state == l->object_type + 24 &&
	       l->text_ascii == l->text_state + 8 && l->text_other == l->text_ascii + 16;
}

static void take_words(const u64 *words, struct python_layout *l)
{
#define X(name, word13, word14, word15)                                 \
	l->name = words[l->layout_version == PYTHON_VERSION(13) ? word13 : \
			l->layout_version == PYTHON_VERSION(14) ? word14 : word15];
	PYTHON_OFFSETS(X)
#undef X
	l->current = 0;
	l->cframe_frame = 0;
	l->cframe_previous = 0;
	if (l->layout_version == PYTHON_VERSION(13)) {
		l->frame_copy = 0;
		l->code_copies = 0;
		l->frame_stack = 0;
	}
	/* Stacks are right without it. It is behind the words that tell whether a newer version is like this one. */
	if (l->layout_version == PYTHON_VERSION(13) || l->layout_version != l->version ||
	    l->generator_frame > SMALL_MAX || l->frame_stack >= PYTHON_BLOCK_BYTES)
		l->generator_frame = 0;
	/* A text that is not ASCII has the header of PyCompactUnicodeObject; the size told is that and a pointer. */
	l->text_other -= 8;
}

int python_layout_read(const u8 *runtime, size_t bytes, struct python_layout *ret_layout)
{
	struct python_layout l = { .frames = PYTHON_SHIMS };
	u64 words[OFFSETS_WORDS];

	if (!python_layout_speaks(runtime, bytes))
		return -EBADMSG;
	memcpy(words, runtime, sizeof(words));
	l.version = words[1] >> 16 & 0xffff;
	if (words[1] >> 24 != 3 || l.version < PYTHON_VERSION(13))
		return -EBADMSG;
	l.layout_version = l.version > PYTHON_NEWEST ? PYTHON_NEWEST : l.version;
	l.free_threaded = words[2] & 1;
	take_words(words, &l);
	if (l.version > PYTHON_NEWEST && (!is_sane(&l) || !is_familiar(&l)))
		return -EPROTONOSUPPORT;
	if (!is_sane(&l))
		return -EBADMSG;
	*ret_layout = l;
	return 0;
}

int python_layout_read_asyncio(const u8 *section, size_t bytes, struct python_asyncio *ret_asyncio)
{
	struct python_asyncio a;
	u64 words[ASYNCIO_WORDS];

	if (bytes < sizeof(words))
		return -EBADMSG;
	memcpy(words, section, sizeof(words));
	a = (struct python_asyncio){
		.task_awaited_by = words[2], .task_is_task = words[3], .task_has_set = words[4],
		.task_coroutine = words[5], .running_task = words[11],
	};
	if (words[0] > SMALL_MAX || words[9] > THREAD_MAX || a.task_awaited_by >= words[0] ||
	    a.task_is_task >= words[0] || a.task_has_set >= words[0] || a.task_coroutine >= words[0] ||
	    a.running_task >= words[9] || !a.running_task || !a.task_coroutine)
		return -EBADMSG;
	*ret_asyncio = a;
	return 0;
}
