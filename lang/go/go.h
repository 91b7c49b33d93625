/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Go: what both halves share. A thread knows its g, that its m, and that the goroutine it runs for (curg), whose stack
 * may be another than the current one. Labels (pprof.Do) hang at the goroutine.
 */
#ifndef LANG_GO_GO_H
#define LANG_GO_GO_H

#include "abi.h"

/* struct g, unchanged from 1.19 to 1.27 (runtime/runtime2.go) */
#define GO_G_M 48
#define GO_G_SCHED 56	/* struct gobuf: sp, pc, ... */

/* What g.labels leads to (runtime/pprof/label.go: labelMap). */
enum go_labels {
	GO_MAP,		/* -1.23: a map[string]string (runtime/map.go: hmap) */
	GO_SLICE,	/* 1.24-: pairs of strings, sorted */
};

/* Offsets are in bytes. */
struct go_slot {
	u64 tls;		/* g is there, from the thread pointer on; on arm64, which has it in x28, perhaps: 0 */
	u64 curg;		/* in m */
	u64 labels;		/* in g; 0: nothing in the program sets any */
	u64 kind;		/* enum go_labels */
	u64 sched_bp;		/* in g; the word before it is the return address, on arm64 */
	u64 mcall_start_va, mcall_end_va;
};
_Static_assert(sizeof(struct go_slot) <= SLOT_WORDS * sizeof(u64), "fits the slot");

/*
 * A frame that stands for labels: the first word has a signature of them, in 48 bits, the second is the value of
 * g.labels.
 *
 * Labels are never changed, only replaced; but once nobody refers to them their memory is used again, perhaps for
 * others at the same address, and the same labels are made anew for each request. So they are known by what they say:
 * the signature is of the texts. Where there are more pairs than are looked at, or a text is longer, it is of what is
 * looked at and of the addresses of all: of memory that was used again it must not be said that it is still the same.
 * Where the kernel cannot read a text (a page that the process has never touched), it is of addresses alone.
 */
#define GO_BY_TEXT (1ull << 47)
#define GO_WITH_TEXT (1ull << 46)
#define GO_SIGNED 8		/* pairs */
#define GO_TEXT_BYTES 64

#endif
