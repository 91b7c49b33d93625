/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads did over time (store/lanes.h), of the best that the store has: all of it (type `lanes`), wall time, or
 * CPU time and waits beside each other.
 *
 *	{"from", "to", "buckets", "source": ["wall"], "exact": false, "threads", "left_out",
 *	 "lanes": [{"host", "process", "pid", "thread", "tid", "last",
 *		    "lines": [{"wait": "futex", "sum", "values": [...]}, ...]}, ...]}
 *
 * With queue=LABEL, where each switch is known, how long threads wanted a CPU each time (analysis/queue_waits.h), too:
 *
 *	"queue": {"by", "rows": 25, "waits", "sum", "median", "p99", "longest", "cells": [...],
 *		  "groups": [{"name", "waits", "sum", "median", "p99", "longest"}, ...]}
 *
 * Values are microseconds in a bucket; -EINVAL: the call's `why` has a sentence.
 */
#ifndef WEB_LANES_H
#define WEB_LANES_H

struct api_call;

int lanes_answer(struct api_call *call);

#endif
