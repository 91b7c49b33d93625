/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels that users want of samples: each is the value that a variable of the sampled thread has at that moment, known
 * by the name of its symbol, in all files or in those whose path fits (exe/tls_variable.h finds it in a file,
 * tracer/requests.h in processes).
 *
 * Whoever made them owns them; one thread at a time asks about files.
 */
#ifndef PROC_THREAD_LABELS_H
#define PROC_THREAD_LABELS_H

#include <stdbool.h>

#include "abi.h"
#include "base/cleanup.h"
#include "base/pattern.h"
#include "exe/tls_variable.h"

struct buf;

#define THREAD_LABEL_NAME_BYTES 64	/* with its NUL */

/* One as it is told; texts are borrowed. */
struct thread_label_spec {
	const char *name;	/* the key of the attribute */
	const char *variable;	/* its symbol */
	const char *file;	/* a regular expression: the paths of files that it may be in; NULL or "": any */
	int type;		/* enum thread_label_type */
};

struct thread_label_specs {
	const struct thread_label_spec *at;
	u32 count;
};

struct thread_labels {
	u32 count;
	struct {
		char name[THREAD_LABEL_NAME_BYTES];
		u32 type;
		struct pattern *file;	/* NULL: any */
	} at[THREAD_LABELS_MAX];
	struct tls_wanted variables;	/* by number, as those above */
	struct pattern_scratch scratch;
};

/* "u32", ..., ended by NULL: enum thread_label_type. */
extern const char *const thread_label_types[];

/* -EINVAL with a sentence in `why`; -ENOMEM. */
int thread_labels_new(const struct thread_label_specs *specs, struct thread_labels **ret_labels, struct buf *why);
/* The same, only to see whether they can be. */
int thread_labels_check(const struct thread_label_specs *specs, struct buf *why);
void thread_labels_free(struct thread_labels *labels);
DEFINE_CLEANUP(struct thread_labels *, thread_labels_free)

/* May the variable of that label be in the file with this path? */
bool thread_labels_fit(struct thread_labels *labels, u32 number, const char *path);

/* What is to be read of a variable so large (0: not known) of that type; 0 if it is too small for that. */
u32 thread_label_bytes(u32 type, u64 variable_bytes);

#define THREAD_LABEL_ARGUMENT "NAME=VARIABLE:TYPE[@FILE]"

/* One as a word of the command line says it; the texts of the spec are in `text`. */
struct thread_label_word {
	struct thread_label_spec spec;
	char text[1024];
};

/* -EINVAL with a sentence in `why`. What the parts say is not looked at. */
int thread_label_parse(const char *word, struct thread_label_word *ret_label, struct buf *why);

#endif
