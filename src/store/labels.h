/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By what profiles can be selected and grouped. A series is one set of values
 * of the SERIES labels; the others are told apart row by row, and roll-ups do
 * not keep them.
 *
 * Samples have labels of their own, too (store/label_rules.h): of any KEY, in blocks and, as far as there is room, in
 * roll-ups.
 *
 *	X(id, name in queries, attribute of the resource)
 */
#ifndef STORE_LABELS_H
#define STORE_LABELS_H

#include "base/str.h"

#define STORE_SERIES_LABELS(X)							\
	X(HOST, "host", "host.name")						\
	X(SERVICE, "service", "service.name")					\
	X(NAMESPACE, "namespace", "k8s.namespace.name")				\
	X(POD, "pod", "k8s.pod.name")						\
	X(CONTAINER, "container", "container.id")				\
	X(PROCESS, "process", "process.executable.name")			\
	X(EXECUTABLE, "executable", "process.executable.path")			\
	X(PID, "pid", "process.pid")						\
	X(TYPE, "type", "")		/* of the samples: "samples" */		\
	X(UNIT, "unit", "")		/* "count", "nanoseconds" */		\
	X(PERIOD, "period", "")		/* what one sample stands for, in ns; "" if not known */		\
	X(WAIT, "wait", "")		/* of samples: what for (kinds/waits.h); "" of threads that ran */

#define STORE_ROW_LABELS(X)							\
	X(THREAD, "thread", "thread.name")					\
	X(TID, "tid", "thread.id")						\
	X(CPU, "cpu", "cpu.logical_number")					\
	X(TRACE, "trace", "")							\
	X(SPAN, "span", "")

enum store_label {
#define X(id, name, attribute) STORE_##id,
	STORE_SERIES_LABELS(X)
	STORE_SERIES_LABEL_COUNT,
	STORE_BEFORE_ROW_LABELS = STORE_SERIES_LABEL_COUNT - 1,
	STORE_ROW_LABELS(X)
	STORE_LABEL_COUNT,
#undef X
	STORE_KEYS,	/* "label": its values are the keys of samples' own labels */
	STORE_KEY,	/* "label.KEY": from here on, by the number of KEY in the selection's keys */
};

/* What a group is called whose label is empty. */
struct str store_label_none(enum store_label label);

/* "host", ... */
const char *store_label_name(enum store_label label);

/* STORE_LABEL_COUNT if there is none of that name. */
enum store_label store_label_find(const char *name);

/* The attribute that a series label is read from, "" if none. */
const char *store_label_attribute(enum store_label label);

#endif
