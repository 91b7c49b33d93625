/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said of moments: a deploy, a restart, an incident, by people and their tools (docs/api.md: annotations), and
 * by wick itself. Kept beside the samples and as long as they are; the newest NOTES_MAX of them are told, and in a
 * store of this machine kept. Any thread.
 */
#ifndef STORE_NOTES_H
#define STORE_NOTES_H

#include "base/types.h"

struct buf;
struct store;
struct store_selection;

#define NOTES_MAX 10000
#define NOTE_WORD_MAX 32	/* bytes of a kind */
#define NOTE_LINE_MAX 255	/* of a title, a host, a service */
#define NOTE_TEXT_MAX 4000

/* Texts are never NULL. */
struct store_note {
	s64 id;
	u64 time_ns, end_ns;		/* CLOCK_REALTIME; end 0: a moment */
	const char *kind;		/* a word: deploy, restart, oom, config, incident, ... */
	const char *title, *text;
	const char *host, *service;	/* "": of all of them */
};

/* Why it cannot be kept, or NULL: texts that are too long or not UTF-8, times before 1970 or far away. */
const char *note_problem(const struct store_note *note, u64 now_ns);

/* -EOPNOTSUPP: this store keeps none; -EIO: store_explain() says more. note_problem() is for the caller to ask. */
int store_add_note(struct store *store, const struct store_note *note, u64 now_ns, s64 *ret_id);

/* 1: it is gone; 0: there was none. */
int store_drop_note(struct store *store, s64 id);

/*
 * Those of the selection's time, hosts and services, the last first, until fn returns less than 0, which is then the
 * result. What is of all hosts is of each.
 */
typedef int store_note_fn(void *arg, const struct store_note *note);
int store_each_note(struct store *store, const struct store_selection *selection, store_note_fn *fn, void *arg);

/* Said by wick itself, of this machine and now, in every store that is open. */
void notes_tell(const char *kind, const char *title, const char *text);

/* That wick started: what was not sampled before is explained by it. Only the first call tells. */
void notes_tell_start(void);

#endif
