/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython keeps what: offsets in its structures. From 3.13 on it says so
 * itself (_Py_DebugOffsets, at the start of _PyRuntime); of older ones there
 * is a table here, the only one. All 64-bit builds of a minor version agree,
 * but for those with Py_TRACE_REFS, and for the one offset behind a lock of
 * libc's.
 */
#ifndef LANG_PYTHON_LAYOUT_H
#define LANG_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

#define PYTHON_VERSION(minor) (3u << 8 | (minor))
#define PYTHON_OLDEST PYTHON_VERSION(8)
#define PYTHON_NEWEST PYTHON_VERSION(15)

/* X(name, word in the debug offsets of 3.13, of 3.14, of 3.15; 0: not there) */
#define PYTHON_OFFSETS(X)           \
	X(interpreters, 5, 5, 5)       /* in _PyRuntime: the first interpreter */ \
	X(interpreter_next, 8, 8, 8)   \
	X(threads, 9, 9, 9)            /* in an interpreter: its first thread */ \
	X(thread_next, 21, 24, 24)      \
	X(thread_interpreter, 22, 25, 25) \
	X(thread_id, 24, 27, 30)        \
	X(top, 23, 26, 26)              /* in a thread: its innermost frame, or _PyCFrame */ \
	X(current, 0, 0, 0)            /* in _PyRuntime: the thread that holds the lock */ \
	X(cframe_frame, 0, 0, 0)       \
	X(cframe_previous, 0, 0, 0)    \
	X(frame_previous, 29, 32, 40)   \
	X(frame_code, 30, 33, 41)       \
	X(frame_instruction, 31, 34, 42) \
	X(frame_owner, 33, 36, 44)      \
	X(frame_copy, 0, 38, 46)        \
	X(frame_stack, 0, 37, 45)       \
	X(generator_frame, 0, 85, 101)  /* in a coroutine, which it is a part of; 0: not known */ \
	X(code_file, 35, 40, 48)        \
	X(code_name, 36, 41, 49)        \
	X(code_qualname, 37, 42, 50)    \
	X(code_lines, 38, 43, 51)       \
	X(code_line, 39, 44, 52)        \
	X(code_start, 43, 48, 56)       \
	X(code_copies, 0, 49, 57)       \
	X(object_type, 45, 51, 59)      \
	X(bytes_size, 65, 75, 87)       \
	X(bytes_data, 66, 76, 88)       \
	X(text_state, 68, 78, 90)       \
	X(text_length, 69, 79, 91)      \
	X(text_ascii, 70, 80, 92)       /* size of an ASCII text's header: its characters follow */ \
	X(text_other, 67, 77, 89)       /* ... of another's, and 8 */

struct python_layout {
	u64 version;		/* PYTHON_VERSION() of the file */
	u64 layout_version;	/* ... whose layout this is: another, if we know none of the file's */
	u64 frames;		/* enum python_frames */
	u64 free_threaded;
#define X(name, word13, word14, word15) u64 name;
	PYTHON_OFFSETS(X)
#undef X
};

/* What asyncio's C half says of itself, from 3.14 on: in the file of CPython, or in that of a module (_asyncio). */
struct python_asyncio {
	u64 task_awaited_by, task_is_task, task_has_set, task_coroutine;
	u64 running_task;	/* in a thread; 0: nothing is known */
};

/*
 * The layout of a version; for one that is not known the nearest. machine: ELF's. -ENODATA below the oldest, or if it
 * must be asked.
 */
int python_layout_known(u32 version, u32 machine, struct python_layout *ret_layout);

/* True if the bytes at _PyRuntime begin with debug offsets. */
bool python_layout_speaks(const u8 *runtime, size_t bytes);

/*
 * As they say. -EBADMSG if that cannot be: an offset lies outside of what it is in. -EPROTONOSUPPORT if the version is
 * newer than those we know, and its words are not where those of the newest are.
 */
int python_layout_read(const u8 *runtime, size_t bytes, struct python_layout *ret_layout);

/* By the bytes of its section .AsyncioDebug. -EBADMSG if what they say cannot be. */
int python_layout_read_asyncio(const u8 *section, size_t bytes, struct python_asyncio *ret_asyncio);

#endif
