/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the frames of one process, by the words that its runtimes'
 * kernel halves have sent: each is asked for once, and kept while there is
 * room. What is full is emptied, and filled again by what is still in use.
 *
 * The tracer's thread owns it.
 */
#ifndef LANG_NAMED_H
#define LANG_NAMED_H

#include "base/arena.h"
#include "base/interner.h"
#include "lang/lang.h"
#include "trace/window.h"

#define NAMED_BYTES_MAX (2u << 20)	/* of a process */
#define NAMED_LINES_MAX 64		/* of a frame */
#define NAMED_LABELS_MAX 16

/* The answer to one question, while it is being given. */
struct lang_names {
	struct named *kept;
	struct window_line lines[NAMED_LINES_MAX];
	struct window_label labels[NAMED_LABELS_MAX];
	u32 line_count, label_count;
};

struct named {
	struct arena arena;
	struct interner keys, texts;
	struct window_frame *frames;	/* by number of the key */
	u32 frame_cap;
	u64 evictions;			/* times it was emptied */
	u64 asked;			/* frames that were new */
	u64 unnamed;			/* ... and could not be named */
};

void named_init(struct named *names);
void named_done(struct named *names);

/*
 * The frame of these words, named by ops->resolve() when it is new; generation tells apart what the same words meant
 * at different times. Good until the next call. NULL for lack of memory.
 */
struct window_frame *named_find(struct named *names, const struct lang_ops *ops, void *state,
				const struct lang_process *process, const u64 frame[2], u64 generation);

#endif
