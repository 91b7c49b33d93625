/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and watches one kind of object at an API server, until it is stopped:
 *
 *	list, page by page -> watch from there -> its end is normal: watch from the last version that was seen
 *
 *  - Bookmarks tell that version, and nothing else. Versions are opaque.
 *  - 410 (as a status, or in a line of the watch) means that it is too old: everything is listed again. So does the
 *    time that was set for it; what the list lacks is gone.
 *  - Failures back off, 0.8 s doubling to 30 s with jitter; Retry-After is honoured. What is known stays.
 *  - A line of a watch is an object, of K8S_LINE_MAX at most; a longer one makes it list again.
 *
 * The thread that calls k8s_watch_run() owns it.
 */
#ifndef PROCESSORS_K8S_WATCH_H
#define PROCESSORS_K8S_WATCH_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/str.h"
#include "base/types.h"

struct k8s_api;

#define K8S_LINE_MAX ((size_t)4 << 20)

struct k8s_watch_ops {
	void *arg;
	void (*begin)(void *arg);	/* a list begins */
	void (*put)(void *arg, const char *json, size_t bytes);		/* an object, new or changed */
	void (*drop)(void *arg, const char *json, size_t bytes);	/* ... that is gone */
	void (*end)(void *arg);		/* the list was whole: what it did not have is gone */
	void (*trouble)(void *arg, const char *text);	/* in a sentence; "": it is over */
};

struct k8s_watch_counts {
	_Atomic u64 lists, watches, events, bookmarks, expired, malformed, failures;
};

struct k8s_watch {
	struct k8s_api *api;
	const char *id;			/* who says so in logs */
	const char *path;		/* "/api/v1/pods" */
	const char *query;		/* selectors, "&..." or "" */
	s64 sync_ns;			/* after that everything is listed again */
	struct k8s_watch_ops ops;
	struct k8s_watch_counts counts;
	char version[128];		/* "": list */
	u64 listed_ns;
	u32 failures;			/* in a row */
};

/* Returns when the API is stopped. */
void k8s_watch_run(struct k8s_watch *watch);

/* ---- Parts of it, for tests --------------------------------------------------------------------------- */

enum k8s_event { K8S_ADDED, K8S_MODIFIED, K8S_DELETED, K8S_BOOKMARK, K8S_ERROR, K8S_EVENT_UNKNOWN };

/* A line of a watch: the object is where it stands in the line. `code` is that of an ERROR. -EBADMSG. */
int k8s_watch_line(const char *line, size_t bytes, enum k8s_event *ret_event, struct str *ret_object, s64 *ret_code);

/* What metadata says of an object or a list; "" where it says nothing. The buffer is for unescaping. */
int k8s_watch_version(const char *json, size_t bytes, char ret_version[128], char ret_continue[2048]);

#endif
