/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * THE table of kinds of samples: X(number, ID, folder). A kind is its folder here, with a struct kind called
 * <folder>_kind, and one line in this table. Numbers are known within one run only.
 */
#ifndef KINDS_LIST_H
#define KINDS_LIST_H

#define KINDS(X)                \
	X(0, CPU, cpu)          \
	X(1, FAULTS, faults)    \
	X(2, OFF_CPU, off_cpu)  \
	X(3, WALL, wall)        \
	X(4, WAKEUP, wakeup)    \
	X(5, LANES, lanes)      \
	/* a new one is a line here */

enum kind_number {
#define X(number, ID, folder) KIND_##ID = number,
	KINDS(X)
#undef X
	KIND_PROBES = 8,	/* from here on: what the user has made up (kinds/probe.h), as they were chosen */
	KIND_MAX = 16,		/* numbers are below */
};

#endif
