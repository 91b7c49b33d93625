/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of variables that the sampled thread has for itself, which the user wants as labels (bpf/abi.h: Threads). A
 * set of them is part of what a sample is known by; so it is packed into bytes that are the same for the same values:
 *
 *	number of the label, type, so many bytes of a value, the value
 *
 * What they say is the process's own to write. No state.
 */
#ifndef TRACE_THREAD_LABEL_H
#define TRACE_THREAD_LABEL_H

#include <stddef.h>

#include "abi.h"

#define THREAD_LABELS_PACKED_MAX (THREAD_LABELS_MAX * (3 + THREAD_LABEL_BYTES))

/* What is shown of one; a number in decimal, a text without what is no text. */
struct thread_label_value {
	u32 number;
	char text[THREAD_LABEL_BYTES];
};

/* Packs the labels of a record, in so many words, up to one that makes no sense; how many bytes, 0 if there is none. */
size_t thread_labels_pack(const u64 *words, u32 count, u8 ret_bytes[THREAD_LABELS_PACKED_MAX]);

/* Instead of the values a packed set is to say that there were too many others. How many bytes it has then. */
size_t thread_labels_blur(u8 bytes[THREAD_LABELS_PACKED_MAX], size_t count);
#define THREAD_LABEL_BLURRED "[other]"

/* What a packed set says; how many labels. */
u32 thread_labels_unpack(const u8 *bytes, size_t count, struct thread_label_value ret_values[THREAD_LABELS_MAX]);

/* The words of a record that a packed set was made of, but for the blurred; how many. */
u32 thread_labels_words(const u8 *bytes, size_t count, u64 ret_words[LABEL_WORDS_MAX]);

#endif
