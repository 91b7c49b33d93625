/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kind of sample that a user makes up: at a tracepoint, a function of a program or of the kernel, a marker that a
 * program brings along (USDT). Written as
 *
 *	EVENT                                   each is a sample, and counts 1
 *	EVENT{value=arg1,unit=bytes,name=read}  ... with a value
 *	EVENT{until=EVENT}                      from one to the other: the stack of the first, the time between both
 *
 *	tracepoint:SYSTEM:NAME, SYSTEM:NAME     uprobe:FILE:FUNCTION[+OFFSET]    uretprobe:FILE:FUNCTION
 *	usdt:FILE:[PROVIDER:]NAME               kprobe:FUNCTION[+OFFSET]         kretprobe:FUNCTION
 *
 * This is the text only, checked; what is on this machine src/tracer/probe_setup.c finds out. docs/probes.md has all of
 * it for users. A probe is immutable; who parsed it frees it.
 */
#ifndef KINDS_PROBE_H
#define KINDS_PROBE_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "kinds/kind.h"
#include "kinds/probe/setup.h"

struct buf;

#define PROBE_TARGET_BYTES 512
#define PROBE_SYMBOL_BYTES 256
#define PROBE_NAME_BYTES 64
#define PROBE_UNIT_BYTES 32
#define PROBE_RATE_DEFAULT 1000
#define PROBE_RATE_MAX 1000000

#define PROBE_TYPES(X)          \
	X(TRACEPOINT, "tracepoint") \
	X(UPROBE, "uprobe")         \
	X(URETPROBE, "uretprobe")   \
	X(USDT, "usdt")             \
	X(KPROBE, "kprobe")         \
	X(KRETPROBE, "kretprobe")

enum probe_type {
#define X(ID, text) PROBE_##ID,
	PROBE_TYPES(X)
#undef X
};

const char *probe_type_text(enum probe_type type);

/* What a word such as "arg1" stands for. */
enum probe_word {
	PROBE_WORD_NONE,
	PROBE_WORD_COUNT,	/* each event is 1 */
	PROBE_WORD_TIME,
	PROBE_WORD_THREAD,
	PROBE_WORD_ARGUMENT,	/* argN, by the number */
	PROBE_WORD_RESULT,	/* retval */
	PROBE_WORD_FIELD,	/* args.NAME, of a tracepoint */
};

struct probe_operand {
	enum probe_word word;
	u32 number;
	bool is_pointer;	/* *argN: 8 bytes where it points to */
	bool of_end;		/* end.WORD: as the second side has it */
	char field[PROBE_NAME_BYTES];
};

struct probe_point {
	enum probe_type type;
	char target[PROBE_TARGET_BYTES];	/* file, or system of a tracepoint; "" of the kernel's functions */
	char provider[PROBE_NAME_BYTES];	/* of USDT; "" if any */
	char symbol[PROBE_SYMBOL_BYTES];	/* function or name */
	u64 offset;
	struct probe_operand tested;
	enum probe_test test;
	s64 against;
	struct probe_operand key[PROBE_KEYS_MAX];
};

struct probe {
	struct kind kind;
	struct kind_event events[2];
	char name[PROBE_NAME_BYTES], unit[PROBE_UNIT_BYTES];
	struct probe_point start, end;
	bool has_end;
	struct probe_operand value;
	u32 rate;		/* stacks a second on each CPU */
};

/* Does that text mean a probe? Else it is the name of a kind or of an event of perf. */
bool probe_is_meant(struct str text);

/* -EINVAL with a sentence in `why`. */
int probe_parse(struct str text, struct probe **ret_probe, struct buf *why);

/* Is it in code of programs? */
bool probe_is_of_user(const struct probe_point *point);

/* An event alone, as until= has it. */
int probe_parse_point(struct str text, struct probe_point *ret_point, struct buf *why);

void probe_free(struct probe *probe);
DEFINE_CLEANUP(struct probe *, probe_free)

#endif
